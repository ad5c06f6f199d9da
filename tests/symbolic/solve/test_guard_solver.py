"""Every engine gives the same answers to questions over guards."""

from itertools import product

import pytest

from symbolic.solve import guard_solver
from symbolic.solve.answer import Excluded, Possible, Unknown
from symbolic.solve.engines import SolverName
from symbolic.solve.guard_solver import GuardSolver
from symbolic.values.guard import FALSE, TRUE, Guards

ENGINES: list[SolverName] = ["glucose", "cadical", "z3", "cvc5", "portfolio"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ENGINES)
def test_a_choice_is_read_and_a_core_excludes_all(name: SolverName) -> None:
    """Exactly one of three, asked again and again while clauses are added."""
    guards = Guards()
    one = [guards.fresh() for _ in range(3)]
    guards.exactly_one(one)
    unused = guards.fresh()
    with GuardSolver(guards, name) as solver:
        for chosen in one:
            answer = solver.check([chosen])
            assert isinstance(answer, Possible)
            assert [answer.holds(g) for g in one] == [g == chosen for g in one]
            assert answer.holds(TRUE) and not answer.holds(FALSE)
            assert answer.holds(unused) != answer.holds(-unused)
        answer = solver.check([one[0], unused, one[1]])
        assert isinstance(answer, Excluded) and {one[0], one[1]} <= answer.core | {unused}
        both = guards.both(one[2], unused)
        guards.add([both])
        answer = solver.check()
        assert isinstance(answer, Possible) and answer.holds(both) and answer.holds(one[2]) and not answer.holds(one[0])
        assert isinstance(solver.check([-both]), Excluded)  # an assumption that no clause had named


@pytest.mark.parametrize("name", ENGINES)
def test_an_empty_clause_excludes_all(name: SolverName) -> None:
    """What cannot hold is excluded without assumptions."""
    guards = Guards()
    guards.add([FALSE])
    with GuardSolver(guards, name) as solver:
        answer = solver.check()
        assert isinstance(answer, Excluded) and not answer.core


def pigeons(number: int, holes: int) -> tuple[Guards, dict[tuple[int, int], int]]:
    """Each pigeon sits in a hole, and no two in one."""
    guards = Guards()
    sits = {(p, h): guards.fresh() for p, h in product(range(number), range(holes))}
    for p in range(number):
        guards.add(sits[p, h] for h in range(holes))
    for h, p, q in product(range(holes), range(number), range(number)):
        if p < q:
            guards.add([-sits[p, h], -sits[q, h]])
    return guards, sits


@pytest.mark.parametrize("name", ["glucose", "cadical"])
def test_time_that_runs_out_is_unknown(name: SolverName) -> None:
    """Twelve pigeons do not fit into eleven holes: too hard for a tenth of a second."""
    guards, _ = pigeons(12, 11)
    with GuardSolver(guards, name) as solver:
        assert isinstance(solver.check(timeout=0.1), Unknown)


def test_a_question_that_is_begun_afresh_has_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all clauses, those that were added after the last beginning too; time runs out as it does without."""
    begun = []
    afresh = guard_solver._Literals._begin_afresh
    monkeypatch.setattr(guard_solver, "AFRESH", 1)
    monkeypatch.setattr(
        guard_solver._Literals, "_begin_afresh", lambda self, attempt: (begun.append(attempt), afresh(self, attempt))
    )
    guards, sits = pigeons(7, 7)
    with GuardSolver(guards, "glucose", afresh=True) as solver:
        answer = solver.check()
        assert isinstance(answer, Possible)
        assert sorted(h for (_, h), guard in sits.items() if answer.holds(guard)) == list(range(7))
        closed = guards.fresh()
        for p in range(7):
            guards.add([-closed, -sits[p, 3]])
        answer = solver.check([closed])
        assert isinstance(answer, Excluded) and answer.core == {closed}
        assert begun
        assert isinstance(solver.check([-closed]), Possible)
    guards, _ = pigeons(12, 11)
    with GuardSolver(guards, "glucose", afresh=True) as solver:
        assert isinstance(solver.check(timeout=0.1), Unknown)
