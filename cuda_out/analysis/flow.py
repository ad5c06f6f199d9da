"""Rewrite a body statement by statement, with the facts that hold before each one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, facts_where, loop_facts
from symbolic.ir.program import Stmt
from symbolic.ir.walk import Body


def rewrite(body: Body, facts: Facts, visit: Callable[[Stmt, Facts], Body]) -> Body:
    """Return the body with `visit` applied to each statement, after the bodies nested in it have been rewritten."""
    found: list[Stmt] = []
    for stmt in body:
        changed: Stmt
        match stmt:
            case ir.For(body=inner):
                changed = replace(stmt, body=rewrite(inner, loop_facts(stmt, facts), visit))
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                changed = replace(
                    stmt,
                    then=rewrite(then, facts_where(condition, True, facts), visit),
                    otherwise=rewrite(otherwise, facts_where(condition, False, facts), visit),
                )
            case _:
                changed = stmt
        found += visit(changed, facts)
        facts = after(stmt, facts)
    return tuple(found)
