"""The sizes at which a printed text is tried: its own, and, where it takes any length, others that cut its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from cuda_out.c.printer import CudaSource
from cuda_out.tiling.tiling import Tiling
from cuda_out.tiling.trips import with_length
from swizzle.answers.checking.rounding import Rounding
from swizzle.answers.checking.trial import Arrays
from swizzle.answers.emit.any_length.continuation import MeaningAt, meaning_cut, numbers_cut
from swizzle.answers.emit.emitters import in_runs, lengths_text
from swizzle.answers.emit.filled import FilledKernel
from swizzle.language.specs.specification import Meaning, numbers
from symbolic.errors import SwizzleError
from symbolic.ir.program import Axis, Program


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
