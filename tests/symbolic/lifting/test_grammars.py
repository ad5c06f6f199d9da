"""Grammars: what is shared by alternatives, against the programs that they stand for, run as Python."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from pysmt.fnode import FNode

from symbolic import (
    all_of,
    assume,
    bitvector,
    choose,
    cost,
    grammar,
    integer,
    lifted,
    obligations,
    select,
    solve,
    synthesize,
    verify,
)
from symbolic.lifting.functions import OperatorCount
from symbolic.solve.answer import Model

X, Y = integer("grammar x"), integer("grammar y")


@grammar
def arithmetic(x: Any, y: Any, depth: int) -> Any:
    """Operators of several arities, choices within choices, and what may fail."""
    if depth == 0:
        return choose(x, y, 1, 0)
    return choose(
        x,
        arithmetic(x, y, depth - 1) - arithmetic(x, y, depth - 1),
        arithmetic(x, y, depth - 1) // arithmetic(x, y=y, depth=depth - 1),
        -arithmetic(x, y, depth - 1),
        choose(arithmetic(y, x, depth - 1), 3 * arithmetic(x, y, depth - 1)) - arithmetic(x, y, depth - 1),
        arithmetic(x, y, depth - 1) if arithmetic(x, y, 0) < arithmetic(x, y, depth - 1) else arithmetic(y, x, 0),
    )


@lifted
def program(x: Any, y: Any) -> Any:
    """Two calls that are one unknown, and one by itself."""
    return choose(arithmetic(x, y, 2), 10 + arithmetic(x, y, 2)) - arithmetic(y, x, 1)


def test_shared_alternatives_are_the_programs_that_they_stand_for() -> None:
    """Whatever is chosen, the value is what the program's text computes, and an obligation is broken where it fails."""
    chosen, failed, texts = random.Random(0), 0, set()
    with obligations() as collected:
        value = program(X, Y)
    holes = sorted(program.unknowns(), key=FNode.node_id)
    assert 10 < len(holes) < 250
    for _ in range(400):
        given = {hole: chosen.random() < 0.3 for hole in holes}
        x, y = chosen.randrange(-5, 6), chosen.randrange(-5, 6)
        model = Model({**given, X.formula: x, Y.formula: y}.get)
        filled = program.evaluated(model)
        texts.add(filled.source)
        names: dict[str, Any] = {}
        exec(filled.source, names)
        broken = [each for each in collected.made if not model.value(each.condition.formula)]
        try:
            expected = names["program"](x, y)
        except ZeroDivisionError:
            failed += 1
            assert broken and broken[0].text == "division by zero: `//`"
        else:
            assert not broken, filled.source
            assert model.value(value.formula) == expected, filled.source
    assert len(texts) > 200 and 20 < failed < 380


@pytest.mark.parametrize(("depth", "most"), [(3, 40), (4, 90), (6, 400)])
def test_a_grammar_grows_with_its_largest_program(depth: int, most: int) -> None:
    """Of three operators of two operands each depth has about twice the unknowns of the one before, not six times."""

    @grammar
    def sums(x: Any, y: Any, depth: int) -> Any:
        if depth == 0:
            return choose(x, y)
        return choose(
            x,
            sums(x, y, depth - 1) + sums(x, y, depth - 1),
            sums(x, y, depth - 1) - sums(x, y, depth - 1),
            sums(x, y, depth - 1) * sums(x, y, depth - 1),
        )

    @lifted
    def f(x: Any, y: Any) -> Any:
        return sums(x, y, depth)

    f(X, Y)
    assert 2**depth < len(f.unknowns()) < most


# ---- the cheapest program: by trying, by a solver, by all programs --------------------------------------------------

V, W = bitvector("grammar v", 3), bitvector("grammar w", 3)
S, T = bitvector("grammar s", 3, signed=True), bitvector("grammar t", 3, signed=True)


@grammar
def words(v: Any, w: Any, depth: int) -> Any:
    """Bit tricks."""
    if depth == 0:
        return choose(v, w, 1)
    return choose(
        words(v, w, depth - 1),
        words(v, w, depth - 1) + words(v, w, depth - 1),
        words(v, w, depth - 1) & ~words(v, w, depth - 1),
        words(v, w, depth - 1) >> 1,
        words(v, w, depth - 1) if words(w, v, 0) < words(v, w, depth - 1) else words(w, v, depth - 1),
    )


@lifted
def trick(v: Any, w: Any) -> Any:
    """One more than what is found."""
    return words(v, w, 2) + 1


def test_trying_and_a_solver_find_programs_of_one_cost() -> None:
    """For random tables, most of which a program has: both say that there is none, or find one of the same cost."""
    chosen, verdicts = random.Random(1), set()
    filled = []
    for signed in (False, True) * 5:
        v, w = (S, T) if signed else (V, W)
        value, least = trick(v, w), cost(trick)
        assert not isinstance(least, int)
        given = {hole: chosen.random() < 0.4 for hole in sorted(trick.unknowns(), key=FNode.node_id)}
        wanted = trick.evaluated(Model(given.get))(v, w)
        wanted = wanted * v if chosen.random() < 0.3 else wanted
        tried = synthesize(inputs=[v, w], guarantee=value == wanted, minimize=least)
        solved = synthesize(inputs=[v, w], guarantee=value == wanted, minimize=least + 0, timeout=60)
        assert tried.status == solved.status
        verdicts.add(tried.status)
        if tried.status == "sat":
            assert tried.optimal and tried[least] == solved[least]
            assert verify(tried[trick](v, w) == wanted).status == "unsat"
            filled.append(tried[trick].source)
    assert verdicts == {"sat", "unsat"} and len(set(filled)) > 3


@pytest.mark.slow
def test_the_cheapest_is_the_cheapest_of_all_programs() -> None:
    """Every filling of a small grammar is looked at, as Python."""

    @grammar
    def small(x: Any, depth: int) -> Any:
        return (
            choose(x, 2) if depth == 0 else choose(x, small(x, depth - 1) * small(x, depth - 1), -small(x, depth - 1))
        )

    @lifted
    def f(x: Any) -> Any:
        return small(x, 2) - 1

    value, least = f(X), cost(f)
    assert not isinstance(least, int)
    holes = sorted(f.unknowns(), key=FNode.node_id)
    cheapest: dict[tuple[object, ...], int] = {}
    for bits in itertools.product((False, True), repeat=len(holes)):
        given = dict(zip(holes, bits, strict=True))
        key = tuple(Model({**given, X.formula: n}.get).value(value.formula) for n in (-2, 1, 3))
        count = Model(given.get).value(least.formula)
        assert isinstance(count, int)
        cheapest[key] = min(count, cheapest.get(key, count))
    assert len(cheapest) > 8
    for wanted in (X - 1, X * X - 1, -X - 1, 4 * X - 1, 2 * X - 1, -2 * X - 1, X * X * X * X - 1, X * X * X - 1, X - 2):
        outcome = synthesize(inputs=[X], guarantee=value == wanted, minimize=least)
        table = tuple(solve(n == X)[wanted] for n in (-2, 1, 3))
        assert outcome.status == ("sat" if table in cheapest else "unsat")
        if table in cheapest:
            assert outcome[least] == cheapest[table]


def test_a_program_that_is_called_twice_and_one_that_assumes() -> None:
    """All calls of a function are one program; assumptions limit the inputs; each is found by trying."""
    seven = V * 0 + 7
    value = all_of(trick(V, W) == trick(W, V), trick(V, seven) == V + 1)
    least = cost(trick)
    assert isinstance(least, OperatorCount) and least.enumeration(value.formula, {V.formula, W.formula}) is not None
    outcome = synthesize(inputs=[V, W], guarantee=value, minimize=least)
    assert (outcome.status, outcome.optimal) == ("sat", True)
    found = outcome[trick]
    assert verify(found(V, W) == found(W, V), found(V, seven) == V + 1).status == "unsat"
    with obligations():
        assume(V < W)
        outcome = synthesize(inputs=[V, W], guarantee=trick(V, W) == select(V < W, V, W) + 1, minimize=cost(trick))
    assert outcome[cost(trick)] == 1
    with obligations():
        assume((V < W) & (W < V))
        outcome = synthesize(inputs=[V, W], guarantee=trick(V, W) == 0, minimize=cost(trick))
    assert outcome.status == "unsat" and "contradict" in outcome.reason


def test_deep_grammars_are_searched_by_cost() -> None:
    """Of depth four over 32 bits: the average without overflow, and that nothing cheaper is it."""

    @grammar
    def expr(a: Any, b: Any, depth: int) -> Any:
        if depth == 0:
            return choose(a, b, 1)
        return choose(
            expr(a, b, depth - 1),
            expr(a, b, depth - 1) & expr(a, b, depth - 1),
            expr(a, b, depth - 1) ^ expr(a, b, depth - 1),
            expr(a, b, depth - 1) + expr(a, b, depth - 1),
            expr(a, b, depth - 1) - expr(a, b, depth - 1),
            expr(a, b, depth - 1) >> expr(a, b, depth - 1),
        )

    @lifted
    def average(a: Any, b: Any) -> Any:
        return expr(a, b, 4)

    a, b = bitvector("average a", 32), bitvector("average b", 32)
    wanted = ((a.resize(33) + b.resize(33)) >> 1).resize(32)
    outcome = synthesize(inputs=[a, b], guarantee=average(a, b) == wanted, minimize=cost(average))
    assert (outcome.status, outcome.optimal, outcome[cost(average)]) == ("sat", True, 4)


@lifted
def pair(v: Any) -> Any:
    """A program, and a choice beside it."""
    return words(v, v, 1), choose(v + v + v, v + v, v)


def test_a_cost_of_more_than_the_program_is_left_to_a_solver() -> None:
    """Nothing is required of the choice, yet it counts: the cheapest is taken."""
    value, _ = pair(V)
    claim, least = value == V + V, cost(pair)
    assert isinstance(least, OperatorCount) and least.enumeration(claim.formula, {V.formula}) is None
    outcome = synthesize(inputs=[V], guarantee=claim, minimize=least)
    assert (outcome.status, outcome.optimal, outcome[least]) == ("sat", True, 1)


def test_names_in_a_grammar() -> None:
    """What is named once is one choice, however often it stands in the program; the cost counts each time."""

    @grammar
    def squares(x: Any, y: Any, depth: int) -> Any:
        if depth == 0:
            return choose(x, y)
        left, right = squares(x, y, depth - 1), squares(x, y, depth - 1)
        both = left + right
        return choose(both, left - right, both * both, both + left)

    @lifted
    def program(x: Any, y: Any) -> Any:
        return squares(x, y, 1)

    x, y = bitvector("named x", 4), bitvector("named y", 4)
    leaves: list[Any] = [lambda a, b: a, lambda a, b: b]
    shapes: list[tuple[int, Any]] = [
        (1, lambda p, q: p + q), (1, lambda p, q: p - q), (3, lambda p, q: (p + q) * (p + q)),
        (2, lambda p, q: p + q + p),
    ]  # fmt: skip
    for wanted in (x * x + 2 * x * y + y * y, 2 * x + y, x * 0, 4 * y * y, x * x):
        costs = [
            least
            for least, shape in shapes
            for p, q in itertools.product(leaves, leaves)
            if verify(shape(p(x, y), q(x, y)) == wanted).status == "unsat"
        ]
        outcome = synthesize(inputs=[x, y], guarantee=program(x, y) == wanted, minimize=cost(program))
        assert (outcome.status == "sat") == bool(costs)
        if costs:
            assert outcome.optimal and outcome[cost(program)] == min(costs)
            assert verify(outcome[program](x, y) == wanted).status == "unsat"
            assert outcome[program](2, 3) % 16 == solve(x == 2, y == 3)[wanted]
