"""The order of assumptions and assertions, and what queries own up to."""

from __future__ import annotations

import itertools
import random

import pytest

from symbolic import (
    assert_,
    assume,
    bitvector,
    implies,
    integer,
    lookup,
    obligations,
    optimize,
    solve,
    synthesize,
    verify,
)
from symbolic.core.query import CONTRADICTION
from symbolic.errors import SwizzleError

X, Y = integer("obligations_test_x"), integer("obligations_test_y")
SMALL = bitvector("obligations_test_small", 3)


def test_an_assertion_comes_before_what_is_assumed_later() -> None:
    """What is asserted first must hold without the assumption, and afterwards with it."""
    with obligations():
        assert_(X > 0)
        assume(X > 0)
        assert verify().status == "sat"
    with obligations():
        assume(X > 0)
        assert_(X > 0)
        assert verify().status == "unsat"


@pytest.mark.parametrize("seed", range(30))
def test_random_orders_agree_with_running_them(seed: int) -> None:
    """A number is a counterexample where an assertion is false and every assumption before it holds."""
    rng = random.Random(seed)
    steps = [(rng.random() < 0.5, frozenset(rng.sample(range(8), rng.randint(3, 7)))) for _ in range(5)]

    def run(number: int) -> str:
        for demanded, numbers in steps:
            if number not in numbers:
                return "broken" if demanded else "excluded"
        return "fine"

    with obligations():
        for demanded, numbers in steps:
            (assert_ if demanded else assume)(~implies(True, min(numbers) != SMALL) | _among(numbers - {min(numbers)}))
        found, outcome = solve(), verify()
    ends = [run(number) for number in range(8)]
    assert (found.status == "sat") == ("fine" in ends)
    if "broken" in ends:
        assert run(outcome[SMALL]) == "broken"
        assert outcome.broken
    else:
        assert outcome.status == ("unsat" if "fine" in ends else "unknown")


def _among(numbers: frozenset[int]):  # type: ignore[no-untyped-def]
    found = SMALL != SMALL
    for number in numbers:
        found = found | (number == SMALL)
    return found


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_contradictory_assumptions_prove_nothing(solver) -> None:  # type: ignore[no-untyped-def]
    """The outcome says so, and is no proof."""
    with obligations():
        assume(X > 0)
        assume(X < 0)
        outcome = verify(X == X + 1, solver=solver)
        assert (outcome.status, outcome.reason) == ("unknown", CONTRADICTION)
        outcome = synthesize(inputs=[X], guarantee=X == Y, solver=solver)
        assert (outcome.status, outcome.reason) == ("unsat", CONTRADICTION)


def test_what_is_broken_is_told_with_its_line() -> None:
    """A counterexample knows which assertions it breaks, and where they were made."""
    with obligations():
        assert_(X > 0)
        assert_(X < 10)
        outcome = verify()
    (broken,) = outcome.broken
    assert broken.place is not None
    assert broken.place.file == __file__
    assert broken.text.startswith("assert_((")


def test_an_outcome_has_no_truth_value() -> None:
    """`if solve(...)` would be true for unsat, too."""
    with pytest.raises(SwizzleError, match="no truth value: this one is unsat"):
        bool(solve(X > 0, X < 0))


def test_timeouts_say_what_was_asked() -> None:
    """The query, the whole time that it was given, and what it was at."""
    z = integer("obligations_test_z")
    cubes = X**3 + Y**3 + z**3 == 42
    assert solve(cubes, X > 10**6, timeout=0.2).reason == "solve had no answer within 0.2 s"
    assert verify(~cubes | (X < 10**6), timeout=0.2).reason == "verify had no answer within 0.2 s"
    outcome = synthesize(inputs=[SMALL], guarantee=cubes & (X > 10**6), timeout=0.2)
    assert outcome.reason.startswith("synthesize had no answer within 0.2 s, ")
    outcome = optimize(X > 10**6, minimize=abs(X**3 + Y**3 + z**3 - 42), timeout=0.2)
    assert outcome.reason.startswith("not proved to be the best: optimize had no answer within 0.2 s")


def test_a_look_up_out_of_range_is_an_obligation() -> None:
    """It is demanded where it is made, and a bit-vector that always fits demands nothing."""
    with obligations() as made:
        assert verify(lookup([1, 2, 3], X) <= 3).status == "sat"
        assume((X >= 0) & (X < 3))
    assert len(made.assertions) == 2
    with obligations() as made:
        assume((X >= 0) & (X < 3))
        assert verify(lookup([1, 2, 3], X) <= 3).status == "unsat"
    assert lookup(range(8), SMALL) is not None


def test_a_name_may_have_another_width_later() -> None:
    """Two widths are two symbols, and each is itself when it is asked for again."""
    narrow, wide = bitvector("obligations_test_same", 8), bitvector("obligations_test_same", 16)
    assert (narrow.width, wide.width) == (8, 16)
    assert wide.formula is bitvector("obligations_test_same", 16).formula
    outcome = solve(narrow == 200, wide == 300)
    assert (outcome[narrow], outcome[wide]) == (200, 300)


def test_values_in_whatever_holds_them() -> None:
    """An outcome looks into lists and tuples, and leaves numbers as they are."""
    outcome = solve(X == 3, Y == 4)
    assert outcome[[X, (Y, 5), None]] == [3, (4, 5), None]
    assert [outcome[value] for value in (X + Y, 7, True)] == [7, 7, True]


def test_a_comparison_of_a_choice_among_numbers_needs_no_arithmetic() -> None:
    """`number < 2` of a choice among constants says which of them it is, as comparing does."""
    from symbolic.core.values import boolean, select

    first, second = boolean("obligations_test_first"), boolean("obligations_test_second")
    number = select(first, 1, select(second, 2, 3))
    for limit in range(5):
        for condition, meaning in (
            (number < limit, lambda n, k: n < k), (number <= limit, lambda n, k: n <= k),
            (limit < number, lambda n, k: k < n), (number == limit, lambda n, k: n == k),
            (number != limit, lambda n, k: n != k), (number >= limit, lambda n, k: n >= k),
        ):  # fmt: skip
            assert "1" not in str(condition.formula) or limit == 1
            for a, b in itertools.product([False, True], repeat=2):
                outcome = solve(first == a, second == b)
                assert outcome[condition] == meaning(1 if a else 2 if b else 3, limit)
