"""How a kernel uses its grid: its coordinates, its largest grid, block 0 alone, and how far it reaches into arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from cuda_out.tiling.tiling import AXES
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, launch_facts, range_of, rewrite
from symbolic.ir.intervals import Bound, Range
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, children, own_expressions, rewrite_program, statements, subexpressions

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
