"""The proof that the kernels of a host function, one after the other, compute its specification.

Each kernel runs by the machine over canonical terms, on what the kernels before it have left in their arrays. So what
the last one stores are terms over the host function's inputs, and must be the specification's: for all inputs, at the
declared sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.specs.specification import Meaning, outputs, symbolic_inputs
from swizzle.sketches.host import HostSketch
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.numbers import Lanes
from symbolic.algebra.terms import UNWRITTEN, Terms
from symbolic.ir.index import cell_name
from symbolic.ir.program import Program
from symbolic.machine.machine import Machine


class FilledHost(Struct, frozen=True):
    """A host function whose kernels have no holes; `programs` are theirs, by name."""

    host: HostSketch
    programs: Mapping[str, Program]
    spec: Callable[..., Any]

    @property
    def face(self) -> Program:
        """A program with the host function's parameters, and with all statements of its kernels, for what looks at
        those only."""
        bodies = (self.programs[kernel.name].body for kernel in self.host.kernels)
        return replace(self.host.face, body=tuple(stmt for body in bodies for stmt in body))


class Composition(Struct, frozen=True):
    """How many output elements were compared with the specification, and what is wrong, in the user's words."""

    elements: int
    findings: tuple[str, ...]
    broken: bool = False


SHOWN = 3


def composed(filled: FilledHost) -> Composition:
    """Compare what the kernels leave with the specification, for all inputs."""
    host, face = filled.host, filled.host.face
    meaning = Meaning.of(face, filled.spec)
    terms, memory = meaning.terms, dict[str, Lanes]()
    memory.update(symbolic_inputs(face, terms))
    elements = sum(map(len, meaning.wanted.values()))
    for number, launch in enumerate(host.launches):
        program = filled.programs[launch.kernel.name]
        findings = left_by(program, launch.arrays, memory, terms, read_after(host, number))
        if findings:
            where = f"launch {number + 1}, {launch.kernel.name} at {launch.place}"
            return Composition(elements, tuple(f"{where}: {each}" for each in findings[:SHOWN]), broken=True)
    findings = []
    for parameter in outputs(face):
        got, want = memory[parameter.name], np.array(meaning.wanted[parameter.name], np.int64)
        for address in np.flatnonzero(got != want).tolist():
            cell = cell_name(parameter.name, parameter.shape, address)
            shown = terms.show(int(got[address])), terms.show(int(want[address]))
            findings.append(f"{cell} is {shown[0]}, the specification says {shown[1]}")
            if len(findings) == SHOWN:
                return Composition(elements, tuple(findings))
    return Composition(elements, tuple(findings))


def read_after(host: HostSketch, number: int) -> set[str]:
    """Return the arrays that the launches after one of them read."""
    return {
        name
        for other in host.launches[number + 1 :]
        for name, parameter in zip(other.arrays, other.kernel.program.parameters, strict=True)
        if parameter.role != "out"
    }


def left_by(
    program: Program, arrays: Sequence[str], memory: dict[str, Lanes], terms: Terms, later: Collection[str]
) -> Sequence[str]:
    """Run one kernel on the arrays of these names; return what it does wrong, whatever the specification says.

    `later` are the arrays that kernels after it read: of these, what a store rounds or cuts off is lost.
    """
    names = dict(zip((p.name for p in program.parameters), arrays, strict=True))
    given = {p.name: memory[names[p.name]] for p in program.parameters if p.role != "out"}
    unwritten = {name for name, array in given.items() if (array == UNWRITTEN).any()}
    read_later = [own for own, name in names.items() if name in later]
    run = Machine(program, Canonical(terms), given, read_later=read_later).run()
    if run.violations:
        return [str(violation.error()) for violation in run.violations]
    found = []
    for parameter in outputs(program):
        array = run.memories[parameter.name]
        left = np.where(array.written, array.data, UNWRITTEN)
        if unwritten and (left[array.written] == UNWRITTEN).any():
            name = sorted(unwritten)[0]
            address = int(np.flatnonzero(given[name] == UNWRITTEN)[0])
            shape = next(p.shape for p in program.parameters if p.name == name)
            found.append(f"it reads {cell_name(name, shape, address)}, which no kernel before it has stored")
            break
        # of an output that another kernel has stored a part of, the rest stays
        before = memory.get(names[parameter.name], np.full(prod(parameter.shape), UNWRITTEN, np.int64))
        memory[names[parameter.name]] = np.where(array.written, left, before)
    return found
