"""Guards of many fillings side by side are what they are of each filling alone."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from symbolic.solve.sat import SatSolver
from symbolic.values.guard import FALSE, TRUE, Guard, Guards
from symbolic.values.guard_columns import FewLeft, Outcomes

KNOWN, OPEN = 7, 2
ROWS = list(itertools.product((False, True), repeat=KNOWN))


def gates(rng: Random, guards: Guards, inputs: list[Guard]) -> tuple[list[Guard], list[list[Guard]]]:
    """Build the same random gates over any guards; return them, and clauses of them."""
    made = list(inputs)

    def one() -> Guard:
        return rng.choice((1, -1)) * rng.choice(made)

    for _ in range(12):
        match rng.randrange(5):
            case 0:
                made.append(guards.both(one(), one()))
            case 1:
                made.append(guards.any([one(), one(), one()]))
            case 2:
                made.append(guards.odd_one(one(), one()))
            case 3:
                when = one()
                made.append(guards.chosen([(when, one()), (-when, one())]))
            case 4:
                a, b = one(), one()
                pairs = [(a, b), (a, -b), (-a, b), (-a, -b)]
                made += guards.tied([[pairs[0], pairs[2]], [pairs[1]], [pairs[3]]])
    return made, [[one(), one()] for _ in range(3)]


@pytest.mark.parametrize("opened", [0, OPEN])
@pytest.mark.parametrize("seed", range(30))
def test_what_is_left_is_what_a_solver_allows(seed: int, opened: int) -> None:
    """Where all is decided, exactly; where something is open, at least that."""
    outcomes = Outcomes(len(ROWS))
    columns = np.array(ROWS).T
    inputs = [outcomes.known(column) for column in columns[: KNOWN - opened]]
    inputs += [outcomes.fresh() for _ in range(opened)]
    try:
        _, clauses = gates(Random(seed), outcomes, inputs)
        for clause in clauses:
            outcomes.add(clause)
    except FewLeft:
        assert not outcomes.left.any()
    left = outcomes.left.tolist()
    guards = Guards()
    inputs = [guards.fresh() for _ in range(KNOWN)]
    _, clauses = gates(Random(seed), guards, inputs)
    for clause in clauses:
        guards.add(clause)
    inputs = [guards.named(guard) for guard in inputs]
    solver = SatSolver("glucose")
    try:
        solver.add(guards.take())
        for row, stays in zip(ROWS, left, strict=True):
            asked = [g if holds else -g for g, holds in zip(inputs, row, strict=True)][: KNOWN - opened]
            allowed = solver.attempt(asked, 10_000)
            assert stays or not allowed
            assert opened or stays == allowed
    finally:
        solver.close()


def test_counting_is_of_those_that_hold_for_sure() -> None:
    outcomes = Outcomes(4)
    a, b = (outcomes.known(np.array(column)) for column in ([True, True, False, False], [True, False, True, False]))
    outcomes.exactly_one([a, b, outcomes.fresh()])
    assert outcomes.left.tolist() == [False, True, True, True]
    assert outcomes.both(a, b) == FALSE
    assert outcomes.any([a, b, -a]) == TRUE
    with pytest.raises(FewLeft):
        outcomes.add([outcomes.both(-a, a)])


def test_few_fillings_are_left_open() -> None:
    """A guard that few may fulfil is open for these and false for the others; a clause ends what leaves few."""
    outcomes = Outcomes(4, few=1)
    one, two = (
        outcomes.known(np.array(column)) for column in ([True, False, False, False], [True, True, False, False])
    )
    assert outcomes.left_open(two) is None
    open_one = outcomes.left_open(one)
    assert open_one is not None
    assert outcomes.both(open_one, -one) == FALSE
    outcomes.add([-open_one, -one])
    assert outcomes.left.all()
    with pytest.raises(FewLeft):
        outcomes.add([open_one])
    assert outcomes.left.tolist() == [True, False, False, False]
    assert Outcomes(4).left_open(one) is None
