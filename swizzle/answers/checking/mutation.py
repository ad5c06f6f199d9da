"""Mutation: does a change of one swizzle in the printed text go unnoticed?

Every mutant of the text (`cuda_out.c.mutate`) is given to translation validation and to the emulation on random data.
One whose PTX is proved equal to the specification changes nothing; each other one must be seen by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.mutate import Mutant, host_mutants, mutants, together
from cuda_out.c.printer import CudaSource
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import compile_to_ptx
from cuda_out.emulate.emulate import EmulationError, emulate, missing_compiler
from cuda_out.emulate.host import calls, wrong_mutants
from swizzle.answers.checking.compare import LaunchSize, arguments, on_ptx
from swizzle.answers.checking.trial import Array, Arrays, first_wrong_trial
from swizzle.answers.checking.validator import SizesValidator
from swizzle.solving.solution.in_words import count
from symbolic.ir.functions import Gather
from symbolic.ir.walk import functions_of


class MutationOutcome(Struct, frozen=True):
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


def try_mutants(
    source: CudaSource, sizes: Sequence[LaunchSize], at_most: int | None = None, printed: str = ""
) -> MutationOutcome:
    """Try both checks on the mutants of a printed text that has passed them at these sizes: on all, or on an even
    choice of them. A check sees a mutant if it does so at one size. The host function is that of the `printed` text,
    where the kernel's own was edited."""
    given = sizes[0].filled.program.parameters
    extents = [prod(p.shape) for p in given if p.shape and not p.by_value]
    variants = mutants(source.text, source.entry, extents)
    if at_most is not None and len(variants) > at_most:
        variants = tuple(variants[number * len(variants) // at_most] for number in range(at_most))
    if not variants:
        return MutationOutcome(0, (), ())
    killed, same, unseen = 0, [], []
    rounds = any(
        not isinstance(name.row, Gather) for name, _ in functions_of(sizes[0].filled.program)
    )  # then no numbers are exact
    text, names = together(source.text, source.entry, variants, dispatch=False)
    ptx, validator = compile_to_ptx(with_opaque_calls(text)), SizesValidator(sizes, source)
    differences = _differences(source, sizes, variants, (ptx, names))
    for mutant, name, difference in zip(variants, names, differences, strict=True):
        validation, told = validator.validate(ptx, name), bool(difference) or (mutant.slight and rounds)
        if validation.verdict == "equal" and not difference:
            same.append(mutant)
        elif (validation.verdict == "different" and told) or (mutant.rare and validation.verdict != "equal"):
            killed += 1
        else:
            said = "; ".join(validation.findings[:1]) or "equal"
            unseen.append((mutant, f"translation validation: {said}; emulation: {difference or 'equal'}"))
    for mutant, wrong in _host_mutants(replace(source, text=printed or source.text), at_most):
        if wrong:
            killed += 1
        else:
            unseen.append((mutant, "the host function does what it must at all calls"))
    return MutationOutcome(killed, tuple(same), tuple(unseen))


def _host_mutants(source: CudaSource, at_most: int | None) -> Iterator[tuple[Mutant, bool]]:
    """Yield the mutants of the host function, each with whether it does something wrong."""
    variants = host_mutants(source.text, source.launcher) if not missing_compiler() else ()
    if at_most is not None and len(variants) > at_most:
        variants = tuple(variants[number * len(variants) // at_most] for number in range(at_most))
    if variants:
        found = wrong_mutants(source, source.text, [each.text for each in variants], list(calls(source)))
        yield from zip(variants, found, strict=True)


def _differences(
    source: CudaSource, sizes: Sequence[LaunchSize], variants: Sequence[Mutant], compiled: tuple[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what a run of each mutant shows: undefined behaviour, wrong numbers, or '' for nothing.

    The emulation runs them, or, where there is no C++ compiler, the interpreter their PTX.
    """
    missing = missing_compiler()
    text, _ = together(source.text, source.entry, variants, dispatch=True)
    memo: dict[tuple[int, bytes], Arrays] = {}

    def specification(size: LaunchSize, inputs: Arrays) -> Arrays:
        key = id(size), b"".join(array.tobytes() for array in inputs.values())
        if key not in memo:
            memo[key] = size.numbers(inputs)
        return memo[key]

    def emulated(number: int, size: LaunchSize, arrays: list[Array]) -> None:
        given = [*arguments(size, arrays), np.int32(number)]
        emulate(text, source.entry, size.filled.program.grid, source.block, given, shared_bytes=source.shared_bytes)

    def interpreted(number: int, size: LaunchSize, arrays: list[Array]) -> None:
        ptx, names = compiled
        on_ptx(replace(source, entry=names[number]), ptx).run(size, arrays)

    run = interpreted if missing else emulated
    for number in range(len(variants)):
        found = ""
        for size in sizes:
            if found:
                break
            try:
                wanted, runner = partial(specification, size), partial(run, number, size)
                found = first_wrong_trial(size.filled.program, wanted, runner, 0, size.rounding)
            except EmulationError as error:
                found = str(error)
        yield found
