"""What every program of shuffles needs at least: shuffles, whatever its selects do, and selects.

A shuffle brings one word to a lane, and lets a lane offer one. So a lane that wants n elements of other lanes needs as
many shuffles as n elements fill words, and so does a lane that n elements have to leave (information). Before its first
shuffle a lane knows its own elements only, and a shuffle at most doubles the lanes that a word comes from (reach). A
transposition (`movmatrix`) is one of these, too, but a word of it comes from two lanes.

Of a permutation of whole words, the value of a node in a lane is on the way of one word that is wanted, at most. Follow
the ways backwards, from an output or from what a shuffle sends, to the next shuffle or to the input where they end: a
select tells two of them apart, so that a root's ways have no more entropy than selects on them, each counted by how
often it is met. Summed over all roots r, of n(r) words, of which n(r, e) end at e:

    lanes * selects >= sum over r of n(r) log n(r)  -  sum over r and e of n(r, e) log n(r, e)

What is taken away is small, as a lane sends and receives one word by a shuffle: words of one output that come by one
shuffle are of different lanes, or some of them have taken several. There are lanes * shuffles hops in all.
For 4x4 words in every four lanes, four shuffles take ten selects, and three take fourteen.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.layouts.conversions.network import ANY, Tokens


class ShuffleBound(Struct, frozen=True):
    """At least so many shuffles; why, in words."""

    shuffles: int
    reason: str


def bound_of(
    source: npt.NDArray[np.int64], target: npt.NDArray[np.int64], per: int, *, transposing: bool = False
) -> ShuffleBound:
    """Return the bound of a warp that holds `source` and wants `target`: elements by lane and slot, -1 for nothing.

    `transposing`: that of shuffles and transpositions together.
    """
    own = [set(row[row >= 0].tolist()) for row in source]
    wants = [set(row[row >= 0].tolist()) - have for row, have in zip(target, own, strict=True)]
    homes: dict[int, set[int]] = defaultdict(set)
    for lane, have in enumerate(own):
        for element in have:
            homes[element].add(lane)
    leaving = Counter(min(homes[e]) for e in set().union(*wants) if len(homes[e]) == 1)
    into = max(map(len, wants))
    out = max(leaving.values(), default=0)
    if not into:
        return ShuffleBound(0, "each lane has what it wants")
    by = "" if per == 1 else f", {per} to a word"
    bounds = [
        ShuffleBound(-(-into // per), f"a lane wants {_elements(into)} of other lanes{by}"),
        ShuffleBound(-(-out // per), f"{_elements(out)} {'leaves' if out == 1 else 'leave'} a lane{by}"),
    ]
    plain = [want for want in wants if all(len(homes[e]) == 1 for e in want)]
    lanes = max((len({min(homes[e]) for e in want}) for want in plain), default=0)
    each = 3 if transposing else 2
    what = "of both" if transposing else "shuffles"
    reach = f"a lane wants elements of {lanes} other lanes, and n {what} reach {each}^n - 1"
    bounds.append(ShuffleBound(next(n for n in itertools.count() if each**n > lanes), reach))
    return max(bounds, key=lambda b: b.shuffles)


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_SLACK = 1e-6


class SelectBound(Struct, frozen=True):
    """With so many shuffles or fewer, at least so many selects."""

    shuffles: int
    selects: int

    @property
    def clocks(self) -> float:
        """The clocks that every program of shuffles and selects takes by this."""
        return min(self.shuffles + 1.0, self.selects / 2)


class _Side(Struct, frozen=True):
    """Outputs, or inputs: their words, those that move, and how many of a word's one shuffle takes by itself."""

    all: Ints
    moving: Ints
    together: Ints

    def chord(self, stayers: Ints) -> Floats:
        """What each word that takes several shuffles adds to n log n, if so many more words move than have to."""
        most = np.minimum(self.all, self.moving + stayers[:, None])
        over = most > self.together
        slope = most * np.log2(np.maximum(most, 1) / self.together) / np.where(over, most - self.together, 1)
        found: Floats = np.where(over, slope, 0).max(axis=1)
        return found

    @property
    def once(self) -> float:
        """The sum of n log n where each word moves by one shuffle, at most."""
        return float((self.moving * np.log2(self.together)).sum())


class WordWays(Struct, frozen=True):
    """What is counted of a permutation of words: `wanted` numbers, by output and lane, a word of a lane."""

    lanes: int
    outputs: _Side
    inputs: _Side
    stays: Ints

    def bound(self, shuffles: int) -> SelectBound | None:
        """Return what bounds the clocks of programs of at least so many shuffles best; None where it says nothing."""
        best = None
        while (found := SelectBound(shuffles, self.selects(shuffles))).selects / 2 > shuffles:
            best, shuffles = found, shuffles + 1  # more shuffles need no more selects
        return best

    def selects(self, shuffles: int) -> int:
        """Return how many selects a program of at most so many shuffles takes, which are enough for what moves."""
        moving, stays = int(self.outputs.moving.sum()), self.stays[self.stays > 0]
        hops = self.lanes * shuffles
        fixed = _xlogx(self.outputs.all).sum() - _xlogx(stays).sum() - self.outputs.once - self.inputs.once
        more = np.arange(min(int(stays.sum()), hops - moving) + 1)  # words that move, and would not have to
        each = (math.log2(stays.min()) if len(stays) else 0.0) - math.log2(self.outputs.together.max())
        each -= math.log2(self.inputs.together.max())
        chord = self.outputs.chord(more) + self.inputs.chord(more)
        least = math.inf
        for again in range(hops - moving + 1):  # hops beyond the first of a word
            some = more[: hops - moving - again + 1]
            taken = moving + some + again
            sums = fixed + some * each + taken * np.log2(np.maximum(taken, 1) / shuffles)
            sums -= chord[: len(some)] * again + again * math.log2(max(1, min(self.lanes, again)))
            least = min(least, float(sums.min()))
        return max(0, math.ceil(least / self.lanes - _SLACK))


def ways_of(wanted: Tokens, words: int) -> WordWays | None:
    """Count the ways of a permutation of words, (outputs, lanes); None where a word is wanted twice.

    `wanted` is lane * words + word, ANY where nothing is wanted.
    """
    held = wanted != ANY
    if len(np.unique(wanted[held])) < held.sum():
        return None
    count, lanes = wanted.shape
    lane = np.broadcast_to(np.arange(lanes), wanted.shape)
    home, word, output = wanted // words, wanted % words, np.broadcast_to(np.arange(count)[:, None], wanted.shape)
    moving = held & (home != lane)
    stays = np.zeros((count, words), np.int64)
    np.add.at(stays, (output[held & ~moving], word[held & ~moving]), 1)

    def side(number: Ints, size: int, other: Ints) -> _Side:
        pairs = np.unique(np.stack([number[held], other[held]]), axis=1)[0]
        together = np.maximum(1, np.bincount(pairs, minlength=size))
        return _Side(np.bincount(number[held], minlength=size), np.bincount(number[moving], minlength=size), together)

    return WordWays(lanes, side(output, count, home), side(word, words, lane), stays)


def _xlogx(counts: Ints) -> Floats:
    found: Floats = np.multiply(counts, np.log2(np.maximum(counts, 1)))
    return found
