"""The functions of `?sw_xform` as bit masks: of each shape and each rate, which offsets are left.

Space 3 has a million functions at warp size 32. That an offset is allowed at a point is one bit, and all offsets are
looked at in one step, by rotating a mask.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from templates.chooser import Allowed, Choice, Places
from templates.holes import Point

MOST_SETS = 50_000_000  # shapes, rates and shifts, multiplied: 23 million for a struct of 64 words, one a lane
WORD = 64
AT_ONCE = 200_000  # sets computed in one step
LARGE, PART = 8_000, 4  # sets, of which a part gives all that is asked as a rule: every fourth shape and rate


class Spread(Protocol):
    """What is asked of the template; `Xform` has it."""

    n: int

    @property
    def components(self) -> tuple[tuple[Any, ...], ...]: ...
    def behaviours(self, shapes: Any, indices: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]: ...
    def turns(self, rates: Any, shifts: Any) -> npt.NDArray[Any]: ...
    def weight(self, choice: Choice) -> tuple[Any, ...]: ...


class _Shapes:
    """What shapes and rates do at the points.

    The function of a shape s, a rate r and an offset c has, at index i and shift k, the value
    `base[i, s] + (start[i, s] + turn[k, r] + c) % modulus[s]`. Sets of values and of amounts are integers, whose bits
    are the members.
    """

    def __init__(self, template: Spread, points: Sequence[Point]) -> None:
        shapes, rates, _ = template.components
        self.template, self.n = template, template.n
        self.type: type[Any] = np.uint32 if self.n <= 32 else np.uint64
        indices, self.index = np.unique([p[0] for p in points], return_inverse=True)
        shifts, self.shift = np.unique([shift(p) for p in points], return_inverse=True)
        spread = template.behaviours(shapes, indices)
        self.base, self.start, self.modulus = map(self._words, map(np.ascontiguousarray, map(np.transpose, spread)))
        self.turn = self._words(np.ascontiguousarray(template.turns(rates, shifts).T))
        self.back = (self.n - self.turn) % self.n
        one = self._words(np.array(1))
        self.first = (one << self.modulus) - one  # amounts below the modulus
        self.whole = self._words(np.array((1 << self.n) - 1, object))
        self.copies = self.whole // self.first  # times a set modulo the modulus is that set modulo n

    def _words(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return numbers.astype(self.type)

    def packed(self, members: Allowed) -> npt.NDArray[Any]:
        """Return a set for each line."""
        words = np.zeros((len(members), WORD), np.bool_)
        words[:, : members.shape[1]] = members
        found: npt.NDArray[Any] = np.packbits(words, axis=1, bitorder="little").view("<u8")[:, 0].astype(self.type)
        return found

    def members(self, sets: npt.NDArray[Any], size: int) -> Allowed:
        """Return a line for each set."""
        words = sets.astype("<u8").view(np.uint8).reshape(-1, WORD // 8)
        found: Allowed = np.unpackbits(words, axis=1, count=size, bitorder="little").view(np.bool_)
        return found

    def turned(self, sets: npt.NDArray[Any], by: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return sets of amounts modulo n, with an amount below n added to each member."""
        found: npt.NDArray[Any] = sets << by
        found |= sets >> (self.n - by)
        found &= self.whole
        return found

    def listed(self, shapes: Places, offsets: npt.NDArray[Any]) -> tuple[Places, ...]:
        """Return functions one by one, as their places in `offsets` and their offsets; of those alike, one."""
        once = (offsets & self.first[shapes, None]).reshape(-1)
        return np.nonzero(self.members(once, self.n).reshape(*offsets.shape, self.n))

    def sets(self, shapes: Places, size: tuple[int, ...], listed: tuple[Places, ...]) -> npt.NDArray[Any]:
        """Return the offsets of functions that are listed, and those that are alike: the inverse of `listed`."""
        shape, rate, offset = listed
        found = np.zeros(size, self.type)
        np.bitwise_or.at(found, (shape, rate), self.type(1) << offset.astype(self.type))
        copied: npt.NDArray[Any] = found * self.copies[shapes, None]
        return copied

    def values(self, shapes: Places, rates: Places, offsets: Places, place: int) -> Places:
        """Return what functions give at a place."""
        i = self.index[place]
        amount = (self.start[i][shapes] + self.turn[self.shift[place]][rates]).astype(np.int64) + offsets
        found: Places = self.base[i][shapes].astype(np.int64) + amount % self.modulus[shapes].astype(np.int64)
        return found


class Xforms(Struct, frozen=True):
    """Functions of `?sw_xform`: of some shapes (how i is spread) and rates (of k), which offsets are left.

    With an offset all that are alike modulo the shape's modulus are left: they are the same function.
    """

    of: _Shapes
    shapes: Places
    rates: Places
    offsets: npt.NDArray[Any]  # sets, a line a shape, a column a rate

    @staticmethod
    def everything(template: Spread, points: Sequence[Point]) -> Xforms:
        of = _Shapes(template, points)
        shapes, rates, offsets = template.components
        assert len(offsets) == template.n, "every offset is there"
        whole = np.full((len(shapes), len(rates)), of.whole, of.type)
        return Xforms(of, np.arange(len(shapes)), np.arange(len(rates)), whole)

    @property
    def count(self) -> int:
        return int(np.bitwise_count(self.offsets).sum())

    def keep(self, places: Places, allowed: Allowed) -> Xforms:
        fitting = self._fitting(places, allowed, np.bitwise_and)
        return self._with(functools.reduce(np.bitwise_and, fitting, self.offsets))

    def keep_any(self, places: Places, allowed: Allowed) -> Xforms:
        fitting = self._fitting(places, allowed, np.bitwise_or)
        return self._with(self.offsets & functools.reduce(np.bitwise_or, fitting))

    def agreeing(self, apart: Mapping[tuple[int, int], Allowed]) -> Xforms:
        """Return those that have, at no two places, values that exclude each other.

        Shapes that do the same with the indices of these places are looked at once.
        """
        of = self.of
        if of.type is object:
            return self
        at = np.unique(of.index[sorted(set(itertools.chain(*apart)))])
        does = np.concatenate(
            [of.base[at][:, self.shapes], of.start[at][:, self.shapes], of.modulus[None, self.shapes]]
        )
        _, firsts, kinds = np.unique(does, axis=1, return_index=True, return_inverse=True)
        kinds, shapes = kinds.reshape(-1), self.shapes[firsts]
        held = np.zeros((len(shapes), len(self.rates)), of.type)
        np.bitwise_or.at(held, kinds, self.offsets)
        shape, rate, offset = of.listed(shapes, held)
        values: dict[int, Places] = {}
        for pair, excluded in apart.items():
            for place in pair:
                if place not in values:
                    values[place] = of.values(shapes[shape], self.rates[rate], offset, place)
            fits = np.flatnonzero(~excluded[values[pair[0]], values[pair[1]]])
            if len(fits) < len(shape):
                shape, rate, offset = shape[fits], rate[fits], offset[fits]
                values = {place: some[fits] for place, some in values.items()}
        return self._with(self.offsets & of.sets(shapes, held.shape, (shape, rate, offset))[kinds])

    def differing(self, places: Places) -> Xforms:
        """Return those that have different values at any two of some places.

        Amounts that differ do so with any offset; and with any rate, if the places have one shift.
        """
        of, (first, *more) = self.of, places.tolist()
        rates = self.rates if any(of.shift[place] != of.shift[first] for place in more) else self.rates[:1]
        base, start, modulus = (some.astype(np.int64) for some in (of.base, of.start, of.modulus[self.shapes]))
        found = np.zeros((len(self.shapes), len(rates)), np.uint64)
        for place in (first, *more):
            at, turn = of.index[place], of.turn[of.shift[place]][rates].astype(np.int64)
            values = (start[at][self.shapes][:, None] + turn) % modulus[:, None] + base[at][self.shapes][:, None]
            found |= np.uint64(1) << values.astype(np.uint64)
        fits = np.bitwise_count(found) == len(places)
        return self._with(np.where(fits, self.offsets, of.type(0)))

    def values(self, places: Places) -> npt.NDArray[Any]:
        """Return what each function gives at some places: a line a function, those that are alike once."""
        shape, rate, offset = self.of.listed(self.shapes, self.offsets)
        found = np.empty((len(places), len(shape)), np.uint8)
        for line, place in zip(found, places.tolist(), strict=True):
            line[:] = self.of.values(self.shapes[shape], self.rates[rate], offset, place)
        return found.T

    def only(self, some: Allowed) -> Xforms:
        """Return some of the functions, by their lines in `values`."""
        listed = tuple(column[some] for column in self.of.listed(self.shapes, self.offsets))
        return self._with(self.offsets & self.of.sets(self.shapes, self.offsets.shape, listed))

    def _fitting(self, places: Places, allowed: Allowed, how: np.ufunc) -> Iterator[npt.NDArray[Any]]:
        """Yield, some shifts at once, the offsets that have allowed values: at all of the places or at any."""
        of = self.of
        for shifts, lines, starts in self._byshift(places):
            at, modulus = of.index[places[lines]], of.modulus[self.shapes]
            base, start = of.base[at][:, self.shapes], of.start[at][:, self.shapes]
            values = (of.packed(allowed[lines])[:, None] >> base) & of.first[self.shapes]
            spread = (values >> start) | (values << (modulus - start))
            fitting = how.reduceat((spread & of.first[self.shapes]) * of.copies[self.shapes], starts)
            yield how.reduce(of.turned(fitting[:, :, None], of.back[shifts][:, None, self.rates]), axis=0)

    def _with(self, offsets: npt.NDArray[Any]) -> Xforms:
        """Return these offsets of what there is, without the shapes and rates that have none."""
        of = self.of
        some = offsets != 0
        shapes, rates = some.any(axis=1), some.any(axis=0)
        return Xforms(of, self.shapes[shapes], self.rates[rates], offsets[shapes][:, rates])

    def given(self, places: Places, allowed: Allowed) -> Allowed:
        if self.offsets.size < LARGE:
            return allowed & self._given(places, allowed.shape[1])
        found, part = allowed.copy(), (slice(None, None, PART), slice(None, None, PART))
        some = Xforms(self.of, self.shapes[part[0]], self.rates[part[1]], self.offsets[part])
        open_lines = np.flatnonzero((allowed & ~some._given(places, allowed.shape[1])).any(axis=1))
        if len(open_lines):
            found[open_lines] &= self._given(places[open_lines], allowed.shape[1])
        return found

    def _given(self, places: Places, size: int) -> Allowed:
        of, found = self.of, np.zeros((len(places), size), np.bool_)
        modulus, first = of.modulus[self.shapes], of.first[self.shapes]
        for shifts, lines, starts in self._byshift(places):
            amounts = np.bitwise_or.reduce(of.turned(self.offsets, of.turn[shifts][:, None, self.rates]), axis=2)
            at = of.index[places[lines]]
            base, start = of.base[at][:, self.shapes], of.start[at][:, self.shapes]
            here = (amounts & first)[np.searchsorted(starts, np.arange(len(lines)), side="right") - 1]
            values = ((here << start) | (here >> (modulus - start))) & first
            found[lines] = of.members(np.bitwise_or.reduce(values << base, axis=1), size)
        return found

    def _byshift(self, places: Places) -> Iterator[tuple[Places, Places, Places]]:
        """Yield some shifts, which of the places have them, shift by shift, and where each shift begins among those.

        So many at once as fit in one step.
        """
        shift = self.of.shift[places]
        order = np.argsort(shift, kind="stable")
        starts = np.flatnonzero(np.concatenate((np.ones(len(shift[:1]), np.bool_), np.diff(shift[order]) != 0)))
        step = max(1, AT_ONCE // max(1, self.offsets.size))
        for first in range(0, len(starts), step):
            some = starts[first : first + step]
            end = starts[first + step] if first + step < len(starts) else len(order)
            lines = order[some[0] : end]
            yield shift[order[some]], lines, some - some[0]

    def choice(self) -> Choice:
        return next(self.choices())

    def choices(self) -> Iterator[Choice]:
        shapes, rates, _ = self.of.template.components
        for shape, rate in np.argwhere(self.offsets != 0):
            for offset in np.flatnonzero(self.of.members(self.offsets[shape, [rate]], self.of.n)[0]).tolist():
                yield shapes[self.shapes[shape]], rates[self.rates[rate]], offset

    def simplest(self) -> Choice:
        return min(self.choices(), key=self.of.template.weight)


def shift(point: Point) -> int:
    """Return the k of a point, 0 where it has none."""
    return point[1] if len(point) > 1 else 0
