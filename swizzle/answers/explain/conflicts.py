"""Smallest conflicts: which few requirements cannot all be met?

A conflict is shrunk by deletion until every part of it is needed. To find out whether there is a smaller one, the
question is turned round: each filling violates some requirements, and a conflict contains at least one of those of
every filling (it is a hitting set). If the smallest set that hits all of them is itself a conflict, there is no smaller
conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")

HITTING_STEPS = 200_000  # sets that are looked at for one hitting set


class Met(Struct, Generic[T], frozen=True):
    """The requirements can be met; the filling that meets them violates these others."""

    violated: frozenset[T]


class Conflict(Struct, Generic[T], frozen=True):
    """The requirements cannot be met, and these are enough to show it.

    `needed`: without any one of them they can be met. `smallest`: no conflict has fewer parts.
    """

    parts: frozenset[T]
    needed: bool = False
    smallest: bool = False


MetOrNot: TypeAlias = "Callable[[frozenset[T]], Met[T] | Conflict[T] | None]"  # None: not decided in time
Order: TypeAlias = "Callable[[T], tuple[int, ...]]"


class _TooMany(Exception):
    """There are more sets to look at than is worth it."""


def shrink(conflict: frozenset[T], check: MetOrNot[T], order: Order[T]) -> Conflict[T]:
    """Drop parts of a conflict, the last of the `order` first, until all remaining parts are needed."""
    decided, kept = True, frozenset[T]()
    while rest := conflict - kept:
        part = max(rest, key=order)
        answer = check(conflict - {part})
        if isinstance(answer, Conflict):
            conflict = answer.parts
            kept &= conflict
        else:
            kept |= {part}
            decided = decided and answer is not None
    return Conflict(conflict, needed=decided)


def smallest(conflict: frozenset[T], check: MetOrNot[T], order: Order[T], look_for: int) -> Conflict[T]:
    """Return a smallest conflict, given one; the first of the `order` are preferred.

    If deletion leaves a larger conflict, smaller ones are searched up to the size `look_for`.
    """
    found = shrink(conflict, check, order)
    if not found.needed:
        return found
    violated: list[frozenset[T]] = []
    size = 0
    while size < min(len(found.parts), look_for + 1):
        try:
            chosen = hitting_set(violated, size, order)
        except _TooMany:
            return found
        if chosen is None:
            size += 1
            continue
        answer = check(chosen)
        if answer is None:
            return found
        if isinstance(answer, Conflict):
            return Conflict(answer.parts, needed=True, smallest=True)
        assert answer.violated, "requirements that conflict are all met"
        violated.append(answer.violated)
    return Conflict(found.parts, needed=True, smallest=size >= len(found.parts))


def hitting_set(sets: Sequence[frozenset[T]], size: int, order: Order[T]) -> frozenset[T] | None:
    """Return at most `size` elements that hit every set, or None when there are none."""
    hits: dict[T, int] = {}
    for number, some in enumerate(sets):
        for element in some:
            hits[element] = hits.get(element, 0) | 1 << number
    ranked = [sorted(some, key=order) for some in sets]
    steps = 0

    def search(unhit: int, left: int) -> tuple[T, ...] | None:
        nonlocal steps
        if not unhit or left == 0:
            return None if unhit else ()
        for element in min((some for number, some in enumerate(ranked) if unhit >> number & 1), key=len):
            steps += 1
            if steps > HITTING_STEPS:
                raise _TooMany
            found = search(unhit & ~hits[element], left - 1)
            if found is not None:
                return (element, *found)
        return None

    found = search((1 << len(sets)) - 1, size)
    return None if found is None else frozenset(found)
