"""The second description of `v % m cmp I`: the sets of remainders for which it holds, told apart at the points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases
from templates.second.groups import OneOf, Point, distinct


class RemainderHole:
    """Rows: weights of the arguments (one of them, or two with 1 and 1 or -1), a modulus, the remainders that hold."""

    def __init__(self, arity: int, points: Sequence[Point]) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
        self._place = {p: j for j, p in enumerate(points)}
        self._arity = arity
        largest = min(32, max(int(np.abs(c).max(initial=0)) for c in columns))
        weights = [(one, one, 0) for one in range(arity)]
        weights += [(v, u, way) for v in range(arity) for u in range(v + 1, arity) for way in (1, -1)]
        rows = []
        for weight in weights:
            for m in range(2, largest + 1):
                sets = [range(i) for i in range(m + 1)] + [range(i, m) for i in range(m + 1)]
                sets += [range(i, i + 1) for i in range(m)]
                rows += [(weight, m, frozenset(some)) for some in sets]
                rows += [(weight, m, frozenset(range(m)) - {i}) for i in range(m)]
        self._table = distinct(rows, lambda row: self._value(row, columns))
        self.groups = [OneOf([row for row, _ in self._table])]

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        (v, u, way), m, held = row
        return np.isin((arguments[v] + way * arguments[u]) % m, sorted(held))

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([bool(t[self._place[point]]) for _, t in self._table])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        row = self.groups[0].chosen(model)
        return lambda arguments: self._value(row, arguments)
