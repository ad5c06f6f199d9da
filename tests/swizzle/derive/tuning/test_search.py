"""Searches over random spaces: all find the least cost that full enumeration finds, and say when that is proved."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from swizzle.derive.tuning.search import SEARCHES, CandidateSearch, RandomSearch, ThresholdAscent
from symbolic.choices.conditions import holds
from symbolic.choices.grounding import ground
from symbolic.choices.propagation import ContradictionError, PartialAssignment, Propagator
from symbolic.choices.search import assignments
from symbolic.choices.space import ChoiceSpace


def random_space(chooser: random.Random) -> tuple[Propagator, list[PartialAssignment]]:
    """Return a small space with a requirement that leaves out some combinations, and all that it holds."""
    while True:
        made = ChoiceSpace("random")
        number = chooser.randint(1, 4)
        choices = [made.enum(f"c{n}", [], tuple(range(chooser.randint(1, 4))))() for n in range(number)]
        without = {tuple(chooser.randrange(4) for _ in range(number)) for _ in range(20)}
        made.require("some", [], lambda choices=choices, without=without: holds(lambda *v: v not in without, *choices))
        propagation = Propagator(ground(made))
        try:
            leaves = list(assignments(propagation))
        except ContradictionError:
            continue
        if leaves:
            return propagation, leaves


def bounded(costs: dict[PartialAssignment, float], share: float) -> Callable[[PartialAssignment], float]:
    """Return a bound: a share of the least cost of what is below a candidate; for 2, that of complete ones alone."""

    def bound(candidate: PartialAssignment) -> float:
        below = [
            cost
            for leaf, cost in costs.items()
            if all(one & other for one, other in zip(leaf.masks, candidate.masks, strict=True))
        ]
        if share == 2:
            return costs.get(candidate, 0.0)
        return share * min(below, default=math.inf) if share else 0.0

    return bound


def run(search: CandidateSearch, costs: dict[PartialAssignment, float]) -> int:
    """Let a search ask until it is done; return how many candidates it asked about."""
    asked = 0
    while (leaf := search.ask()) is not None:
        assert leaf not in search.costs, "no candidate is asked about twice"
        assert isinstance(search, RandomSearch) or search.hopeful(search.bound(leaf)), "it may be better than the best"
        search.tell(leaf, costs[leaf])
        asked += 1
    return asked


@pytest.mark.parametrize("seed", range(24))
def test_every_search_finds_the_least(seed: int) -> None:
    """Without bounds, with loose ones, exact ones, which tell at the root what the optimum is, and exact late ones."""
    chooser = random.Random(seed)
    propagation, leaves = random_space(chooser)
    costs = {leaf: chooser.choice([math.inf, 1.0, 1.1, 2.0, 2.1]) for leaf in leaves}
    least = min(costs.values())
    for share in (0.0, 0.6, 1.0, 2.0):
        for kind in SEARCHES.values():
            first = chooser.sample(range(len(propagation.space.names)), len(propagation.space.names))
            search = kind(propagation, propagation.root(), first, bounded(costs, share), seed)
            asked = run(search, costs)
            assert search.best == least
            assert search.finished or kind is RandomSearch
            assert asked <= len(leaves)


def test_nothing_is_asked_once_the_best_is_the_bound_of_the_root() -> None:
    """p is 0 everywhere then: the search ends, and says that nothing is better."""
    propagation, leaves = random_space(random.Random(7))
    search = ThresholdAscent(propagation, propagation.root(), [], lambda candidate: 2.0, 0)
    leaf = search.ask()
    assert leaf in leaves
    search.tell(leaf, 2.0)
    assert search.ask() is None and search.finished and len(leaves) > 1


def test_a_bound_that_is_too_high_loses_the_optimum() -> None:
    """The comparison above can fail: a bound above the least cost cuts it."""
    wrong = 0
    for seed in range(20):
        chooser = random.Random(seed)
        propagation, leaves = random_space(chooser)
        costs = {leaf: chooser.choice([1.0, 2.0, 3.0]) for leaf in leaves}
        for kind in (SEARCHES["tag"], SEARCHES["bound"]):
            search = kind(propagation, propagation.root(), [], bounded(costs, 2.5), seed)
            run(search, costs)
            wrong += search.best > min(costs.values())
    assert wrong > 0
