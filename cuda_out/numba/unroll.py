"""Unroll, in the text, the loops that NVVM would unroll too late for numba.cuda, which has no `#pragma unroll`.

If two threads of a warp read different elements of a register array, NVVM merges the two loads into one with a dynamic
index, unless it already knows both indices. It then knows constants, but not values that depend on a loop's variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from cuda_out.analysis.unroll import is_static, loops_to_unroll, register_arrays, static_names
from cuda_out.passes.dead import drop_dead
from cuda_out.passes.simplify import simplify
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    bodies,
    children,
    map_bodies,
    map_own,
    names_in,
    own_expressions,
    statements,
    substitute,
    trips_of,
)

MOST = 4096  # statements that one loop may become


def unrolled_for_numba(program: Program) -> Program:
    """Return the same program without loops whose variables index a read that only some lanes make."""
    static, arrays = static_names(program), register_arrays(program)
    chosen = {
        loop
        for loop in loops_to_unroll(program)
        if _trips(loop) is not None and any(_reads(loop.body, False, static, arrays))
    }
    if not chosen:
        return program
    return drop_dead(simplify(replace(program, body=_unrolled(program.body, frozenset(chosen)))))


def _trips(loop: ir.For) -> range | None:
    """Return a loop's values where they are constants, and few enough."""
    values = trips_of(loop)
    return values if values is not None and len(values) * len(list(statements(loop.body))) <= MOST else None


def _reads(body: Body, chosen: bool, static: frozenset[str], arrays: frozenset[str]) -> Iterator[bool]:
    """Say of each read of a register array whether only some lanes make it, at an index that loops decide."""
    for stmt in body:
        own = [(expr, chosen) for expr in own_expressions(stmt)]
        while own:
            expr, some = own.pop()
            match expr:
                case ir.Select(condition=condition):
                    some = some or not is_static(condition, static)
                case ir.Load(array=array, indices=indices) if array in arrays:
                    yield some and any(names_in(index) & static for index in indices)
                case _:
                    pass
            own += [(child, some) for child in children(expr)]
        inside = chosen or (isinstance(stmt, ir.If) and not is_static(stmt.condition, static))
        for inner in bodies(stmt):
            yield from _reads(inner, inside, static, arrays)


def _unrolled(body: Body, chosen: frozenset[ir.For]) -> Body:
    """Return the body with the chosen loops written out."""
    found: list[Stmt] = []
    for stmt in body:
        inner = map_bodies(stmt, lambda each: _unrolled(each, chosen))
        values = _trips(stmt) if isinstance(stmt, ir.For) and stmt in chosen else None
        if values is None:
            found.append(inner)
            continue
        assert isinstance(inner, ir.For)
        for value in values:
            constant = ir.Const(value, DType.INDEX, stmt.place)
            found += [_replaced(each, inner.variable, constant) for each in inner.body]
        if values:
            found.append(ir.Assign(inner.variable, ir.Const(values[-1], DType.INDEX, stmt.place), stmt.place))
    return tuple(found)


def _replaced(stmt: Stmt, name: str, value: Expr) -> Stmt:
    changed = map_own(stmt, lambda expr: substitute(expr, name, value))
    return map_bodies(changed, lambda body: tuple(_replaced(each, name, value) for each in body))
