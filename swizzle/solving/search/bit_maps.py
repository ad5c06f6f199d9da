"""Which functions of a hole go with some map of bits in another one: those that do not are left out, all at once.

Where a hole may only be one of 2^60 maps of bits (`templates/xor_functions.py`), another one's functions often say all
that it does: of a sum of structures, each of thousands of functions of one shuffle decides the other. To try them one
after the other takes milliseconds each. So what each says of the map's values is propagated in thousands of cases side
by side, and the linear equations that follow are solved in all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swizzle.solving.search.point_values import AskedPoints, PointValues
from symbolic.solve.propagate import SideBySide
from templates.chooser import Allowed, Functions
from templates.either import EitherOf
from templates.xform_functions import WORD, Xforms
from templates.xor_functions import AffineMaps

CASES = 4096  # functions that are propagated at once
ROUNDS = 2  # of conclusions, after which most functions are known not to go with a map
MOST = 1 << 32  # functions, times guards of all clauses: half a GiB, and seconds


def matched(values: PointValues, allowed: Allowed, left: Sequence[Functions]) -> dict[int, Functions]:
    """Return, of some holes, the functions that some map may go with, where another hole has only maps left.

    `allowed` says of each value at each point, as `PointValues` numbers them, whether it is possible. Holes with few
    functions come first: of one that is left with none, nothing else matters.
    """
    found = dict[int, Functions]()
    fewest_first = sorted(range(len(left)), key=lambda hole: left[hole].count)
    for other, functions in enumerate(left):
        maps = functions.parts if isinstance(functions, EitherOf) else {0: functions}
        (only, *more) = maps.values()
        if more or not isinstance(only, AffineMaps) or values.sizes[other] > WORD:
            continue
        for hole in fewest_first:
            some = found.get(hole, left[hole])
            if hole == other:
                continue
            if any(each.count == 0 for each in found.values()):
                return found
            if isinstance(some, EitherOf):
                parts = {
                    number: _fitting(values, allowed, hole, each, other, only) for number, each in some.parts.items()
                }
                if any(parts[number] is not each for number, each in some.parts.items()):
                    found[hole] = EitherOf(some.of, parts)
            elif (fitting := _fitting(values, allowed, hole, some, other, only)) is not some:
                found[hole] = fitting
    return found


def _fitting(
    values: PointValues, allowed: Allowed, hole: int, functions: Functions, other: int, maps: AffineMaps
) -> Functions:
    """Return the functions of a hole that some map may go with."""
    if not isinstance(functions, Xforms) or not 0 < functions.count * values.told.size <= MOST:
        return functions
    listed = functions.values(values.asked[hole].places)
    fits = [
        _some_fit(values, allowed, hole, listed[first : first + CASES], other, maps)
        for first in range(0, len(listed), CASES)
    ]
    return functions.only(np.concatenate(fits))


def _some_fit(
    values: PointValues,
    allowed: Allowed,
    hole: int,
    listed: npt.NDArray[Any],
    other: int,
    maps: AffineMaps,
) -> npt.NDArray[np.bool_]:
    """Say of some functions of a hole, by their values at its points, whether some map may go with them."""
    follows = SideBySide(values.told, len(listed))
    for guards, column in zip(values.asked[hole].guards, listed.T, strict=True):
        (some,) = np.nonzero(follows.speak_of(guards))
        follows.know(guards[some], column == some[:, None])
    theirs = values.asked[other]
    possible = allowed[theirs.numbers]
    out = theirs.guards[~possible]
    out = out[follows.speak_of(out)]
    follows.know(out, np.zeros((len(out), len(listed)), np.bool_))
    more = follows.follow(ROUNDS)
    found = _may_have(follows, theirs, possible, maps)
    if more and found.any():
        follows.follow()
        found = _may_have(follows, theirs, possible, maps)
    return found


def _may_have(
    follows: SideBySide, asked: AskedPoints, possible: npt.NDArray[np.bool_], maps: AffineMaps
) -> npt.NDArray[np.bool_]:
    """Say in which cases some map may have the values that are possible, as far as is known."""
    sets = np.zeros((follows.count, len(possible)), np.uint64)
    for place, (guards, free) in enumerate(zip(asked.guards, possible, strict=True)):
        (some,) = np.nonzero(follows.speak_of(guards))
        may = np.repeat(free[:, None], follows.count, axis=1)
        may[some] = ~follows.fails(guards[some])
        holds = np.zeros_like(may)
        holds[some] = follows.fails(-guards[some])
        may &= holds | ~holds.any(axis=0)
        sets[:, place] = (may << np.arange(len(may), dtype=np.uint64)[:, None]).sum(axis=0, dtype=np.uint64)
    found: npt.NDArray[np.bool_] = maps.may_have(asked.places, sets) & ~follows.broken
    return found
