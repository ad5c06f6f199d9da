"""The functions of a `?sw_xform` of hundreds of elements: what is left of each shape, and a list once that is short.

Space 3 of 1024 elements and a k up to 7 has 4 * 10^10 functions, too many for a bit each
(`templates/xform_functions.py`). The value at index i and shift k is `base + (start + amount) % modulus`, of which
shape and index give all but the amount, and rate, offset and shift the amount. So what is kept are, of each shape, the
amounts that are left at those shifts of which something is known. That is a superset: rates tie the amounts of several
shifts to each other. Once two shifts leave few amounts, the rates that take the one to the other are looked up, and the
functions are listed one by one. As soon as one amount is left at each shift asked, the set is therefore exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from templates.chooser import Allowed, Choice, Places
from templates.holes import Point
from templates.xform_functions import Spread, shift

MOST_LISTED = 200_000
STEP = 2_000_000  # numbers that are computed in one step
FIRST_BLOCK = 64  # shapes or functions that are asked first for the values they give; then more and more
_Numbers = npt.NDArray[Any]
_Amounts = Mapping[int, npt.NDArray[np.bool_]]  # by shift: a line a shape, a column an amount


class _Rates(NamedTuple):
    """The rates that differ modulo a modulus and an offset: amounts are those at the first shift plus `apart`."""

    apart: _Numbers  # a line a class, a column a shift
    of_class: _Numbers  # the class of each rate


class _Spreads:
    """What shapes and rates do at the points."""

    def __init__(self, template: Spread, points: Sequence[Point]) -> None:
        shapes, rates, _ = template.components
        self.template, self.n = template, template.n
        indices, self.index = np.unique([p[0] for p in points], return_inverse=True)
        shifts, self.shift = np.unique([shift(p) for p in points], return_inverse=True)
        self.shifts, narrow = len(shifts), np.int16 if self.n < 1 << 14 else np.int32
        base, start = (np.empty((len(shapes), len(indices)), narrow) for _ in range(2))
        self.modulus = np.empty(len(shapes), np.int64)
        step = max(1, STEP // max(1, len(indices)))
        for first in range(0, len(shapes), step):
            some = slice(first, first + step)
            base[some], start[some], self.modulus[some] = template.behaviours(shapes[some], indices)
        self.base, self.start = base, start
        self.turns = template.turns(rates, shifts)
        self._rates: dict[int, _Rates] = {}

    def rates(self, modulus: int) -> _Rates:
        if modulus not in self._rates:
            apart = (self.turns - self.turns[:, :1]) % modulus
            apart, of_class = np.unique(apart, axis=0, return_inverse=True)
            self._rates[modulus] = _Rates(apart, of_class.reshape(-1))
        return self._rates[modulus]


class _Listed(NamedTuple):
    """Functions one by one: the shape, the class of rates, and the amount at each shift."""

    shape: _Numbers
    rates: _Numbers
    amounts: _Numbers

    def where(self, some: Any) -> _Listed:
        return _Listed(self.shape[some], self.rates[some], self.amounts[some])


class ListedXforms:
    """Functions of `?sw_xform`: of some shapes the amounts that are left, or a list of functions."""

    def __init__(self, of: _Spreads, shapes: Places, amounts: _Amounts, listed: _Listed | None = None) -> None:
        self.of, self.shapes, self.amounts, self.listed = of, shapes, amounts, listed

    @staticmethod
    def everything(template: Spread, points: Sequence[Point]) -> ListedXforms:
        of = _Spreads(template, points)
        return ListedXforms(of, np.arange(len(of.modulus)), {})._with_list()

    # -- the functions that are left --------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many there are, or if they are not listed, how many at most."""
        if self.listed is not None:
            return len(self.listed.shape)
        return int((self._classes * self._least[0]).sum()) if len(self.shapes) else 0

    def keep(self, places: Places, allowed: Allowed) -> ListedXforms:
        if self.listed is not None:
            return self._of_list(self._fitting(self.listed, places, allowed, every=True))
        found = self
        for number, (place, line) in enumerate(zip(places.tolist(), allowed, strict=True)):
            if found.listed is not None:
                return found.keep(places[number:], allowed[number:])
            if not line.all() or len(line) < self.of.n:
                found = found._kept(place, line)
        return found

    def keep_any(self, places: Places, allowed: Allowed) -> ListedXforms:
        """Return those that have an allowed value at one of these places; where shifts differ, a superset."""
        if self.listed is not None:
            return self._of_list(self._fitting(self.listed, places, allowed, every=False))
        ks = self.of.shift[places]
        found: dict[int, npt.NDArray[np.bool_]] = {}
        for place, line, k in zip(places.tolist(), allowed, ks.tolist(), strict=True):
            here = self._fits(self.shapes, place, line)
            found[k] = found[k] | here if k in found else here
        found = {k: here & self.amounts[k] if k in self.amounts else here for k, here in found.items()}
        some = np.zeros(len(self.shapes), np.bool_)
        for here in found.values():
            some |= here.any(axis=1)
        amounts = {**self.amounts, **found} if len(found) == 1 else self.amounts
        left = {k: here[some] for k, here in amounts.items()}
        return ListedXforms(self.of, self.shapes[some], left)._with_list()

    def given(self, places: Places, allowed: Allowed) -> Allowed:
        size = allowed.shape[1]
        found = np.zeros((len(places), max(size, self.of.n)), np.bool_)
        lines, first, block = np.arange(len(places)), 0, FIRST_BLOCK
        total = len(self.shapes) if self.listed is None else len(self.listed.shape)
        while first < total and len(lines):
            some = slice(first, first + block)
            if self.listed is None:
                for line in lines.tolist():
                    self._give(found[line], int(places[line]), some)
            else:
                self._give_listed(found, lines, places, self.listed.where(some))
            lines = lines[(allowed[lines] & ~found[lines, :size]).any(axis=1)]
            first, block = first + block, 4 * block
        return allowed & found[:, :size]

    def one_by_one(self, most: int) -> ListedXforms | None:
        """Return the same functions as a list, None if there may be more than so many."""
        if self.listed is not None or self.count > most:
            return self if self.listed is not None and self.count <= most else None
        return self._of_list(self._list_of(self.shapes, self.amounts))

    def values(self, places: Places) -> npt.NDArray[Any]:
        """Return what the functions of a list give at some places: a line a function."""
        assert self.listed is not None
        found = np.empty((self.count, len(places)), self.of.base.dtype)
        for first in range(0, self.count, STEP):
            some = slice(first, first + STEP)
            found[some] = self._values(self.listed.where(some), places)
        return found

    def only(self, some: Any) -> ListedXforms:
        """Return some functions of a list, by their numbers or by which of them they are."""
        assert self.listed is not None
        return self._of_list(self.listed.where(some))

    # -- one by one -------------------------------------------------------------------------------------------

    def choice(self) -> Choice:
        return next(self.choices())

    def choices(self) -> Iterator[Choice]:
        shapes, rates, _ = self.of.template.components
        for listed in self._lists():
            for shape, of_class, amounts in zip(*listed, strict=True):
                modulus = int(self.of.modulus[shape])
                for rate in np.flatnonzero(self.of.rates(modulus).of_class == of_class).tolist():
                    least = int(amounts[0] - self.of.turns[rate, 0]) % modulus
                    for offset in range(least, self.of.n, modulus):
                        yield shapes[shape], rates[rate], offset

    def simplest(self) -> Choice:
        return min(self.choices(), key=self.of.template.weight)

    def _lists(self) -> Iterator[_Listed]:
        if self.listed is not None:
            yield self.listed
            return
        for row in range(len(self.shapes)):
            some = slice(row, row + 1)
            yield self._list_of(self.shapes[some], {k: left[some] for k, left in self.amounts.items()})

    def _kept(self, place: int, line: Allowed) -> ListedXforms:
        """Return those that have an allowed value at a place; they are not listed yet."""
        here, k = self._fits(self.shapes, place, line), int(self.of.shift[place])
        amounts = {**self.amounts, k: here & self.amounts[k] if k in self.amounts else here}
        some = amounts[k].any(axis=1)
        return ListedXforms(self.of, self.shapes[some], {k: left[some] for k, left in amounts.items()})._with_list()

    # -- values and amounts -----------------------------------------------------------------------------------

    def _fits(self, shapes: Places, place: int, line: Allowed) -> npt.NDArray[np.bool_]:
        """Return the amounts with which shapes have an allowed value at a place."""
        of, at = self.of, self.of.index[place]
        base, start = of.base[shapes, at].astype(np.intp), of.start[shapes, at].astype(np.intp)
        modulus = of.modulus[shapes]
        whole = np.zeros(of.n, np.bool_)
        whole[: len(line)] = line[: of.n]
        few = whole.sum() * 2 <= of.n
        members = np.flatnonzero(whole if few else ~whole)
        found = np.zeros((len(shapes), of.n), np.bool_) if few else np.arange(of.n) < modulus[:, None]
        for value in members.tolist():
            amount = value - base
            rows = np.flatnonzero((amount >= 0) & (amount < modulus))
            found[rows, (amount[rows] - start[rows]) % modulus[rows]] = few
        return found

    def _values(self, listed: _Listed, places: Places) -> _Numbers:
        """Return what functions give at places: a line a function."""
        of, shapes = self.of, listed.shape[:, None]
        at, modulus = of.index[places], of.modulus[listed.shape][:, None]
        amount = of.start[shapes, at] + listed.amounts[:, of.shift[places]]
        return of.base[shapes, at] + amount % modulus

    def _fitting(self, listed: _Listed, places: Places, allowed: Allowed, every: bool) -> _Listed:
        """Return the functions with an allowed value at every one of these places, or at any."""
        wide = np.zeros((len(places), max(allowed.shape[1], self.of.n)), np.bool_)
        wide[:, : allowed.shape[1]] = allowed
        fits, first = np.zeros(len(listed.shape), np.bool_), 0
        while first < len(places) and len(listed.shape):
            some = slice(first, first + max(1, STEP // len(listed.shape)) if first else 1)
            here = wide[np.arange(len(places))[some], self._values(listed, places[some])]
            if every:
                listed = listed.where(here.all(axis=1))
            else:
                fits |= here.any(axis=1)
            first = some.stop
        return listed if every else listed.where(fits)

    def _give(self, found: npt.NDArray[np.bool_], place: int, some: slice) -> None:
        """Note the values that some shapes give at a place."""
        of, shapes, at = self.of, self.shapes[some], self.of.index[place]
        base, modulus = of.base[shapes, at].astype(np.intp), of.modulus[shapes]
        amounts = self.amounts.get(int(of.shift[place]))
        if amounts is None:
            for first, length in set(zip(base.tolist(), modulus.tolist(), strict=True)):
                found[first : first + length] = True
            return
        rows, amount = np.nonzero(amounts[some])
        found[base[rows] + (of.start[shapes[rows], at] + amount) % modulus[rows]] = True

    def _give_listed(self, found: npt.NDArray[np.bool_], lines: Places, places: Places, listed: _Listed) -> None:
        step = max(1, STEP // len(listed.shape))
        for first in range(0, len(lines), step):
            here = lines[first : first + step]
            found[here, self._values(listed, places[here])] = True

    # -- lists ------------------------------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> _Numbers:
        """How many classes of rates each shape has."""
        number = {m: len(self.of.rates(m).apart) for m in set(self.of.modulus[self.shapes].tolist())}
        return np.array([number[m] for m in self.of.modulus[self.shapes].tolist()], np.int64)

    @cached_property
    def _least(self) -> tuple[_Numbers, list[int]]:
        """The number of amounts of each shape at the shift that leaves the fewest, and the shifts, such ones first."""
        order = sorted(self.amounts, key=lambda k: int(self.amounts[k].sum()))
        return (self.amounts[order[0]].sum(axis=1) if order else self.of.modulus[self.shapes]), order

    def _of_list(self, listed: _Listed) -> ListedXforms:
        return ListedXforms(self.of, self.shapes, {}, listed)

    def _with_list(self) -> ListedXforms:
        """Return these functions as a list if it is short, or if shapes have one amount each at two shifts."""
        least, order = self._least
        most, settled = int((least * self._classes).sum()), False
        if most > MOST_LISTED and len(order) > 1:
            pairs = int((least * self.amounts[order[1]].sum(axis=1)).sum())
            most, settled = self.of.shifts * pairs, pairs == len(self.shapes)
        return self._of_list(self._list_of(self.shapes, self.amounts)) if most <= MOST_LISTED or settled else self

    def _list_of(self, shapes: Places, amounts: _Amounts) -> _Listed:
        """Return the functions of some shapes that have one of these amounts at each shift."""
        of, found = self.of, list[_Listed]()
        order = sorted(amounts, key=lambda k: int(amounts[k].sum()))
        moduli = of.modulus[shapes]
        for modulus in sorted(set(moduli.tolist())):
            rows = np.flatnonzero(moduli == modulus)
            apart = of.rates(modulus).apart
            first = order[0] if order else 0
            here = amounts[first][rows][:, :modulus] if order else np.ones((len(rows), modulus), np.bool_)
            row, amount = np.nonzero(here)
            if len(order) > 1:
                row, amount, rate = _taken_further(
                    row, amount, amounts[order[1]][rows], (apart[:, order[1]] - apart[:, first]) % modulus, modulus
                )
            else:
                rate = np.tile(np.arange(len(apart)), len(row))
                row, amount = np.repeat(row, len(apart)), np.repeat(amount, len(apart))
            for k in order[2:]:
                here = amounts[k][rows[row], (amount + apart[rate, k] - apart[rate, first]) % modulus]
                row, amount, rate = row[here], amount[here], rate[here]
            each = (amount[:, None] + apart[rate] - apart[rate, first][:, None]) % modulus
            each = each.astype(of.base.dtype)
            found.append(_Listed(shapes[rows[row]].astype(np.int32), rate.astype(np.int32), each))
        if not found:
            nothing = np.zeros(0, np.intp)
            return _Listed(nothing, nothing, np.zeros((0, of.shifts), of.base.dtype))
        return _Listed(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _taken_further(
    row: Places, amount: Places, there: npt.NDArray[np.bool_], apart: _Numbers, modulus: int
) -> tuple[Places, Places, Places]:
    """Return the shapes and amounts at one shift with each class of rates that takes them to an amount at another.

    `there` says which amounts a shape has at the other shift, `apart` by how much each class differs there.
    """
    other_row, other = np.nonzero(there[:, :modulus])
    starts, counts = np.searchsorted(other_row, row), np.bincount(other_row, minlength=len(there))[row]
    which = _ranges(starts, counts)
    row, amount = np.repeat(row, counts), np.repeat(amount, counts)
    order = np.argsort(apart, kind="stable")
    wanted = (other[which] - amount) % modulus
    starts = np.searchsorted(apart[order], wanted)
    counts = np.searchsorted(apart[order], wanted, side="right") - starts
    return np.repeat(row, counts), np.repeat(amount, counts), order[_ranges(starts, counts)]


def _ranges(starts: Places, counts: Places) -> Places:
    """Return the numbers of ranges, one range after the other."""
    ends = np.cumsum(counts)
    found: Places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)
    return found
