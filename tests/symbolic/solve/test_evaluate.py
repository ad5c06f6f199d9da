"""The meaning of formulas in Python integers, held against z3."""

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysmt.environment import get_env
from pysmt.typing import INT, BVType

from symbolic.solve.answer import Unsat
from symbolic.solve.evaluate import evaluate
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
