"""What a hole may be, written down a second time for `--certify`, straight from the grammars of the paper.

The primitives of sections 5.1 to 5.3 and equation 1, enumerated, told apart by what they are at the points, and one of
them chosen. No code is shared with `templates`, but the primitives.
"""

from __future__ import annotations

import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.ir.program import Hole
from symbolic.second.forward import Cases, both, exactly, fresh, no, some_of
from symbolic.values.guard import OutOfTime
from templates.primitives import xform

Space: TypeAlias = Literal["1", "2", "3"]
Depth: TypeAlias = Literal[1, 2]
Point: TypeAlias = tuple[int, ...]
Table: TypeAlias = npt.NDArray[np.int64]
Expression: TypeAlias = tuple[Any, ...]  # ("argument", number), ("constant", value) or (operator, left, right)
COMPARISONS = (operator.eq, operator.ne, operator.ge, operator.gt, operator.le, operator.lt)
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


class Group:
    """Rows of which exactly one is chosen."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.literals = [fresh() for _ in rows]
        self.rule = exactly(1, self.literals)

    def cases(self, values: Sequence[Any]) -> Cases:
        """Return the value of the row that is chosen."""
        groups: dict[Any, list[Any]] = {}
        for value, literal in zip(values, self.literals, strict=True):
            groups.setdefault(value, []).append(literal)
        return {value: some_of(literals) for value, literals in groups.items()}

    def chosen(self, model: Any) -> Any:
        return next(r for r, literal in zip(self.rows, self.literals, strict=True) if model.true(literal))


class XformHole:
    """`?sw_xform(i, n, k)` by equations 2 to 7: a shape, a rate, an offset."""

    def __init__(self, hole: Hole, points: Sequence[Point], space: Space) -> None:
        n = self.n = hole.size
        self.indices = sorted({p[0] for p in points})
        self.shifts = sorted({p[1] if len(p) > 1 else 0 for p in points})
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        full = space == "3"
        shapes = [
            (gs, c_f, d_f, wrap)
            for gs in (divisors if full else [n])
            for d_f in ([d for d in divisors if gs % d == 0] if full else [n])
            for wrap in ((False, True) if full else (False,))
            for c_f in range(0, gs, gs // d_f)
        ]
        rates = [(c_r, d_r) for d_r in range(max(self.shifts, default=0) + 1 if full else 1) for c_r in range(n)]
        turns, lanes = np.arange(n)[:, None], np.array(self.indices, np.int64)

        def all_turns(shape: tuple[int, int, int, bool]) -> Any:
            gs, c_f, d_f, wrap = shape
            return np.broadcast_to(xform(gs, c_f, d_f, wrap, turns, lanes), (n, len(lanes)))

        self._shape = _distinct(shapes, all_turns)
        ks = np.array(self.shifts, np.int64)
        self._rate = _distinct(rates, lambda r: (ks * r[0] + (ks // r[1] if r[1] else 0)) % n)
        self.groups = [Group([s for s, _ in self._shape]), Group([r for r, _ in self._rate]), Group(range(n))]
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
                for value, turns in _inverse(values).items():
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


class CondHole:
    """`?sw_cond(v, ...)` by the grammar of section 5.1, told apart by what it is at the points."""

    def __init__(self, arity: int, points: Sequence[Point], space: Space) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)] or [np.zeros(0, np.int64)] * arity
        self._place = {p: j for j, p in enumerate(points)}
        reach = 2 * max((int(np.abs(c).max(initial=0)) for c in columns), default=0) + 1
        constants = range(-reach, reach + 1) if space != "1" else (0,)
        rows = itertools.product(range(arity), range(arity), COMPARISONS, (1, -1), constants)
        self._table = _distinct(list(rows), lambda row: self._value(row, columns))
        self.groups = [Group([row for row, _ in self._table])]

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        v, u, compared, sign, constant = row
        return compared(arguments[v], constant + sign * arguments[u])

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([bool(t[self._place[point]]) for _, t in self._table])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        row = self.groups[0].chosen(model)
        return lambda arguments: self._value(row, arguments)


class PartHole:
    """`?sw_part(n, v, ...)`: the first condition that holds decides (section 5.2)."""

    def __init__(self, hole: Hole, points: Sequence[Point], space: Space) -> None:
        self.n = hole.size
        self._conditions = [CondHole(len(hole.arguments), points, space) for _ in range(self.n - 1)]
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

        def value(some: Expression) -> Table:
            if time.monotonic() > deadline:
                raise OutOfTime
            return np.broadcast_to(evaluate(some, columns), (len(points),))

        below: list[Expression] = [("argument", j) for j in range(len(columns))] + self._constants
        for _ in range(depth - 1):
            deeper = itertools.chain(self._combined(below), self._by_constant(below))
            below = [some for some, _ in _distinct(deeper, value)]
        self._terms = _distinct(below, lambda some: value(some) % n)
        self._by = _distinct(self._by_constant(below), lambda some: value(some) % n)
        self._left, self._right = Group([s for s, _ in self._terms]), Group([s for s, _ in self._terms])
        self._scaled, self._production = Group([s for s, _ in self._by]), Group(["+", "-", "by a constant"])
        self.groups = [self._production, self._left, self._right, self._scaled]
        self._known: dict[Point, Cases] = {}

    @staticmethod
    def _combined(below: Sequence[Expression]) -> Iterator[Expression]:
        return ((op, a, b) for op in ("+", "-") for a, b in itertools.product(below, repeat=2))

    def _by_constant(self, below: Sequence[Expression]) -> Iterator[Expression]:
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


def evaluate(expression: Expression, arguments: Sequence[Any]) -> Any:
    """Return an expression's value, before the modulo."""
    match expression:
        case ("argument", number):
            return arguments[number]
        case ("constant", value):
            return value
        case (op, left, right):
            return ARITHMETIC[op](evaluate(left, arguments), evaluate(right, arguments))
    raise AssertionError(expression)


AnyHole: TypeAlias = "XformHole | CondHole | PartHole | NaiveHole"


def hole_of(
    hole: Hole, points: Sequence[Point], space: Space, naive: Literal[0, 1, 2] = 0, deadline: float = math.inf
) -> AnyHole:
    """Return what a hole may be in a space, with the naive template of a depth in place of the paper's.

    Raises `OutOfTime` where the naive template's expressions are too many to be written down by the deadline.
    """
    if hole.kind == "xform":
        return NaiveHole(hole, points, naive, deadline) if naive else XformHole(hole, points, space)
    return CondHole(len(hole.arguments), points, space) if hole.kind == "cond" else PartHole(hole, points, space)


def _distinct(rows: Iterable[Any], value: Callable[[Any], Any]) -> list[tuple[Any, Table]]:
    """Return the first row of each value, with the value."""
    seen: dict[bytes, tuple[Any, Table]] = {}
    for row in rows:
        table = np.ascontiguousarray(value(row))
        seen.setdefault(table.tobytes(), (row, table))
    return list(seen.values())


def _inverse(values: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        found.setdefault(value, []).append(place)
    return found
