"""What every program of shuffles needs at least, whatever its selects do.

A shuffle brings one word to a lane, and lets a lane offer one. So a lane that wants n elements of other lanes needs as
many shuffles as n elements fill words, and so does a lane that n elements have to leave (information). Before its first
shuffle a lane knows its own elements only, and a shuffle at most doubles the lanes that a word comes from (reach). A
transposition (`movmatrix`) is one of these, too, but a word of it comes from two lanes.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt
from msgspec import Struct


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
