"""Integers as words: what is answered within a bitwidth holds in integers, and 'unsat' says of which it is said."""

from __future__ import annotations

import operator
import random
from itertools import product
from typing import Any

import pytest

from symbolic import (
    Session,
    SwizzleError,
    assert_,
    assume,
    bitvector,
    bitwidth,
    forall,
    function,
    hole,
    integer,
    obligations,
    optimize,
    select,
    solve,
    synthesize,
    verify,
)

X, Y = integer("word x"), integer("word y")


def test_random_queries_against_all_pairs() -> None:
    """Of 3 bits: nothing wraps around, and division is Python's for every sign."""
    rng = random.Random(2)
    operators = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]

    def expression(depth: int) -> Any:
        if depth == 0:
            k = rng.randint(-9, 9)
            return rng.choice([lambda x, y: x, lambda x, y: y, lambda x, y: k])
        f, a, b = rng.choice(operators), expression(depth - 1), expression(depth - 1)
        if f in (operator.floordiv, operator.mod):
            return lambda x, y: total(f, a(x, y), b(x, y))
        return lambda x, y: f(a(x, y), b(x, y))

    def total(f: Any, a: Any, b: Any) -> Any:
        return (0 if f is operator.floordiv else a) if isinstance(b, int) and b == 0 else f(a, b)

    for _ in range(12):
        f, wanted = expression(3), rng.randint(-12, 12)
        rows = [row for row in product(range(-4, 4), repeat=2) if f(*row) == wanted]
        with bitwidth(3):
            outcome = solve(f(X, Y) + 0 * X == wanted)
        assert (outcome.status == "sat") == bool(rows)
        assert not rows or (outcome[X], outcome[Y]) in rows
        assert rows or "integers from -4 to 3" in outcome.reason


def test_what_has_no_integer_symbols_is_exact() -> None:
    """check-mid-slow of Rosette's guide, section 2.4.2: integers of 32-bit words, no claim about other integers."""
    low, high = bitvector("word low", 32, signed=True), bitvector("word high", 32, signed=True)
    middle = low + (high - low) // 2
    with obligations(), bitwidth(64):
        assume((low >= 0) & (low <= high))
        a, m, b = (each.to_integer() for each in (low, middle, high))
        assert_((a <= m) & (m <= b) & (b - m - (m - a) >= 0) & (b - m - (m - a) <= 1))
        outcome = verify()
    assert outcome.status == "unsat" and outcome.reason == ""


def test_every_query_says_of_which_integers() -> None:
    """The least of all is the least of those; sessions and synthesis too. Outside of the block nothing is limited."""
    with bitwidth(8):
        best = optimize(X <= 5, minimize=X)
        assert best.optimal and best[X] == -128 and "bitwidth(8)" in best.reason
        a, b = hole(), hole()
        found = synthesize(inputs=[X], guarantee=(X - a) * (X - b) == X * X - 2 * X - 3)
        assert sorted(found[a, b]) == [-1, 3] and "-128 to 127" in found.reason
        with Session(X * Y == 120, X > Y, Y > 0) as session:
            assert len([outcome[X] for outcome in session.solutions(X)]) == 8
        assert solve(X > 127).status == "unsat"
        assert verify(select(X < 0, -X, X) * 2 // 2 == abs(X)).status == "unsat"
    assert solve(X > 127).status == "sat"


def test_what_has_no_translation() -> None:
    """Reals of integers, functions of integers, quantifiers over them; widths that are none."""
    f = function("word f", [integer], integer)
    with bitwidth(8):
        for wrong in (X.to_real() == 3, f(X) == 3, forall(X, X == X)):
            with pytest.raises(SwizzleError, match="where integers are words"):
                solve(wrong)
        power = X
        for _ in range(10):
            power = power * power
        with pytest.raises(SwizzleError, match="more than 4096 bits"):
            solve(power == 3)
    for width in (0, 257, True, "8"):
        with pytest.raises(SwizzleError, match="a bitwidth of"), bitwidth(width):  # type: ignore[arg-type]
            pass
