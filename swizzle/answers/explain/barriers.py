"""Barriers that a sketch may lack: a shared array is written and then read, or the other way, with none between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.explain.variants import Variant, swap
from symbolic.errors import Place
from symbolic.ir.program import Barrier, DeclareArray, For, Load, Program, Stmt, Store
from symbolic.ir.walk import own_expressions, statements, subexpressions


class SharedUse(Struct, frozen=True):
    """A statement of one body, and where in it a shared array is written or read."""

    array: str
    writes: bool
    place: Place
    statement: Stmt


class Unfenced(Struct, frozen=True):
    """Two uses of one array, of which one writes, and no barrier between; the second may be in a loop's next round."""

    first: SharedUse
    second: SharedUse
    next_round: bool

    def __str__(self) -> str:
        done = ["written" if use.writes else "read" for use in (self.first, self.second)]
        return (
            f"{self.first.array} is {done[0]} at line {self.first.place.line} and {done[1]} at line "
            f"{self.second.place.line}{' in the next round' if self.next_round else ''}, "
            "and no cuda.syncthreads() is between"
        )


def with_barriers(program: Program) -> tuple[Variant, tuple[Unfenced, ...]] | None:
    """Return the program with a barrier at each place that may lack one, and why; None where there is no such place."""
    shared = {node.name for node in program.body if isinstance(node, DeclareArray) and node.memory == "shared"}
    found = tuple(_in_body(program.body, shared))
    if not found:
        return None
    body, lines = program.body, []
    for each in reversed(found):  # those of a loop come before what is around it, which is changed first
        use, where = (each.first, "behind") if each.next_round else (each.second, "before")
        barrier = Barrier("block", use.place)
        pair = (use.statement, barrier) if each.next_round else (barrier, use.statement)
        body = swap(body, use.statement, pair)
        line = use.place.line if each.next_round else use.statement.place.line
        lines.append(f"{where} line {line}")
    change = f"cuda.syncthreads() {' and '.join(reversed(lines))}"
    return Variant("barrier", change, replace(program, body=body)), found


def _in_body(body: Sequence[Stmt], shared: set[str]) -> Iterator[Unfenced]:
    since: list[SharedUse] = []  # the last barrier
    for node in body:
        if isinstance(node, For):
            yield from _in_loop(node, shared)
        now = list(_ahead(node, shared))
        meeting = _meeting(since, now)
        if meeting is not None:
            yield Unfenced(*meeting, next_round=False)
            since = []
        since = list(_behind(node, shared)) if _has_barrier(node) else since + now


def _in_loop(loop: For, shared: set[str]) -> Iterator[Unfenced]:
    inside = list(_in_body(loop.body, shared))
    yield from inside
    fenced = {id(each.second.statement) for each in inside}
    first = next((i for i, n in enumerate(loop.body) if _has_barrier(n) or id(n) in fenced), len(loop.body))
    last = next((i for i in reversed(range(len(loop.body))) if _has_barrier(loop.body[i])), -1)
    last = max([last, *(i - 1 for i, n in enumerate(loop.body) if id(n) in fenced)])
    ahead = [use for node in loop.body[:first] for use in _uses(node, shared)]
    behind = [use for node in loop.body[last + 1 :] for use in _uses(node, shared)]
    meeting = _meeting(behind[::-1], ahead)
    if meeting is not None and meeting[0].statement is not meeting[1].statement:
        yield Unfenced(*meeting, next_round=True)


def _ahead(node: Stmt, shared: set[str]) -> Iterator[SharedUse]:
    """Yield the uses of a statement before its first barrier, if it has any."""
    return _up_to_barrier(node, shared, 1)


def _behind(node: Stmt, shared: set[str]) -> Iterator[SharedUse]:
    """Yield the uses of a statement behind its last barrier."""
    return _up_to_barrier(node, shared, -1)


def _up_to_barrier(node: Stmt, shared: set[str], step: int) -> Iterator[SharedUse]:
    if not _has_barrier(node):
        yield from _uses(node, shared)
    elif isinstance(node, For):
        for each in node.body[::step]:
            yield from (replace(use, statement=node) for use in _up_to_barrier(each, shared, step))
            if _has_barrier(each):
                return


def _meeting(before: Sequence[SharedUse], after: Sequence[SharedUse]) -> tuple[SharedUse, SharedUse] | None:
    """Return the first two uses of one array of which one writes and the other reads."""
    pairs = ((a, b) for b in after for a in before)
    return next(((a, b) for a, b in pairs if a.array == b.array and a.writes != b.writes), None)


def _has_barrier(node: Stmt) -> bool:
    return any(isinstance(each, Barrier) and each.scope == "block" for each in statements((node,)))


def _uses(node: Stmt, shared: set[str]) -> Iterator[SharedUse]:
    for each in statements((node,)):
        for expression in own_expressions(each):
            for part in subexpressions(expression):
                if isinstance(part, Load) and part.array in shared:
                    yield SharedUse(part.array, False, part.place, node)
        if isinstance(each, Store) and each.array in shared:
            yield SharedUse(each.array, True, each.place, node)
