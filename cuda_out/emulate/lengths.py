"""Lengths that a host function treats in a way of their own, found by what it compares.

A comparison tells how far its sides are apart. Where the sign of that differs between two lengths, the length at which
it changes lies between them and is found by halving: so `n == a * b + c` is met whatever its numbers are, or how the
text spells them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

Traces = Sequence[Mapping[Hashable, int]]
"""For each length, the difference of the sides of each comparison that was made, by its place."""

GENERATIONS: Final = 3
"""A length that was found may lead to comparisons that were not made before: so often they are looked at again."""
MOST: Final = 400
"""As many changes of sign are followed."""


def singled_out(trace: Callable[[Sequence[int]], Traces], start: Iterable[int], step: int = 1) -> list[int]:
    """Return the multiples of `step` beside which a comparison changes its sign, and those, between the least and the
    greatest length of `start`. Each round asks `trace` for all lengths at once."""
    known: dict[int, Mapping[Hashable, int]] = {}
    found: set[int] = set()
    followed: set[tuple[Hashable, int, int]] = set()

    def ask(lengths: Iterable[int]) -> None:
        new = sorted({length for length in lengths if length not in known})
        known.update(zip(new, trace(new) if new else [], strict=True))

    ask(start)
    for _ in range(GENERATIONS):
        gaps = [gap for gap in _gaps(known) if gap not in followed][: MOST - len(followed)]
        if not gaps:
            break
        followed.update(gaps)
        while gaps:
            middle = {gap: (gap[1] // step + gap[2] // step) // 2 * step for gap in gaps}
            open_gaps = [gap for gap in gaps if gap[1] < middle[gap] < gap[2]]
            found.update(end for gap in gaps if gap not in open_gaps for end in gap[1:])
            ask(middle[gap] for gap in open_gaps)
            gaps = []
            for place, low, high in open_gaps:
                at = middle[place, low, high]
                if known[at].get(place) == 0:
                    found.update((at - step, at, at + step))
                elif place in known[at] and _sign(known[low][place]) == _sign(known[at][place]):
                    gaps.append((place, at, high))
                elif place in known[at]:
                    gaps.append((place, low, at))
        ask(found)
    return sorted(found)


def _gaps(known: Mapping[int, Mapping[Hashable, int]]) -> Iterable[tuple[Hashable, int, int]]:
    """Yield where a comparison changes its sign between neighbouring lengths at which it is made."""
    places = {place for trace in known.values() for place in trace}
    for place in sorted(places, key=repr):
        made = sorted(length for length, trace in known.items() if place in trace)
        for low, high in pairwise(made):
            if _sign(known[low][place]) != _sign(known[high][place]):
                yield place, low, high


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
