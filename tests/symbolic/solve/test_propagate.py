"""Unit propagation against what the clauses mean."""

import itertools
from random import Random

import numpy as np
import pytest

from symbolic.solve.propagate import ClauseMatrices, Propagation, SideBySide
from symbolic.values.guard import TRUE


def units(clauses: list[list[int]], given: list[int]) -> set[int] | None:
    """Return the closure under unit propagation, naively."""
    true = {TRUE, *given}
    while True:
        if any(-g in true for g in true):
            return None
        found = set()
        for clause in clauses:
            if not any(g in true for g in clause):
                left = [g for g in clause if -g not in true]
                if not left:
                    return None
                if len(left) == 1:
                    found.add(left[0])
        if not found:
            return true
        true |= found


@pytest.mark.parametrize("seed", range(20))
def test_random_clauses(seed: int) -> None:
    """What is implied is the closure under unit clauses, single clauses and empty ones included."""
    random = Random(seed)
    variables = range(2, 9)
    clauses = [
        [random.choice((-1, 1)) * v for v in random.sample(variables, random.choice((1, 2, 2, 3, 3)))]
        for _ in range(random.randrange(2, 12))
    ]
    engine = Propagation()
    engine.add([[TRUE], *clauses])
    for given in itertools.product((-1, 0, 1), repeat=3):
        guards = [sign * v for sign, v in zip(given, variables, strict=False) if sign]
        expected, found = units(clauses, guards), engine.implied(guards)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert set(found) | {TRUE} == expected
    engine.add([[]])
    assert engine.implied([]) is None
    engine.close()


@pytest.mark.parametrize("seed", range(20))
def test_cases_side_by_side(seed: int) -> None:
    """What is told of a few guards in each case implies what it implies in that case alone."""
    random = Random(seed)
    clauses = [
        [random.choice((-1, 1)) * v for v in random.sample(range(2, 12), random.choice((1, 2, 2, 3, 3, 5)))]
        for _ in range(random.randrange(1, 14))
    ]
    cases, told = random.choice((1, 64, 70)), ClauseMatrices()
    told.add([[TRUE]])
    told.add(clauses)
    side_by_side = SideBySide(told, cases)
    asked = np.arange(2, 15)
    asked = asked[side_by_side.speak_of(asked)]
    assert set(asked.tolist()) == {abs(g) for clause in clauses for g in clause}
    known = asked[:3]
    holds = np.array([[random.random() < 0.5 for _ in range(cases)] for _ in known], np.bool_)
    side_by_side.know(known, holds)
    while side_by_side.follow(rounds=1 if seed % 2 else None):
        pass
    asked = np.concatenate([asked, -asked])
    found = side_by_side.fails(-asked)
    for case in range(cases):
        expected = units(clauses, np.where(holds[:, case], known, -known).tolist())
        assert side_by_side.broken[case] == (expected is None)
        if expected is not None:
            assert set(asked[found[:, case]].tolist()) == expected - {TRUE}
