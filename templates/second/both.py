"""The second description of two conditions joined: two of the grammar of section 5.1, and `and` or `or`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases, both, no, some_of
from templates.second.cond import COMPARISONS, CondHole
from templates.second.groups import OneOf, Point

MOST = 700  # conditions that are not the same everywhere; of more, those by == and != are left out, and then the family
LARGE = 200_000  # points, times the largest argument


class BothHole:
    """Both of two conditions, or one of them."""

    def __init__(self, conditions: tuple[CondHole, CondHole]) -> None:
        self._conditions, self._word = conditions, OneOf(["and", "or"])
        self.groups = [*conditions[0].groups, *conditions[1].groups, self._word]

    def at(self, point: Point) -> Cases:
        first, second = (condition.at(point).get(True, some_of([])) for condition in self._conditions)
        every, _ = self._word.literals
        held = some_of([both(first, second), both(no(every), some_of([first, second]))])
        return {True: held, False: no(held)}

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        first, second = (condition.filled(model) for condition in self._conditions)
        if self._word.chosen(model) == "and":
            return lambda arguments: np.logical_and(first(arguments), second(arguments))
        return lambda arguments: np.logical_or(first(arguments), second(arguments))


def both_of(arity: int, points: Sequence[Point]) -> BothHole | None:
    """Return the description; None where too many conditions differ."""
    if len(points) * (1 + max(abs(v) for point in points for v in point)) > LARGE:
        return None
    for compared in (COMPARISONS, COMPARISONS[2:]):
        first = CondHole(arity, points, "3", compared)
        if first.different <= MOST:
            return BothHole((first, CondHole(arity, points, "3", compared)))
    return None
