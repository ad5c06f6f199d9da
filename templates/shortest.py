"""The shortest formula of an index function, where only its values at some points count.

A template writes a function so that it is right wherever it may be asked: `(9 - 2 * i - 15 * k) % 32`. At the points
that a kernel asks, that may be `k`. Formulas are compared by `terms_of`. They are made of the hole's arguments,
numbers, `+`, `-`, `^`, products by a number, and quotients and remainders by a positive number, and are looked for from
short to long:

- All of up to five terms are looked at: with any number outermost, as it follows from the values, and within that with
  numbers up to the hole's size and its largest argument (and to `LARGEST`). So what has at most six terms is the
  shortest of these.
- Some of seven terms are: two linear terms and a number, with and without a remainder.
- What the template wrote, without the remainders that change nothing.

Of equally short ones, that of the template comes first, then sums before products, quotients, remainders and `^`.
`tests/templates/test_shortest.py` compares with all formulas, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from symbolic.errors import Place
from symbolic.ir.program import Binary, BinaryOp, Const, DType, Expr, Unary
from symbolic.ir.walk import children, with_children
from templates.formula import binary, length_of, number, parameters, total, values_of
from templates.holes import Point
from templates.template import HolePoints, factors

LARGEST: Final = 1024
SAMPLED: Final = 16  # points at which formulas are compared first
LIGHT: Final = 16  # the numbers in formulas of seven terms
_FEW: Final = slice(None, None, -6)  # of the sampled points, those that are compared before the others
_NOWHERE: Final = Place("", 0, 0)
_Numbers: TypeAlias = npt.NDArray[np.int64]
_Truths: TypeAlias = npt.NDArray[np.bool_]
_Rows: TypeAlias = npt.NDArray[np.intp]


class Shortest:
    """Shortens formulas of one hole, which is asked at some points."""

    def __init__(self, size: int, arguments: Sequence[str], points: Sequence[Point]) -> None:
        self.size, self.arguments = size, parameters(arguments)
        self.table = HolePoints.of(points).table.reshape(len(points), len(arguments))
        self._searches: dict[bytes, _Search] = {}
        self._known: dict[bytes, Expr] = {}

    def of(self, own: Expr, values: Sequence[int | None] | _Numbers) -> Expr:
        """Return the shortest formula with these values at the points; None is free. `own` is one that has them."""
        if isinstance(values, np.ndarray):
            wanted = np.asarray(values, np.int64)
        else:
            wanted = np.array([-1 if value is None else value for value in values], np.int64)
        asked = np.flatnonzero(wanted >= 0)
        if not len(asked):
            return own
        key, where = wanted.tobytes(), asked.tobytes()
        known = self._known.get(key)
        if known is None or length_of(own) < length_of(known):
            if where not in self._searches:
                self._searches[where] = _Search(self.size, self.arguments, self.table[asked])
            known = self._known[key] = self._searches[where].of(own, wanted[asked])
        return known

    def has(self, formula: Expr, values: Sequence[int] | _Numbers) -> bool:
        """Say whether a formula has these values at the points."""
        found = values_of(formula, list(self.table.T))
        return np.array_equal(np.broadcast_to(found, len(values)), np.asarray(values))

    def found(self, values: Sequence[int | None]) -> Expr | None:
        """Return the shortest formula with these values at the points, of any that is looked for; None is free."""
        wanted = np.array([-1 if value is None else value for value in values], np.int64)
        asked = np.flatnonzero(wanted >= 0)
        search = _Search(self.size, self.arguments, self.table[asked])
        return next((formula for _, some in search.formulas(wanted[asked]) for formula in some), None)


class _Columns:
    """Columns of numbers, found by what they hold: by a number made of each first, in which few agree by accident."""

    def __init__(self, values: _Numbers) -> None:
        self.values = values
        marks = self._marks(values)
        self.order = np.argsort(marks, kind="stable")
        self.marks = marks[self.order]

    @staticmethod
    def _marks(values: _Numbers) -> _Numbers:
        found: _Numbers = factors(len(values)) @ values
        return found

    def of(self, wanted: _Numbers) -> list[int]:
        """Return which columns hold these numbers, in their order."""
        mark = self._marks(wanted)
        begin, end = np.searchsorted(self.marks, mark, "left"), np.searchsorted(self.marks, mark, "right")
        if begin == end:
            return []
        some = self.order[begin:end]
        found: list[int] = some[(self.values[:, some] == wanted[:, None]).all(axis=0)].tolist()
        return found


class _Level:
    """Formulas of some length: their values (sampled points x formulas), and, in the same order, how they are made.

    A part is a number of formulas that are made alike, and what makes each of them.
    """

    def __init__(self, values: _Numbers, parts: Sequence[tuple[int, Callable[[int], Expr]]]) -> None:
        self.values, self.parts = values, parts

    def formula(self, row: int) -> Expr:
        """Return one of the formulas."""
        for length, made in self.parts:
            if row < length:
                return made(row)
            row -= length
        raise AssertionError("a formula that is not there")

    def equal(self, t: _Numbers) -> Sequence[int]:
        """Return the formulas that have these values."""
        return self._by_values.of(t)

    def apart(self, t: _Numbers) -> Sequence[int]:
        """Return the formulas that differ from these values by a number."""
        return self._by_differences.of(t - t[0])

    def flipped(self, t: _Numbers) -> Sequence[int]:
        """Return the formulas that differ from these values in some bits, the same at all points."""
        return self._by_bits.of(t ^ t[0])

    def where(
        self, fits: Callable[[_Numbers, _Numbers], _Truths], t: _Numbers, among: _Rows | None = None
    ) -> list[int]:
        """Return the formulas whose values fit those wanted at all points; a few points are looked at first."""
        t, few = t[:, None], self.values[_FEW]
        rows = np.flatnonzero(fits(few if among is None else few[:, among], t[_FEW]))
        if among is not None:
            rows = among[rows]
        found: list[int] = rows[fits(self.values[:, rows], t)].tolist() if len(rows) else []
        return found

    def divisible(self, apart: Callable[[_Numbers, _Numbers], _Numbers], t: _Numbers) -> Iterator[tuple[int, int]]:
        """Yield formulas with what divides the numbers `apart` makes of them and those wanted, if larger than these."""
        most = t.max()

        def fits(values: _Numbers, t: _Numbers) -> _Truths:
            numbers = apart(values, t)
            found: _Truths = ((numbers == 0) | (np.abs(numbers) > most)).all(axis=0)
            return found

        rows = self.where(fits, t)
        divisors = np.gcd.reduce(apart(self.values[:, rows], t[:, None]), axis=0)
        return ((row, int(divisor)) for row, divisor in zip(rows, divisors, strict=True) if divisor > most)

    def up_to(self, most: int) -> _Rows:
        """Return the formulas that are nowhere negative, and somewhere this large."""
        return np.flatnonzero(self._largest >= most)

    @cached_property
    def _largest(self) -> _Numbers:
        return np.where(self.values.min(axis=0) < 0, -1, self.values.max(axis=0))

    @cached_property
    def _by_values(self) -> _Columns:
        return _Columns(self.values)

    @cached_property
    def _by_differences(self) -> _Columns:
        return _Columns(self.values - self.values[:1])

    @cached_property
    def _by_bits(self) -> _Columns:
        return _Columns(self.values ^ self.values[:1])


class _Search:
    """The formulas over columns of arguments."""

    def __init__(self, size: int, arguments: Sequence[Expr], table: _Numbers) -> None:
        self.size, self.table = size, table
        self.columns = list(table.T)
        places = _spread(len(table))
        self.sample = table[places]
        self._places = places
        varied = [n for n, column in enumerate(self.columns) if (column != column[0]).any()]
        made = [arguments[n] for n in varied]
        self.arguments = _Level(self.sample[:, varied], [(len(varied), made.__getitem__)])
        self.varied = list(zip(self.sample.T[varied], made, strict=True))
        self._three: _Level | None = None
        self._five: _Level | None = None

    def of(self, own: Expr, wanted: _Numbers) -> Expr:
        own = _without_remainders(own, self.columns, wanted)
        most = length_of(own)
        for length, some in self.formulas(wanted):
            if length >= most:
                break
            for formula in some:
                return formula
        return own

    def formulas(self, wanted: _Numbers) -> Iterator[tuple[int, Iterator[Expr]]]:
        """Yield lengths, rising, each with the formulas of that length that have the wanted values."""
        for length, some in self._likely(wanted):
            yield length, (formula for formula in some if self._has(formula, wanted))

    def _has(self, formula: Expr, wanted: _Numbers) -> bool:
        return np.array_equal(np.broadcast_to(values_of(formula, self.columns), wanted.shape), wanted)

    def _likely(self, wanted: _Numbers) -> Iterator[tuple[int, Iterator[Expr]]]:
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
        yield from map(self.arguments.formula, self.arguments.equal(t))

    def _longer(self, t: _Numbers) -> Iterator[Expr]:
        """Yield remainders of a number and a formula of three terms, and what is made of two light ones."""

        def apart(values: _Numbers, t: _Numbers) -> _Numbers:
            found: _Numbers = values - t
            return found - found[:1]

        for some, sign in ((self.three(), 1), (_negated(self.three()), -1)):
            for row, divisor in some.divisible(apart, t):
                modulus = self._moduli(divisor, int(t.max()))[0]
                offset = int(t[0] - some.values[0, row]) % modulus
                made = some.formula(row)
                inner = total([made], _NOWHERE, offset) if sign > 0 else binary("-", _number(offset), _below(made))
                yield binary("%", inner, _number(modulus))
        yield from self._made_of(self.five(), t)

    # -- formulas that are made of shorter ones -------------------------------------------------------------

    def _made_of(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield what is made of these by one operator and an argument or a number."""
        yield from self._with_arguments(some, t)
        for row in some.apart(t):
            yield total([some.formula(row)], _NOWHERE, int(t[0] - some.values[0, row]))
        for row in some.apart(-t):
            yield binary("-", _number(t[0] + some.values[0, row]), some.formula(row))
        yield from self._products(some, t)
        yield from self._quotients(some, t)
        yield from self._reduced(some, t)
        for row in some.flipped(t):
            if (some.values[:, row] >= 0).all():
                yield binary("^", some.formula(row), _number(t[0] ^ some.values[0, row]))

    def _with_arguments(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield the sums and differences with an argument, and what differs from one in some bits."""
        for x, other in self.varied:
            for op, before, wanted in (
                ("+", False, t - x),
                ("-", False, t + x),
                ("-", True, x - t),
                ("^", False, t ^ x),
            ):
                for row in some.equal(wanted):
                    formula = some.formula(row)
                    if formula is not other:
                        yield binary(op, other, formula) if before else binary(op, formula, other)  # type: ignore[arg-type]

    def _products(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield `c * e`: at every point, the value times what one point says is what the point itself says."""
        if np.gcd.reduce(t) < 2:
            return
        place = int(np.abs(t).argmax())
        divisor = some.values[place]
        factor = t[place] // np.where(divisor == 0, 1, divisor)
        rows = np.flatnonzero((np.abs(factor) > 1) & (factor * divisor == t[place]))
        for row in rows[(factor[rows] * some.values[:, rows] == t[:, None]).all(axis=0)].tolist():
            yield binary("*", _number(factor[row]), some.formula(row))

    def _quotients(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield `e // d`: at every point, t * d <= e < (t + 1) * d."""

        def bounds(values: _Numbers, t: _Numbers) -> tuple[_Numbers, _Numbers]:
            least = (values // (t + 1) + 1).max(axis=0)
            most = np.where(t > 0, values // np.maximum(t, 1), np.iinfo(np.int64).max).min(axis=0)
            return least, most

        def fits(values: _Numbers, t: _Numbers) -> _Truths:
            least, most = bounds(values, t)
            found: _Truths = (least <= most) & (most > 1)
            return found

        for row in some.where(fits, t, some.up_to(2 * int(t.max()))):
            least, most = (int(bound) for bound in bounds(some.values[:, row], t))
            for divisor in range(max(2, least), min(most, least + SAMPLED) + 1):
                yield binary("//", some.formula(row), _number(divisor))

    def _reduced(self, some: _Level, t: _Numbers) -> Iterator[Expr]:
        """Yield `e % d`: d divides the differences, and is larger than every value."""
        for row, divisor in some.divisible(np.subtract, t):
            for modulus in self._moduli(divisor, int(t.max())):
                yield binary("%", some.formula(row), _number(modulus))

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
            some, number = three.values, three.values.shape[1]
            values, parts = [some[:, :0]], []
            for x, other in self.varied:
                column = x[:, None]
                values += [some + column, some - column, column - some]
                parts += [
                    (number, lambda row, other=other: binary("+", three.formula(row), other)),
                    (number, lambda row, other=other: binary("-", three.formula(row), other)),
                    (number, lambda row, other=other: binary("-", other, three.formula(row))),
                ]
            self._five = _Level(np.concatenate(values, axis=1), parts)
        return self._five

    def _levels(self, largest: int, light: bool = False) -> _Level:
        values: list[_Numbers] = [np.empty((len(self.sample), 0), np.int64)]
        parts: list[tuple[int, Callable[[int], Expr]]] = []

        def add(op: BinaryOp, a: Expr | _Numbers, b: Expr | _Numbers, some: _Numbers) -> None:
            def made(row: int) -> Expr:
                left, right = (_number(part[row]) if isinstance(part, np.ndarray) else part for part in (a, b))
                return binary(op, left, right)

            values.append(some)
            parts.append((some.shape[1], made))

        arguments = [(x[:, None], a) for x, a in self.varied]
        pairs = [(x, a, y, b) for place, (x, a) in enumerate(arguments) for y, b in arguments[place + 1 :]]
        for x, a, y, b in pairs:
            add("+", a, b, x + y)
            add("-", a, b, x - y)
            add("-", b, a, y - x)
        some = np.arange(2, largest + 1)
        factors = np.stack([some, -some], axis=1).reshape(-1)  # 2, -2, 3, -3, ...
        for x, a in arguments:
            add("*", factors, a, factors * x)
            add("//", a, some, x // some)
            add("%", a, some, x % some)
        if not light:
            some = np.arange(1, largest + 1)
            for x, a in arguments:
                add("+", a, some, x + some)
                add("-", a, some, x - some)
                add("-", some, a, some - x)
            for x, a, y, b in pairs:
                add("^", a, b, x ^ y)
            for x, a in arguments:
                add("^", a, some, x ^ some)
        return _Level(np.concatenate(values, axis=1), parts)


def _spread(count: int) -> list[int]:
    """Return up to `SAMPLED` of so many points, both ends among them, at no common distance.

    Equal distances that the last extent divides would be points of one column, or of a few.
    """
    between = (place * 0x9E3779B1 % (1 << 32) * count >> 32 for place in range(1, 8 * SAMPLED))
    return sorted(list(dict.fromkeys((0, count - 1, *between)))[:SAMPLED])


def _number(value: Any) -> Const:
    return number(int(value), _NOWHERE)


def _negated(some: _Level) -> _Level:
    parts = [(n, lambda row, made=made: Unary("-", made(row), DType.INDEX, _NOWHERE)) for n, made in some.parts]
    return _Level(-some.values, parts)


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
                if length_of(longer) < length_of(formula):
                    formula, changed = longer, True
                    break
    return formula


def _one_less(formula: Expr) -> Iterator[Expr]:
    """Yield the formula without one of its remainders, the outermost first."""
    if isinstance(formula, Binary) and formula.op == "%":
        yield formula.left
    parts = children(formula)
    looked_into = parts[:1] if isinstance(formula, Binary) and formula.op == ">>" else parts  # a shift stays below 32
    for place, part in enumerate(looked_into):
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
