"""The formulas that are shown where the order of rounds, or of what is accumulated, makes no difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import load, solve
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.shorter import _alike, _deals, _left, _likely, _orders, _rounds

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
STENCIL = """
@spec
def wanted(u):
    return [(u[i - 1] if i % 4 > 0 else 0) + (u[i + 1] if i % 4 < 3 else 0) + u[(i + 4) % 8] for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, u=f32[8], y=f32.out[8])
def k(u, y):
    lane = cuda.laneid
    v = u[lane]
    s = accumulator(f32, outer="+")
    for k in range(2):
        a = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(lane, 8, k))
        s.accumulate(a, when=?sw_cond(lane % 4, k))
        b = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(lane, 8, k))
        s.accumulate(b, when=?sw_cond(lane // 4, k))
    y[lane] = s.value
"""
CONVOLUTION = """
@spec
def wanted(s, t):
    return [sum(s[k] * t[i - k] for k in range(4) if 0 <= i - k < 4) for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, s=f32[8], t=f32[8], y=f32.out[8])
def k(s, t, y):
    lane = cuda.laneid
    u, v = s[lane], t[lane]
    out = accumulator(f32, outer="+", inner="*")
    for k in range(4):
        p = cuda.shfl_sync(cuda.FULL_MASK, u, ?sw_xform(lane, 8, k))
        q = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(lane, 8, k))
        out.accumulate(p, q, when=?sw_cond(lane, k))
    y[lane] = out.value
"""


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        (SUM, ["k"]),
        (PRODUCTS, ["lane // 4 * 4 + c", "c"]),
        (CONVOLUTION, ["k", "(lane - k) % 8", "lane >= k and lane <= k + 3"]),
        (STENCIL, ["(lane + 2 * k + 7) % 8", "(lane % 4) != 3 * k", "lane ^ 4", "k <= 0"]),
    ],
)
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


def riddle(number: int, args: list[np.ndarray]) -> np.ndarray:
    """A right filling of the stencil in which odd lanes take their neighbours in the other order."""
    at, k = args
    left_first = at % 2 == k
    match number:
        case 0:
            return (at + np.where(left_first, -1, 1)) % 8
        case 1:
            return np.where(left_first, at > 0, at < 3)
        case 2:
            return (at + 4) % 8
        case _:
            return k == 1


def swapped(number: int, args: list[np.ndarray]) -> np.ndarray:
    """A right filling of the convolution in which odd lanes go through k from the last to the first."""
    lane, k = args
    k = np.where(lane % 2, 3 - k, k)
    return [k, (lane - k) % 8, (lane >= k) & (lane <= k + 3)][number]


@pytest.mark.parametrize(
    ("text", "filling", "formulas"),
    [(STENCIL, riddle, ["(lane + 2 * k - 1) % 8", "lane ^ 4"]), (CONVOLUTION, swapped, ["k", "(lane - k) % 8"])],
)
def test_items_are_dealt_anew(text: str, filling: Any, formulas: list[str], tmp_path: Path) -> None:
    """What threads accumulate is the same in each deal, and among the deals is the plain one."""
    (tmp_path / "k.swz").write_text(text)
    (sketch,) = load(tmp_path / "k.swz")
    problem = Problem.of(sketch.program, sketch.spec)
    many = Many(problem)
    values = many.values(filling)
    assert many.costs([values], lambda run, copies: [0] * copies) == [0]
    (group,) = _alike(problem, many, values)
    left = _left(group, values)
    slots = sum(map(_rounds, group))
    deals = list(_deals(problem, [_likely(problem, s, left, slots - _rounds(s)) for s in group], left, iter(range(64))))
    assert deals
    for deal in deals:
        dealt = [np.array([-1 if value is None else value for value in deal[number]]) for number in range(len(values))]
        assert _left(group, dealt) == left
    moves = [number for statement in group for number in statement.moves]
    wanted = [
        [eval(formula, {"lane": point[0], "k": point[1]}) for point in problem.points[number]]
        for number, formula in zip(moves, formulas, strict=True)
    ]
    assert any(
        all(a in (None, b) for n, some in zip(moves, wanted, strict=True) for a, b in zip(deal[n], some, strict=True))
        for deal in deals
    )
