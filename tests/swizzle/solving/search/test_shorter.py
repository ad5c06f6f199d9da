"""The formulas that are shown of a loop whose order makes no difference: its rounds count up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from swizzle import load, solve
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.shorter import _orders

SUM = """
N = 96

@spec
def wanted(x):
    return [sum(x[i] for i in range(N))]

@sketch(spec=wanted, block=32, x=f32[N], y=f32.out[1])
def k(x, y):
    n = f32(0)
    for k in range(N):
        n += x[?sw_xform(k, N)]
    if cuda.laneid == 0:
        y[0] = n
"""
PRODUCTS = """
@spec
def wanted(a, v):
    return [sum(a[i // 4 * 4 + c] * v[c] for c in range(4)) for i in range(32)]

@sketch(spec=wanted, block=32, a=f32[32], v=f32[4], y=f32.out[32])
def k(a, v, y):
    lane = cuda.laneid
    out = accumulator(f32, outer="+", inner="*")
    for c in range(4):
        out.accumulate(a[?sw_xform(lane, 32, c)], v[?sw_xform(c, 4)])
    y[lane] = out.value
"""


@pytest.mark.parametrize(("text", "formulas"), [(SUM, ["k"]), (PRODUCTS, ["lane // 4 * 4 + c", "c"])])
def test_rounds_count_up(text: str, formulas: list[str], tmp_path: Path) -> None:
    (tmp_path / "k.swz").write_text(text)
    (sketch,) = load(tmp_path / "k.swz")
    assert [hole.formula for hole in solve(sketch).best.holes] == formulas


def test_all_holes_of_a_loop_are_moved_together(tmp_path: Path) -> None:
    """Each order is a permutation of rounds, the same one for what is multiplied."""
    (tmp_path / "k.swz").write_text(PRODUCTS)
    (sketch,) = load(tmp_path / "k.swz")
    problem = Problem.of(sketch.program, sketch.spec)
    many = Many(problem)
    turned = np.array([3, 1, 0, 2])
    values = many.values(lambda at, args: args[0] // 4 * 4 + turned[args[1]] if at == 0 else turned[args[0]])
    orders = list(_orders(problem, many, values))
    assert orders
    for first, second in orders:
        assert first.tolist() == [lane // 4 * 4 + c for lane, c in many.points[0].table.tolist()]
        assert second.tolist() == [0, 1, 2, 3]
