"""`?sw_xform(i, n, k)` as a place in column-major order whose column is turned: the paper's section 8, equation 8.

An n x w matrix in column-major order keeps element (i, k) at `w * i + k`. The *wrapped secondary* turns k within its
column, by one after each d of the i: `(m * i + (k + i // d) % w) % n`. With m = w that is `cm2linear` after `rot`, the
row shuffle of a transposition whose sizes have a common divisor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import Choice, Chooser
from templates.formula import binary, nearest_to_zero, number, remainder, signed, sum_of, times, total
from templates.template import (
    HolePoints,
    Point,
    Points,
    Template,
    TemplateFamily,
    ValuesThere,
    by_size,
    integers,
    known_values,
)

T = TypeVar("T")
_NAMES = ("c_f", "way", "w", "c", "d")
_Numbers: TypeAlias = npt.NDArray[np.int64]
LARGEST = 64  # of w: it is as large as k at most, and as this
SOME = 12  # points at which all constants are compared first


class Turn(NamedTuple):
    """How k is turned in its column: `(way * k + c) % w`, way being 1 or -1."""

    way: int
    w: int
    c: int


@cache
def _turns(extent: int) -> tuple[Turn, ...]:
    """Return the turns of columns of up to so many elements, those of the whole column first."""
    ways = [(way, w) for w in range(extent, 1, -1) for way in ((1, -1) if w > 2 else (1,))]
    return tuple(Turn(way, w, c) for way, w in ways for c in range(w))


@cache
def _turns_as_numbers(extent: int) -> _Numbers:
    """Return them as three lines of numbers."""
    return np.array(_turns(extent), np.int64).reshape(-1, 3).T


class ColumnMajor(Template):
    """`(c_f * i + (way * k + c + i // d) % w) % n`; d is at most the largest i, and 0 leaves i // d out."""

    def __init__(self, n: int, largest: int, extent: int) -> None:
        self.n, self.extent = n, extent
        self.components = (by_size(n), tuple(range(largest + 1)), _turns(extent))

    def at(self, chooser: Chooser[T], point: Point) -> T:
        i, k = point
        base = chooser.pick(0, lambda c_f: c_f * i % self.n)
        later = chooser.pick(1, lambda d: i // d if d else 0)
        turned = chooser.both(
            lambda t, more: (t[0] + more) % t[1], chooser.pick(2, lambda t: (t.way * k + t.c, t.w)), later
        )
        return chooser.both(lambda a, b: (a + b) % self.n, base, turned)

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        (c_f, d, turn), (i, k) = choice, arguments
        return (c_f * i + (turn.way * k + turn.c + (i // d if d else 0)) % turn.w) % self.n

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        c_f, d, turn = choice
        return (d != 0) + (turn.c != 0) + (turn.way < 0), turn.w != self.extent, c_f, d, turn.c

    def simplest(self, points: Points, values: ValuesThere) -> Choice | None:
        return min(self._matching(points, values), key=self.weight, default=None)

    def _matching(self, points: Points, values: ValuesThere) -> Iterator[Choice]:
        """Yield the choices that have these values; None is free.

        Where i is the same, the values differ only by how k is turned. So the turns that are left follow from one i,
        and c_f and d from a few other points for each of them.
        """
        i, k, wanted = known_values(points, values)
        if not len(i):
            yield self.components[0][0], 0, self.components[2][0]
            return
        i_0 = int(np.bincount(i).argmax())
        row = np.flatnonzero(i == i_0)
        left = _turns_as_numbers(self.extent)
        for place in row[1:]:
            way, w, c = left
            apart = (way * k[place] + c) % w - (way * k[row[0]] + c) % w
            left = left[:, (apart - wanted[place] + wanted[row[0]]) % self.n == 0]
        some = np.linspace(0, len(i) - 1, min(SOME, len(i))).astype(np.intp)
        some = some[np.argsort(i[some] == i_0, kind="stable")]  # where c_f and d say something comes first
        factors, periods = (np.array(numbers, np.int64) for numbers in self.components[:2])
        later = np.where(periods > 0, i[some, None] // np.maximum(periods, 1), 0)
        for way, w, c_0 in left.T.tolist():  # the turn at i_0, where i_0 // d is added already
            c = (c_0 - np.where(periods > 0, i_0 // np.maximum(periods, 1), 0)) % w
            rest = (wanted[some, None] - (way * k[some, None] + c + later) % w) % self.n
            first = (factors[:, None] * i[some[0]] - rest[0]) % self.n == 0
            f_of, p_of = np.nonzero(first)
            fits = ((factors[f_of] * i[some, None] - rest[:, p_of]) % self.n == 0).all(axis=0)
            for f, p in zip(f_of[fits].tolist(), p_of[fits].tolist(), strict=True):
                choice = int(factors[f]), int(periods[p]), Turn(way, w, int(c[p]))
                if (self.apply(choice, (i, k)) == wanted).all():
                    yield choice

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        return self.simplest(points, values)

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        c_f, d, turn = choice
        return {"column_major": 1, "c_f": c_f, "d": d, **turn._asdict()}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        c_f, way, w, c, d = integers(constants, _NAMES)
        if way not in (1, -1) or w < 1 or d < 0:
            raise ValueError(f"way = {way}, w = {w}, d = {d} of the hole")
        return c_f % self.n, d, Turn(way, w, c % w)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        (c_f, d, turn), (i, k) = choice, arguments
        later = binary("//", i, number(d, place)) if d > 1 else i if d else None
        inner = remainder(total([times(turn.way, k), later], place, turn.c), turn.w)
        return remainder(total([times(signed(c_f, self.n), i), inner], place), self.n)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        (c_f, d, turn), (i, k) = choice, names
        terms = [(turn.way, k)] + ([(1, f"{i} // {d}" if d > 1 else i)] if d else [])
        return f"fan by {c_f}, then rotate by ({sum_of(terms, nearest_to_zero(turn.c, turn.w))}) mod {turn.w}"


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> ColumnMajor | None:
    """Return the template, for a hole with a k that takes several values, none of them negative."""
    some = HolePoints.of(points)
    if size < 2 or arity < 2 or not points or some.shifts[0] < 0 or some.shifts[-1] < 1:
        return None
    return ColumnMajor(size, some.indices[-1], min(LARGEST, some.shifts[-1] + 1))


def saved(size: int, arity: int, points: tuple[Point, ...]) -> ColumnMajor | None:
    """Return a template that reads constants from a file."""
    return ColumnMajor(size, 0, 2) if size > 1 and arity > 1 else None


FAMILY = TemplateFamily("column_major", "xform", make, saved=saved)
