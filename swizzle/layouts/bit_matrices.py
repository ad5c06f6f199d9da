"""The xor map without conflicts whose bit matrix has fewest ones, or the proof that there is none.

An xor map sends the address x to x ^ L(x): each high bit of x flips bits of the field that picks the bank. Such a map
is linear over the field of two elements. So two vectors of a phase meet in a bank exactly where the map sends the
exclusive or of their addresses to a number whose bank bits are 0: only differences count, not phases. Each difference
forbids one value of the column of its highest bit, once the columns below are chosen; the columns are tried in order,
matrices with few ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from swizzle.layouts.requests import Requests
from swizzle.layouts.steps import Addresses, FlipBits

_MOST_NODES, _MOST_LOOKED_AT = 4_000, 4_000_000  # columns tried, and differences seen in all of them


def lightest(requests: Requests, x: Addresses) -> FlipBits | Literal["unknown"] | None:
    """Return the lightest matrix under which every phase takes one turn; None where no xor map of `x` has that.

    `x` holds the address of each cell before the map. 'unknown' where the search is given up.
    """
    unit = max(requests.unit, requests.per_word)
    low, high = unit.bit_length() - 1, requests.cycle.bit_length() - 1
    if 1 << low != unit or 1 << high != requests.cycle:
        return None
    columns = max(0, int(x.max()).bit_length() - high)
    forbidden = _differences(requests, x, low, high)
    values = sorted(range(1 << (high - low)), key=lambda value: (value.bit_count(), value))
    search = _Search(forbidden, columns, values)
    for ones in range(columns * (high - low) + 1):
        chosen = search.first(ones)
        if chosen is not None:
            return FlipBits((0,) * high + tuple(value << low for value in chosen))
        if search.given_up:
            return "unknown"
        if not search.short:
            return None
    return None


def _differences(requests: Requests, x: Addresses, low: int, high: int) -> Addresses:
    """Return the exclusive ors whose bank bits must not become 0, as rows (high bits, bank bits)."""
    flat, found = x.reshape(-1), [np.empty(0, np.int64)]
    for each in requests.phases:
        own = max(each.width, requests.per_word).bit_length() - 1
        places = np.where(each.cells >= 0, flat[each.cells], 0)
        for distance in range(1, places.shape[1]):
            both = (each.cells[:, distance:] >= 0) & (each.cells[:, :-distance] >= 0)
            some = (places[:, distance:] ^ places[:, :-distance])[both]
            inside = (some >> own) & ((1 << (low - own)) - 1)  # the place within the longest vector, which stays
            found.append(some[(inside == 0) & (some >> high != 0)])  # in low bits only: never the same bank
    every = np.unique(np.concatenate(found) >> low)
    return np.stack([every >> (high - low), every & ((1 << (high - low)) - 1)], axis=1)


class _Search:
    """Depth first over columns; `short` says that some matrix was left out only because it had too many ones."""

    def __init__(self, differences: Addresses, columns: int, values: Sequence[int]) -> None:
        self.rest, self.own, self.columns, self.values = differences[:, 0], differences[:, 1], columns, values
        self.tops = [np.flatnonzero(self.rest >> j == 1) for j in range(columns)]
        self.nodes, self.short = 0, False

    @property
    def given_up(self) -> bool:
        return self.nodes > _MOST_NODES or self.nodes * len(self.rest) > _MOST_LOOKED_AT

    def first(self, ones: int) -> tuple[int, ...] | None:
        """Return columns with at most so many ones."""
        self.short = False
        return self._below((), self.own, ones)

    def _below(self, chosen: tuple[int, ...], own: Addresses, ones: int) -> tuple[int, ...] | None:
        """Choose the next column; `own` is what the columns so far make of the bank bits of each difference."""
        j = len(chosen)
        if j == self.columns:
            return chosen
        self.nodes += 1
        if self.given_up:
            return None
        forbidden = set(own[self.tops[j]].tolist())
        for value in self.values:
            if value in forbidden:
                continue
            if value.bit_count() > ones:
                self.short = True
                break
            after = own ^ ((self.rest >> j) & 1) * value if value else own
            found = self._below((*chosen, value), after, ones - value.bit_count())
            if found is not None:
                return found
        return None
