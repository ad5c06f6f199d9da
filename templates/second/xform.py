"""The second description of `?sw_xform(i, n, k)`: by equations 2 to 7, a shape, a rate, an offset; maps that are affine
over bits, by their values at 0 and at the powers of two; and the naive template's expressions (equation 1), evaluated
at the points.

A map is affine where f(x ^ y) = f(x) ^ f(y) ^ f(0). So it is any function of 0, of the powers of two of i and of those
of k, one bit of a value chosen at a time, and at any other point it is what these make by exclusive or.
"""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from symbolic.ir.program import Hole
from symbolic.limits import OutOfTime
from symbolic.second.formulas import Cases, both, no, some_of
from templates.primitives import xform
from templates.second.groups import OneOf, Point, ValueTable, distinct, inverse


class XformHole:
    """`?sw_xform(i, n, k)` by equations 2 to 7: a shape, a rate, an offset; `rotations`: all n are turned."""

    def __init__(self, n: int, points: Sequence[Point], space: str, *, rotations: bool = False) -> None:
        self.n = n
        self.indices = sorted({p[0] for p in points})
        self.shifts = sorted({p[1] if len(p) > 1 else 0 for p in points})
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        full = space in ("3", "4")
        shapes = [
            (gs, c_f, d_f, wrap)
            for gs in (divisors if full else [n])
            for d_f in ([d for d in divisors if gs % d == 0] if full else [n])
            for wrap in ((False, True) if full else (False,))
            for c_f in range(0, gs, gs // d_f)
        ]
        if rotations:
            shapes = [(n, 1 % n, n, False)]
        rates = [(c_r, d_r) for d_r in range(max(self.shifts, default=0) + 1 if full else 1) for c_r in range(n)]
        turns, lanes = np.arange(n)[:, None], np.array(self.indices, np.int64)

        def all_turns(shape: tuple[int, int, int, bool]) -> Any:
            gs, c_f, d_f, wrap = shape
            return np.broadcast_to(xform(gs, c_f, d_f, wrap, turns, lanes), (n, len(lanes)))

        self._shape = distinct(shapes, all_turns)
        ks = np.array(self.shifts, np.int64)
        self._rate = distinct(rates, lambda r: (ks * r[0] + (ks // r[1] if r[1] else 0)) % n)
        self.groups = [OneOf([s for s, _ in self._shape]), OneOf([r for r, _ in self._rate]), OneOf(range(n))]
        self._turn: dict[int, Cases] = {}
        self._known: dict[Point, Cases] = {}

    def at(self, point: Point) -> Cases:
        if point not in self._known:
            shape, _, _ = self.groups
            column = self.indices.index(point[0])
            by_turn = shape.cases([tuple(t[:, column].tolist()) for _, t in self._shape])
            turn = self._turned(point[1] if len(point) > 1 else 0)
            found: dict[int, list[Any]] = {}
            for values, chosen in by_turn.items():
                for value, turns in inverse(values).items():
                    found.setdefault(value, []).append(both(chosen, some_of(turn[r] for r in turns if r in turn)))
            self._known[point] = {v: some_of(f) for v, f in found.items()}
        return self._known[point]

    def _turned(self, k: int) -> Cases:
        if k not in self._turn:
            _, rate, offset = self.groups
            place = self.shifts.index(k)
            rates = rate.cases([int(t[place]) for _, t in self._rate])
            found: dict[int, list[Any]] = {}
            for (a, f), (c, g) in itertools.product(rates.items(), offset.cases(range(self.n)).items()):
                found.setdefault((a + c) % self.n, []).append(both(f, g))
            self._turn[k] = {v: some_of(f) for v, f in found.items()}
        return self._turn[k]

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        (gs, c_f, d_f, wrap), (c_r, d_r), c = (g.chosen(model) for g in self.groups)

        def function(arguments: Sequence[Any]) -> Any:
            k = arguments[1] if len(arguments) > 1 else 0
            return xform(gs, c_f, d_f, wrap, k * c_r + (k // d_r if d_r else 0) + c, arguments[0])

        return function


class XorHole:
    """`?sw_xform(i, n, k)`, n a power of two."""

    def __init__(self, n: int, points: Sequence[Point]) -> None:
        self.n = n
        self.width = len(f"{n - 1:b}")
        powers = [(1 << j, 0) for j in range(self.width)]
        highest = max((point[1] for point in points if len(point) > 1), default=0)
        powers += [(0, 1 << j) for j in range(highest.bit_length())]
        self.bases = [(0, 0), *powers]
        self._bits = {base: [OneOf((1, 0)) for _ in range(self.width)] for base in self.bases}
        self.groups = [group for some in self._bits.values() for group in some]
        self._known: dict[Point, Cases] = {}

    def at(self, point: Point) -> Cases:
        if point not in self._known:
            bits = [some_of(()) for _ in range(self.width)]
            for base in self._of(point[0], point[1] if len(point) > 1 else 0):
                ones = [group.literals[0] for group in self._bits[base]]
                bits = [some_of((both(a, no(b)), both(no(a), b))) for a, b in zip(bits, ones, strict=True)]
            cases = {
                value: both(*(bit if value >> r & 1 else no(bit) for r, bit in enumerate(bits)))
                for value in range(self.n)
            }
            self._known[point] = {value: when for value, when in cases.items() if not when.is_false()}
        return self._known[point]

    def _of(self, i: int, k: int) -> list[tuple[int, int]]:
        """Return the bases that make a point, 0 among them."""
        return [base for base in self.bases if base[0] & i == base[0] and base[1] & k == base[1]]

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        values = {
            base: sum(group.chosen(model) << r for r, group in enumerate(some)) for base, some in self._bits.items()
        }

        def function(arguments: Sequence[Any]) -> Any:
            i, k = arguments[0], arguments[1] if len(arguments) > 1 else 0
            found: Any = i * 0
            for (own, shift), value in values.items():
                found = found ^ value * (((i & own) == own) & ((k & shift) == shift))
            return found

        return function


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
