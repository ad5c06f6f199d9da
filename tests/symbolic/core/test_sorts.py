"""Real numbers, uninterpreted functions, and the ways between integers, reals and words."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic import (
    Session,
    SwizzleError,
    assume,
    bitvector,
    boolean,
    function,
    implies,
    integer,
    lifted,
    obligations,
    optimize,
    real,
    select,
    solve,
    synthesize,
    unsat_core,
    verify,
)
from symbolic.solve.answer import Model

X, Y, N = real("sort x"), real("sort y"), integer("sort n")
V, S = bitvector("sort v", 5), bitvector("sort s", 5, signed=True)
FRACTIONS = st.fractions(min_value=-20, max_value=20, max_denominator=9)
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
ORDERS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def value_of(value: Any, **numbers: Any) -> Any:
    """Evaluate under numbers by the last letter of the name."""
    names = {"x": X, "y": Y, "n": N, "v": V, "s": S}
    return Model({names[name].formula: number for name, number in numbers.items()}.get).value(value.formula)


@settings(max_examples=150, deadline=None)
@given(FRACTIONS, FRACTIONS, st.integers(-9, 9))
def test_reals_are_fractions(x: Fraction, y: Fraction, n: int) -> None:
    """Every operator, with Reals, Integers, Fractions and ints on either side; by zero it is zero."""
    for each in OPERATORS:
        total = (lambda a, b: Fraction(0) if b == 0 else a / b) if each is operator.truediv else each
        assert value_of(each(X, Y), x=x, y=y) == total(x, y)
        assert value_of(each(X, N), x=x, n=n) == total(x, n)
        assert value_of(each(N, X), x=x, n=n) == total(n, x)
        assert value_of(each(X, y), x=x) == total(x, y)
        assert value_of(each(y, X), x=x) == total(y, x)
        assert value_of(each(X, n), x=x) == total(x, n)
        assert value_of(each(n, X), x=x) == total(n, x)
        if each is not operator.truediv:
            assert value_of(each(N, y), n=n) == each(n, y)
            assert value_of(each(y, N), n=n) == each(y, n)
    for each in ORDERS:
        assert value_of(each(X, Y), x=x, y=y) == each(x, y)
        assert value_of(each(X, n), x=x) == value_of(each(X, N), x=x, n=n) == each(x, n)
        assert value_of(each(N, y), n=n) == each(n, y)
        assert value_of(each(y, N), n=n) == each(y, n)
    assert value_of(-X, x=x) == -x and value_of(abs(X), x=x) == abs(x) and value_of(X**3, x=x) == x**3
    assert value_of(select(X < Y, X, N), x=x, y=y, n=n) == (x if x < y else n)


def test_words_of_integers_and_back() -> None:
    """`to_bitvector` is modulo the width, `to_integer` undoes it, and both are known to each other."""
    for n in range(-70, 70):
        for width in (1, 3, 6):
            assert value_of(N.to_bitvector(width), n=n) == n % (1 << width)
            wide = N.to_bitvector(width, signed=True).to_integer()
            found = value_of(wide, n=n)
            assert (found - n) % (1 << width) == 0 and -(1 << width) <= 2 * found < 1 << width
    for bits in range(32):
        for width in (3, 5, 8):
            assert value_of(V.to_integer().to_bitvector(width), v=bits) == bits % (1 << width)
            signed = bits - 32 if bits > 15 else bits
            assert value_of(S.to_integer().to_bitvector(width), s=bits) == signed % (1 << width)
    assert V.to_integer().to_bitvector(5).formula is V.formula, "nothing is left of the way there and back"
    for solver in ("z3", "cvc5"):
        assert verify((N + 1).to_bitvector(4) == N.to_bitvector(4) + 1, solver=solver).status == "unsat"
        outcome = solve(N.to_bitvector(5) == V, N < -100, V.to_integer() == 7, solver=solver)
        assert outcome[N] % 32 == 7 and outcome[V] == 7


@lifted
def mean(xs: Any, count: Any) -> Any:
    """What may divide by zero, meets in branches, and mixes numbers."""
    total, half = 0, Fraction(1, 2)
    for each in xs:
        total = total + each if each > half else total - 1
    if total == 0:
        return half
    return total / count if total > 1 else total * 3


def test_lifted_functions_compute_with_reals() -> None:
    """As Python does with Fractions; a division by zero is an obligation."""
    with obligations() as collected:
        symbolic = mean([X, Y, N], X - Y)
    assert {each.text for each in collected.made} == {"division by zero: `/`"}
    for a in (Fraction(-1), Fraction(1, 2), Fraction(2, 3), Fraction(5)):
        for b in (Fraction(0), Fraction(2, 3), Fraction(7, 2)):
            for n in (-2, 0, 4):
                model = Model({X.formula: a, Y.formula: b, N.formula: n}.get)
                try:
                    expected = mean.function([a, b, n], a - b)
                except ZeroDivisionError:
                    assert not model.value(collected.made[0].condition.formula)
                else:
                    assert model.value(symbolic.formula) == expected
                    assert model.value(collected.made[0].condition.formula)


def test_queries_on_reals() -> None:
    """Between two numbers there is one; cores, sessions, and a hole that is a fraction."""
    middle = (X + Y) / 2
    assert verify(implies(X < Y, (middle > X) & (middle < Y))).status == "unsat"
    assert unsat_core(X < Y, Y < N, N < X, X > 0) == [0, 1, 2]
    with Session(3 * X == 1) as session:
        assert [outcome[X] for outcome in session.solutions(X)] == [Fraction(1, 3)]
    with obligations():
        assume(X > 0)
        found = synthesize(inputs=[X], guarantee=X * Y == X / 4, timeout=60)
    assert found[Y] == Fraction(1, 4)


def test_objectives_that_are_reals() -> None:
    """The best is proved where it is reached; a bound that is not, no bound and an irrational best say so."""
    best = optimize(X <= 4, 3 * Y <= 5, maximize=X + Y)
    assert best.optimal and best[X + Y] == Fraction(17, 3)
    both = optimize(N >= X, 2 * X >= 3, minimize=[X, N])
    assert both.optimal and both[X, N] == (Fraction(3, 2), 2)
    assert optimize(X < 4, maximize=X).reason.endswith("its bound is 4, which it never is")
    assert optimize(X > 4, maximize=X).reason.endswith("it has no bound: add the bound as a condition")
    irrational = optimize(X * X <= 2, maximize=X, timeout=20)
    assert irrational.status == "sat" and not irrational.optimal


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_floors_of_reals(solver: Any) -> None:
    """`//`, `%`, `round` and the like are Python's of Fractions; the floor is an Integer."""
    q = Fraction(7, 2)
    for number in (q, -q, Fraction(5, 2), Fraction(-5, 2), Fraction(3), Fraction(-1, 3)):
        outcome = solve(number == X, solver=solver)
        functions = (math.floor, math.ceil, math.trunc, round, lambda x: x // q, lambda x: x % q, lambda x: 1 // x)
        assert all(outcome[f(X)] == f(number) for f in functions), number
    assert verify(X // 2 * 2 + X % 2 == X, X.floor() <= X, X.to_integer() + 1 > X, solver=solver).status == "unsat"
    assert verify(N.to_real().floor() == N).status == "unsat" and outcome[X // 0] == 0 == outcome[X % 0 - X]


@pytest.mark.parametrize("solver", ["z3", "cvc5", "portfolio"])
def test_functions_are_congruent_and_print_as_tables(solver: Any) -> None:
    """Of several arguments and every sort; a model is a table, which says what the query was told."""
    p = boolean("sort p")
    f, g = function("sort f", [integer, p], real), function("sort g", [S], S)
    assert verify(implies(V.to_integer() == N, f(N, p) == f(V.to_integer(), p)), solver=solver).status == "unsat"
    assert verify(f(N, p) == f(N, ~p), solver=solver).status == "sat"
    outcome = solve(f(3, True) == Fraction(1, 2), f(N, p) == N, N > 3, ~p, g(S) == -5, S == -6, solver=solver)
    table = outcome[f]
    assert table(3, True) == Fraction(1, 2) and table(outcome[N], False) == outcome[N] > 3
    assert outcome[f(3, True) + f(N, p)] == Fraction(1, 2) + outcome[N]
    assert str(outcome[g]) == "(-6) -> -5, else 0" and outcome[g(S)] == -5 and outcome[g(1)] == 0


@lifted
def repeated(f: Any, x: Any, times: int) -> Any:
    """A function of a function."""
    for _ in range(times):
        x = f(x)
    return x


def test_lifted_functions_apply_functions() -> None:
    """A function that is the identity three and five times is so once, as every textbook shows."""
    f = function("sort h", [integer], integer)
    three, five = repeated(f, N, 3) == N, repeated(f, N, 5) == N
    assert verify(implies(three & five, f(N) == N)).status == "unsat"
    outcome = solve(three, f(N) != N)
    assert repeated(outcome[f], outcome[N], 3) == outcome[N]


def test_what_functions_and_reals_refuse() -> None:
    """Each with what to write instead."""
    f = function("sort f1", [integer], integer)
    for wrong, text in (
        (lambda: X + 0.5, "Fraction('0.5')"),
        (lambda: X + True, "a Real meets"),
        (lambda: X & 1, "a Real has no bits"),
        (lambda: X << 1, "a Real has no bits"),
        (lambda: X + V, "a Real meets an unsigned 5-bit BitVector"),
        (lambda: N / 2, "x.to_real()"),
        (lambda: N.to_bitvector(0), "from 1 to"),
        (lambda: N.to_bitvector(True), "from 1 to"),
        (lambda: f(X), "an Integer meets a symbolic Real"),
        (lambda: f(1, 2), "f1 is given 2 arguments"),
        (lambda: function("sort f2", integer, integer), "a list of kinds"),  # type: ignore[arg-type]
        (lambda: function("sort f2", [int], integer), "stands for a kind"),  # type: ignore[list-item]
        (lambda: synthesize(inputs=[N], guarantee=f(N) == N), "the uninterpreted function sort f1"),
    ):
        with pytest.raises(SwizzleError) as caught:
            wrong()
        assert text in str(caught.value)
