"""Run a printed text on random data at several sizes (its own and, where it takes any length, others that cut its
blocks) on some device, and say how it compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.c.printer import CudaSource
from cuda_out.compile.launch import launch, structure
from cuda_out.emulate.emulate import EmulationError, emulate_checked
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret
from cuda_out.tiling.tiling import Tiling
from cuda_out.tiling.trips import with_length
from swizzle.answers.checking.rounding import Rounding
from swizzle.answers.checking.trial import Array, Arrays, trials
from swizzle.answers.emit.any_length.continuation import MeaningAt, meaning_cut, numbers_cut
from swizzle.answers.emit.emitters import in_runs, lengths_text
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.solving.solution.in_words import rounds_in_any_order
from symbolic.errors import SwizzleError
from symbolic.ir.index import cell_name
from symbolic.ir.program import Axis, Parameter, Program


class LaunchSize(Struct, frozen=True, dict=True):
    """A text is launched with the arrays and the grid of `filled.program`, and `lengths` after the arrays.

    `filled.spec` says what it must compute there; where it is made for the `whole` arrays of the sketch only, that is
    cut off.
    """

    filled: FilledKernel
    lengths: tuple[int, ...]
    whole: FilledKernel | None = None
    launches: tuple[tuple[Program, tuple[str, ...]], ...] = ()
    """Of a host function at its own size: its kernels, and the names of the arrays that they run on."""

    def __str__(self) -> str:
        return lengths_text(self.lengths)

    @cached_property
    def meaning(self) -> Meaning:
        """What each output must be, for all inputs; raises SwizzleError as the specification does."""
        program, spec = self.filled.program, self.filled.spec
        if self.whole is None:
            return Meaning.of(program, spec)

        return meaning_cut(_told(self.whole), program)

    @cached_property
    def rounding(self) -> Rounding:
        """How far a right kernel's floats may be from these outputs."""
        return Rounding(self.filled.program, self.meaning, self.launches)

    def numbers(self, inputs: Arrays) -> Arrays:
        """Return what each output must be for these inputs."""
        program, spec = self.filled.program, self.filled.spec
        if self.whole is None:
            return numbers(program, spec, inputs)

        return numbers_cut(self.whole.program, spec, program, inputs)


def _told(filled: FilledKernel) -> MeaningAt:
    meaning = Meaning.of(filled.program, filled.spec)
    return MeaningAt({}, filled.program, meaning.terms, meaning.wanted)


def sizes_to_try(filled: FilledKernel, source: CudaSource) -> tuple[LaunchSize, ...]:
    """Return the size of the sketch, then the others at which its text is right and the specification can be asked."""
    return (LaunchSize(filled, source.lengths()), *other_sizes(filled, source.tiling))


def other_sizes(filled: FilledKernel, tiling: Tiling | None) -> Iterator[LaunchSize]:
    """Yield the sizes beside the sketch's own: those that a tiling cuts its blocks at."""
    if tiling is None:
        return
    axes = [each.axis for each in tiling.axes]
    evidence = [dict(zip(axes, lengths, strict=True)) for lengths in tiling.evidence]
    if any(each.edges for each in tiling.axes):  # which was compared at all short lengths
        evidence = [lengths for lengths in evidence if len(set(lengths.values())) == 1][:2]
    tails = tiling.tails()
    if tiling.of_loops:  # a cut grid is tried with a trip and with a few, and not with all of the sketch's
        cut = {tuple(lengths[each] for each in axes[:-1]) for lengths in tails}
        evidence = [
            each for each in evidence if each["k"] != tiling.declared["k"] or tuple(each.values())[:-1] not in cut
        ]
    wanted = evidence + tails
    if len(axes) > 1:  # every axis cut, where no more blocks can be had
        wanted.append({each.axis: each.declared - each.step for each in tiling.axes})
    tried = [tiling.declared]
    for lengths in wanted:
        if lengths in tried or not tiling.valid(lengths):
            continue
        tried.append(lengths)
        if (size := size_at(filled, tiling, lengths)) is not None:
            yield size


def size_at(filled: FilledKernel, tiling: Tiling, lengths: Mapping[Axis, int]) -> LaunchSize | None:
    """Return the size of some lengths, None where the specification cannot be asked there."""
    here = with_length(filled.program, tiling, lengths.get("k"))
    at = FilledKernel(tiling.at(here, lengths), filled.spec, filled.head)
    size = LaunchSize(at, tuple(lengths[each.axis] for each in tiling.axes))
    try:
        assert size.meaning
    except SwizzleError:  # the specification is made for the sketch's own size
        if any(lengths[axis] > declared for axis, declared in tiling.declared.items()):
            return None
        return LaunchSize(at, size.lengths, whole=filled)
    return size


def at_the_lengths(lengths: Sequence[object]) -> str:
    """Return 'at the lengths 1, 31', or 'at the length 1'."""
    return f"at the length{'s' if len(lengths) > 1 else ''} {', '.join(in_runs(list(map(str, lengths))))}"


def most_ragged(sizes: Sequence[LaunchSize], source: CudaSource) -> LaunchSize | None:
    """Return, of the sizes after the first, one that cuts the last block of most axes and has blocks before it."""
    if source.tiling is None or len(sizes) == 1:
        return None
    axes = source.tiling.axes

    def raggedness(size: LaunchSize) -> tuple[int, int]:
        pairs = list(zip(axes, size.lengths, strict=True))
        return sum(n % axis.tile > 0 for axis, n in pairs), sum(axis.tile < n <= axis.declared for axis, n in pairs)

    return max(sizes[1:], key=raggedness)


Argument: TypeAlias = "Array | np.generic"
ORDERS = (0, 1, 2, 3)
"""In how many orders of lanes, warps and blocks the emulation runs a kernel: up, down, and two at random."""


class Runner(Struct, frozen=True):
    """`run` runs a text at a size on its arrays, in the order of the parameters, changing outputs in place.

    It raises EmulationError where the text does what CUDA leaves undefined; `watched` says what else was looked for.
    """

    run: Callable[[LaunchSize, list[Array]], None]
    watched: str = ""


class Compared(Struct, frozen=True):
    """How the numbers compare: an exit status, and lines for the user."""

    status: CheckStatus
    lines: tuple[str, ...]


def arguments(size: LaunchSize, arrays: Sequence[Array]) -> list[Argument]:
    """Return what the kernel takes: its arrays, scalars and structures, then its lengths."""
    given = zip(size.filled.program.parameters, arrays, strict=True)
    values = [structure(array) if p.by_value else array if p.shape else array[()] for p, array in given]
    return [*values, *map(np.int64, size.lengths)]


def on_cpu(source: CudaSource) -> Runner:
    """Run the text in the emulation, in several orders."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        grid = size.filled.program.grid
        alike = not rounds_in_any_order(size.filled.program)
        given = arguments(size, arrays)
        emulate_checked(
            source.text, source.entry, grid, source.block, given,
            orders=ORDERS, alike=alike, shared_bytes=source.shared_bytes,
        )  # fmt: skip

    return Runner(run, f"emulated in {len(ORDERS)} orders of lanes, warps and blocks: no race, no access out of bounds")


def on_gpu(source: CudaSource) -> Runner:
    """Run the text on a GPU."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        grid, given = size.filled.program.grid, arguments(size, arrays)
        launch(
            source.text, source.entry, grid, source.block, given,
            alignment=source.alignment, shared_bytes=source.shared_bytes,
        )  # fmt: skip

    return Runner(run)


def on_ptx(source: CudaSource, ptx: str) -> Runner:
    """Run the PTX that a compiler made of the text in the interpreter; raises NotInterpreted where it cannot."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        try:
            given, shared = arguments(size, arrays), source.shared_bytes
            interpret(ptx, source.entry, size.filled.program.grid, source.block, given, shared)
        except Broken as error:
            raise EmulationError(str(error)) from None

    return Runner(run)


def compare(sizes: Sequence[LaunchSize], runner: Runner, seed: int) -> Compared:
    """Compare at the first size on all kinds of data, at the others on the first kind."""

    lines: list[str] = []
    also, status = [], CheckStatus.EQUAL
    for size in sizes:
        own, program = size is sizes[0], size.filled.program
        where = "" if own else f"at length {size}, "
        try:
            for trial in trials(program, size.numbers, partial(runner.run, size), seed, size.rounding):
                if own or not trial.equal:
                    lines.append(f"{where}{trial}")
                if not trial.equal:
                    status = CheckStatus.DIFFERENT
                if not own:
                    also += [str(size)] if trial.equal else []
                    break
        except EmulationError as error:
            return Compared(CheckStatus.DIFFERENT, (f"{where}not equal: {with_names(str(error), program.parameters)}",))
    if also and status == CheckStatus.EQUAL:
        lines.append(f"{at_the_lengths(also)} too: all outputs are the specification's")
    return Compared(status, (*([runner.watched] if runner.watched else []), *lines))


def with_names(finding: str, parameters: Sequence[Parameter]) -> str:
    """Name the arrays in a finding of the emulation about 'argument 0', and the element where it says which."""

    def cell(match: re.Match[str]) -> str:
        parameter, at = parameters[int(match[1])], match[2]
        if at.startswith("("):
            return f"{parameter.name}[{at.strip('(,)')}]"
        return cell_name(parameter.name, parameter.shape, int(at))

    finding = re.sub(r"argument (\d+), element (\d+|\([\d, ]+\))", cell, finding)
    return re.sub(r"argument (\d+)", lambda match: parameters[int(match[1])].name, finding)
