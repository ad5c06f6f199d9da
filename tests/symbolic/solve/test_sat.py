"""SAT solvers under a limit of conflicts, and without one."""

import itertools

import pytest

from symbolic.solve.engines import SatName
from symbolic.solve.sat import SatSolver


@pytest.mark.parametrize("name", ["glucose", "cadical"])
def test_an_attempt_ends_at_its_conflicts(name: SatName) -> None:
    """That seven pigeons do not fit into six holes takes more than one conflict, and is found without a limit."""
    holes, pigeons = range(6), range(7)
    sits = {place: number for number, place in enumerate(itertools.product(pigeons, holes), 1)}
    solver = SatSolver(name)
    solver.add([sits[p, h] for h in holes] for p in pigeons)
    solver.add([-sits[p, h], -sits[q, h]] for h in holes for p, q in itertools.combinations(pigeons, 2))
    assert solver.attempt([], 1) is None
    assert solver.check([], None) is False
    solver.close()


@pytest.mark.parametrize("name", ["glucose", "cadical"])
def test_a_check_says_what_the_search_found(name: SatName) -> None:
    """One of two, and neither."""
    solver = SatSolver(name)
    solver.add([[1, 2]])
    assert solver.check([-1], None) is True and solver.model()[1] == 2
    assert solver.check([-1, -2], None) is False and set(solver.core()) == {-1, -2}
    solver.close()
