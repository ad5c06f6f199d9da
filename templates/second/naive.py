"""The second description of the naive template (equation 1): its expressions, evaluated at the points."""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from symbolic.ir.program import Hole
from symbolic.limits import OutOfTime
from symbolic.second.formulas import Cases, both, some_of
from templates.second.groups import OneOf, Point, ValueTable, distinct

Depth: TypeAlias = Literal[1, 2]
Spelling: TypeAlias = tuple[Any, ...]  # ("argument", number), ("constant", value) or (operator, left, right)
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


class NaiveHole:
    """`?sw_xform(i, n, k)` by equation 1, modulo n: a production of its last depth, and what stands in it.

    An expression of a smaller depth counts as its sum with the constant 0. What stands in a sum or difference is told
    apart modulo n, what is multiplied, divided or reduced only with its result.
    """

    def __init__(self, hole: Hole, points: Sequence[Point], depth: Depth, deadline: float) -> None:
        n = self.n = hole.size
        self._place = {p: j for j, p in enumerate(points)}
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
        columns = columns or [np.zeros(0, np.int64) for _ in hole.arguments]
        self._constants = [("constant", c) for c in range(max([n, *(int(c.max(initial=0)) for c in columns)]) + 1)]

        def value(some: Spelling) -> ValueTable:
            if time.monotonic() > deadline:
                raise OutOfTime
            return np.broadcast_to(evaluate(some, columns), (len(points),))

        below: list[Spelling] = [("argument", j) for j in range(len(columns))] + self._constants
        for _ in range(depth - 1):
            deeper = itertools.chain(self._combined(below), self._by_constant(below))
            below = [some for some, _ in distinct(deeper, value)]
        self._terms = distinct(below, lambda some: value(some) % n)
        self._by = distinct(self._by_constant(below), lambda some: value(some) % n)
        self._left, self._right = OneOf([s for s, _ in self._terms]), OneOf([s for s, _ in self._terms])
        self._scaled, self._production = OneOf([s for s, _ in self._by]), OneOf(["+", "-", "by a constant"])
        self.groups = [self._production, self._left, self._right, self._scaled]
        self._known: dict[Point, Cases] = {}

    @staticmethod
    def _combined(below: Sequence[Spelling]) -> Iterator[Spelling]:
        return ((op, a, b) for op in ("+", "-") for a, b in itertools.product(below, repeat=2))

    def _by_constant(self, below: Sequence[Spelling]) -> Iterator[Spelling]:
        return (
            (op, a, c)
            for op in ("*", "//", "%")
            for a, c in itertools.product(below, self._constants)
            if op == "*" or c[1] > 0
        )

    def at(self, point: Point) -> Cases:
        if point not in self._known:
            place, (plus, minus, scaled) = self._place[point], self._production.literals
            values = [int(t[place]) for _, t in self._terms]
            found: dict[int, list[Any]] = {}
            left, right = self._left.cases(values), self._right.cases(values)
            for (a, f), (b, g) in itertools.product(left.items(), right.items()):
                found.setdefault((a + b) % self.n, []).append(both(plus, f, g))
                found.setdefault((a - b) % self.n, []).append(both(minus, f, g))
            for value, f in self._scaled.cases([int(t[place]) for _, t in self._by]).items():
                found.setdefault(value, []).append(both(scaled, f))
            self._known[point] = {v: some_of(f) for v, f in found.items()}
        return self._known[point]

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        production, left, right, scaled = (g.chosen(model) for g in self.groups)
        whole = scaled if production == "by a constant" else (production, left, right)
        return lambda arguments: evaluate(whole, arguments) % self.n


def evaluate(expression: Spelling, arguments: Sequence[Any]) -> Any:
    """Return an expression's value, before the modulo."""
    match expression:
        case ("argument", number):
            return arguments[number]
        case ("constant", value):
            return value
        case (op, left, right):
            return ARITHMETIC[op](evaluate(left, arguments), evaluate(right, arguments))
    raise AssertionError(expression)
