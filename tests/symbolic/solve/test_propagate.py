"""Unit propagation against what the clauses mean."""

import itertools
from random import Random

import pytest

from symbolic.solve.propagate import Propagation
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
