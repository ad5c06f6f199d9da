"""Networks written down from the literature, at any size: what the found algorithms are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from swizzle import scans
from swizzle.scans import Network, Scan

IDLE = -1
Edges = Iterable[tuple[int, int]]


def _network(size: int, steps: Iterable[Edges]) -> Network:
    """Return a network of steps, each given as elements with their sources."""
    rows = []
    for step in steps:
        taken = dict(step)
        rows.append(tuple(taken.get(i, IDLE) for i in range(size)))
    return Network(size, rows)


def _powers(base: int, below: int) -> list[int]:
    found = [1]
    while found[-1] * base < below:
        found.append(found[-1] * base)
    return [each for each in found if each < below]


def is_scan(network: Network, backward: bool) -> bool:
    """Run a network on words: each element is a tuple of the inputs that it holds, in order."""
    held = [(i,) for i in range(network.size)]
    for step in network.steps:
        before = list(held)
        for i, source in enumerate(step):
            if source != IDLE:
                held[i] = before[i] + before[source] if backward else before[source] + before[i]
    whole = tuple(range(network.size))
    return held == [whole[i:] if backward else whole[: i + 1] for i in range(network.size)]


def is_exclusive_scan(network: Network, backward: bool) -> bool:
    """Run a network on words, each of which has to be a range of the inputs, put together in either order."""
    held: list[tuple[int, ...]] = [(i,) for i in range(network.size)]
    for step, gone in zip(network.steps, network.dropped, strict=True):
        before = list(held)
        for i, source in enumerate(step):
            own, taken = () if i in gone else before[i], () if source == IDLE else before[source]
            ranges = [word for word in (taken + own, own + taken) if not word or is_range(word)]
            if not ranges:
                return False
            held[i] = ranges[0]
    whole = tuple(range(network.size))
    return held == [whole[i + 1 :] if backward else whole[:i] for i in range(network.size)]


def is_range(word: tuple[int, ...]) -> bool:
    return word == tuple(range(word[0], word[-1] + 1))


def blelloch(size: int) -> Network:
    """Up as in Brent and Kung's tree; the root is emptied; down, right takes left, which is left with the right's."""
    up = brent_kung(size).steps[: size.bit_length() - 1]
    steps, dropped = [*up, (IDLE,) * size], [frozenset[int]()] * len(up) + [frozenset({size - 1})]
    for d in reversed(_powers(2, size)):
        pairs = [(b + d - 1, b + 2 * d - 1) for b in range(0, size, 2 * d)]
        taken = {i: j for pair in pairs for i, j in (pair, pair[::-1])}
        steps.append(tuple(taken.get(i, IDLE) for i in range(size)))
        dropped.append(frozenset(left for left, _ in pairs))
    return Network(size, steps, dropped)


def kogge_stone(size: int) -> Network:
    return _network(size, ([(i, i - d) for i in range(d, size)] for d in _powers(2, size)))


def sklansky(size: int) -> Network:
    """Blocks of 2 * d: the right half takes the last of the left half."""
    return _network(
        size,
        (
            [(b + d + j, b + d - 1) for b in range(0, size, 2 * d) for j in range(d)]
            for d in _powers(2, size)
        ),
    )  # fmt: skip


def brent_kung(size: int, base: int = 2) -> Network:
    """Up: of `base` blocks of d, the later take the earlier, one after the other. Down: what is between is finished."""
    steps = []
    distances = _powers(base, size)
    for d in distances:
        for turn in range(1, base):
            steps.append([(b + (turn + 1) * d - 1, b + turn * d - 1) for b in range(0, size, base * d)])
    for d in reversed(distances[:-1]):
        steps.append(
            [
                (b + turn * d - 1, b - 1)
                for b in range(base * d, size, base * d)
                for turn in range(1, base)
            ]
        )  # fmt: skip
    return _network(size, steps)


def odd_places(inner: Network) -> Network:
    """Pairs first, then a network of half the size on the odd places, then the even places."""
    size = 2 * inner.size
    steps = [[(i, i - 1) for i in range(1, size, 2)]]
    steps += [[(2 * i + 1, 2 * s + 1) for i, s in enumerate(step) if s != IDLE] for step in inner.steps]
    return _network(size, [*steps, [(i, i - 1) for i in range(2, size, 2)]])


def han_carlson(size: int) -> Network:
    return odd_places(kogge_stone(size // 2))


def ladner_fischer(size: int) -> Network:
    return odd_places(sklansky(size // 2))


FAMILIES: dict[str, Callable[[int], Network]] = {
    "kogge_stone": kogge_stone,
    "sklansky": sklansky,
    "brent_kung": brent_kung,
    "han_carlson": han_carlson,
    "ladner_fischer": ladner_fischer,
}


@cache
def solved(name: str, backward: bool = False) -> Scan:
    """Return what an example of 16 elements becomes; of 27 for the tree in base 3."""
    example = brent_kung(27, 3) if name == "base_three" else FAMILIES[name](16)
    return scans.solve(like=example.mirrored() if backward else example)
