"""The shortest formula of an index function, where only its values at some points count.

A template writes a function so that it is right wherever it may be asked: `(9 - 2 * i - 15 * k) % 32`. At the points
that a kernel asks, that may be `k`. Formulas are compared by `terms_of`. They are made of the hole's arguments,
numbers, `+`, `-`, `^`, products by a number, and quotients and remainders by a positive number, and are looked for from
short to long:

- All of up to five terms are looked at: with any number outermost, as it follows from the values, and within that with
  numbers up to the hole's size and its largest argument (and to `LARGEST`). So what has at most six terms is the
  shortest of these (`is_shortest`).
- Some of seven terms are: two linear terms and a number, with and without a remainder.
- What the template wrote, without the remainders that change nothing.

Of equally short ones, that of the template comes first, then sums before products, quotients, remainders and `^`.
`tests/templates/test_shortest.py` compares with all formulas, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from symbolic.errors import Place
from symbolic.ir.program import Binary, BinaryOp, Const, DType, Expr, Unary
from symbolic.ir.walk import children, with_children
from templates.formula import binary, number, parameters, terms_of, total, values_of
from templates.holes import Point

LARGEST: Final = 1024
SAMPLED: Final = 16  # points at which formulas are compared first
LIGHT: Final = 16  # the numbers in formulas of seven terms
PROVED: Final = 6
_NOWHERE: Final = Place("", 0, 0)
_Numbers: TypeAlias = npt.NDArray[np.int64]


def is_shortest(formula: Expr) -> bool:
    """Say whether no formula with the same values is shorter, of those that are looked for."""
    return terms_of(formula) <= PROVED


class Shortest:
    """Shortens formulas of one hole, which is asked at some points."""

    def __init__(self, size: int, arguments: Sequence[str], points: Sequence[Point]) -> None:
        self.size, self.arguments = size, parameters(arguments)
        self.table = np.array(points, np.int64).reshape(len(points), len(arguments))
        self._searches: dict[bytes, _Search] = {}
        self._known: dict[bytes, Expr] = {}

    def of(self, own: Expr, values: Sequence[int | None]) -> Expr:
        """Return the shortest formula with these values at the points; None is free. `own` is one that has them."""
        wanted = np.array([-1 if value is None else value for value in values], np.int64)
        asked = np.flatnonzero(wanted >= 0)
        if not len(asked):
            return own
        key, where = wanted.tobytes(), asked.tobytes()
        known = self._known.get(key)
        if known is None or terms_of(own) < terms_of(known):
            if where not in self._searches:
                self._searches[where] = _Search(self.size, self.arguments, self.table[asked])
            known = self._known[key] = self._searches[where].of(own, wanted[asked])
        return known


@dataclass(frozen=True, slots=True)
class _Level:
    """Formulas of one length, a line each: their values at the sampled points, and how each is made."""

    values: _Numbers
    made: Sequence[Expr]

    def __len__(self) -> int:
        return len(self.made)


class _Search:
    """The formulas over columns of arguments."""

    def __init__(self, size: int, arguments: Sequence[Expr], table: _Numbers) -> None:
        self.size, self.table = size, table
        self.columns = list(table.T)
        places = sorted({(len(table) - 1) * part // (SAMPLED - 1) for part in range(SAMPLED)})
        self.sample = table[places]
        self._places = places
        varied = [n for n, column in enumerate(self.columns) if (column != column[0]).any()]
        self.arguments = _Level(self.sample.T[varied], [arguments[n] for n in varied])
        self._three: _Level | None = None
        self._five: _Level | None = None

    def of(self, own: Expr, wanted: _Numbers) -> Expr:
        own = _without_remainders(own, self.columns, wanted)
        most = terms_of(own)
        for length, some in self._formulas(wanted):
            if length >= most:
                break
            for formula in some:
                if np.array_equal(np.broadcast_to(values_of(formula, self.columns), wanted.shape), wanted):
                    return formula
        return own

    def _formulas(self, wanted: _Numbers) -> Iterator[tuple[int, Iterator[Expr]]]:
        """Yield lengths, rising, each with formulas of that length that have the wanted values where it was tried."""
        t = wanted[self._places]
        yield 1, self._leaves(t, wanted)
        yield 3, self._made_of(self.arguments, t)
        yield 4, self._reduced(_negated(self.arguments), t)
        yield 5, self._made_of(self.three(), t)
        yield 7, self._longer(t)

    def _leaves(self, t: _Numbers, wanted: _Numbers) -> Iterator[Expr]:
        if (wanted == wanted[0]).all():
            yield _number(wanted[0])
        yield from _rows(self.arguments, (self.arguments.values == t).all(axis=1))

    def _longer(self, t: _Numbers) -> Iterator[Expr]:
        """Yield remainders of a number and a formula of three terms, and what is made of two light ones."""
        for some, sign in ((self.three(), 1), (_negated(self.three()), -1)):
            apart = some.values - t
            divisor = np.gcd.reduce(apart - apart[:, :1], axis=1)
            for row in np.flatnonzero(divisor > t.max()).tolist():
                modulus = self._modulus(int(divisor[row]), int(t.max()))
                offset = -int(apart[row, 0]) % modulus
                made = some.made[row] if sign > 0 else _below(some.made[row])
                inner = total([made], _NOWHERE, offset) if sign > 0 else binary("-", _number(offset), made)
                yield binary("%", inner, _number(modulus))
        yield from self._made_of(self.five(), t)

    # -- formulas that are made of shorter ones -------------------------------------------------------------

    def _made_of(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield what is made of these by one operator and an argument or a number."""
        if not len(some):
            return
        for made, other, row in self._with_arguments(some, t):
            yield made(row, other)
        values = some.values
        first = t[0] - values[:, 0]
        for row in np.flatnonzero((t - values == first[:, None]).all(axis=1)).tolist():
            yield total([some.made[row]], _NOWHERE, int(first[row]))
        first = t[0] + values[:, 0]
        for row in np.flatnonzero((t + values == first[:, None]).all(axis=1)).tolist():
            yield binary("-", _number(first[row]), some.made[row])
        yield from self._products(some, t)
        yield from self._quotients(some, t)
        yield from self._reduced(some, t)
        bits = np.bitwise_xor(values, t)
        for row in np.flatnonzero((bits == bits[:, :1]).all(axis=1) & (values >= 0).all(axis=1)).tolist():
            yield binary("^", some.made[row], _number(bits[row, 0]))

    def _with_arguments(self, some: _Level, t: _Numbers) -> Iterator[tuple[Any, Expr, int]]:
        values = some.values

        def joined(op: BinaryOp, back: bool = False) -> Any:
            return lambda row, other: binary(op, other, some.made[row]) if back else binary(op, some.made[row], other)

        for x, other in zip(self.arguments.values, self.arguments.made, strict=True):
            for found, made in (
                (values + x, joined("+")),
                (values - x, joined("-")),
                (x - values, joined("-", back=True)),
                (values ^ x, joined("^")),
            ):
                for row in np.flatnonzero((found == t).all(axis=1)).tolist():
                    if some.made[row] is not other:
                        yield made, other, row

    def _products(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        rows = np.arange(len(some))
        largest = np.abs(some.values).argmax(axis=1)
        divisor = some.values[rows, largest]
        factor = t[largest] // np.where(divisor == 0, 1, divisor)
        for row in np.flatnonzero((factor[:, None] * some.values == t).all(axis=1) & (divisor != 0)).tolist():
            if abs(int(factor[row])) > 1:
                yield binary("*", _number(factor[row]), some.made[row])

    def _quotients(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield `e // d`: at every point, t * d <= e < (t + 1) * d."""
        values = some.values
        least = (values // (t + 1) + 1).max(axis=1)
        most = np.where(t > 0, values // np.maximum(t, 1), np.iinfo(np.int64).max).min(axis=1)
        fits = (least <= most) & (most > 1) & (values >= 0).all(axis=1)
        for row in np.flatnonzero(fits).tolist():
            for divisor in range(max(2, int(least[row])), int(min(most[row], least[row] + SAMPLED)) + 1):
                yield binary("//", some.made[row], _number(divisor))

    def _reduced(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield `e % d`: d divides the differences, and is larger than every value."""
        if not len(some):
            return
        divisor = np.gcd.reduce(some.values - t, axis=1)
        for row in np.flatnonzero(divisor > t.max()).tolist():
            for modulus in self._moduli(int(divisor[row]), int(t.max())):
                yield binary("%", some.made[row], _number(modulus))

    def _modulus(self, divisor: int, largest: int) -> int:
        return self._moduli(divisor, largest)[0]

    def _moduli(self, divisor: int, largest: int) -> list[int]:
        """Return the divisors of a number that are larger than another, the hole's size first."""
        low = range(1, min(divisor, LARGEST) + 1)
        found = [d for d in low if divisor % d == 0 and d > largest]
        found += [] if divisor in found else [divisor]
        return sorted(found, key=lambda d: (d != self.size, d))

    # -- levels ---------------------------------------------------------------------------------------------

    def three(self) -> _Level:
        """Return all formulas of an argument, and another one or a number."""
        if self._three is None:
            self._three = self._levels(min(LARGEST, max(self.size, int(np.abs(self.table).max(initial=2)))))
        return self._three

    def five(self) -> _Level:
        """Return sums and differences of light formulas of three terms and an argument."""
        if self._five is None:
            three = self._levels(min(LIGHT, self.size), light=True)
            values, made = [], []
            for x, other in zip(self.arguments.values, self.arguments.made, strict=True):
                values += [three.values + x, three.values - x, x - three.values]
                made += [binary("+", each, other) for each in three.made]
                made += [binary("-", each, other) for each in three.made]
                made += [binary("-", other, each) for each in three.made]
            shape = (-1, len(self.sample))
            self._five = _Level(np.concatenate([np.empty((0, shape[1]), np.int64), *values]), made)
        return self._five

    def _levels(self, largest: int, light: bool = False) -> _Level:
        values: list[_Numbers] = []
        made: list[Expr] = []
        arguments = list(zip(self.arguments.values, self.arguments.made, strict=True))

        def add(some: _Numbers, formulas: Sequence[Expr]) -> None:
            values.append(some.reshape(-1, len(self.sample)))
            made.extend(formulas)

        for place, (x, a) in enumerate(arguments):
            for y, b in arguments[place + 1 :]:
                add(np.array([x + y, x - y, y - x]), [binary("+", a, b), binary("-", a, b), binary("-", b, a)])
        some = np.arange(2, largest + 1)[:, None]
        factors = np.concatenate([some, -some], axis=1).reshape(-1, 1)  # 2, -2, 3, -3, ...
        numbers = [_number(c) for c in some[:, 0]]
        for x, a in arguments:
            add(factors * x, [binary("*", _number(c), a) for c in factors[:, 0]])
            add(x // some, [binary("//", a, c) for c in numbers])
            add(x % some, [binary("%", a, c) for c in numbers])
        if light:
            return _Level(np.concatenate([np.empty((0, len(self.sample)), np.int64), *values]), made)
        some, numbers = np.arange(1, largest + 1)[:, None], [_number(1), *numbers]
        for x, a in arguments:
            add(x + some, [binary("+", a, c) for c in numbers])
            add(x - some, [binary("-", a, c) for c in numbers])
            add(some - x, [binary("-", c, a) for c in numbers])
        for place, (x, a) in enumerate(arguments):
            for y, b in arguments[place + 1 :]:
                add(x ^ y, [binary("^", a, b)])
            add(x ^ some, [binary("^", a, c) for c in numbers])
        return _Level(np.concatenate([np.empty((0, len(self.sample)), np.int64), *values]), made)


def _number(value: Any) -> Const:
    return number(int(value), _NOWHERE)


def _rows(some: _Level, which: npt.NDArray[np.bool_]) -> Iterator[Expr]:
    return (some.made[row] for row in np.flatnonzero(which).tolist())


def _negated(some: _Level) -> _Level:
    return _Level(-some.values, [Unary("-", each, DType.INDEX, _NOWHERE) for each in some.made])


def _below(negated: Expr) -> Expr:
    assert isinstance(negated, Unary)
    return negated.operand


# ---- remainders that change nothing ----------------------------------------------------------------------------


def _without_remainders(formula: Expr, columns: Sequence[_Numbers], wanted: _Numbers) -> Expr:
    """Leave out remainders one by one, where the formula has the same values without."""
    changed = True
    while changed:
        changed = False
        for shorter in _one_less(formula):
            apart = wanted - values_of(shorter, columns)
            if (apart == apart[0]).all():
                longer = _plus(shorter, int(apart[0]))
                if terms_of(longer) < terms_of(formula):
                    formula, changed = longer, True
                    break
    return formula


def _one_less(formula: Expr) -> Iterator[Expr]:
    """Yield the formula without one of its remainders, the outermost first."""
    if isinstance(formula, Binary) and formula.op == "%":
        yield formula.left
    parts = children(formula)
    for place, part in enumerate(parts):
        for other in _one_less(part):
            yield with_children(formula, (*parts[:place], other, *parts[place + 1 :]))


def _plus(formula: Expr, offset: int) -> Expr:
    """Return a formula plus a number, which is joined with the one that it ends in."""
    if not offset:
        return formula
    match formula:
        case Const(value):
            return replace(formula, value=value + offset)
        case Binary("+", left, Const(value)):
            return total([left], _NOWHERE, int(value) + offset)
        case Binary("-", left, Const(value)):
            return total([left], _NOWHERE, offset - int(value))
        case Binary("-", Const(value), right):
            return binary("-", _number(int(value) + offset), right)
    return total([formula], _NOWHERE, offset)
