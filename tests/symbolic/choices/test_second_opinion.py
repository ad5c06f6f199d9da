"""CP-SAT and our own engine on random spaces: the same assignments, the same empty sets of rules."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import suppress

import pytest

from symbolic.choices.grounding import GroundSpace, ground
from symbolic.choices.propagation import ContradictionError, Propagator
from symbolic.choices.search import assignments
from symbolic.choices.second_opinion import cp_sat_assignments, cp_sat_is_empty, has_cp_sat
from tests.symbolic.choices.test_random_spaces import MOST, random_space

pytestmark = pytest.mark.skipif(
    not has_cp_sat(), reason="ortools is not installed (pip install 'swizzle-inventor[cp-sat]')"
)


def own(space: GroundSpace) -> set[frozenset[tuple[int, object]]]:
    propagation = Propagator(space)
    found = set[frozenset[tuple[int, object]]]()
    for leaf in assignments(propagation):
        there = [n for n in range(space.choices) if all(leaf.masks[need] == 0b10 for need in space.needs[n])]
        found.add(frozenset((n, propagation.values_left(leaf, n)[0]) for n in there))
    return found


def small_spaces(seeds: range) -> Iterator[tuple[int, GroundSpace]]:
    """Yield the random spaces that are small enough to be seen whole."""
    for seed in seeds:
        with suppress(ValueError):  # triggers that wait for each other
            space = ground(random_space(seed))
            if math.prod(len(space.values[n]) for n in range(space.choices)) <= MOST:
                yield seed, space


def compare(seeds: range) -> None:
    for seed, space in small_spaces(seeds):
        assert own(space) == cp_sat_assignments(space), seed
        rules = frozenset(random.Random(seed).sample(range(len(space.rules)), len(space.rules) // 2))
        try:
            empty = next(assignments(Propagator(space, rules)), None) is None
        except ContradictionError:
            empty = True
        assert cp_sat_is_empty(space, rules) == empty, seed


def test_both_engines_say_the_same() -> None:
    compare(range(25))


@pytest.mark.slow
def test_both_engines_say_the_same_of_many_spaces() -> None:
    compare(range(1000, 1400))


def test_a_difference_would_be_seen() -> None:
    """With a rule left out of one of them, some spaces differ."""
    differ = 0
    for _, space in small_spaces(range(25)):
        rules = [n for n in range(len(space.rules)) if n not in space.structural]
        if rules:
            propagation = Propagator(space, rules[1:])
            differ += sum(1 for _ in assignments(propagation)) != len(cp_sat_assignments(space))
    assert differ > 3
