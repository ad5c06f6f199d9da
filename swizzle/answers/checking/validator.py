"""Translation validation of one text at several sizes, and, where it takes any length, for all of them at once.

Where that does not succeed, or cannot be tried, blocks far out are validated (`cuda_out.ptx.every_length.far`).

Where terms differ, inputs are tried on which the kernel and its specification may differ. Terms are equal up to the
order and grouping of sums and products, so kernels that are equal for other reasons (`x * (y + z)` and `x * y + x * z`)
have different terms. Running both on numbers settles 'not equal'; agreement settles nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.printer import CudaSource
from cuda_out.ptx.every_length.far import FarValidator, far_validators
from cuda_out.ptx.every_length.long_loops import LongValidator, long_validators, turning
from cuda_out.ptx.every_length.long_tiles import UNIT
from cuda_out.ptx.every_length.tiles import Said, TileValidator
from cuda_out.ptx.every_length.windows import Cut, NotTiled
from cuda_out.ptx.running.validate import Validation, Validator, WrittenOut
from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import Tiling
from swizzle.answers.checking.trial import LaunchSize, at_the_lengths, compare, on_ptx, size_at
from swizzle.answers.emit.any_length.continuation import NearEnds, Rest
from swizzle.answers.status import CheckStatus
from swizzle.language.specs.specification import inputs, numbers, outputs
from swizzle.solving.solution.in_words import count
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES, Lanes, Numbers, as_numbers, bounds_of
from symbolic.algebra.terms import Term
from symbolic.ir.facts import LONGEST
from symbolic.ir.index import cell_name
from symbolic.ir.program import Axis, DType, FunctionName, Parameter, Program
from symbolic.machine.machine import Machine

_TRIPS: Final = (13, 25, 49)
"""Trips that are kept of loops along a huge length."""


class SizesValidator:
    """Validates kernels at the sizes in turn, until one is not equal, then for every block of every length.

    They are given arrays whose addresses are what the printed text asks for, and nothing more. Where loops run along a
    length, that one is a number for all blocks; some blocks are validated at huge ones, too, most of whose trips are
    left out (`cuda_out.ptx.every_length.long_loops`).

    `why_not` says why the latter is not tried, '' where it is.
    """

    def __init__(self, sizes: Sequence[LaunchSize], source: CudaSource) -> None:
        self.sizes, self.tiling, self.alignment = sizes, source.tiling, source.alignment
        self.shared_bytes = source.shared_bytes
        self.validators = dict[int, Validator]()  # made when they are needed: a mutant seldom lives to the second
        self.why_not = "" if self.tiling else "it takes no length"
        self._tiles: list[TileValidator] = []
        self._far: list[FarValidator] | None = None
        self._long: dict[int, list[LongValidator]] = {}
        self._along: dict[int, LaunchSize] = {}

    def _written_out(self, size: LaunchSize) -> WrittenOut:
        """Return what is shared by the validators whose specifications have a table of terms in common."""
        for validator in self.validators.values():
            if validator.written.terms is size.meaning.terms:
                return validator.written
        return WrittenOut(size.meaning.terms, size.filled.program.parameters)

    def validate(self, ptx: str, entry: str) -> Validation:
        """Return the verdict at the first size, or of the first that is not equal, which its findings name.

        What is equal at all sizes, and not shown to be so at every length, is unknown, where that can be tried.
        """
        found = self._in_blocks(ptx, entry)
        if found.verdict != "equal" or not self.tiling or not self.tiling.of_loops:
            return found
        along = self.along_loops(ptx, entry)
        return replace(found, long=along.long) if along.verdict == "equal" else along

    def _in_blocks(self, ptx: str, entry: str) -> Validation:
        """Return the verdict at the sizes, and in the blocks of others."""
        verdicts = []
        for number, size in enumerate(self.sizes):
            if number not in self.validators:
                program, written = size.filled.program, self._written_out(size)
                self.validators[number] = Validator(program, size.meaning.wanted, written, self.alignment)
            found = self.validators[number].validate(ptx, entry, size.lengths, self.shared_bytes)
            if number and size.meaning.is_large:
                del self.validators[number]
                size.forget()
            if found.verdict != "equal":
                where = f"at length {size}, " if number else ""
                return replace(found, findings=tuple(f"{where}{finding}" for finding in found.findings))
            verdicts.append(found)
        tiles = self._for_every_length()
        if not tiles:
            found = self._far_out(ptx, entry)
            return found if found.verdict == "different" else replace(verdicts[0], far=found.far)
        for each in tiles:
            everywhere = each.validate(ptx, entry, self.shared_bytes)
            if everywhere.verdict == "unknown":
                found = self._far_out(ptx, entry)
                if found.verdict == "different":
                    return found
                if self.tiling and self.tiling.of_loops:  # of which 'every length' is not said anyhow
                    return replace(verdicts[0], far=found.far)
            if everywhere.verdict != "equal":
                where = "not shown for every length: " if everywhere.verdict == "unknown" else "at some length, "
                return replace(everywhere, findings=tuple(f"{where}{finding}" for finding in everywhere.findings))
        if self.tiling and self.tiling.of_loops:
            return replace(verdicts[0], every_block_at=self._in_two_trips().lengths[-1])
        return replace(verdicts[0], everywhere=True)

    def along_loops(self, ptx: str, entry: str, kept: Sequence[int] = _TRIPS) -> Validation:
        """Return the verdict at huge lengths along loops, of which so many trips are kept, and which these are."""
        found = Validation("equal", 0, ())
        for trips in kept:  # compilers put up to sixteen trips together, and three such are needed
            for each in self._for_long_loops(trips):
                try:
                    found = each.validate(ptx, entry, self.shared_bytes)
                except NotTiled:
                    return Validation("equal", 0, ())
                if found.verdict != "equal":
                    break
            else:
                long = self._for_long_loops(trips)
                wrong = self._where_it_turns(ptx, entry, trips, long) if long else None
                return wrong or replace(found, long=tuple(map(str, long)))
            if each.decided or found.verdict == "different":
                break
        return replace(found, findings=tuple(f"in {each}, {finding}" for finding in found.findings))

    def _where_it_turns(self, ptx: str, entry: str, trips: int, long: Sequence[LongValidator]) -> Validation | None:
        """Return what is wrong at lengths along loops that the kernel compares its own with, None for nothing."""
        assert self.tiling is not None
        assert self.tiling.of_loops is not None
        chunk, tried = self.tiling.of_loops.tile, {size.lengths[-1] for size in self.sizes}
        first = max(long, key=lambda each: each.long)
        other = self._at_length(first.long - UNIT * chunk, trips * chunk + chunk // 2 + 1, first.at)
        other.validate(ptx, entry, self.shared_bytes)
        few = (trips + trips // 3) * chunk
        for length in turning(first, other, few):
            if not self.tiling.of_loops.tile * 3 < length <= LONGEST or length in tried:
                continue
            if length > first.long and not first.has_room(length):
                why = f"the kernel asks for length {length} along loops, at which arrays have no room"
                return Validation("unknown", 0, (why,))
            if length < few:
                size = self._size_along(length)
                validator = Validator(size.filled.program, size.meaning.wanted, self._written_out(size), self.alignment)
                found = validator.validate(ptx, entry, size.lengths, self.shared_bytes)
            else:
                kept = trips * chunk + (length - trips * chunk) % (trips // 3 * chunk)
                found = self._at_length(length, kept, first.at).validate(ptx, entry, self.shared_bytes)
            if found.verdict != "equal":
                return replace(
                    found, findings=tuple(f"at length {length} along loops, {each}" for each in found.findings)
                )
        return None

    def _at_length(self, length: int, kept: int, at: Mapping[Axis, int]) -> LongValidator:
        assert self.tiling is not None
        size = self._size_along(kept)
        program, written = size.filled.program, self._written_out(size)
        return LongValidator(program, self.tiling, size.meaning.wanted, written, self.alignment, at, (length, kept))

    def _size_along(self, length: int) -> LaunchSize:
        """Return the size of a length along loops at which a block is whole."""
        assert self.tiling is not None
        if length not in self._along:
            lengths: dict[Axis, int] = {each.axis: max(each.tile, each.reach) for each in self.tiling.of_grid}
            size = size_at(self.sizes[0].filled, self.tiling, {**lengths, "k": length})
            assert size is not None, "a specification that goes on with the length"
            self._along[length] = size
        return self._along[length]

    def _for_long_loops(self, trips: int) -> list[LongValidator]:
        if trips not in self._long:
            assert self.tiling is not None
            assert self.tiling.of_loops is not None
            chunk = self.tiling.of_loops.tile
            size = self._size_along(trips * chunk + chunk // 2 + 1)
            written, wanted = self._written_out(size), size.meaning.wanted
            program, short = size.filled.program, size.lengths[-1]
            validators = long_validators(program, self.tiling, wanted, written, self.alignment, short, LONGEST)
            try:
                self._long[trips] = list(validators)
            except NotTiled:
                self._long[trips] = []
        return self._long[trips]

    def _far_out(self, ptx: str, entry: str) -> Validation:
        """Return the verdict of the first block far out that is not equal, or which are."""
        found = Validation("equal", 0, ())
        for each in self._for_far_blocks():
            found = each.validate(ptx, entry, self.shared_bytes)
            if found.verdict != "equal":
                return replace(found, findings=tuple(f"in {each}, {finding}" for finding in found.findings))
        return replace(found, far=tuple(map(str, self._for_far_blocks())))

    def _for_far_blocks(self) -> list[FarValidator]:
        if self._far is None:
            size, written = self.sizes[0], self.validators[0].written
            try:
                self._far = list(_far_validators(size, self.tiling, written, self.alignment)) if self.tiling else []
            except NotTiled:
                self._far = []
        return self._far

    def _in_two_trips(self) -> LaunchSize:
        """Return a size at which loops along a length have a second, cut trip, and blocks along the grid are whole."""
        assert self.tiling is not None
        assert self.tiling.of_loops is not None
        chunk, axes = self.tiling.of_loops.tile, self.tiling.of_grid
        fit = [
            size
            for size in self.sizes
            if size.lengths[-1] > chunk and all(n >= axis.tile for n, axis in zip(size.lengths, axes, strict=False))
        ]
        return min(fit, key=lambda size: (size.lengths[-1], size.lengths), default=self.sizes[0])

    def _for_every_length(self) -> list[TileValidator]:
        """Return the validators for all blocks: of those that are first along an axis, and of others."""
        if not self._tiles and not self.why_not:
            assert self.tiling is not None
            try:
                size, tiling, trailing = self.sizes[0], self.tiling, tuple[int, ...]()
                if tiling.of_loops:
                    size, only_grid = self._in_two_trips(), tiling.without_loops()
                    if only_grid is None:
                        raise NotTiled("its only length is that of its loops")
                    tiling, trailing = only_grid, size.lengths[-1:]
                written = self._written_out(size)
                self._tiles = list(tile_validators(size, tiling, written, self.alignment, trailing))
            except NotTiled as error:
                self.why_not = str(error)
        return self._tiles


def _said(size: LaunchSize, tiling: Tiling) -> Said:
    """Return what the specification says of a block, where it says something else near the ends of arrays."""
    said = NearEnds(tiling, size.filled.program, size.filled.spec)

    def of_block(cuts: Mapping[Axis, Cut], *asked: Any) -> Term:
        rests = {axis: Rest(bool(cut.first), cut.left, cut.more) for axis, cut in cuts.items()}
        return said.wanted(rests, *asked)

    return of_block


def _far_validators(
    size: LaunchSize, tiling: Tiling, written: WrittenOut, alignment: Sequence[int]
) -> Iterator[FarValidator]:
    program, wanted = size.filled.program, size.meaning.wanted
    said = _said(size, tiling) if any(axis.edges for axis in tiling.axes) else None
    yield from far_validators(program, tiling, wanted, written, alignment, said)


def tile_validators(
    size: LaunchSize,
    tiling: Tiling,
    written: WrittenOut,
    alignment: Sequence[int] | None,
    trailing: Sequence[int] = (),
    kind: type[TileValidator] = TileValidator,
) -> Iterator[TileValidator]:
    """Yield what validates a text for every block of every length: blocks that are first along an axis apart.

    `trailing` are the numbers of the kernel that follow the lengths of the tiling, if the size has such.
    """
    program, wanted = size.filled.program, size.meaning.wanted
    if not any(axis.edges for axis in tiling.axes):
        yield kind(program, tiling, wanted, written, alignment, trailing=trailing)
        return
    of_block = _said(size, tiling)
    for first in itertools.product((False, True), repeat=len(tiling.axes)):
        told = dict(zip(tiling.declared, first, strict=True))
        yield kind(program, tiling, wanted, written, alignment, of_block, told)


def settled(
    validation: Validation, source: CudaSource, sizes: Sequence[LaunchSize], ptx: str
) -> tuple[CheckStatus, str]:
    """Return the verdict on a printed text, in words too; where terms differ, the PTX is run on numbers."""
    if validation.verdict == "equal":
        covered = count(validation.outputs, "output")
        if others := sizes[1:]:
            covered += f"; {at_the_lengths(others)} too"
        everywhere = ", for every block of every length" if validation.everywhere else ""
        if validation.far:
            everywhere = f", and in blocks far out, such as {validation.far[0]}"
        if along := validation.every_block_at:
            everywhere = f", and at length {along} along its loops for every block of every length of its grid"
        if validation.long:
            everywhere += f", and in {validation.long[0]}"
        return CheckStatus.EQUAL, f"equal to the specification, validated for all inputs ({covered}){everywhere}"
    if validation.broken:
        return CheckStatus.DIFFERENT, "not equal to the specification"
    why = "terms differ" if validation.verdict == "different" else "not everything in it is interpreted"
    try:
        tried = compare(sizes, on_ptx(source, ptx), 0)
    except NotInterpreted:
        return CheckStatus.UNDECIDED, f"not shown equal, and not run: {why}:"
    if tried.status == CheckStatus.DIFFERENT:
        wrong = [line for line in tried.lines if "wrong" in line or "not equal" in line]
        more = f" ({len(wrong) - 1} more kinds of data or lengths show it)" if wrong[1:] else ""
        return CheckStatus.DIFFERENT, f"not equal to the specification: {wrong[0]}{more}"
    return CheckStatus.UNDECIDED, f"not shown equal: the numbers agree on random inputs, but {why}:"


Array: TypeAlias = npt.NDArray[Any]
Kind: TypeAlias = Literal["small numbers", "arbitrary numbers", "extreme numbers"]

KINDS: Final[tuple[Kind, ...]] = ("small numbers", "arbitrary numbers", "extreme numbers", "small numbers")
"""The data of each run; the position is the seed."""
TOLERANCE: Final = 1e-9
"""Of the largest magnitude in the array: what order and grouping may change in double precision."""


class Difference(Struct, frozen=True):
    """An output element on which a kernel and its specification give different numbers for the same input."""

    seed: int
    kind: Kind
    cell: str
    got: str
    wanted: str

    def __str__(self) -> str:
        where = f"on random input {self.seed} ({self.kind})"
        return f"{where}, {self.cell} is {self.got}, the specification says {self.wanted}"


class _Doubles(Numbers):
    """Numbers with every float in double precision, so that rounding is no difference."""

    def blank(self, size: int, dtype: DType) -> Lanes:
        return super().blank(size, _wide(dtype))

    def constant(self, value: Any, dtype: DType) -> Any:
        return super().constant(value, _wide(dtype))

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        return super().binary(op, a, b, _wide(dtype))

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        return super().apply(function, operands, _wide(dtype))

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        return super().cast(a, source, _wide(target))

    def reduce(self, op: str, active: Any, values: Any, init: Any, dtype: DType) -> Lanes:
        return super().reduce(op, active, values, init, _wide(dtype))


def numeric_difference(program: Program, spec: Callable[..., Any]) -> Difference | None:
    """Run a kernel and its specification on numbers; return an element that differs, or None when none does."""
    program = in_doubles(program)
    for seed, kind in enumerate(KINDS):
        rng = np.random.default_rng(seed)
        given = {p.name: np.asarray(_random(p, rng, kind)) for p in inputs(program)}
        token = CONVERT.set(lambda value, target: as_numbers(value, _wide(target)))
        try:
            wanted = numbers(program, spec, given)
        finally:
            CONVERT.reset(token)
        run = Machine(program, _Doubles(), {name: array.reshape(-1) for name, array in given.items()}).run()
        for parameter in outputs(program):
            memory, want = run.memories[parameter.name], wanted[parameter.name].reshape(-1)
            wrong = ~memory.written | _differs(memory.data, want)
            if wrong.any():
                address = int(np.flatnonzero(wrong)[0])
                got = str(memory.data[address]) if memory.written[address] else "never written"
                cell = cell_name(parameter.name, parameter.shape, address)
                return Difference(seed, kind, cell, got, str(want[address]))
    return None


def in_doubles(program: Program) -> Program:
    """Return a program with every float of its parameters in double precision."""
    return replace(program, parameters=tuple(replace(p, dtype=_wide(p.dtype)) for p in program.parameters))


def _wide(dtype: DType) -> DType:
    return DType.F64 if dtype.is_float else dtype


def _differs(got: Array, want: Array) -> npt.NDArray[np.bool_]:
    if got.dtype.kind != "f":
        return np.asarray(got != want)
    with np.errstate(all="ignore"):
        scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0)))
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= TOLERANCE * scale)
    return np.asarray(~same)


def _random(parameter: Parameter, rng: np.random.Generator, kind: Kind) -> Array:
    dtype: np.dtype[Any] = np.dtype(NUMPY_DTYPES[parameter.dtype])
    if dtype.kind == "f":
        if kind == "small numbers":
            return rng.integers(-8, 8, parameter.shape, endpoint=True).astype(dtype)
        scale = 1000.0 if kind == "extreme numbers" else 1.0
        return scale * rng.standard_normal(parameter.shape)
    low, high = bounds_of(parameter)
    match kind:
        case "small numbers":
            return rng.integers(max(low, -100), min(high, 100), parameter.shape, dtype=dtype, endpoint=True)
        case "arbitrary numbers":
            return rng.integers(low, high, parameter.shape, dtype=dtype, endpoint=True)
        case "extreme numbers":
            return rng.choice(
                np.array(
                    sorted({low, min(low + 1, high), max(low, -1), 0, min(1, high), max(high - 1, 0), high}), dtype
                ),
                parameter.shape,
            )
