"""Where a loop accumulates states, word by word: statements that are one update of several variables.

    t_0 = combine_0(s_0, s_1, new_0, new_1)
    t_1 = combine_1(s_0, s_1, new_0, new_1)
    s_0 = t_0
    s_1 = t_1

A state of one word is `s = combine(s, new)`. Such an update only puts a state behind those that are there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from symbolic.ir import program as ir
from symbolic.ir.functions import Joined, joined_of
from symbolic.ir.program import Expr
from symbolic.ir.walk import Body, bodies, names_in, same


class StateUpdate(Struct, frozen=True):
    """The statements, the names of the words, the state that is put behind theirs, and how words are combined."""

    statements: Body
    words: tuple[str, ...]
    state: tuple[Expr, ...]
    joined: Joined

    @property
    def of_any_length(self) -> bool:
        """Whether the laws hold however many states there are: no number of elements is promised."""
        return self.joined.lifted is None or self.joined.of_any is not None


def state_updates(body: Body) -> Iterator[StateUpdate]:
    """Yield the updates of states in a body, those of the bodies in it too."""
    for place, stmt in enumerate(body):
        found = _update_at(body, place)
        if found is not None:
            yield found
        for inner in bodies(stmt):
            yield from state_updates(inner)


def _update_at(body: Body, place: int) -> StateUpdate | None:
    """Return the update that begins at a statement."""
    first = body[place]
    if not isinstance(first, ir.Assign) or not isinstance(first.value, ir.Apply):
        return None
    joined = joined_of(first.value.function)
    if joined is None:
        return None
    count, given = joined.words, first.value.operands
    some = tuple(each for each in body[place : place + (2 * count if count > 1 else 1)] if isinstance(each, ir.Assign))
    targets = some[-count:]
    if len(some) < count + len(targets) * (count > 1) or not targets[0].accumulates:
        return None
    for number, (kept, target) in enumerate(zip(some, targets, strict=False)):
        made = kept.value
        own = joined_of(made.function) if isinstance(made, ir.Apply) else None
        if own is None or (own.operator, own.word) != (joined.operator, number) or not _same(made, first.value):
            return None
        if not _is_variable(given[number], target.name) or (count > 1 and not _is_variable(target.value, kept.name)):
            return None
    words, state = tuple(target.name for target in targets), given[count:]
    if any(names_in(each) & {*words} for each in state):
        return None
    return StateUpdate(some, words, state, joined)


def _same(one: Expr, other: Expr) -> bool:
    """Say whether two functions have the same operands."""
    assert isinstance(one, ir.Apply) and isinstance(other, ir.Apply)
    return len(one.operands) == len(other.operands) and all(map(same, one.operands, other.operands))


def _is_variable(expr: Expr, name: str) -> bool:
    return isinstance(expr, ir.Var) and expr.name == name
