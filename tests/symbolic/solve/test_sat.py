"""SAT solvers under a limit of conflicts, and without one."""

import itertools
import threading

import pytest

from symbolic.solve.engines import SatName
from symbolic.solve.sat import SatSolver


def with_pigeons(name: SatName, holes: int) -> SatSolver:
    """Return a solver with clauses that cannot hold: one pigeon more than there are holes, each alone in one."""
    pigeons = range(holes + 1)
    sits = {place: number for number, place in enumerate(itertools.product(pigeons, range(holes)), 1)}
    solver = SatSolver(name)
    solver.add([sits[p, h] for h in range(holes)] for p in pigeons)
    solver.add([-sits[p, h], -sits[q, h]] for h in range(holes) for p, q in itertools.combinations(pigeons, 2))
    return solver


@pytest.mark.parametrize("name", ["glucose", "cadical"])
def test_an_attempt_ends_at_its_conflicts(name: SatName) -> None:
    """That seven pigeons do not fit into six holes takes more than one conflict, and is found without a limit."""
    solver = with_pigeons(name, 6)
    assert solver.attempt([], 1) is None
    assert solver.check([], None) is False
    solver.close()


def test_other_threads_run_while_glucose_searches() -> None:
    """The live view is such a thread: it draws during one attempt, and not only between two."""
    solver = with_pigeons("glucose", 10)
    steps, over = itertools.count(), threading.Event()

    def step() -> None:
        while not over.wait(0.001):
            next(steps)

    thread = threading.Thread(target=step)
    thread.start()
    assert solver.attempt([], 4000) is None
    over.set()
    thread.join()
    solver.close()
    assert next(steps) > 5


@pytest.mark.parametrize("name", ["glucose", "cadical"])
def test_a_check_says_what_the_search_found(name: SatName) -> None:
    """One of two, and neither."""
    solver = SatSolver(name)
    solver.add([[1, 2]])
    assert solver.check([-1], None) is True and solver.model()[1] == 2
    assert solver.check([-1, -2], None) is False and set(solver.core()) == {-1, -2}
    solver.close()
