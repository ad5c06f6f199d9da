"""How a kernel uses its grid: its coordinates, its largest grid, block 0 alone, and how far it reaches into arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from cuda_out.analysis.facts import Facts, launch_facts, range_of
from cuda_out.analysis.flow import rewrite
from cuda_out.tiling.tiling import AXES
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, children, map_own, own_expressions, statements, subexpressions, with_children

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

    def change(expr: Expr) -> Expr:
        if isinstance(expr, ir.Coordinate) and expr.name == "blockIdx" and expr.axis in axes:
            return ir.Const(0, DType.INDEX, expr.place)
        return with_children(expr, tuple(map(change, children(expr))))

    def each(body: Body) -> Body:
        found: list[Stmt] = []
        for stmt in body:
            stmt = map_own(stmt, change)
            match stmt:
                case ir.For(body=inner):
                    stmt = replace(stmt, body=each(inner))
                case ir.If(then=then, otherwise=otherwise):
                    stmt = replace(stmt, then=each(then), otherwise=each(otherwise))
                case _:
                    pass
            found.append(stmt)
        return tuple(found)

    x, y, z = (1 if axis in axes else size for axis, size in zip(AXES, program.grid, strict=True))
    return replace(program, body=each(program.body), grid=(x, y, z))


def largest_indices(program: Program) -> dict[str, tuple[float, ...]]:
    """Return the largest index that is used in each dimension of a global array; infinite if unknown."""
    parameters = {parameter.name for parameter in program.parameters}
    found: dict[str, tuple[float, ...]] = {}

    def note(array: str, indices: tuple[Expr, ...], facts: Facts) -> None:
        if array in parameters:
            highest = tuple(range_of(index, facts).hi for index in indices)
            found[array] = tuple(map(max, highest, found.get(array, highest)))

    def visit(stmt: Stmt, facts: Facts) -> Body:
        if isinstance(stmt, ir.Store):
            note(stmt.array, stmt.indices, facts)
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, ir.Load):
                    note(part.array, part.indices, facts)
        return (stmt,)

    rewrite(program.body, launch_facts(program), visit)
    return found
