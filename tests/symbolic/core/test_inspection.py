"""Symbols that are fresh or belong to a place; terms, unions and outcomes looked into; questions as SMT-LIB text."""

from __future__ import annotations

from typing import Any

import pytest
import z3

from symbolic import (
    SwizzleError,
    assume,
    bitvector,
    boolean,
    forall,
    function,
    integer,
    is_term,
    lifted,
    obligations,
    optimize,
    real,
    solve,
    symbolics,
    synthesize,
    term,
    union_contents,
    verify,
)

X, Y, V, P = integer("seen x"), integer("seen y"), bitvector("seen v", 8, signed=True), boolean("seen p")


@lifted
def kinds(x: Any) -> Any:
    """A value of several kinds."""
    if x < 0:
        return None
    return [x] if x < 3 else (x, V)


def test_fresh_symbols() -> None:
    """Each is another one, of any kind, also in loops of lifted functions; the name is for reading alone."""
    a, b = symbolics.fresh(integer, "seen x"), symbolics.fresh(integer, "seen x")
    assert solve(a != b, a != X, b != X, a != 0).status == "sat"
    assert symbolics.fresh(V).width == 8 and symbolics.fresh(V).signed

    @lifted
    def sum_of_fresh(n: Any) -> Any:
        total = 0
        for _ in range(3):
            total += symbolics.fresh(integer) * n
        return total

    assert len(symbolics(sum_of_fresh(X))) == 4


def test_symbols_of_a_place() -> None:
    """The same line gives the same one, another line another."""
    made = [symbolics.here(integer, "a") for _ in range(2)]
    other = symbolics.here(integer, "a")
    assert verify(made[0] == made[1]).status == "unsat" and verify(made[0] == other).status == "sat"


def test_what_is_in_values() -> None:
    """Symbols of all that is held; the operator of a term; the cases of a union, each with its condition."""
    names = [str(each.formula) for each in symbolics([X + Y], {"a": P}, kinds(X), 3)]
    assert names == ["'seen p'", "'seen v'", "'seen x'", "'seen y'"]
    assert is_term(X) and is_term(X == 1) and not is_term(3) and not is_term(verify)
    found = term(X + 1)
    assert (
        found.operator == "plus" and symbolics(found.arguments[0])[0].formula is X.formula and found.arguments[1] == 1
    )
    assert (
        term(X).operator == "seen x"
        and term(V // 3).arguments
        and term(real("seen r").floor()).operator == "real_floor"
    )
    assert term(function("seen f", [integer], integer)(X)).operator == "seen f"
    cases = union_contents(kinds(X))
    assert [type(value) for _, value in cases] == [type(None), list, tuple]
    assert solve(cases[1][0], X > 1)[X] == 2 and union_contents(X)[0][0] is True
    with pytest.raises(SwizzleError, match="the operator of"):
        term(3)  # type: ignore[arg-type]


def test_partial_evaluation() -> None:
    """What the query was not about stays symbolic; a union is decided where its conditions are."""
    outcome = solve(X == 2)
    left, three, listed = outcome.partial([X + Y, X + 1, kinds(X)])
    assert verify(left == Y + 2).status == "unsat" and three == 3 and listed == [2]
    assert len(union_contents(outcome.partial(kinds(Y)))) == 3
    tables = solve(function("seen g", [integer], integer)(X) == 5)
    assert tables.partial(function("seen g", [integer], integer)(X)) == 5


def test_questions_as_text() -> None:
    """z3 reads each and answers alike: assumptions, quantifiers of synthesis, floors, functions."""
    g, r = function("seen g", [integer, V], integer), real("seen |r")
    with obligations():
        assume(X > 3)
        outcomes = [solve(X < 5), verify(X > 2), verify(X > 4)]
    outcomes += [
        solve(g(X, V) == 3, g(X, -V) == 4, r.floor() == X), verify(forall(Y, X * Y == 0)), optimize(X < 3, maximize=X),
        synthesize(inputs=[V], guarantee=V + bitvector("seen h", 8, signed=True) == V),
        synthesize(inputs=[V], guarantee=V * bitvector("seen h", 8, signed=True) == 1),
    ]  # fmt: skip
    for outcome in outcomes:
        solver = z3.Solver()
        solver.from_string(outcome.smtlib())
        assert str(solver.check()) == outcome.status
