"""The loops that an example's steps may be: runs of growing or shrinking distances, those with few loops first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from swizzle.scans.algorithm import sizes
from swizzle.scans.held import IDLE
from swizzle.scans.network import Network
from swizzle.scans.points import Skeleton
from swizzle.scans.reading import LoopSketch, ReadScan, StepSketch

BASES: Final = (2, 3)
LOOPS: Final = 5
"""At most so many."""


def base_of(size: int) -> int | None:
    """Return the base of which a size is a power, if it is one of few."""
    return next((base for base in BASES if size in sizes(base, size)), None)


def sketches(example: Network, base: int) -> Iterator[ReadScan]:
    """Yield sketches with all conditions and sources open that have an example's steps at its size."""
    whole = next(k for k in itertools.count() if base**k >= example.size)
    near, far = zip(*(_reach(step, base) for step in example.steps), strict=True)
    found = dict.fromkeys(parts for exponents in (far, near) for parts in _cut(exponents, whole, LOOPS))
    for parts in sorted(found, key=lambda parts: (len(parts), sum(part.steps for part in parts))):
        loops = tuple(LoopSketch(part, (StepSketch(None, None),) * part.steps) for part in parts)
        yield ReadScan("scan", base, example.backward, loops)


def _reach(step: Sequence[int], base: int) -> tuple[int, int]:
    """Return the exponents of the least and the greatest distance of a step."""
    lengths = [abs(i - source) for i, source in enumerate(step) if source != IDLE] or [1]
    near, far = (next(k for k in itertools.count() if base ** (k + 1) > each) for each in (min(lengths), max(lengths)))
    return near, far


def _cut(exponents: Sequence[int], whole: int, most: int) -> Iterator[tuple[Skeleton, ...]]:
    """Yield all ways to cut a list of exponents into at most so many loops."""
    if not exponents:
        yield ()
        return
    for length in range(len(exponents), 0, -1) if most else ():
        for first in _loops(exponents[:length], whole):
            for rest in _cut(exponents[length:], whole, most - 1):
                yield (first, *rest)


def _loops(exponents: Sequence[int], whole: int) -> Iterator[Skeleton]:
    """Yield the loops that some exponents are, of one step or several in a round."""
    for steps in (1, 2, 3, 4):
        if len(exponents) % steps:
            continue
        rounds = [exponents[at : at + steps] for at in range(0, len(exponents), steps)]
        if any(len(set(each)) > 1 for each in rounds):
            continue
        distances = [each[0] for each in rounds]
        count, first, last = len(rounds), distances[0], distances[-1]
        if count == 1 and steps == 1:
            yield Skeleton("first", first, 0, 1)
            if first:
                yield Skeleton("last", 0, whole - first, 1)
        elif count > 1 and distances == list(range(first, first + count)):
            yield Skeleton("up", first, whole - last, steps)
        elif count > 1 and distances == list(range(first, first - count, -1)):
            yield Skeleton("down", last, whole - first, steps)
