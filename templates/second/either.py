"""The second description of a hole that becomes a function of one of several families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symbolic.second.formulas import Cases, both, some_of
from templates.second.groups import Description, OneOf, Point


class EitherHole:
    """One of these, chosen by a group of its own."""

    def __init__(self, parts: Sequence[Description]) -> None:
        self._which = OneOf(parts)
        self.groups = [self._which, *(group for part in parts for group in part.groups)]

    def at(self, point: Point) -> Cases:
        found: dict[Any, list[Any]] = {}
        for part, chosen in zip(self._which.rows, self._which.literals, strict=True):
            for value, when in part.at(point).items():
                found.setdefault(value, []).append(both(chosen, when))
        return {value: some_of(whens) for value, whens in found.items()}

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        found: Callable[[Sequence[Any]], Any] = self._which.chosen(model).filled(model)
        return found
