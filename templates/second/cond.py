"""The second description of `?sw_cond(v, ...)`, by the grammar of section 5.1."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases
from templates.second.groups import OneOf, Point, distinct

COMPARISONS = (operator.eq, operator.ne, operator.ge, operator.gt, operator.le, operator.lt)


class CondHole:
    """`?sw_cond(v, ...)` by the grammar of section 5.1, told apart by what it is at the points."""

    def __init__(
        self, arity: int, points: Sequence[Point], space: str, comparisons: Sequence[Any] = COMPARISONS
    ) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)] or [np.zeros(0, np.int64)] * arity
        self._place = {p: j for j, p in enumerate(points)}
        reach = 2 * max((int(np.abs(c).max(initial=0)) for c in columns), default=0) + 1
        constants = range(-reach, reach + 1) if space != "1" else (0,)
        rows = itertools.product(range(arity), range(arity), comparisons, (1, -1), constants)
        self._table = distinct(list(rows), lambda row: self._value(row, columns))
        self.groups = [OneOf([row for row, _ in self._table])]

    @property
    def different(self) -> int:
        """How many of them hold at some points and not at others."""
        return sum(bool(t.any() and not t.all()) for _, t in self._table)

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        v, u, compared, sign, constant = row
        return compared(arguments[v], constant + sign * arguments[u])

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([bool(t[self._place[point]]) for _, t in self._table])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        row = self.groups[0].chosen(model)
        return lambda arguments: self._value(row, arguments)
