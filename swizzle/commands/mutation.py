"""Mutation: does a change of one swizzle in the printed text go unnoticed?

Every mutant of the text (`cuda_out.mutate`) is given to translation validation and to the emulation on random data.
One whose PTX is proved equal to the specification changes nothing; each other one must be seen by both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cuda_out.emulate import EmulationError, emulate
from cuda_out.mutate import Mutant, mutants, together
from cuda_out.ptx.validate import Validation, Validator
from cuda_out.toolchain import compile_to_ptx
from swizzle.commands.console import count
from swizzle.commands.target import Filled
from swizzle.commands.trial import Array, Arrays, first_difference
from symbolic.terms import Terms

if TYPE_CHECKING:
    from cuda_out.printer import CudaSource


@dataclass(frozen=True, slots=True)
class Outcome:
    """`unseen` are the mutants that one check let pass, with what each check says of them."""

    killed: int
    same: tuple[Mutant, ...]
    unseen: tuple[tuple[Mutant, str], ...]

    @property
    def complete(self) -> bool:
        return not self.unseen

    def lines(self) -> list[str]:
        """Return what `check --mutate` prints."""
        total = self.killed + len(self.same) + len(self.unseen)
        found = [
            f"{count(total, 'mutant')} of the printed text: {self.killed} seen by translation validation and by the "
            f"emulation, {len(self.same)} proved to change nothing, {len(self.unseen)} unseen"
        ]
        found += [f"  changes nothing: {mutant}" for mutant in self.same]
        return found + [f"  unseen: {mutant} ({why})" for mutant, why in self.unseen]

    def as_json(self) -> dict[str, Any]:
        return {
            "killed": self.killed,
            "same": [str(mutant) for mutant in self.same],
            "unseen": [{"mutant": str(mutant), "why": why} for mutant, why in self.unseen],
        }


def try_mutants(filled: Filled, source: CudaSource, at_most: int | None = None) -> Outcome:
    """Try both checks on the mutants of a printed text that has passed them: on all, or on an even choice of them."""
    variants = mutants(source.text, source.entry, [prod(p.shape) for p in filled.program.parameters])
    if at_most is not None and len(variants) > at_most:
        variants = tuple(variants[number * len(variants) // at_most] for number in range(at_most))
    if not variants:
        return Outcome(0, (), ())
    killed, same, unseen = 0, [], []
    validated = _validated(filled, source, variants)
    for mutant, validation, emulated in zip(variants, validated, _emulated(filled, source, variants), strict=True):
        if validation.verdict == "equal" and not emulated:
            same.append(mutant)
        elif validation.verdict == "different" and emulated:
            killed += 1
        else:
            said = "; ".join(validation.findings[:1]) or "equal"
            unseen.append((mutant, f"translation validation: {said}; emulation: {emulated or 'equal'}"))
    return Outcome(killed, tuple(same), tuple(unseen))


def _validated(filled: Filled, source: CudaSource, variants: Sequence[Mutant]) -> list[Validation]:
    from swizzle.search.specification import postcondition

    text, names = together(source.text, source.entry, variants, dispatch=False)
    ptx, terms = compile_to_ptx(text), Terms()
    validator = Validator(filled.program, postcondition(filled.program, filled.spec, terms), terms)
    return [validator.validate(ptx, name) for name in names]


def _emulated(filled: Filled, source: CudaSource, variants: Sequence[Mutant]) -> list[str]:
    """Return what the emulation sees of each mutant: undefined behaviour, wrong numbers, or '' for nothing."""
    from swizzle.search.specification import numbers

    program = filled.program
    text, _ = together(source.text, source.entry, variants, dispatch=True)
    memo: dict[bytes, Arrays] = {}

    def specification(inputs: Arrays) -> Arrays:
        key = b"".join(array.tobytes() for array in inputs.values())
        if key not in memo:
            memo[key] = numbers(program, filled.spec, inputs)
        return memo[key]

    found = []
    for number in range(len(variants)):

        def on_cpu(arrays: list[Array], number: int = number) -> None:
            emulate(text, source.entry, source.grid, source.block, [*arrays, np.int32(number)])

        try:
            found.append(first_difference(program, specification, on_cpu, 0))
        except EmulationError as error:
            found.append(str(error))
    return found
