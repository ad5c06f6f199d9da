"""Tables without any conflict, by Koenig's theorem: a bipartite graph of degree 32 splits into 32 matchings.

Let each word be in one phase of one access and in one of another: an edge between the two. Where no phase has more
edges than there are banks, the edges can be coloured with as many colours so that no two at a phase are alike, and a
colour is a bank. The number of banks is a power of two, so the graph is halved again and again along closed trails,
which alternate between its sides; all trails are followed at once, by doubling.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def edge_colours(left: Ints, right: Ints, colours: int) -> Ints | None:
    """Return a colour for each edge, so that edges which meet differ; None where a vertex has more edges than colours.

    `left` and `right` are the ends of each edge; `colours` is a power of two. No colour has more edges than the larger
    side has vertices, so banks fill up evenly.
    """
    edges = len(left)
    vertices = 1 + int(max(left.max(initial=-1), right.max(initial=-1)))
    vertices = max(vertices, -(-edges // colours))
    spare_left, spare_right = (colours - np.bincount(side, minlength=vertices) for side in (left, right))
    if min(spare_left.min(initial=0), spare_right.min(initial=0)) < 0:
        return None
    ends = [
        np.concatenate([side, np.repeat(np.arange(vertices), spare)])
        for side, spare in ((left, spare_left), (right, spare_right))
    ]
    found = np.zeros(len(ends[0]), np.int64)
    while colours > 1:
        found = 2 * found + _halves(*(found * vertices + side for side in ends))
        colours //= 2
    return found[:edges]


def _halves(left: Ints, right: Ints) -> Ints:
    """Split the edges of a graph whose degrees are even: each vertex has half of its edges on either side."""
    at_left, at_right = _partners(left), _partners(right)
    forward = at_right[at_left]  # two edges on, along a closed trail; the edges between are another orbit
    leader = np.minimum(np.arange(len(left)), forward)
    step = forward
    while True:
        step = step[step]
        further = np.minimum(leader, leader[step])
        if (further == leader).all() and (leader[forward] == leader).all():
            return (leader > leader[at_left]).astype(np.int64)
        leader = further


def _partners(ends: Ints) -> Ints:
    """Pair the edges at each vertex."""
    order = np.argsort(ends, kind="stable")
    found = np.empty_like(order)
    found[order[0::2]], found[order[1::2]] = order[1::2], order[0::2]
    return found
