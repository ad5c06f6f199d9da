"""The meaning of formulas in Python integers, held against z3.

A formula with values for some of its symbols means what the whole formula means, and what is decided is gone.
"""

from __future__ import annotations

import operator
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysmt.environment import get_env
from pysmt.typing import INT, BVType

from symbolic.core.values import all_of, any_of, bitvector, boolean, implies, integer, select
from symbolic.solve.answer import Model, Unsat
from symbolic.solve.evaluate import Specialised, evaluate
from symbolic.solve.solver import Solver

m = get_env().formula_manager
X, Y = (m.Symbol(f"evaluate_test_{n}", BVType(4)) for n in "xy")
A, B = (m.Symbol(f"evaluate_test_{n}", INT) for n in "ab")
C = m.Symbol("evaluate_test_c")

BINARY = [
    m.BVAdd, m.BVSub, m.BVMul, m.BVUDiv, m.BVURem, m.BVSDiv, m.BVSRem, m.BVLShl, m.BVLShr, m.BVAShr, m.BVAnd, m.BVOr,
    m.BVXor,
]  # fmt: skip
UNARY = [
    m.BVNot,
    m.BVNeg,
    lambda f: m.BVRol(f, 1),
    lambda f: m.BVRor(f, 3),
    lambda f: m.BVExtract(m.BVConcat(f, m.BVZExt(f, 2)), 2, 5),
    lambda f: m.BVExtract(m.BVSExt(f, 3), 3, 6),
    lambda f: m.BVZExt(m.BVComp(f, m.BV(5, 4)), 3),
    lambda f: m.Ite(m.BVSLT(f, m.BV(3, 4)), f, m.BV(9, 4)),
    lambda f: m.Ite(m.BVULE(f, m.BV(3, 4)), f, m.BV(9, 4)),
    lambda f: m.Ite(m.BVULT(f, m.BV(7, 4)), f, m.BV(9, 4)),
    lambda f: m.Ite(m.BVSLE(f, m.BV(12, 4)), f, m.BV(9, 4)),
]


def bits():
    """Return a strategy for 4-bit formulas with every operator."""
    return st.recursive(
        st.one_of(st.sampled_from([X, Y]), st.integers(0, 15).map(lambda n: m.BV(n, 4))),
        lambda f: st.one_of(
            st.tuples(st.sampled_from(BINARY), f, f).map(lambda t: t[0](t[1], t[2])),
            st.tuples(st.sampled_from(UNARY), f).map(lambda t: t[0](t[1])),
        ),
        max_leaves=6,
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(formula=bits(), x=st.integers(0, 15), y=st.integers(0, 15))
def test_bit_vectors_mean_what_z3_says(formula, x, y):
    """Under fixed x and y, z3 proves that the formula equals what we computed."""
    value = evaluate(formula, {X: x, Y: y}.__getitem__)
    with Solver("z3") as solver:
        solver.add([m.Equals(X, m.BV(x, 4)), m.Equals(Y, m.BV(y, 4))])
        solver.add([m.Not(m.Equals(formula, m.BV(value, 4)))])
        assert solver.check() == Unsat(())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(a=st.integers(), b=st.integers().filter(bool), c=st.booleans())
def test_integers_mean_what_z3_says(a, b, c):
    """The same for integer arithmetic, numbers beyond 64 bits and negative divisors included."""
    formula = m.Plus(m.Times(m.Int(3), m.Div(A, B)), m.Ite(m.And(C, m.LT(A, B)), m.Minus(A, B), m.Int(7)))
    value = evaluate(formula, {A: a, B: b, C: c}.__getitem__)
    with Solver("z3") as solver:
        solver.add([m.Equals(A, m.Int(a)), m.Equals(B, m.Int(b)), C if c else m.Not(C)])
        solver.add([m.Not(m.Equals(formula, m.Int(value)))])
        assert solver.check() == Unsat(())


@pytest.mark.parametrize(
    ("build", "meaning"),
    [(m.And, operator.and_), (m.Or, operator.or_), (m.Iff, operator.eq), (m.Implies, operator.le)],
)
def test_connectives(build, meaning):
    """The truth table of each binary connective."""
    d = m.Symbol("evaluate_test_d")
    for p in (False, True):
        for q in (False, True):
            assert evaluate(build(C, d), {C: p, d: q}.__getitem__) == meaning(p, q)


def test_deep_formulas():
    """A formula far deeper than Python's stack has a value."""
    formula = A
    for _ in range(5000):
        formula = m.Minus(m.Int(1), formula)
    assert evaluate(formula, lambda symbol: 41) == 41


def number(chosen: random.Random, leaves: list[Any], depth: int) -> Any:
    """Return a random number over symbols of one kind."""
    if depth == 0:
        return chosen.choice(leaves)
    a, b = (number(chosen, leaves, depth - 1) for _ in "ab")
    if chosen.random() < 0.3:
        return select(truth(chosen, leaves, depth - 1), a, b)
    if chosen.random() < 0.2:
        return chosen.choice([operator.floordiv, operator.mod])(a, b)
    return chosen.choice([operator.add, operator.sub, operator.mul])(a, b)


def truth(chosen: random.Random, leaves: list[Any], depth: int) -> Any:
    """Return a random condition over symbols of one kind."""
    if depth > 0 and chosen.random() < 0.6:
        a, b = (truth(chosen, leaves, depth - 1) for _ in "ab")
        return chosen.choice([all_of, any_of, operator.xor, implies, lambda p, q: ~(p & q)])(a, b)
    a, b = (number(chosen, leaves, depth - 1) if depth else chosen.choice(leaves) for _ in "ab")
    return chosen.choice([operator.eq, operator.ne, operator.lt, operator.ge])(a, b)


@pytest.mark.parametrize("kind", ["integer", "unsigned", "signed"])
def test_the_rest_of_a_formula_means_what_the_whole_means(kind):
    """The oracle is `evaluate` on the whole formula."""
    chosen = random.Random(kind)
    names = [f"partial {kind} {name}" for name in "abcd"]
    symbols: list[Any] = [integer(n) if kind == "integer" else bitvector(n, 4, signed=kind == "signed") for n in names]
    formulas = [s.formula for s in symbols]
    for _ in range(40):
        condition = truth(chosen, [*symbols, symbols[0] * 0 + 3], 4).formula
        given = formulas[: chosen.randrange(1, 5)]
        special = Specialised(condition, given)
        for _ in range(4):
            values = {each: chosen.randrange(16) for each in formulas}
            rest = special.at({each: values[each] for each in given})
            assert Model(values.get).value(rest) == Model(values.get).value(condition)
            assert not set(rest.get_free_variables()) & set(given)
            assert len(given) < 4 or rest.is_bool_constant()


def test_what_does_not_count_is_not_computed():
    """A power of millions of digits stands where nobody goes; a choice that is decided is one of its sides."""
    x, y, p, q = integer("partial x"), integer("partial y"), boolean("partial p"), boolean("partial q")
    huge = x
    for _ in range(60):
        huge = huge * huge
    formula = all_of(select(p, y, huge) == 3, any_of(p, huge > 0), implies(~p, huge > 1), any_of(q, ~p))
    rest = Specialised(formula.formula, [x.formula, p.formula]).at({x.formula: 3, p.formula: True})
    assert rest is all_of(y == 3, q).formula
