"""Formulas over columns, against their meaning value by value."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from pysmt.environment import get_env
from pysmt.typing import BOOL, INT, BVType

from symbolic.solve.columns import column, evaluated
from symbolic.solve.evaluate import evaluate

m = get_env().formula_manager
ROUNDS = 120


def word(chosen: random.Random, symbols: list[Any], width: int, depth: int) -> Any:
    """Return a random formula of a width over symbols of that width."""
    if depth == 0 or chosen.random() < 0.15:
        return m.BV(chosen.randrange(1 << width), width) if chosen.random() < 0.2 else chosen.choice(symbols)
    a, b = (word(chosen, symbols, width, depth - 1) for _ in range(2))
    low = chosen.randrange(width)
    return chosen.choice([
        lambda: chosen.choice([m.BVAdd, m.BVSub, m.BVMul, m.BVAnd, m.BVOr, m.BVXor])(a, b),
        lambda: chosen.choice([m.BVUDiv, m.BVURem, m.BVSDiv, m.BVSRem, m.BVLShl, m.BVLShr, m.BVAShr])(a, b),
        lambda: chosen.choice([m.BVLShl, m.BVLShr, m.BVAShr])(a, m.BV(chosen.randrange(width), width)),
        lambda: chosen.choice([m.BVNot, m.BVNeg])(a),
        lambda: m.Ite(truth(chosen, symbols, width, depth - 1), a, b),
        lambda: m.BVConcat(m.BVExtract(a, 0, low), m.BVExtract(b, low + 1, width - 1)) if low < width - 1 else a,
        lambda: m.BVExtract(chosen.choice([m.BVSExt, m.BVZExt])(a, 7), 3, width + 2),
        lambda: chosen.choice([m.BVRol, m.BVRor])(a, low),
    ])()  # fmt: skip


def truth(chosen: random.Random, symbols: list[Any], width: int, depth: int) -> Any:
    """Return a random condition."""
    a, b = (word(chosen, symbols, width, depth) for _ in range(2))
    one = chosen.choice([m.Equals, m.BVULT, m.BVULE, m.BVSLT, m.BVSLE])(a, b)
    if depth == 0 or chosen.random() < 0.5:
        return one
    other = truth(chosen, symbols, width, depth - 1)
    return chosen.choice([m.And, m.Or, m.Implies, m.Iff, lambda p, q: m.Not(m.And(p, q))])(one, other)


def number(chosen: random.Random, symbols: list[Any], depth: int) -> Any:
    """Return a random integer formula."""
    if depth == 0 or chosen.random() < 0.15:
        return m.Int(chosen.choice([0, 1, -2, 3, 1 << 40])) if chosen.random() < 0.3 else chosen.choice(symbols)
    a, b = (number(chosen, symbols, depth - 1) for _ in range(2))
    if chosen.random() < 0.2:
        return m.Ite(chosen.choice([m.LE, m.LT, m.Equals])(a, b), b, a)
    if chosen.random() < 0.1:
        return m.Div(a, m.Int(3))
    return chosen.choice([m.Plus, m.Minus, m.Times, lambda x, y: m.Plus(x, y, x)])(a, b)


def agree(formula: Any, symbols: list[Any], values: list[list[Any]]) -> None:
    """Compare column by column."""
    columns = {s: column(some, s.symbol_type()) for s, some in zip(symbols, values, strict=True)}
    found = np.broadcast_to(evaluated(formula, columns), len(values[0])).tolist()
    rows = [dict(zip(symbols, row, strict=True)) for row in zip(*values, strict=True)]
    assert found == [evaluate(formula, row.__getitem__) for row in rows], formula.serialize()


@pytest.mark.parametrize("width", [1, 3, 8, 31, 32, 63, 64, 65])
def test_words(width: int) -> None:
    """Of every width, those of a machine's word and one bit more among them."""
    chosen = random.Random(width)
    symbols = [m.Symbol(f"column {name}{width}", BVType(width)) for name in "ab"]
    edges = [0, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    for _ in range(ROUNDS):
        make = chosen.choice([word, truth])
        values = [[chosen.choice([*edges, chosen.randrange(1 << width)]) for _ in range(6)] for _ in symbols]
        agree(make(chosen, symbols, width, 3), symbols, values)


def test_integers_of_any_size() -> None:
    """What does not fit 64 bits is computed in Python's integers."""
    chosen = random.Random(0)
    symbols = [m.Symbol(f"column {name}", INT) for name in "xy"]
    for _ in range(3 * ROUNDS):
        size = chosen.choice([10, 1 << 31, 1 << 61, 1 << 63, 1 << 90])
        values = [[chosen.randrange(-size, size) for _ in range(5)] for _ in symbols]
        agree(number(chosen, symbols, 3), symbols, values)


def test_conditions() -> None:
    """Booleans alone."""
    p, q = (m.Symbol(f"column {name}", BOOL) for name in "pq")
    for formula in (m.And(p, q), m.Or(p, m.Not(q)), m.Iff(p, q), m.Implies(p, q), m.Ite(p, q, m.TRUE()), m.FALSE()):
        agree(formula, [p, q], [[False, False, True, True], [False, True, False, True]])
