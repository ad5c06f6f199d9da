"""Give coordinates one name each, and read values from the variables that already hold them.

`plain_coordinates` undoes `lane = cuda.laneid`, so that index arithmetic sees how coordinates are related.
`reuse_names` finds every use of a value that a variable holds, and reads the variable instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from cuda_out.analysis.values import is_computable
from cuda_out.passes.references import Definitions, forget
from symbolic.ir import program as ir
from symbolic.ir.program import Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    assigned_in,
    map_bodies,
    map_own,
    names_in,
    own_expressions,
    rebuild,
    same,
    statements,
    subexpressions,
    substitute,
)


def plain_coordinates(program: Program) -> Program:
    """Return the same program with variables that only name a coordinate replaced by the coordinate.

    In a block of one warp and one dimension, lane and thread are the same; the lane is kept if the program uses it.
    """
    times, _ = variable_counts(program.body)
    aliases = {
        stmt.name: stmt.value
        for stmt in program.body
        if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Coordinate) and times[stmt.name] == 1
    }
    one_warp = math.prod(program.block) == program.block[0] <= program.warp_size
    one_warp &= any(
        isinstance(part, ir.Coordinate) and part.name == "laneid"
        for stmt in statements(program.body)
        for expr in own_expressions(stmt)
        for part in subexpressions(expr)
    )

    def change(expr: Expr) -> Expr:
        match expr:
            case ir.Var(name=name) if name in aliases:
                return change(aliases[name])
            case ir.Coordinate(name="threadIdx", axis="x") if one_warp:
                return replace(expr, name="laneid")
            case _:
                return rebuild(expr, change)

    return replace(program, body=mapped(program.body, change))


def mapped(body: Body, change: Callable[[Expr], Expr]) -> Body:
    return tuple(map_bodies(map_own(stmt, change), lambda inner: mapped(inner, change)) for stmt in body)


def reuse_names(program: Program) -> Program:
    """Return the same program, in which every value that a variable holds is read from that variable."""
    return replace(program, body=_Reuse(program).body(program.body, {}))


class _Reuse:
    """Knows how often each variable is assigned and read."""

    def __init__(self, program: Program) -> None:
        self._assigned, self._read = variable_counts(program.body)

    def body(self, body: Body, known: Definitions) -> Body:
        found: list[Stmt] = []
        rest = list(body)
        while rest:
            stmt = rest.pop(0)
            changed = map_own(stmt, lambda expr, known=dict(known): _named(expr, known))  # type: ignore[misc]
            forget(known, assigned_in((stmt,)))
            changed = map_bodies(changed, lambda inner: self.body(inner, dict(known)))
            match stmt, changed:
                case ir.Assign(name=name), ir.Assign(value=ir.Var() as value) if self._is_alias(name, value, rest):
                    rest = list(mapped(tuple(rest), lambda expr, n=name, v=value: substitute(expr, n, v)))  # type: ignore[misc]
                    continue
                case ir.Assign(name=name, value=value), _ if _is_worth_a_name(value) and name not in names_in(value):
                    known[name] = value
                case _:
                    pass
            found.append(changed)
        return tuple(found)

    def _is_alias(self, name: str, value: ir.Var, rest: list[Stmt]) -> bool:
        """Say whether a variable is but another name for one that never changes, wherever it is read."""
        once = self._assigned[name] == 1 == self._assigned[value.name]
        return once and variable_counts(tuple(rest))[1][name] == self._read[name]


def _is_worth_a_name(value: Expr) -> bool:
    trivial = isinstance(value, ir.Const | ir.Var)
    return not trivial and not value.dtype.is_data and is_computable(value, {})


def variable_counts(body: Body) -> tuple[Counter[str], Counter[str]]:
    """Count how often each variable is assigned, and how often it is read."""
    assigned: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for stmt in statements(body):
        match stmt:
            case ir.Assign(name=name) | ir.For(variable=name):
                assigned[name] += 1
            case _:
                pass
        for expr in own_expressions(stmt):
            read.update(part.name for part in subexpressions(expr) if isinstance(part, ir.Var))
    return assigned, read


def _named(expr: Expr, known: Definitions) -> Expr:
    if not expr.dtype.is_data:
        for name, value in known.items():
            if same(expr, value):
                return ir.Var(name, expr.dtype, expr.place)
    return rebuild(expr, lambda child: _named(child, known))
