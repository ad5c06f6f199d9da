"""Asynchronous copies as calls of the helpers that hold their PTX."""

from __future__ import annotations

from cuda_out.c.expressions import ExpressionPrinter
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, facts_where


def copy_line(stmt: ir.CopyAsync | ir.CopyGroup, printed: ExpressionPrinter, facts: Facts) -> str:
    """Return the statement: of a copy, that of all its bytes, or of none where zeros are filled in."""
    if isinstance(stmt, ir.CopyGroup):
        printed.helpers.add("commit_copies" if stmt.left is None else "wait_copies")
        return "commit_copies();" if stmt.left is None else f"wait_copies<{stmt.left}>();"
    name, condition = f"copy_async_{stmt.bytes}", ""
    if isinstance(stmt.source, ir.Select):
        condition, name = f", {printed.text(stmt.source.condition, facts)}", f"copy_async_or_zero_{stmt.bytes}"
        facts = facts_where(stmt.source.condition, True, facts)
    printed.helpers.add(name)
    into, given = (f"&{printed.element(each.array, each.indices, facts)}" for each in (stmt, stmt.load))
    return f"{name}({into}, {given}{condition});"
