"""The conditions under which a kernel may be run at lengths that were not declared, and their check.

1. Every access to a global array shifts evenly with the block (`cuda_out.tiling.translation`), and extents are linear
   in one length for each axis (`extents`).
2. The specification continues in the same way: at every length at which it can be evaluated, each block's outputs are
   those of block 0, shifted.
3. Without its bounds, on arrays that never end, the kernel computes that. The machine shows it on the smallest grid
   with two blocks along each tiled axis; as blocks shift evenly, it then holds for any number of blocks.
4. An output inside its array depends only on inputs inside theirs. So the value that replaces a load out of range has
   no influence: the kernel equals its specification for all inputs, hence also for such values. If this fails when a
   block may be cut off anywhere, lengths are multiples of a `step`.

From strides to lengths: what one number along an axis of the grid says about the extents of all arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import gcd, prod
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.passes.references import plain_coordinates
from cuda_out.passes.simplify import simplify
from cuda_out.tiling.tiling import AXES, Span, TiledAxis, Tiling, endless, largest_indices, uses_blocks
from cuda_out.tiling.translation import Ends, NotTranslated, Translated, translated
from cuda_out.tiling.trips import one_tile, without_bounds
from swizzle.answers.emit.any_length.continuation import (
    Index,
    MeaningAt,
    SharedTerms,
    block_of,
    by_block,
    cell_at,
    index_of,
    meaning_at,
)
from swizzle.answers.emit.any_length.edges import NoEdges, asks_for_ends, with_edges
from swizzle.language.specs.specification import Meaning, outputs
from swizzle.language.specs.verify import run_canonical
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place, SwizzleError
from symbolic.ir.functions import Gather
from symbolic.ir.program import Axis, Parameter, Program, Store
from symbolic.ir.walk import functions_of, statements


class Extents(Struct, frozen=True):
    """A tiled axis, and the dimensions of arrays that grow with it."""

    axis: TiledAxis
    spans: Mapping[str, tuple[Span | None, ...]]


def extents(program: Program, moves: Translated) -> Extents | NotTranslated:
    """Find the length along an axis of which the extents of all arrays are linear functions.

    The outputs begin and end with the length; inputs may have a fixed number of elements more (a halo).
    """
    axis = moves.axis
    blocks = program.grid[AXES.index(axis)]
    for parameter in program.parameters:
        strides = moves.strides[parameter.name]
        if min(strides, default=0) < 0:
            return _no(f"accesses to {parameter.name} move backwards along blockIdx.{axis}", parameter.place)
        moving = sum(stride > 0 for stride in strides)
        if parameter.by_value and moving:
            return _no(f"{parameter.name}, which is passed by value, would grow with the length", parameter.place)
        if parameter.role in ("out", "inout") and moving != 1:
            found = "no dimension" if not moving else f"{moving} dimensions"
            return _no(f"{found} of {parameter.name} moves with blockIdx.{axis}, not one", parameter.place)
    tile = gcd(*(stride for strides in moves.strides.values() for stride in strides))
    declared: int | None = None
    for parameter in program.parameters:
        if parameter.role not in ("out", "inout"):
            continue
        extent, stride = _moving(parameter, moves)
        scale = stride // tile
        length = extent // scale
        if extent % scale or -(-length // tile) != blocks:
            what = f"{parameter.name} has {extent} elements along {axis}"
            return _no(f"{what}, but {blocks} blocks of {stride} cover {blocks * stride}", parameter.place)
        if declared not in (None, length):
            return _no(f"the outputs have different lengths along {axis}, {declared} and {length}", parameter.place)
        declared = length
    assert declared is not None, "a kernel has an output"
    spans: dict[str, tuple[Span | None, ...]] = {}
    for parameter in program.parameters:
        strides = moves.strides[parameter.name]
        spans[parameter.name] = tuple(
            Span(axis, stride // tile, extent - stride // tile * declared) if stride else None
            for extent, stride in zip(parameter.shape, strides, strict=True)
        )
    return Extents(TiledAxis(axis, tile, 1, declared), spans)


def _moving(parameter: Parameter, moves: Translated) -> tuple[int, int]:
    """Return the extent and the stride of the dimension that moves."""
    pairs = zip(parameter.shape, moves.strides[parameter.name], strict=True)
    ((extent, stride),) = [pair for pair in pairs if pair[1]]
    return extent, stride


def _no(why: str, place: Place) -> NotTranslated:
    return NotTranslated(why, place)


SpecFunction: TypeAlias = Callable[..., Any]
MAX_CELLS: Final = 1 << 20
OFFSETS: Final = 2**31 - 1
FARTHEST: Final = 2
"""Tiles that a block may access for elements to count as within its reach."""
"""The largest array on which the kernel is tried without its bounds."""


class FixedSize(Struct, frozen=True):
    """Why a kernel keeps its sizes: one sentence without its full stop, and the place that it is about."""

    why: str
    place: Place

    def __str__(self) -> str:
        return f"{self.why} (line {self.place.line})"


class Fixed(Exception):
    """A condition does not hold."""


def any_length(
    program: Program, spec: SpecFunction, others: Callable[[], Iterable[tuple[Program, SpecFunction]]] = tuple
) -> Tiling | FixedSize:
    """Find the axes of the grid along which a verified kernel without holes may have any length.

    `others` gives the same sketch with other values of its parameters, for a specification that fixes its sizes.
    """
    without = _without_edges(program, spec, others)
    found = _movable(program, edges=True)
    if isinstance(found, FixedSize) or (isinstance(without, Tiling) and len(without.axes) >= len(found)):
        return without
    tiling = _tiling(program, found, edges=True)
    try:
        if not asks_for_ends(program, tiling):
            return without
        conditions = LengthConditions(program, spec, with_edges(program, spec, tiling))
    except NoEdges as no:
        return FixedSize(str(no), program.place) if str(no) and isinstance(without, FixedSize) else without
    return replace(conditions.tiling, axes=tuple(map(conditions.with_reach, conditions.tiling.axes)))


def _without_edges(
    program: Program, spec: SpecFunction, others: Callable[[], Iterable[tuple[Program, SpecFunction]]]
) -> Tiling | FixedSize:
    """Find the axes for a kernel that is the same in every block, but for the bounds of its arrays."""
    found = _movable(program)
    if isinstance(found, FixedSize):
        return found
    reasons = []
    for chosen in _choices(found):
        try:
            return LengthConditions(program, spec, _tiling(program, chosen)).check(others)
        except Fixed as no:
            reasons.append(str(no))
    return FixedSize(reasons[0], program.place)


def own_lengths(program: Program, axes: Collection[Axis] = AXES) -> Tiling | FixedSize:
    """Find the axes, some of these, along which a kernel without holes may have any length, whatever it computes.

    Each block does what block 0 does, moved, and what arrays have inside is made of what they have inside.
    """
    found = _movable(program, axes)
    if isinstance(found, FixedSize):
        return _own_edges(program, axes) or found
    reasons = []
    for chosen in _choices(found):
        try:
            return LengthConditions(program, None, _tiling(program, chosen)).check_own()
        except Fixed as no:
            reasons.append(str(no))
    return FixedSize(reasons[0], program.place)


def _own_edges(program: Program, axes: Collection[Axis]) -> FixedSize | None:
    """Say that a kernel of a host function has edges, if that is why it keeps its sizes."""
    found = _movable(program, axes, edges=True)
    try:
        if isinstance(found, FixedSize) or not asks_for_ends(program, _tiling(program, found, edges=True)):
            return None
    except NoEdges:
        return None
    why = "it treats the ends of its arrays apart, and among the kernels of a host function that keeps the file's sizes"
    return FixedSize(why, program.place)


def _movable(program: Program, axes: Collection[Axis] = AXES, *, edges: bool = False) -> list[Extents] | FixedSize:
    """Find the axes along which all accesses move evenly with the block, each with the extents that grow."""
    added = next((stmt for stmt in statements(program.body) if isinstance(stmt, Store) and stmt.atomic), None)
    if added is not None:
        return FixedSize("blocks add to elements of each other", added.place)
    found: list[Extents] = []
    refused: list[NotTranslated] = []
    used = [axis for axis in axes if uses_blocks(program, axis)]
    for axis in used:
        ends = Ends(program.grid[AXES.index(axis)]) if edges else None
        moves = translated(endless(program, used), axis, ends)
        grown = moves if isinstance(moves, NotTranslated) else extents(program, moves)
        if isinstance(grown, NotTranslated):
            refused.append(grown)
        elif (by_data := _gathered(program, grown)) is not None:
            refused.append(by_data)
        elif all(_apart(grown, other) for other in found):
            found.append(grown)
        else:
            refused.append(NotTranslated(f"a dimension of an array moves along {axis} and another axis", program.place))
    if not found:
        why = refused or [
            NotTranslated("no access depends on blockIdx, so a grid of more blocks adds nothing", program.place)
        ]
        return FixedSize(why[0].why, why[0].place)
    return found


def _choices(found: list[Extents]) -> list[list[Extents]]:
    return [found] if len(found) == 1 else [found, *([each] for each in found)]


def _gathered(program: Program, grown: Extents) -> NotTranslated | None:
    """Refuse that an array grows whose elements data chooses: the range of that data is declared for one extent."""
    for function, _ in functions_of(program):
        row = function.row
        if isinstance(row, Gather) and any(grown.spans[row.array]):
            place = next(p.place for p in program.parameters if p.name == row.array)
            what = f"{row.array} grows along {grown.axis.axis}"
            return NotTranslated(f"{what}, and data whose range is declared chooses its elements", place)
    return None


def _apart(one: Extents, other: Extents) -> bool:
    """Tell whether no dimension of an array grows with both."""
    return not any(a and b for name, spans in one.spans.items() for a, b in zip(spans, other.spans[name], strict=True))


def _tiling(program: Program, chosen: Sequence[Extents], *, edges: bool = False) -> Tiling:
    spans: dict[str, tuple[Span | None, ...]] = {}
    for parameter in program.parameters:
        columns = zip(*(each.spans[parameter.name] for each in chosen), strict=True)
        spans[parameter.name] = tuple(next(filter(None, column), None) for column in columns)
    return Tiling(tuple(replace(each.axis, edges=edges) for each in chosen), spans)


class LengthConditions:
    """Checks one choice of tiled axes; the methods raise Fixed."""

    def __init__(self, program: Program, spec: SpecFunction | None, tiling: Tiling) -> None:
        self.program, self.spec, self.tiling = program, spec, tiling
        self.shared = SharedTerms()
        self.base: dict[tuple[str, Index], Term] = {}

    def check(self, others: Callable[[], Iterable[tuple[Program, SpecFunction]]] = tuple) -> Tiling:
        spec = self.spec
        assert spec is not None
        meaning = Meaning.of(self.program, spec)
        declared = MeaningAt(self.tiling.declared, self.program, meaning.terms, meaning.wanted)
        sources = [declared]
        first, *further = self.tiling.axes
        beyond = {axis.axis: min(axis.declared, axis.tile) for axis in further}
        beyond[first.axis] = first.tile * (3 if first.declared == 2 * first.tile else 2)
        larger = meaning_at(self.tiling, self.program, spec, beyond)
        if larger is not None:
            sources.append(larger)
        else:
            sources += self._instances(others)
        self._begin(sources)
        self._find_steps()
        if larger is not None:
            sources += self._tails()
        compared = [source for source in sources if self.tiling.valid(source.lengths)]
        for source in compared:
            self._same(source, "the specification's {cell} is not that of the first block, moved")
        for axis in self.tiling.axes:
            if all(source.lengths[axis.axis] <= axis.tile for source in compared):
                raise Fixed(f"one block along {axis.axis}, so nothing shows how the specification goes on there")
        self._compare_run(*self.run())
        evidence = dict.fromkeys(tuple(source.lengths[a.axis] for a in self.tiling.axes) for source in compared)
        return replace(self.tiling, axes=tuple(map(self.with_reach, self.tiling.axes)), evidence=tuple(evidence))

    def check_own(self) -> Tiling:
        """Check the conditions of what the kernel itself makes of arrays that never end."""
        result, blocks = self.run()
        self._begin([result])
        self._find_steps()
        self._compare_run(result, blocks)
        return replace(self.tiling, axes=tuple(map(self.with_reach, self.tiling.axes)))

    def _find_steps(self) -> None:
        self.tiling = replace(self.tiling, axes=tuple(map(self.with_step, self.tiling.axes)))
        for axis in self.tiling.axes:
            if axis.declared % axis.step:
                where = f"the sketch's own length {axis.declared} along {axis.axis}"
                raise Fixed(f"{where} ends inside a step of {axis.step}, where blocks cannot be cut alike")

    def _tails(self) -> Iterator[MeaningAt]:
        """Ask the specification at lengths that cut a block, or are smaller than one, or make more blocks."""
        for lengths in self.tiling.tails():
            if lengths != self.tiling.declared:
                assert self.spec is not None
                found = meaning_at(self.tiling, self.program, self.spec, lengths)
                if found is not None:
                    yield found

    def _instances(self, others: Callable[[], Iterable[tuple[Program, SpecFunction]]]) -> Iterator[MeaningAt]:
        """Ask the specifications of other instances, where their shapes are those of some length."""
        missing = {axis.axis for axis in self.tiling.axes}
        for program, spec in others():
            lengths = _lengths_of(self.tiling, self.program, program)
            if lengths is None or lengths == self.tiling.declared:
                continue
            grown = {a.axis for a in self.tiling.axes if lengths[a.axis] > a.tile}
            found = meaning_at(self.tiling, self.program, spec, lengths)
            if found is not None and grown & missing:
                missing -= {axis for axis in grown if lengths[axis] != self.tiling.declared[axis]}
                yield found
            if not missing:
                return

    def _begin(self, sources: Sequence[MeaningAt]) -> None:
        """Learn what the specification says of block 0, where none of its outputs is cut off."""
        for source in sources:
            if any(source.lengths[axis.axis] < axis.tile for axis in self.tiling.axes):
                continue
            for name, _, local, term in by_block(self.tiling, source, self.shared, first_only=True):
                assert term is not None, "block 0 does not move"
                self.base[name, local] = term
            return
        raise Fixed("the sketch does not fill one block, so nothing shows what a whole one computes")

    def with_step(self, axis: TiledAxis) -> TiledAxis:
        """Find where a block may be cut: the smallest step at which outputs inside depend on inputs inside only."""

        def last(array: str, number: int) -> int:
            index = index_of(number, len(self.tiling.spans[array]))
            return max(((at - span.halo) // span.scale + 1 for at, span in self._along(axis, array, index)), default=0)

        furthest = self.shared.greatest(self.base.values(), last)
        needs = {
            (max(at // span.scale + 1 for at, span in self._along(axis, name, local)), furthest[term])
            for (name, local), term in self.base.items()
        }
        for step in (d for d in range(1, axis.tile + 1) if axis.tile % d == 0):
            if all(-(-own // step) * step >= needed for own, needed in needs):
                return replace(axis, step=step)
        raise Fixed(f"outputs of a block depend on inputs that the last block along {axis.axis} does not have")

    def with_reach(self, axis: TiledAxis) -> TiledAxis:
        """Find how much of the length a block must have before it to find all that it accesses."""
        needed, block = max(axis.tile, axis.reach), simplify(plain_coordinates(one_tile(self.program, self.tiling)))
        alone = len(self.tiling.of_grid) == 1
        narrow = [
            self._whole(axis, name) if alone else self._narrow(axis, name, furthest)
            for name, furthest in largest_indices(block).items()
        ]
        lengths = [length for length in narrow if length is not None]
        for name, furthest in largest_indices(block).items():
            for last, span in zip(furthest, self.tiling.spans[name], strict=True):
                if span is not None and span.axis == axis.axis:
                    units = (last - span.halo) // span.scale + 1
                    needed = max(needed, int(units)) if units <= FARTHEST * axis.tile else needed
        return replace(axis, reach=-(-needed // axis.step) * axis.step, narrow=min(lengths, default=0))

    def _whole(self, axis: TiledAxis, name: str) -> int | None:
        """Return the largest length at which all offsets in an array have 31 bits, None if no dimension follows it."""
        shape = next(p.shape for p in self.program.parameters if p.name == name)
        follows = [(extent, s) for extent, s in zip(shape, self.tiling.spans[name], strict=True) if s is not None]
        if not follows:
            return None
        if len(follows) > 1:
            return 0
        ((extent, span),) = follows
        return max(0, (OFFSETS // (prod(shape) // extent) - span.halo) // span.scale)

    def _narrow(self, axis: TiledAxis, name: str, furthest: Sequence[float]) -> int | None:
        """Return the largest length at which an offset within a block's part of an array has 31 bits.

        0 if there is none, None if the array's rows do not follow this length.
        """
        at = self.tiling.pitched(name)
        span = None if at is None else self.tiling.spans[name][at]
        if at is None or span is None or span.axis != axis.axis:
            return None
        if not all(math.isfinite(last) for last in furthest):
            return 0
        shape = next(p.shape for p in self.program.parameters if p.name == name)
        rows = sum(int(last) * prod(shape[place + 1 : at]) for place, last in enumerate(furthest[:at]))
        rest = sum(int(last) * prod(shape[place + 1 :]) for place, last in enumerate(furthest) if place >= at)
        pitch = (OFFSETS - rest) // max(1, rows * prod(shape[at + 1 :]))
        return max(0, (pitch - span.halo) // span.scale)

    def _along(self, axis: TiledAxis, name: str, index: Index) -> Iterator[tuple[int, Span]]:
        for at, span in zip(index, self.tiling.spans[name], strict=True):
            if span is not None and span.axis == axis.axis:
                yield at, span

    def _same(self, source: MeaningAt, complaint: str) -> None:
        for name, index, local, term in by_block(self.tiling, source, self.shared):
            if term is None or term != self.base[name, local]:
                raise Fixed(complaint.format(cell=cell_at(name, index)))

    def run(self) -> tuple[MeaningAt, Mapping[Axis, int]]:
        """Run the kernel without its bounds on two blocks along each axis and arrays that are long enough."""
        program = without_bounds(self.program, self.tiling)
        blocks = self._blocks(program)
        lengths = {a.axis: a.tile * blocks[a.axis] for a in self.tiling.axes}
        program = self.tiling.at(program, lengths)
        far = largest_indices(program)
        parameters = []
        for parameter in program.parameters:
            spans = self.tiling.spans[parameter.name]
            furthest = far.get(parameter.name, parameter.shape)
            shape = tuple(
                extent if span is None else max(extent, last + 1)
                for extent, span, last in zip(parameter.shape, spans, furthest, strict=True)
            )
            if prod(shape) > MAX_CELLS:
                raise Fixed(f"{parameter.name} is reached too far from its block")
            parameters.append(replace(parameter, shape=tuple(map(int, shape))))
        program = replace(program, parameters=tuple(parameters))
        terms = Terms()
        try:
            run = run_canonical(program, terms)
        except SwizzleError as error:
            raise Fixed(f"without the bounds that the arrays' lengths set, {error.found}") from None
        if run.violations:
            raise Fixed(f"without the bounds that the arrays' lengths set, {run.violations[0].message}")
        results: dict[str, list[Term]] = {}
        for parameter in outputs(program):
            memory = run.memories[parameter.name]
            results[parameter.name] = [
                int(t) if written else UNWRITTEN for t, written in zip(memory.data, memory.written, strict=True)
            ]
        return MeaningAt(lengths, program, terms, results), blocks

    def _blocks(self, program: Program) -> dict[Axis, int]:
        """Two blocks along each axis, or so many that all blocks meet that share an array to be overwritten."""
        far = largest_indices(self.tiling.at(program, {a.axis: a.tile for a in self.tiling.axes}))
        blocks = {axis.axis: 2 for axis in self.tiling.axes}
        tiles = {axis.axis: axis.tile for axis in self.tiling.axes}
        for parameter in program.parameters:
            if parameter.role == "inout" and parameter.name in far:
                for last, span in zip(far[parameter.name], self.tiling.spans[parameter.name], strict=True):
                    if span is not None and last < MAX_CELLS:
                        blocks[span.axis] = max(blocks[span.axis], int(last) // (span.scale * tiles[span.axis]) + 1)
        return blocks

    def _compare_run(self, result: MeaningAt, blocks: Mapping[Axis, int]) -> None:
        roles = {parameter.name: parameter.role for parameter in result.program.parameters}
        for name, index, local, term in by_block(self.tiling, result, self.shared):
            block = block_of(self.tiling, name, index)
            if all(block[axis] < count for axis, count in blocks.items()):
                wanted = self.base.get((name, local))
                if term is None or term != wanted:
                    raise Fixed(
                        f"without the bounds that the arrays' lengths set, {cell_at(name, index)} would be wrong"
                    )
            elif term != UNWRITTEN and roles[name] == "out":
                raise Fixed(f"a block writes {cell_at(name, index)}, which belongs to a later block")
            elif roles[name] == "inout":
                own = next(iter(self.shared.elements(term)), None) if term is not None else None
                if own is None or own[0] != name or index_of(own[1], len(local)) != local:
                    raise Fixed(f"a block writes {cell_at(name, index)}, which belongs to a later block")


def _lengths_of(tiling: Tiling, program: Program, other: Program) -> dict[Axis, int] | None:
    """Return the lengths at which the program's arrays have the shapes of the other's; None if there are none."""
    if [(p.name, p.dtype, p.role, len(p.shape)) for p in program.parameters] != [
        (p.name, p.dtype, p.role, len(p.shape)) for p in other.parameters
    ] or (program.block, program.warp_size) != (other.block, other.warp_size):
        return None
    lengths: dict[Axis, int] = {}
    for parameter in outputs(other):
        for extent, span in zip(parameter.shape, tiling.spans[parameter.name], strict=True):
            if span is not None:
                lengths[span.axis] = extent // span.scale
    shapes = [tiling.shape(parameter, lengths) for parameter in program.parameters]
    return lengths if shapes == [parameter.shape for parameter in other.parameters] else None
