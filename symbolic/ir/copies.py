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
    return tuple(ir.Store(each.array, each.indices, each.source, each.place) for each in copies_of(copy))


def copies_of(copy: ir.CopyAsync) -> tuple[ir.CopyAsync, ...]:
    """Return a copy for each element of a copy."""
    places = (ir.Const(place, DType.INDEX, copy.place) for place in range(copy.width))
    return tuple(copy_of_one(copy, place) for place in places)


def copy_of_one(copy: ir.CopyAsync, place: Expr) -> ir.CopyAsync:
    """Return a copy of the element that is so far behind the first one."""

    def further(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if isinstance(place, ir.Const) and not place.value:
            return indices
        return (*indices[:-1], ir.Binary("+", indices[-1], place, DType.INDEX, copy.place))

    load: Expr = replace(copy.load, indices=further(copy.load.indices))
    source = replace(copy.source, then=load) if isinstance(copy.source, ir.Select) else load
    return replace(copy, indices=further(copy.indices), source=source, width=1)


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
