"""`forall` and `exists`: decided by engines, and evaluated by trying or by a solver of their own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest

from symbolic import (
    SwizzleError,
    bitvector,
    boolean,
    distinct,
    exists,
    forall,
    function,
    hole,
    implies,
    integer,
    lifted,
    solve,
    synthesize,
    verify,
)

X, Y = integer("quantified x"), integer("quantified y")
V, W = bitvector("quantified v", 3), bitvector("quantified w", 3)
P = boolean("quantified p")


@pytest.mark.parametrize("solver", ["z3", "cvc5", "portfolio"])
def test_quantifiers_over_integers(solver: Any) -> None:
    """What is outside of the quantifier has its own value, also under the same name."""
    assert solve(forall(Y, X * Y == 0), solver=solver)[X] == 0
    assert solve(exists(Y, 2 * Y == X), X == 7, solver=solver).status == "unsat"
    assert verify(exists(Y, (2 * Y == X) | (2 * Y + 1 == X)), solver=solver).status == "unsat"
    assert solve(forall(X, X * X >= 0), X == -3, solver=solver)[X] == -3


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_random_quantifiers_against_all_values(solver: Any) -> None:
    """Of two words of three bits and a truth value: solve answers what trying all values gives."""
    rng = random.Random(1)
    for _ in range(12):
        quantifier, tried = rng.choice([(forall, all), (exists, any)])
        a, b, c = (rng.randrange(8) for _ in range(3))
        condition = quantifier(W, P & ((V & a) + W * b == c) | ~P & (a >= (V ^ W)))
        rows = _rows(tried, a, b, c)
        outcome = solve(condition, solver=solver)
        assert (outcome.status == "sat") == bool(rows)
        assert not rows or outcome[P, V] in rows
        assert (solve(forall([V, P], condition), solver=solver).status == "sat") == (len(rows) == 16)


def _rows(tried: Callable[[Iterable[bool]], bool], a: int, b: int, c: int) -> list[tuple[bool, int]]:
    """Return the values of P and V at which the condition holds for all or for any W."""

    def holds(p: bool, v: int, w: int) -> bool:
        return ((v & a) + w * b) % 8 == c if p else (v ^ w) <= a

    pairs = product((False, True), range(8))
    return [(p, v) for p, v in pairs if tried(holds(p, v, w) for w in range(8))]


def test_functions_under_quantifiers() -> None:
    """A model says what a function is everywhere, or that it cannot be checked."""
    f = function("quantified f", [integer], integer)
    found = solve(forall(X, f(X) == 3), f(Y) == Y)
    assert found[Y] == 3 and found[f](1000) == 3
    assert verify(implies(forall(X, f(X) > X), f(3) > 3)).status == "unsat"
    assert solve(forall(X, f(X) > X), timeout=1).status == "unknown"


def test_quantifiers_in_synthesis_and_lifted_functions() -> None:
    """The guarantee may have some, and a function may make them."""
    v, w = bitvector("wide quantified v", 8), bitvector("wide quantified w", 8)
    outcome = synthesize(inputs=[v], guarantee=forall(w, (w + v) - w == v * hole(width=8)))
    assert outcome.status == "sat"

    @lifted
    def neutral(x: Any) -> Any:
        return forall(Y, x + Y == Y) if x < 5 else False

    assert solve(neutral(X))[X] == 0


def test_wrong_quantifiers() -> None:
    """Over an expression or a number; and of a condition that is none."""
    for wrong in (lambda: forall(X + 1, X > 0), lambda: exists(3, X > 0), lambda: forall([X, 1], X > 0)):
        with pytest.raises(SwizzleError, match="a quantifier over"):
            wrong()
    with pytest.raises(SwizzleError, match="stands for a condition"):
        forall(X, X)  # type: ignore[arg-type]


def test_distinct() -> None:
    """No two are equal, numbers among them."""
    assert solve(distinct(X, Y, 3), X >= 2, X <= 3, Y >= 2, Y <= 4)[X, Y] == (2, 4)
    assert verify(distinct(V, V)).status == "sat" and verify(distinct(), distinct(X)).status == "unsat"
    pigeons = [bitvector(f"pigeon {i}", 2) for i in range(5)]
    assert solve(distinct(*pigeons)).status == "unsat" and solve(distinct(*pigeons[:4])).status == "sat"
