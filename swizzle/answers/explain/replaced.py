"""Programs in which one statement, found by its identity, is replaced."""

from __future__ import annotations

from msgspec.structs import replace

from symbolic.ir.program import Accumulate, For, If, Stmt
from symbolic.ir.walk import within_loops


def swap(body: tuple[Stmt, ...], old: Stmt, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body with one statement, found by identity, replaced."""
    found: list[Stmt] = []
    for node in body:
        if node is old:
            found += new
        elif isinstance(node, For):
            found.append(replace(node, body=swap(node.body, old, new)))
        elif isinstance(node, If):
            then, otherwise = swap(node.then, old, new), swap(node.otherwise, old, new)
            found.append(replace(node, then=then, otherwise=otherwise))
        else:
            found.append(node)
    return tuple(found)


def replace_accumulate(body: tuple[Stmt, ...], number: int, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body with its accumulate of this number, in the order of the text, replaced."""
    accumulates = [s for s, _ in within_loops(body) if isinstance(s, Accumulate)]
    return swap(body, accumulates[number], new)


def list_with_accumulate(body: tuple[Stmt, ...], number: int) -> tuple[Stmt, ...]:
    """Return the list of statements that contains the accumulate of this number."""
    wanted = [s for s, _ in within_loops(body) if isinstance(s, Accumulate)][number]
    if any(node is wanted for node in body):
        return body
    for node, _ in within_loops(body):
        for inner in (getattr(node, "body", ()), getattr(node, "then", ()), getattr(node, "otherwise", ())):
            if any(s is wanted for s in inner):
                found: tuple[Stmt, ...] = inner
                return found
    raise AssertionError("an accumulate stands in no block")
