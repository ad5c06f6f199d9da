"""Verification: a kernel without open holes equals its specification, on every output of every block.

The machine runs the whole grid over canonical terms, so equality holds for all inputs (paper, section 4.1). No solver
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from swizzle.language.specs.fragments import misplaced_parts
from swizzle.language.specs.specification import Meaning, outputs, postcondition, symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.index import cell_name, with_indices
from symbolic.ir.program import Program
from symbolic.ir.walk import warp_instructions
from symbolic.machine.machine import HoleFunction, Machine
from symbolic.machine.run import Run, Violation


class Mismatch(Struct, frozen=True):
    """An output element that is not what the specification says."""

    array: str
    address: int
    got: Term
    wanted: Term


class Verification(Struct, frozen=True):
    """Whether a kernel equals its specification for all inputs; if not, the evidence. `cancels` says that one of them
    takes floats off that it has just added, `unrounded` what else it rounds: real numbers do not."""

    mismatches: tuple[Mismatch, ...]
    violations: tuple[Violation, ...]
    elements: int
    blocks: int
    cancels: bool = False
    unrounded: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        return not self.mismatches and not self.violations


def run_canonical(
    program: Program, terms: Terms, hole: HoleFunction | None = None, violation_limit: int = 32, copies: int = 1
) -> Run:
    """Run a program on distinct variables for all inputs."""
    inputs = symbolic_inputs(program, terms)
    return Machine(program, Canonical(terms), inputs, hole, violation_limit, copies=copies).run()


def compare(program: Program, run: Run, wanted: Mapping[str, list[Term]]) -> tuple[Mismatch, ...]:
    """Return the output elements of a hole-free run that differ from the post-condition."""
    found = []
    for parameter in outputs(program):
        memory = run.memories[parameter.name]
        got = np.where(memory.written, memory.data, UNWRITTEN)
        want = np.array(wanted[parameter.name], np.int64)
        found += [Mismatch(parameter.name, int(a), int(got[a]), int(want[a])) for a in np.flatnonzero(got != want)]
    return tuple(found)


def verify(program: Program, spec: Callable[..., Any], meaning: Meaning | None = None) -> Verification:
    """Compare a program without holes with its specification, for all inputs.

    `meaning` is the specification's, if it is known already.
    """
    assert not program.holes, "verify wants a program without holes"
    meaning = meaning or Meaning.of(program, spec)
    return verdict(program, run_canonical(program, meaning.terms), meaning)


def verdict(program: Program, run: Run, meaning: Meaning) -> Verification:
    """Compare what a program without holes has computed with its specification."""
    elements = sum(len(w) for w in meaning.wanted.values())
    blocks = program.grid[0] * program.grid[1] * program.grid[2]
    mismatches = compare(program, run, meaning.wanted)
    terms = meaning.terms
    cancels, unrounded = terms.cancels_floats(), tuple(terms.unrounded.values())
    return Verification(mismatches, tuple(run.violations), elements, blocks, cancels, unrounded)


def explain_mismatch(program: Program, spec: Callable[..., Any]) -> list[str]:
    """Say in the sketch's terms what a hole-free kernel computes instead, of three cells at most; empty if right."""
    terms = Terms()
    wanted = postcondition(program, spec, terms)
    run = run_canonical(program, terms)
    shapes = {p.name: p.shape for p in program.parameters}
    lines = [str(violation.error()) for violation in run.violations[:3]]
    for bad in compare(program, run, wanted)[:3]:
        cell = cell_name(bad.array, shapes[bad.array], bad.address)
        got, want = (with_indices(terms.show(term), shapes) for term in (bad.got, bad.wanted))
        lines.append(f"{cell} is {got}, the specification says {want}")
    if lines and warp_instructions(program.body):
        lines += misplaced_parts(program, terms)
    return lines
