"""Points at which a hole must have different values, whatever the other holes are.

Where data is only moved, an output says for each way in which it may come about what holes give (`chains.py`). Two
things follow of a single hole. Some outputs get what they want through the same points of a hole only, one of which
gives it: where they want as many values as there are points, each point gives another one. And where an output's value
comes through the same point on all ways, what the hole gives there says what other holes give: two such outputs that,
for each value, want different values of another hole at one point cannot have the same one.

Whether an `xform` has different values at some points does not depend on its offset, and often not on its rate. So all
its functions are looked at at once (`Xforms.differing`): of 48 words that 32 lanes load, 30 million are 80,000 then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.chains import Chains, NotOnlyMoved, Ways
from templates.chooser import Places

# Each of these is varied by an experiment: python bench/tuned.py differing.OUTPUTS 512 2048
OUTPUTS = 2048  # those of the first threads of a block, at most
WORTH_IT = 100_000  # functions of a hole


class Differing(Struct, frozen=True):
    """A hole, and of its points some at which no two of its values are equal."""

    hole: int
    places: Places


def differing(problem: Problem) -> list[Differing]:
    """Return what is known of a problem's holes."""
    if problem.branches or problem.by_items:
        return []
    chains = Chains(problem)
    threads = np.array([problem.thread_of(output) for output in problem.outputs])
    outputs = np.argsort(threads, kind="stable")[:OUTPUTS]
    outputs = outputs[threads[outputs] < problem.run.shape.block_threads]
    try:
        ways = chains.ways(np.sort(outputs), {})
    except NotOnlyMoved:
        return []
    once = {hole for hole, _ in ways.asked} - {hole for hole, turn in ways.asked if turn}
    every = [hole for hole in once if (ways.asked[hole, 0][0] >= 0).all()]
    if not chains.complete or len(np.unique(ways.output)) < len(outputs):
        return []
    return [Differing(hole, places) for hole in every for places in (*_shared(ways, hole), *_apart(ways, hole, every))]


def _shared(ways: Ways, hole: int) -> Iterator[Places]:
    """Yield the points that as many values come through as there are points."""
    points, values = ways.asked[hole, 0]
    by: dict[tuple[int, ...], set[int]] = {}
    for own in _by_output(ways.output, np.lexsort((points, ways.output))):
        if (values[own] == values[own[0]]).all():
            by.setdefault(tuple(np.unique(points[own]).tolist()), set()).add(int(values[own[0]]))
    for places, some in by.items():
        if 1 < len(places) == len(some):
            yield np.array(places)


def _apart(ways: Ways, hole: int, every: list[int]) -> Iterator[Places]:
    """Yield the points of outputs of which each two exclude that a hole has the same value at both."""
    points, values = ways.asked[hole, 0]
    at_point = {
        int(points[own[0]]): own
        for own in _by_output(ways.output, np.lexsort((values, ways.output)))
        if (points[own] == points[own[0]]).all() and (np.diff(values[own]) > 0).all()
    }
    rows = list(at_point.values())
    kinds: list[Places] = []
    apart = np.zeros((len(rows), len(rows)), np.bool_)
    for other in every:
        if other == hole:
            continue
        there, wanted = ways.asked[other, 0]
        numbers: dict[bytes, int] = {}
        asks = [
            numbers.setdefault(values[own].tobytes() + there[own].tobytes(), len(numbers))
            if (wanted[own] == wanted[own[0]]).all()
            else -1 - number
            for number, own in enumerate(rows)
        ]
        kind, value = np.array(asks, np.int64), np.array([wanted[own[0]] for own in rows], np.int64)
        apart |= (kind[:, None] == kind) & (value[:, None] != value)
        kinds.append(kind)
    places = np.array(list(at_point), np.intp)
    np.fill_diagonal(apart, True)
    for kind in kinds:
        for own in _by_output(kind, np.argsort(kind, kind="stable")):
            if len(own) > 1 and apart[np.ix_(own, own)].all():
                yield places[own]


def _by_output(output: Places, order: Places) -> list[Places]:
    """Cut an order into parts, one for each output."""
    return np.split(order, np.flatnonzero(np.diff(output[order])) + 1) if len(order) else []
