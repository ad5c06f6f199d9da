"""Holes whose arguments other holes decide: at which points they may be asked, and what they give there.

A row that a lane names and the place where a tile keeps it are found together: the one is asked at the points that the
other leads to. A thread's value is that of each point, under the guard that it is the point.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from symbolic.errors import SwizzleError
from symbolic.ir.program import Hole
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union, merge
from symbolic.values.vector import Deferred, Encoding, HoleQuestion, Lanes, Vector, at, reach

MOST: Final = 1 << 12
"""Points at which a thread may ask a hole."""


def points_reached(arguments: Sequence[Vector], mask: Vector, count: int, hole: Hole) -> Lanes:
    """Return the points at which threads that are on, or may be, may ask a hole: ascending, a line each."""
    found = set[tuple[int, ...]]()
    question = _only_question(arguments)
    if question is not None:
        on = mask if isinstance(mask, np.ndarray) else np.ones(count, np.bool_)
        size = (len(question.values), count)
        lines = [a.table if isinstance(a, Deferred) else np.broadcast_to(a, size) for a in arguments]
        return np.unique(np.stack([each[:, on].reshape(-1) for each in lines], axis=1), axis=0)
    seen = set[tuple[frozenset[Any], ...]]()
    for t in range(count):
        reached = tuple(reach(a, t) for a in arguments)
        if reached in seen or not (isinstance(mask, Deferred) or mask[t]):
            continue
        seen.add(reached)
        if prod(map(len, reached)) > MOST:
            raise SwizzleError(
                f"the arguments of {hole.name} depend on other holes, and may be one of {prod(map(len, reached))}",
                place=hole.place,
                expected=f"at most {MOST} in one thread",
                fix="let fewer holes decide them, or find those in a sketch of their own (filled_from=)",
            )
        found.update(itertools.product(*reached))
    return np.array(sorted(found), np.int64).reshape(len(found), len(arguments))


def by_points(number: int, arguments: Sequence[Vector], domain: frozenset[Any]) -> Deferred:
    """Return what a hole gives each thread, whose arguments depend on other holes."""
    question = _only_question(arguments)

    def points(encoding: Encoding, t: int) -> Iterator[tuple[Guard, tuple[Any, ...]]]:
        if question is not None:  # all of them are of one hole's value
            values = encoding.hole(question.hole, tuple(int(a[t]) for a in question.arguments)).values
            for line, value in enumerate(question.values.tolist()):
                if value in values:
                    yield values[value], tuple(a.table[line, t] if isinstance(a, Deferred) else a[t] for a in arguments)
            return
        for some in itertools.product(*(at(a, encoding, t).values.items() for a in arguments)):
            here = TRUE
            for _, guard in some:
                here = encoding.guards.both(here, guard)
            yield here, tuple(value for value, _ in some)

    def compute(encoding: Encoding, t: int) -> Union:
        found = ((guard, tuple(map(int, point))) for guard, point in points(encoding, t) if guard != FALSE)
        return merge(encoding.guards, [(guard, encoding.hole(number, point)) for guard, point in found])

    return Deferred(compute, lambda t: domain)


def _only_question(arguments: Sequence[Vector]) -> HoleQuestion | None:
    """Return the one call of a hole that decides all arguments, None if there are several."""
    questions = [a.question for a in arguments if isinstance(a, Deferred)]
    return questions[0] if all(each is questions[0] for each in questions) else None
