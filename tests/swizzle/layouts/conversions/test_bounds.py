"""The least selects: against every program of two lanes, against known networks, and figures that are worked out."""

from __future__ import annotations

import random
from itertools import combinations, permutations, product

import numpy as np
import pytest

from bench.conversions import CASES
from swizzle.layouts import convert
from swizzle.layouts.conversions.bounds import ways_of
from swizzle.layouts.conversions.network import ANY
from swizzle.layouts.conversions.rounds import schedules


def reachable(shuffles: int, selects: int) -> set[frozenset[tuple[int, int]]]:
    """Return all sets of registers of two lanes with two words each that so many instructions can make."""
    found = {frozenset({(0, 2), (1, 3)})}
    for moving in sorted({*permutations([True] * shuffles + [False] * selects)}):
        some = {frozenset({(0, 2), (1, 3)})}
        for shuffle in moving:
            after = set()
            for held in some:
                if shuffle:
                    after |= {held | {(x[a], x[b])} for x in held for a, b in product((0, 1), repeat=2)}
                else:
                    after |= {held | {(x[0], y[1])} for x, y in permutations(held, 2)}
            some = after
        found |= some
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("shuffles", "selects"), [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2)])
def test_no_program_of_two_lanes_takes_fewer(shuffles: int, selects: int) -> None:
    """Every permutation of two words of two lanes, and every one of which some words are of no matter."""
    sets = reachable(shuffles, selects)
    for tokens in permutations(range(4)):
        for unwanted in (some for count in range(4) for some in combinations(range(4), count)):
            wanted = np.array([ANY if k in unwanted else token for k, token in enumerate(tokens)]).reshape(2, 2)
            ways = ways_of(wanted, 2)
            assert ways is not None
            fits = any(
                all(any(((row == ANY) | (row == x)).all() for x in map(np.array, held)) for row in wanted)
                for held in sets
            )
            needs_less = ways.outputs.moving.sum() > 2 * shuffles or ways.selects(shuffles) > selects
            assert not (fits and needs_less)


@pytest.mark.parametrize("seed", range(6))
def test_no_network_takes_fewer(seed: int) -> None:
    """Random permutations of words by all schedules; and with a few words that stay."""
    rng = random.Random(seed)
    words = rng.choice([2, 3, 4])
    tokens = list(range(32 * words))
    chosen = rng.sample(tokens, rng.choice([10, 40, 32 * words]))
    for a, b in zip(chosen, rng.sample(chosen, len(chosen)), strict=True):
        tokens[a] = b
    wanted = np.array(tokens).reshape(32, words).T[..., None]
    ways = ways_of(wanted[..., 0], words)
    assert ways is not None
    for network in schedules(wanted, words):
        assert network.selects >= ways.selects(network.shuffles)


def test_what_is_known_of_conversions() -> None:
    """4x4 in quads takes five clocks in registers; structures of four words have the fewest selects."""
    quads = convert(*CASES["quads"][:2], bits=32)
    assert (quads.clocks, quads.clocks_bound, quads.bound) == (5, 5, 3)
    assert quads.proof == (
        "5 clocks at least for whole words in registers: 4 shuffles take 10 selects at least, by the entropy of their "
        "ways"
    )
    four = convert(*CASES["AoS 4"][:2], bits=32, fewest="shuffles")
    assert (four.shuffles, four.selects) == (4, 16)
    assert four.proof.endswith("; 4 shuffles take 16 selects at least, by the entropy of the ways of whole words")
    assert convert(*CASES["AoS 4"][:2], bits=32).clocks_bound == 5.5
    halves = convert(*CASES["fp8"][:2], **CASES["fp8"][2])
    assert halves.fewer is None and halves.clocks_bound == halves.bound


def test_words_that_are_wanted_twice_have_no_bound() -> None:
    """A value may then be on the way of two."""
    assert ways_of(np.array([[0, 0]]), 1) is None
