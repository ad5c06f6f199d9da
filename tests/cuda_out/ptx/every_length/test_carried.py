"""How long elements stay in the registers of a loop."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cuda_out.ptx.every_length.carried import longest_way


def ways(goes_to: dict[int, list[int]], way: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    yield way
    for each in goes_to[way[-1]]:
        if each not in way:
            yield from ways(goes_to, (*way, each))


def test_no_way_is_longer() -> None:
    """On random places no way that passes each once is longer, and where there is no circle, one is as long."""
    rng, equal = random.Random(5), 0
    for number in range(300):
        places = range(1, rng.randint(1, 6) + 1)
        below = number % 2
        made_of = {100 + p: [q for q in places if rng.random() < 0.3 and (not below or q < p)] for p in places}
        goes_to = {q: [p for p in places if q in made_of[100 + p]] for q in places}
        longest = max(len(way) for q in places for way in ways(goes_to, (q,)))
        found = longest_way([(p, 100 + p) for p in places], lambda term: made_of.get(term, []), {})  # noqa: B023
        assert longest <= found <= len(places)
        assert not below or found == longest
        equal += found == longest
    assert equal > 200


def test_a_window_is_as_long_as_its_registers() -> None:
    """Elements that are handed on stay for as many trips; accumulators beside each other are one place each."""
    handed_on = [(1, 100), *((place, place - 1) for place in range(2, 51))]
    assert longest_way(handed_on, lambda term: [7, 8] if term == 100 else [], {}) == 50
    assert longest_way([(p, 100 + p) for p in range(1, 51)], lambda term: [term - 100] if term > 100 else [], {}) == 1
    assert longest_way([(1, 100), (2, 1), (2, 2)], lambda term: [7, 8] if term == 100 else [], {2: 49}) == 50
