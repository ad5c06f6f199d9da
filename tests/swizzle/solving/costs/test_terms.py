"""Terms, shuffles and bytes as costs: what they count, and every filling tried one by one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from templates.formula import formula_of_text, length_of, plain
from tests.sketches import kernel


def low(n: int = 8) -> Sketch:
    """What lanes of the upper half receive is not stored, so many functions are right."""
    text = """
i = cuda.laneid
got = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(i, {n}))
y[i] = got if ?sw_cond(i) else x[i]
"""
    options: dict[str, Any] = {"block": n, "grid": 1, "warp_size": n, "arguments": f"x=i32[{n}], y=i32.out[{n}]"}
    spec = f"[x[i + 1] if i < {n // 2 - 1} else x[i] for i in range({n})]"
    return kernel(text.replace("{n}", str(n)), spec=spec, **options)


def test_terms_are_counted_over_all_fillings() -> None:
    """The terms of each right filling are counted again, from its text; the best has the fewest."""
    sketch = low()
    every = solve(sketch, Limits(space="3", all_solutions=True), cost="terms")
    assert len(every.solutions) > 1 and every.optimal
    for solution in every.solutions:
        formulas = [formula_of_text(h, s.formula) for h, s in zip(sketch.program.holes, solution.holes, strict=True)]
        assert solution.cost == {"terms": sum(map(length_of, formulas))}
    lengths = [solution.cost["terms"] for solution in every.solutions]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]
    found = solve(sketch, Limits(space="3"), cost=["accumulates", "terms"])
    assert found.best.cost == {"accumulates": 0, "terms": lengths[0]}
    assert found.proved == {"accumulates": True, "terms": True}


def test_no_filling_of_the_space_has_fewer_terms() -> None:
    """Brute force: every function of one hole with every one of the other, as the templates write them."""
    sketch = low(4)
    problem = Problem.of(sketch.program, sketch.spec)
    templates, many = problem.templates("3"), Many(problem)
    fillings = list(itertools.product(*(itertools.product(*made.components) for made in templates)))
    right = many.costs([many.chosen(templates, each) for each in fillings], lambda run, copies: [0] * copies)
    written = [
        sum(length_of(plain(h, t, c)) for h, t, c in zip(sketch.program.holes, templates, filling, strict=True))
        for filling, cost in zip(fillings, right, strict=True)
        if cost is not None
    ]
    assert solve(sketch, Limits(space="3"), cost="terms").best.cost["terms"] <= min(written)


@pytest.mark.parametrize("space", ["2", "3", "4"])
def test_formulas_are_right_where_they_are_asked(space: Any) -> None:
    """Python's value of every printed formula of every solution is that of its constants."""
    found = solve(low(), Limits(space=space, all_solutions=True))
    assert found.solutions
    for solution in found.solutions:
        for hole, asked in zip(solution.holes, solution.tables().values(), strict=True):
            named = [dict(zip(asked.arguments, point, strict=True)) for point in asked.points.tolist()]
            assert [eval(hole.formula, {}, names) for names in named] == asked.values.tolist()


@pytest.mark.parametrize("grid", [1, 3])
def test_shuffles_are_counted_by_warps(grid: int) -> None:
    """A warp's shuffle is one, one of doubles two; what nothing reads is none."""
    turn = "i = cuda.grid(1)\ngot = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(cuda.laneid, 8))\ny[i] = {}"
    for dtype, words in (("f32", 1), ("f64", 2), ("f16", 1)):
        options: dict[str, Any] = {"block": 16, "grid": grid, "warp_size": 8}
        options["arguments"] = f"x={dtype}[{16 * grid}], y={dtype}.out[{16 * grid}]"
        spec = f"[x[i // 8 * 8 + (i + 1) % 8] for i in range({16 * grid})]"
        assert solve(kernel(turn.format("got"), spec=spec, **options), cost="shuffles").best.cost == {
            "shuffles": 2 * grid * words
        }
        same = kernel(turn.format("x[i]"), spec=f"[x[i] for i in range({16 * grid})]", **options)
        assert solve(same, cost="shuffles").best.cost == {"shuffles": 0}


def test_bytes_are_those_in_use() -> None:
    """Of a tile of 8 words 4 are touched in the best filling, and they lie at its beginning.

    Of several blocks, the one counts that goes furthest.
    """
    text = """
i = cuda.laneid
tile = cuda.shared.array({n}, i32)
tile[{at}] = x[i]
cuda.syncthreads()
y[i] = tile[{at}]
"""
    options: dict[str, Any] = {"block": 4, "arguments": "x=i32[4], y=i32.out[4]", "spec": "[x[i] for i in range(4)]"}
    holes = kernel(text.format(n=8, at="?sw_xform(i, 8)"), **options)
    assert solve(holes, Limits(space="1"), cost="bytes").best.cost == {"bytes": 16}
    apart = kernel(text.format(n=16, at="3 * i + 2") + "y[i] = tile[2]\ny[i] = x[i]", **options)
    assert solve(apart, cost="bytes").best.cost == {"bytes": 4 * 12}
    several: dict[str, Any] = options | {
        "grid": 3,
        "arguments": "x=i32[12], y=i32.out[12]",
        "spec": "[x[i] for i in range(12)]",
    }
    body = text.format(n=8, at="i + cuda.blockIdx.x").replace("x[i]", "x[j]").replace("y[i]", "y[j]")
    blocks = kernel("j = cuda.grid(1)\n" + body, **several)
    assert solve(blocks, cost="bytes").best.cost == {"bytes": 4 * 6}
