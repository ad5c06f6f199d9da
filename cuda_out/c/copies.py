"""Asynchronous copies as calls of the helpers that hold their PTX.

Where the source may end before what is copied, zeros are filled in. Where a copy of several elements may end within
them, or begin where no such copy may, the elements go one by one; one of fewer than four bytes is stored at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from cuda_out.c.expressions import ExpressionPrinter
from cuda_out.c.types import literal
from symbolic.ir import program as ir
from symbolic.ir.copies import copies_of
from symbolic.ir.facts import Facts, facts_where
from symbolic.ir.program import DType

LEAST = 4


def copy_lines(stmt: ir.CopyAsync | ir.CopyGroup, printed: ExpressionPrinter, facts: Facts) -> Iterator[str]:
    """Yield the lines of a statement."""
    if isinstance(stmt, ir.CopyGroup):
        printed.helpers.add("commit_copies" if stmt.left is None else "wait_copies")
        yield "commit_copies();" if stmt.left is None else f"wait_copies<{stmt.left}>();"
        return
    together = _together(stmt, printed, facts)
    if together != "true":
        yield f"if ({together}) {{"
    if together != "false":
        yield ("  " if together != "true" else "") + _one(stmt, printed, facts)
    if together != "true":
        yield "} else {"
        yield from (f"  {_one(each, printed, facts)}" for each in copies_of(stmt))
        yield "}"


def _one(stmt: ir.CopyAsync, printed: ExpressionPrinter, facts: Facts) -> str:
    """Return the call for a copy of all its bytes, or of none."""
    asked = []
    if isinstance(stmt.source, ir.Select):
        asked.append(printed.text(stmt.source.condition, facts))
        facts = facts_where(stmt.source.condition, True, facts)
    inside = printed.inside(stmt.load.array, stmt.load.indices, facts)
    asked += [inside] if inside else []
    condition = asked[0] if len(asked) == 1 else " && ".join(f"({each})" for each in asked)
    into = printed.element(stmt.array, stmt.indices, facts)
    if stmt.bytes < LEAST:
        given = printed.element(stmt.load.array, stmt.load.indices, facts)
        zero = literal(0, stmt.load.dtype)
        return f"{into} = {f'{condition} ? {given} : {zero}' if condition else given};"
    name = f"copy_async_or_zero_{stmt.bytes}" if condition else f"copy_async_{stmt.bytes}"
    printed.helpers.add(name)
    given = printed.address(stmt.load.array, stmt.load.indices, facts)
    return f"{name}(&{into}, {given}{f', {condition}' if condition else ''});"


def _together(stmt: ir.CopyAsync, printed: ExpressionPrinter, facts: Facts) -> str:
    """Return when the elements may be copied at once: where they begin at a multiple of their size, wherever rows
    begin, and exist all or not at all."""
    load, tiles = stmt.load, printed.tiles
    if stmt.width == 1 or tiles is None or load.array not in printed.shapes:
        return "true"
    spans = [tiles.span(load.array, dimension) for dimension in range(len(load.indices))]
    pitches = [  # along loops the program asks itself
        name
        for (array, dimension), name in tiles.pitches.items()
        if array == load.array and (span := spans[dimension]) and span.axis != "k"
    ]
    step = tiles.step(load.array)
    if not pitches and step % stmt.width and not any(span and span.axis == "k" for span in spans[1:]):
        return "false"
    asked = [f"{name} % {stmt.width} == 0" for name in pitches]
    if isinstance(stmt.source, ir.Select):
        facts = facts_where(stmt.source.condition, True, facts)
    further = ir.Const(stmt.width - 1, DType.INDEX, stmt.place)
    ends = ir.Binary("+", load.indices[-1], further, DType.INDEX, stmt.place)
    last = printed.inside(load.array, (*load.indices[:-1], ends), facts)
    if last != printed.inside(load.array, load.indices, facts):
        zeros: list[ir.Expr] = [ir.Const(0, DType.INDEX, stmt.place) for _ in load.indices[:-1]]
        asked.append(f"({printed.inside(load.array, (*zeros, ends), facts)})")
    return " && ".join(asked) or "true"
