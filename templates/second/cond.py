"""The second description of conditions: `?sw_cond(v, ...)` by the grammar of section 5.1, two of them joined, `v % m
cmp I` and `a * v cmp I + b * v'`; and `?sw_part(n, v, ...)`, where the first condition that holds decides (section
5.2).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases, both, no, some_of
from templates.second.groups import OneOf, Point, distinct

COMPARISONS = (operator.eq, operator.ne, operator.ge, operator.gt, operator.le, operator.lt)


class _RowsHole:
    """A condition that is one of some rows; of those that are alike at the points, one."""

    def __init__(self, rows: list[Any], points: Sequence[Point], columns: Sequence[Any]) -> None:
        self._place = {p: j for j, p in enumerate(points)}
        self._table = distinct(rows, lambda row: self._value(row, columns))
        self.groups = [OneOf([row for row, _ in self._table])]

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        raise NotImplementedError

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([bool(t[self._place[point]]) for _, t in self._table])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        row = self.groups[0].chosen(model)
        return lambda arguments: self._value(row, arguments)


class CondHole(_RowsHole):
    """`?sw_cond(v, ...)` by the grammar of section 5.1, told apart by what it is at the points."""

    def __init__(
        self, arity: int, points: Sequence[Point], space: str, comparisons: Sequence[Any] = COMPARISONS
    ) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)] or [np.zeros(0, np.int64)] * arity
        reach = 2 * max((int(np.abs(c).max(initial=0)) for c in columns), default=0) + 1
        constants = range(-reach, reach + 1) if space != "1" else (0,)
        rows = itertools.product(range(arity), range(arity), comparisons, (1, -1), constants)
        super().__init__(list(rows), points, columns)

    @property
    def different(self) -> int:
        """How many of them hold at some points and not at others."""
        return sum(bool(t.any() and not t.all()) for _, t in self._table)

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        v, u, compared, sign, constant = row
        return compared(arguments[v], constant + sign * arguments[u])


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


class PartHole:
    """`?sw_part(n, v, ...)`: the first condition that holds decides (section 5.2)."""

    def __init__(self, n: int, arity: int, points: Sequence[Point], space: str) -> None:
        self.n = n
        self._conditions = [CondHole(arity, points, space) for _ in range(self.n - 1)]
        self.groups = [g for c in self._conditions for g in c.groups]

    def at(self, point: Point) -> Cases:
        found: Cases = {}
        before: list[Any] = []
        for j, condition in enumerate(self._conditions):
            holds = condition.at(point).get(True)
            if holds is not None:
                found[j] = both(*before, holds)
                before.append(no(holds))
        found[self.n - 1] = both(*before)
        return {value: f for value, f in found.items() if not f.is_false()}

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        conditions = [c.filled(model) for c in self._conditions]

        def function(arguments: Sequence[Any]) -> Any:
            value: Any = self.n - 1
            for j in range(self.n - 2, -1, -1):
                value = np.where(conditions[j](arguments), j, value)
            return value

        return function


class RemainderHole(_RowsHole):
    """Rows: weights of the arguments (one of them, or two with 1 and 1 or -1), a modulus, the remainders that hold."""

    def __init__(self, arity: int, points: Sequence[Point]) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
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
        super().__init__(rows, points, columns)

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        (v, u, way), m, held = row
        return np.isin((arguments[v] + way * arguments[u]) % m, sorted(held))


class ScaledHole(_RowsHole):
    """The factors have no divisor in common: up to 8 beside a 1, up to 4 beside another."""

    def __init__(self, arity: int, points: Sequence[Point]) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
        pairs = [pair for pair in itertools.permutations(range(arity), 2) if pair[0] < pair[1]]
        factors = [(a, b) for a in range(1, 9) for b in range(-8, 9) if b and _small(a, abs(b))]
        rows = []
        for (v, u), (a, b), compared in itertools.product(pairs, factors, COMPARISONS):
            apart = a * columns[v] - b * columns[u]
            rows += [(v, u, a, b, compared, i) for i in range(apart.min() - 1, apart.max() + 2)]
        super().__init__(rows, points, columns)

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        v, u, a, b, compared, constant = row
        return compared(a * arguments[v], constant + b * arguments[u])


def _small(a: int, b: int) -> bool:
    return (a, b) != (1, 1) and math.gcd(a, b) == 1 and (a == 1 or b == 1 or max(a, b) <= 4)
