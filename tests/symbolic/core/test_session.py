"""Sessions, all solutions and cores, against brute force."""

from __future__ import annotations

import itertools
import random

import pytest

from symbolic import Session, all_of, any_of, assert_, assume, bitvector, integer, lifted, obligations, unsat_core
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Model, Sat
from symbolic.solve.solver import Solver

X = integer("session_test_x")
U, V = bitvector("session_test_u", 3), bitvector("session_test_v", 3, signed=True)
SOLVERS = pytest.mark.parametrize("solver", ["z3", "cvc5"])


@SOLVERS
def test_levels_come_and_go(solver) -> None:  # type: ignore[no-untyped-def]
    """What a level added is dropped with it; the block's assumptions hold throughout."""
    with obligations():
        assume(X > 0)
        with Session(X < 4, solver=solver) as session:
            assert {outcome[X] for outcome in session.solutions(X)} == {1, 2, 3}
            with session.pushed(X > 1):
                session.push(X != 2)
                assert session.solve()[X] == 3
                session.pop()
                session.add(X < 3)
                assert session.solve()[X] == 2
                assert session.solve(X != 2).status == "unsat"
                assert session.solve().status == "sat"
            with session.pushed(X > 5):
                assert session.solve().status == "unsat"
            assert len(list(session.solutions(X))) == 3


def test_all_solutions_are_those_of_brute_force() -> None:
    """Of random conditions on three bits of both signs."""
    for seed in range(20):
        rng = random.Random(seed)
        a, b, c = (rng.randint(0, 3) for _ in range(3))
        with Session(U * a + U * U * b == c, U.as_signed() > V) as session:
            found = [(outcome[U], outcome[V]) for outcome in session.solutions(U, V)]
        wanted = {
            (u, v)
            for u, v in itertools.product(range(8), range(-4, 4))
            if (u * a + u * u * b - c) % 8 == 0 and v < (u - 8 if u > 3 else u)
        }
        assert set(found) == wanted
        assert len(found) == len(wanted)


def test_eight_queens() -> None:
    """There are 92 ways."""
    rows = [bitvector(f"session_test_row_{i}", 5, signed=True) for i in range(8)]
    pairs = [(i, j) for i in range(8) for j in range(i)]
    board = [(row >= 0) & (row < 8) for row in rows]
    board += [all_of(*(rows[i] - rows[j] != d for d in (0, i - j, j - i))) for i, j in pairs]
    with Session(*board) as session:
        assert len({tuple(outcome[rows]) for outcome in session.solutions(*rows)}) == 92


@SOLVERS
def test_cores_are_minimal_and_smallest(solver) -> None:  # type: ignore[no-untyped-def]
    """Of random sets of allowed numbers, against trying all subsets of conditions."""
    for seed in range(3 if solver == "cvc5" else 6):
        rng = random.Random(seed)
        allowed = [frozenset(rng.sample(range(8), rng.randint(2, 6))) for _ in range(6)]
        conditions = [any_of(*(number == U for number in numbers)) for numbers in allowed]

        def contradict(places, allowed=allowed):  # type: ignore[no-untyped-def]
            return not frozenset(range(8)).intersection(*(allowed[i] for i in places))

        found = unsat_core(*conditions, solver=solver)
        smallest = unsat_core(*conditions, smallest=True, solver=solver)
        if not contradict(range(6)):
            assert found is smallest is None
            continue
        assert found is not None and smallest is not None
        assert contradict(found) and contradict(smallest)
        assert not any(contradict([i for i in found if i != each]) for each in found)
        fewer = itertools.combinations(range(6), len(smallest) - 1)
        assert not any(contradict(places) for places in fewer)


def test_a_core_takes_the_block_for_granted() -> None:
    """What the block assumes is no part of it, and contradicts by itself, too."""
    with obligations():
        assume(X > 5)
        assert unsat_core(X > 3, X < 5, X != 9) == [1]
        assume(X < 0)
        assert unsat_core(X > 3) == []


def test_mistakes() -> None:
    """A session that ends a level too many, or is asked for nothing."""
    with Session(X > 0) as session:
        with pytest.raises(SwizzleError, match="pop without a push"):
            session.pop()
        with pytest.raises(SwizzleError, match="solutions of nothing"):
            next(session.solutions())


@SOLVERS
def test_what_is_said_after_a_session_was_opened_counts(solver) -> None:  # type: ignore[no-untyped-def]
    """An index that must be in range, in a block within the block: it holds until that block ends."""

    @lifted
    def at(place: int) -> int:
        return [5, 6, 7][place]

    with obligations():
        assume(X > 0)
        with Session(X < 9, solver=solver) as session:
            with obligations():
                found = at(X)
                assert session.solve(found == found, X > 3).status == "unsat"
                assert {outcome[X] for outcome in session.solutions(X)} == {1, 2}
            assert session.solve(X > 3).status == "sat"
            assert_(X != 2)
            assert session.solve(X == 2).status == "unsat"
            assert {outcome[X] for outcome in session.solutions(X)} == {1, 3, 4, 5, 6, 7, 8}


def test_a_model_that_does_not_satisfy_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was demanded, and whenever, is evaluated under the solver's model: here one in which all is zero."""

    def answered(self: Solver, assumptions: object, timeout: float | None = None) -> Sat:
        return Sat(Model(lambda symbol: 0))

    monkeypatch.setattr(Solver, "check", answered)
    wrong = pytest.raises(AssertionError, match="the solver's model does not satisfy")
    with obligations(), Session(X < 9) as session:
        assert session.solve()[X] == 0
        with wrong:
            session.solve(X > 5)
        with session.pushed(X != 0), wrong:
            session.solve()
        assert session.solve(X == 0).status == "sat"
        with obligations():
            assume(X > 1)
            with wrong:
                session.solve()
        session.add(X > 2)
        with wrong:
            session.solve()
    for condition in (X > 5, X != 0):
        with obligations():
            assume(condition)
            with Session() as session, wrong:
                session.solve()
        with Session(condition) as session, wrong:
            session.solve()
