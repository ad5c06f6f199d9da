"""Asynchronous copies as the stores that they come to, for readers that do not ask when."""

from __future__ import annotations

from msgspec.structs import replace

from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program
from symbolic.ir.walk import Body, map_bodies, statements


def has_copies(program: Program) -> bool:
    """Tell whether a program copies asynchronously."""
    return any(isinstance(stmt, ir.CopyAsync | ir.CopyGroup) for stmt in statements(program.body))


def stores_of(copy: ir.CopyAsync) -> tuple[ir.Store, ...]:
    """Return a store for each element of a copy."""

    def further(indices: tuple[Expr, ...], place: int) -> tuple[Expr, ...]:
        if not place:
            return indices
        step = ir.Const(place, DType.INDEX, copy.place)
        return (*indices[:-1], ir.Binary("+", indices[-1], step, DType.INDEX, copy.place))

    def value(place: int) -> Expr:
        load = replace(copy.load, indices=further(copy.load.indices, place))
        return replace(copy.source, then=load) if isinstance(copy.source, ir.Select) else load

    return tuple(ir.Store(copy.array, further(copy.indices, n), value(n), copy.place) for n in range(copy.width))


def synchronous(program: Program) -> Program:
    """Return a program with stores in the place of its copies: what is right with these is right with those."""

    def body(some: Body) -> Body:
        found: list[ir.Stmt] = []
        for stmt in some:
            if isinstance(stmt, ir.CopyAsync):
                found += stores_of(stmt)
            elif not isinstance(stmt, ir.CopyGroup):
                found.append(map_bodies(stmt, body))
        return tuple(found)

    return replace(program, body=body(program.body)) if has_copies(program) else program
