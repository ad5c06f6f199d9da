"""The second description of `a * v cmp I + b * v'`: every row of numbers, told apart at the points."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases
from templates.second.groups import OneOf, Point, distinct

COMPARISONS = (operator.eq, operator.ne, operator.ge, operator.gt, operator.le, operator.lt)


class ScaledHole:
    """The factors have no divisor in common: up to 8 beside a 1, up to 4 beside another."""

    def __init__(self, arity: int, points: Sequence[Point]) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
        self._place = {p: j for j, p in enumerate(points)}
        pairs = [pair for pair in itertools.permutations(range(arity), 2) if pair[0] < pair[1]]
        factors = [(a, b) for a in range(1, 9) for b in range(-8, 9) if b and _small(a, abs(b))]
        rows = []
        for (v, u), (a, b), compared in itertools.product(pairs, factors, COMPARISONS):
            apart = a * columns[v] - b * columns[u]
            rows += [(v, u, a, b, compared, i) for i in range(apart.min() - 1, apart.max() + 2)]
        self._table = distinct(rows, lambda row: self._value(row, columns))
        self.groups = [OneOf([row for row, _ in self._table])]

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        v, u, a, b, compared, constant = row
        return compared(a * arguments[v], constant + b * arguments[u])

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([bool(t[self._place[point]]) for _, t in self._table])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        row = self.groups[0].chosen(model)
        return lambda arguments: self._value(row, arguments)


def _small(a: int, b: int) -> bool:
    return (a, b) != (1, 1) and math.gcd(a, b) == 1 and (a == 1 or b == 1 or max(a, b) <= 4)
