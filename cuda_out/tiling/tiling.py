"""Arrays of any length, for a kernel whose blocks all do the same work, shifted: lengths, tiles and extents.

Along a tiled axis of the grid there is one number, the *length* n. Each block takes `tile` units of it. An array that
is tiled there has `scale * n + halo` elements along one dimension, of which a block owns `scale * tile`. A length is a
multiple of `step`, which is 1 if a block may be cut anywhere.

    >>> conv = Span("x", 1, 2)   # the inputs of a convolution with three weights
    >>> conv.extent({"x": 100})
    102
    >>> TiledAxis("x", 64, 1, 128).blocks(100)
    2

How a kernel uses its grid is asked here, too: its coordinates, its largest grid, block 0 alone, and how far it reaches
into arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from symbolic.ir import program as ir
from symbolic.ir.facts import Bound, Facts, Range, launch_facts, range_of, rewrite
from symbolic.ir.program import Axis, DType, Expr, Parameter, Program, Stmt
from symbolic.ir.walk import Body, children, own_expressions, rewrite_program, statements, subexpressions

AXES: tuple[Axis, ...] = ("x", "y", "z")


class TiledAxis(Struct, frozen=True):
    """An axis of the grid whose number of blocks follows from a length; `declared` is the sketch's own length.

    A block that has `reach` units of the length before it, or more, finds all elements that it accesses, whatever the
    array; 0 where a block may access elements that are farther away. At lengths up to `narrow`, offsets have 32 bits, 0
    if nothing is gained: those from the beginning of an array, if this is the only axis of the grid that is tiled, and
    else those from where a block's part of an array begins whose rows follow the length.

    An axis with `edges` has blocks that ask how much is before them, of which `before` units at most matter, and how
    much is left, of which `reach` units matter; lengths are `least` at least.

    `k` is no axis of the grid: along it each block runs loops over the whole length, `tile` units each trip.
    """

    axis: Axis
    tile: int
    step: int
    declared: int
    reach: int = 0
    narrow: int = 0
    edges: bool = False
    before: int = 0
    least: int = 1

    def blocks(self, length: int) -> int:
        return -(-length // self.tile)


class Span(Struct, frozen=True):
    """How long an array is in one dimension: `scale * n + halo`, where n is the length along `axis`."""

    axis: Axis
    scale: int
    halo: int

    def extent(self, lengths: Mapping[Axis, int]) -> int:
        return self.scale * lengths[self.axis] + self.halo


class Masks(Struct, frozen=True):
    """What follows the length along `k`, and what is done past its end where a statement cannot be left out.

    A load gives `filler` there. If `counts`, numbers of the kernel's data that equal the declared length are it.
    """

    filler: int | float
    counts: bool


class Tiling(Struct, frozen=True):
    """The tiled axes of a kernel, and the span of each dimension of each array, None if its size is fixed.

    `evidence` holds the lengths, in the order of the axes, at which the specification was compared and continued in the
    same way. `tried` is what was left for a block along each axis where it was run near edges; empty if that was all.
    `kept` says why a length along loops is the sketch's, '' where there is none such.
    """

    axes: tuple[TiledAxis, ...]
    spans: Mapping[str, tuple[Span | None, ...]]
    evidence: tuple[tuple[int, ...], ...] = ()
    tried: tuple[tuple[int, ...], ...] = ()
    masks: Masks = Masks(0, False)
    kept: str = ""

    def __hash__(self) -> int:
        return hash(
            (self.axes, self.evidence, self.masks)
        )  # what has equal axes has equal spans, but for other kernels

    @property
    def of_grid(self) -> tuple[TiledAxis, ...]:
        """The axes that are the grid's."""
        return tuple(each for each in self.axes if each.axis != "k")

    @property
    def narrow_offsets(self) -> bool:
        """Whether offsets of 32 bits may count from the beginning of arrays, and not from that of a block's part."""
        return len(self.axes) == 1 and self.axes[0].narrow > 0

    @property
    def of_loops(self) -> TiledAxis | None:
        """The axis that loops run along, if there is one."""
        return next((each for each in self.axes if each.axis == "k"), None)

    def without_loops(self) -> Tiling | None:
        """Return the tiling of the same kernel with its own length along loops; None if nothing else is tiled."""
        spans = {name: tuple(s if s and s.axis != "k" else None for s in each) for name, each in self.spans.items()}
        evidence = tuple(each[: len(self.of_grid)] for each in self.evidence)
        return replace(self, axes=self.of_grid, spans=spans, evidence=evidence) if self.of_grid else None

    @property
    def declared(self) -> dict[Axis, int]:
        """The lengths of the sketch."""
        return {each.axis: each.declared for each in self.axes}

    def shape(self, parameter: Parameter, lengths: Mapping[Axis, int]) -> tuple[int, ...]:
        """Return an array's shape at these lengths."""
        spans = self.spans[parameter.name]
        return tuple(
            extent if span is None else span.extent(lengths)
            for extent, span in zip(parameter.shape, spans, strict=True)
        )

    def grid(self, program: Program, lengths: Mapping[Axis, int]) -> tuple[int, int, int]:
        """Return the grid that covers these lengths."""
        blocks = {each.axis: each.blocks(lengths[each.axis]) for each in self.of_grid}
        x, y, z = (blocks.get(axis, size) for axis, size in zip(AXES, program.grid, strict=True))
        return x, y, z

    def at(self, program: Program, lengths: Mapping[Axis, int]) -> Program:
        """Return the program with the shapes and the grid of these lengths; its body is left as it is."""
        parameters = tuple(replace(p, shape=self.shape(p, lengths)) for p in program.parameters)
        return replace(program, parameters=parameters, grid=self.grid(program, lengths))

    def lengths(self, program: Program) -> dict[Axis, int]:
        """Return the lengths of a program that `at` returned, read from its outputs."""
        found: dict[Axis, int] = {}
        for parameter in program.parameters:
            for extent, span in zip(parameter.shape, self.spans[parameter.name], strict=True):
                if span is not None:
                    found[span.axis] = (extent - span.halo) // span.scale
        return found

    def valid(self, lengths: Mapping[Axis, int]) -> bool:
        return all(lengths[each.axis] >= each.least and lengths[each.axis] % each.step == 0 for each in self.axes)

    def pitched(self, name: str) -> int | None:
        """Return the only dimension behind the first in which an array follows a length, if there is one."""
        found = [place for place, span in enumerate(self.spans[name]) if span is not None and place > 0]
        return found[0] if len(found) == 1 else None

    def tails(self) -> list[dict[Axis, int]]:
        """Return lengths that cut a block off, are shorter than one block, or need more blocks than the sketch has.

        One axis has such a length at a time, and the others one block, so that they cost little; in the end all have.
        """
        wanted: list[dict[Axis, int]] = []
        one_block = {each.axis: min(each.declared, each.tile) for each in self.axes}
        for each in self.axes:
            for length in (each.step, each.least, each.tile - each.step, each.tile + each.step, 3 * each.tile):
                wanted.append({**one_block, each.axis: length})
        wanted.append({each.axis: each.tile + each.step for each in self.axes})
        return [lengths for n, lengths in enumerate(wanted) if self.valid(lengths) and lengths not in wanted[:n]]


MANY = 2**31 - 1
"""The number of blocks along an axis of a grid that may have any size."""


def uses_blocks(program: Program, axis: ir.Axis) -> bool:
    """Say whether a kernel uses its block's index along an axis, or the number of blocks there."""
    return any(part.name in ("blockIdx", "gridDim") and part.axis == axis for part in coordinates(program))


def coordinates(program: Program) -> Iterator[ir.Coordinate]:
    """Yield every use of a coordinate of the launch."""
    for stmt in statements(program.body):
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, ir.Coordinate):
                    yield part


def endless(program: Program, axes: Sequence[ir.Axis]) -> Program:
    """Return the program with as many blocks along these axes as a grid can have."""
    x, y, z = (MANY if axis in axes else size for axis, size in zip(AXES, program.grid, strict=True))
    return replace(program, grid=(x, y, z))


def first_block(program: Program, axes: Sequence[ir.Axis]) -> Program:
    """Return what block 0 along these axes runs, on a grid with one block there."""

    def rule(expr: Expr) -> Expr:
        if isinstance(expr, ir.Coordinate) and expr.name == "blockIdx" and expr.axis in axes:
            return ir.Const(0, DType.INDEX, expr.place)
        return expr

    x, y, z = (1 if axis in axes else size for axis, size in zip(AXES, program.grid, strict=True))
    return replace(rewrite_program(program, rule), grid=(x, y, z))


def largest_indices(program: Program) -> dict[str, tuple[float, ...]]:
    """Return the largest index that is used in each dimension of a global array; infinite if unknown."""
    return {name: tuple(each.hi for each in found) for name, found in index_ranges(program).items()}


def index_ranges(program: Program, known: Facts | None = None) -> dict[str, tuple[Range, ...]]:
    """Return between what the indices in each dimension of a global array are, where `known` holds of the launch."""
    parameters = {parameter.name for parameter in program.parameters}
    found: dict[str, tuple[Range, ...]] = {}

    def note(array: str, indices: tuple[Expr, ...], facts: Facts) -> None:
        if array in parameters:
            here = tuple(range_of(index, facts) for index in indices)
            found[array] = tuple(map(Range.join, here, found.get(array, here)))

    def visit(stmt: Stmt, facts: Facts) -> Body:
        if isinstance(stmt, ir.Store):
            note(stmt.array, stmt.indices, facts)
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, ir.Load):
                    note(part.array, part.indices, facts)
        return (stmt,)

    rewrite(program.body, {**launch_facts(program), **(known or {})}, visit)
    return found


def _summands(expr: Expr) -> Iterator[ir.Coordinate]:
    """Yield the coordinates that an expression is a sum of, with others and with factors."""
    match expr:
        case ir.Coordinate():
            yield expr
        case ir.Unary(op="-") | ir.Binary(op="+" | "-" | "*"):
            for part in children(expr):
                yield from _summands(part)
        case _:
            pass


def edge_comparisons(program: Program, known: Facts) -> Iterator[tuple[str, int, Bound]]:
    """Yield what comparisons ask of `before` and `left`: the fact's name, a factor, and up to what product it matters.

    So `i + 2 * left > 7`, where i is -3 or more, is ("left.x", 2, 11).
    """
    found: list[tuple[str, int, Bound]] = []

    def note(op: str, left: Expr, right: Expr, facts: Facts) -> None:
        apart = ir.Binary("-", left, right, DType.INDEX, left.place)
        for key in {f"{leaf.name}.{leaf.axis}" for leaf in _summands(apart) if leaf.name in ("before", "left")}:
            none, one = (range_of(apart, {**facts, key: Range(n, n)}) for n in (0, 1))
            factor = one.lo - none.lo if math.isfinite(none.lo) else one.hi - none.hi
            strict = op not in ((">=", "<") if factor > 0 else ("<=", ">")) and op not in ("min", "max")
            if factor:
                found.append((key, int(abs(factor)), (-none.lo if factor > 0 else none.hi) + strict))

    def visit(stmt: Stmt, facts: Facts) -> Body:
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                match part:
                    case ir.Compare(op=op, left=left, right=right) if left.dtype is DType.INDEX:
                        note(op, left, right, facts)
                    case ir.Binary(op="min" | "max" as op, left=left, right=right, dtype=DType.INDEX):
                        note(op, left, right, facts)
                    case _:
                        pass
        return (stmt,)

    rewrite(program.body, {**launch_facts(program), **known}, visit)
    yield from found
