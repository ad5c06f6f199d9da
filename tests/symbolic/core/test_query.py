"""The four queries on both engines, against brute force."""

# ruff: noqa: SIM300 - upper case names are symbolic values here, not constants

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.core import query
from symbolic.core.outcome import Clock
from symbolic.core.query import (
    assert_,
    assume,
    boolean_hole,
    choose,
    hole,
    obligations,
    optimize,
    soft,
    solve,
    synthesize,
    verify,
)
from symbolic.core.values import all_of, any_of, bitvector, boolean, implies, integer, select
from symbolic.errors import SwizzleError
from symbolic.solve import z3_optimum
from symbolic.solve.answer import Model
from symbolic.solve.z3_optimum import Least

SOLVERS = pytest.mark.parametrize("solver", ["z3", "cvc5"])
QUICK = pytest.mark.parametrize("solver", ["z3", pytest.param("cvc5", marks=pytest.mark.slow)])
X, Y = integer("query_test_x"), integer("query_test_y")
V, W = bitvector("query_test_v", 8), bitvector("query_test_w", 8)
U = bitvector("query_test_u", 4)


@SOLVERS
def test_polynomial_for_all_integers(solver):
    """x*x - 2*x - 3 == (x - ??) * (x - ??) has the roots 3 and -1."""
    a, b = hole(), hole()
    outcome = synthesize(inputs=[X], guarantee=X * X - 2 * X - 3 == (X - a) * (X - b), solver=solver, timeout=60)
    assert {outcome[a], outcome[b]} == {3, -1}
    assert outcome.evaluate((a + b) * 10) == 20


@SOLVERS
def test_polynomial_without_integer_roots(solver):
    """x*x + 1 has no integer roots, which is proved over all integers."""
    guarantee = X * X + 1 == (X - hole()) * (X - hole())
    assert synthesize(inputs=[X], guarantee=guarantee, solver=solver, timeout=60).status == "unsat"


@SOLVERS
def test_polynomial_without_roots_in_bits(solver):
    """x*x + 2 has no roots modulo 16: the proof that none exists always ends on bit-vectors."""
    guarantee = U * U + 2 == (U - hole(width=4)) * (U - hole(width=4))
    pairs = itertools.product(range(16), repeat=2)
    assert not any(all((u * u + 2 - (u - a) * (u - b)) % 16 == 0 for u in range(16)) for a, b in pairs)
    assert synthesize(inputs=[U], guarantee=guarantee, solver=solver, timeout=60).status == "unsat"


@SOLVERS
def test_clear_the_lowest_bit(solver):
    """x & (x - ??) clears the lowest set bit of every byte when ?? is 1, and for no other constant."""
    h = hole(width=8)
    lowest = V & -V
    with obligations():
        assert_((V & (V - h)) == (V ^ lowest))
        outcome = synthesize(inputs=[V], solver=solver, timeout=60)
        assert outcome[h] == 1
        assume(h != 1)
        assert synthesize(inputs=[V], solver=solver, timeout=60).status == "unsat"


@SOLVERS
def test_synthesize_agrees_with_trying_every_constant(solver):
    """For affine maps of four bits, CEGIS finds constants exactly when trying all 256 pairs does."""
    for target in (lambda u: u * 5 + 3, lambda u: -u, lambda u: u ^ 9, lambda u: u >> 1):
        a, b = hole(width=4), hole(width=4)
        outcome = synthesize(inputs=[U], guarantee=U * a + b == target(U), solver=solver, timeout=60)
        every = [
            (p, q)
            for p, q in itertools.product(range(16), repeat=2)
            if all((u * p + q) % 16 == target(u) % 16 for u in range(16))
        ]
        assert (outcome.status == "sat") == bool(every)
        if every:
            assert (outcome[a], outcome[b]) in every


@SOLVERS
def test_choose(solver):
    """A choice among expressions is found, and each choice is made by itself."""
    program = choose(X + Y, X - Y, X * Y) + choose(X, Y, 1)
    outcome = synthesize(inputs=[X, Y], guarantee=program == X * Y + 1, solver=solver, timeout=60)
    assert outcome.status == "sat"
    assert outcome[program - X * Y] == 1
    assert synthesize(inputs=[X, Y], guarantee=choose(X, Y) == X + Y, solver=solver, timeout=60).status == "unsat"


@SOLVERS
def test_holes_of_every_kind(solver):
    """Integers, bit-vectors of both signs and Booleans can be holes."""
    i, s, b = hole(), hole(width=8, signed=True), boolean_hole()
    guarantee = all_of(select(b, X + i, X) == X - 4, s * 2 == -14, s < 0)
    outcome = synthesize(inputs=[X], guarantee=guarantee, solver=solver, timeout=60)
    assert (outcome[i], outcome[s], outcome[b]) == (-4, -7, True)


@SOLVERS
def test_assumptions_limit_the_inputs(solver):
    """|x| is x where x >= 0 is assumed, and is not without; assumptions that no input meets prove nothing."""
    h = hole()
    with obligations():
        assert_(abs(X) == h * X)
        assert synthesize(inputs=[X], solver=solver, timeout=60).status == "unsat"
    with obligations():
        assume(X >= 0)
        assert_(abs(X) == h * X)
        assert synthesize(inputs=[X], solver=solver, timeout=60)[h] == 1
        assume(X < h)
        assume(h < 0)
        assert synthesize(inputs=[X], solver=solver, timeout=60).status == "unsat"


@SOLVERS
def test_verify_finds_a_counterexample(solver):
    """The textbook midpoint overflows; the correct one is proved."""
    middle = (V + W) >> 1
    with obligations():
        assume(V <= W)
        broken = verify((V <= middle) & (middle <= W), solver=solver, timeout=60)
        v, w = broken[V], broken[W]
        assert v <= w and not v <= ((v + w) % 256) >> 1 <= w
        correct = V + ((W - V) >> 1)
        assert verify((V <= correct) & (correct <= W), solver=solver, timeout=60).status == "unsat"


@QUICK
@settings(max_examples=15, deadline=None, derandomize=True)
@given(a=st.integers(0, 15), b=st.integers(0, 15), c=st.integers(0, 15))
def test_solve_and_verify_agree_with_brute_force(solver, a, b, c):
    """u*u*a + u*b == c over four bits: a solution exists exactly when trying all finds one."""
    equation = U * U * a + U * b == c
    roots = {u for u in range(16) if (u * u * a + u * b - c) % 16 == 0}
    found = solve(equation, solver=solver)
    assert (found.status == "sat") == bool(roots)
    assert not roots or found[U] in roots
    counterexample = verify(equation, solver=solver)
    assert (counterexample.status == "sat") == (len(roots) < 16)
    assert len(roots) == 16 or counterexample[U] not in roots


@QUICK
@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5), st.integers(0, 20))
def test_knapsack_agrees_with_brute_force(solver, items, room):
    """The best value that fits is found and proved, from above and, as the value left behind, from below."""
    take = [boolean(f"query_test_take_{i}") for i in range(len(items))]
    weight = sum((select(t, w, 0) for t, (w, _) in zip(take, items, strict=True)), integer("query_test_zero"))
    value = sum((select(t, v, 0) for t, (_, v) in zip(take, items, strict=True)), integer("query_test_zero"))
    best = max(
        sum(v for t, (_, v) in zip(chosen, items, strict=True) if t)
        for chosen in itertools.product([False, True], repeat=len(items))
        if sum(w for t, (w, _) in zip(chosen, items, strict=True) if t) <= room
    )
    total = sum(v for _, v in items)
    with obligations():
        assert_(integer("query_test_zero") == 0)
        assert_(weight <= room)
        greatest = optimize(maximize=value, solver=solver)
        least = optimize(minimize=total - value, solver=solver)
    assert (greatest.optimal, greatest[value]) == (True, best)
    assert (least.optimal, least[total - value]) == (True, total - best)
    assert greatest[weight] <= room


@SOLVERS
def test_optimize_bit_vectors_to_their_ends(solver):
    """The least and greatest signed and unsigned numbers are reached and proved."""
    s = bitvector("query_test_s", 8, signed=True)
    assert [optimize(minimize=f, solver=solver)[f] for f in (V, s)] == [0, -128]
    assert [optimize(maximize=f, solver=solver)[f] for f in (V, s)] == [255, 127]
    outcome = optimize(V * 3 == 1, maximize=V, solver=solver)
    assert (outcome.optimal, outcome[V]) == (True, 171)


@QUICK
def test_optimize_far_away(solver):
    """Steps double, so an optimum a million away takes few checks; none at all is unsat."""
    outcome = optimize(X * 3 >= 3_000_001, any_of(X == 5_000_000, X % 2 == 0), minimize=X, solver=solver, timeout=60)
    assert (outcome.optimal, outcome[X]) == (True, 1_000_002)
    outcome = optimize(X >= 0, X <= 1_000_003, maximize=X, solver=solver, timeout=60)
    assert (outcome.optimal, outcome[X]) == (True, 1_000_003)
    assert optimize(X > 3, X < 2, minimize=X, solver=solver).status == "unsat"


@pytest.mark.parametrize(("value", "met"), [(-100, True), (-100, False), (50, True), (None, False)])
def test_a_wrong_guess_of_the_best_value_is_no_answer(monkeypatch, value, met):
    """What z3's optimizer says is where the search begins, and its model counts where it meets the conditions."""
    x, asked = integer("query_test_guessed"), []

    def guess(*question):
        asked.append(question)
        return Least(None if value is None else Fraction(value), met, Model(lambda _: value or 0))

    monkeypatch.setattr(z3_optimum, "least", guess)
    outcome = optimize(x >= 3, x <= 200, minimize=x)
    assert (outcome[x], outcome.optimal, len(asked)) == (3, True, 1)


def test_optimize_without_a_bound_keeps_the_best_so_far():
    """That an objective has no bound is said at once, with a solution that is far away."""
    for best, way in ((optimize(X <= 5, minimize=X), "below -2"), (optimize(X >= 5, maximize=X), "above 2")):
        assert (best.status, best.optimal, best.proved) == ("sat", False, (False,))
        assert abs(best[X]) > 10**15
        assert (
            best.reason
            == f"not proved to be the best: it has no bound, or one {way}**256: add the bound as a condition"
        )
    assert optimize(X <= 5, X > -(10**40), minimize=X)[X] == 1 - 10**40


@QUICK
@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=3, max_size=9), st.booleans())
def test_objectives_in_their_order(solver, rows, greatest):
    """Of some rows the least is found, by the first number, then the second, then the third; or the greatest."""
    a, b, c = (integer(f"query_test_{name}") for name in "abc")
    allowed = any_of(*((a == i) & (b == j) & (c == k) for i, j, k in rows))
    if greatest:
        outcome = optimize(allowed, maximize=[a, b, c], solver=solver)
    else:
        outcome = optimize(allowed, minimize=(a, b, c), solver=solver)
    assert outcome[a, b, c] == (max if greatest else min)(rows)
    assert outcome.optimal and outcome.proved == (True,) * 3


def test_an_objective_that_is_not_proved_says_which():
    """Those before it are proved."""
    outcome = optimize(X >= 3, Y <= 5, minimize=[X, Y, X + Y])
    assert (outcome[X], outcome.proved, outcome.optimal) == (3, (True, False, False), False)
    assert outcome.reason.startswith("not proved to be the best in objective 2 of 3: it has no bound")


@QUICK
@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 5)), min_size=1, max_size=7))
def test_soft_conditions_agree_with_trying_all(solver, wishes):
    """The weight of what is broken is the least; then the objective counts."""
    some = [soft((V & 7 == a) | (V >> 3 == b), weight=w) for a, b, w in wishes]
    outcome = optimize(V < 64, V % 3 == 1, *some, maximize=V, solver=solver)

    def price(v):
        return sum(w for a, b, w in wishes if not (v & 7 == a or v >> 3 == b))

    best = min(range(1, 64, 3), key=lambda v: (price(v), -v))
    assert outcome[V] == best and outcome.optimal and outcome.proved == (True, True)
    assert sum(w for each, (_, _, w) in zip(some, wishes, strict=True) if not outcome[each]) == price(best)


@SOLVERS
def test_a_query_that_runs_out_of_time_is_unknown(solver):
    """A sum of three cubes for 42 is out of reach: unknown, with a reason, and no values."""
    z = integer("query_test_z")
    outcome = solve(X**3 + Y**3 + z**3 == 42, all_of(X > 10**6, Y < -(10**6), z > 10**9), solver=solver, timeout=0.2)
    assert outcome.status == "unknown" and outcome.reason
    with pytest.raises(SwizzleError, match="this outcome is unknown and gives no values"):
        outcome[X]


def test_blocks_are_scoped():
    """A nested block sees the outer block's obligations; leaving it forgets its own; outside there are none."""
    with obligations():
        assert_(X > 3)
        with obligations() as inner:
            assert_(X < 5)
            assert len(inner.assertions) == 2
            assert solve()[X] == 4
        assert optimize(minimize=X * X - 10 * X)[X] == 5
    assert verify(X > 3).status == "sat"
    with pytest.raises(SwizzleError, match=r"assert_ outside of any block"):
        assert_(X > 3)
    with pytest.raises(SwizzleError, match=r"assume outside of any block"):
        assume(X > 3)


def test_a_block_that_raises_is_left():
    """The enclosing state is back after an error."""
    with pytest.raises(ValueError, match="stop"), obligations():
        raise ValueError("stop")
    with pytest.raises(SwizzleError):
        assume(X > 3)


def test_values_that_a_query_does_not_mention():
    """A symbol without constraints is 0 or False; expressions over it have values too."""
    outcome = solve(X == 3)
    assert (outcome[Y + 2], outcome[boolean("query_test_other")]) == (2, False)


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (lambda: choose(), "at least one alternative"),
        (lambda: synthesize(inputs=[X + 1], guarantee=X == X), "integer('x')"),
        (lambda: optimize(X > 3), "minimize=... or maximize=..."),
        (lambda: optimize(minimize=3), "an objective that is int 3"),
        (lambda: soft(X > 3, weight=0), "at least 1"),
        (lambda: soft(3), "int 3 stands for a condition"),
        (lambda: solve(soft(X > 3)), "stands for a condition"),
        (lambda: optimize(minimize=X, maximize=Y), "minimize=... or maximize=..."),
        (lambda: solve(X > 3, X < 3)[X], "outcome.status"),
        (lambda: solve(X), "compare: x != 0"),
    ],
)
def test_mistakes(use, advice):
    """Misuse raises an error that says what to write."""
    with pytest.raises(SwizzleError) as caught:
        use()
    assert advice in str(caught.value)


def test_portfolio_answers_queries():
    """The queries race the engines when asked."""
    h = hole()
    outcome = synthesize(inputs=[X], guarantee=implies(X > 2, X + h > 5), solver="portfolio", timeout=60)
    assert outcome[h] >= 3


def test_an_outcome_is_a_line() -> None:
    """What a query found is read at a prompt: its status and the first variables' values."""
    a, b = integer("line_a"), integer("line_b")
    assert repr(solve(a == 3, b == -1)) == "<Outcome: sat, line_a = 3, line_b = -1>"
    assert repr(solve(a == 3, a == 4)) == "<Outcome: unsat>"
    many = [integer(f"line_{i:02}") == i for i in range(9)]
    assert repr(solve(*many)).endswith("line_07 = 7, ...>")


def test_a_query_without_an_answer_says_what_it_was_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for an answer, or checking one that was found."""
    h, doing = hole(), []
    asked = query.decide

    def noted(formulas, solver, clock):
        doing.append(clock.doing)
        return asked(formulas, solver, clock)

    monkeypatch.setattr(query, "decide", noted)
    assert synthesize(inputs=[X], guarantee=X + h == X + 3)[h] == 3
    assert doing[-1] == f"checking answer {len(doing)} for all inputs"
    assert Clock(None, "synthesize").doing == ""
