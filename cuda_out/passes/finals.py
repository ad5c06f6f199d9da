"""Replace each accumulator's value by its final function, written out."""

from __future__ import annotations

from msgspec.structs import replace

from symbolic.ir import program as ir
from symbolic.ir.program import Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own, rebuild, substitute


def inline_finals(program: Program) -> Program:
    """Return the same program without final functions: `out.value` becomes the function's body."""
    return replace(program, body=_body(program.body, {}))


def _body(body: Body, finals: dict[str, ir.Final | None]) -> Body:
    found: list[Stmt] = []
    for stmt in body:
        stmt = map_own(stmt, lambda expr: _expression(expr, finals))
        match stmt:
            case ir.DeclareAccumulator(name=name, final=final):
                finals[name] = final
                stmt = replace(stmt, final=None)
            case ir.For(body=inner):
                stmt = replace(stmt, body=_body(inner, finals))
            case ir.If(then=then, otherwise=otherwise):
                stmt = replace(stmt, then=_body(then, finals), otherwise=_body(otherwise, finals))
            case _:
                pass
        found.append(stmt)
    return tuple(found)


def _expression(expr: Expr, finals: dict[str, ir.Final | None]) -> Expr:
    expr = rebuild(expr, lambda child: _expression(child, finals))
    if isinstance(expr, ir.AccumulatorValue) and (final := finals[expr.accumulator]) is not None:
        return substitute(final.body, final.parameter, expr)
    return expr
