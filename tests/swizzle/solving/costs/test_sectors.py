"""Sectors of global memory as a cost: the floor, what is picked, vectors as they are printed, every filling."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from swizzle.solving.costs.sectors import Sectors
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import plan
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from tests.differential.random_sketches import functions
from tests.sketches import kernel, sketch_of

AOS = """
@spec
def sums(x):
    return [sum(x[i * {s} + e] for e in range({s})) for i in range({n})]

@sketch(spec=sums, block={n}, warp_size={n}, x=i32[{n} * {s}], y=i32.out[{n}])
def k(x, y):
    lane = cuda.laneid
    tile = cuda.shared.array({n} * {s}, i32)
    for r in range({s}):
        i = {s} * lane + r if ?sw_cond({of}) else {n} * r + lane
        tile[i] = x[i]
    cuda.syncthreads()
    a = accumulator(i32, outer="+")
    for r in range({s}):
        a.accumulate(tile[{s} * lane + r])
    y[lane] = a.value
"""


def test_the_coalesced_variant_is_picked() -> None:
    """Structures of three words, 32 of them: 12 sectors to load and 4 to store, as counting says."""
    sketch = sketch_of(AOS.format(n=32, s=3, of="r"))
    found = solve(sketch, cost=["sectors"])
    assert found.best.cost == {"sectors": 16} and found.optimal
    assert "sectors that no filling can do without, by counting: 16" in found.certificate["floor"]
    assert found.best.holes[0].formula == "False"
    every = solve(sketch, Limits(all_solutions=True), cost=["sectors"])
    assert [s.cost["sectors"] for s in every.solutions] == [16, 40]


def test_light_constants_do_not_settle_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """All fillings have as many accumulates; which of them moves the fewest sectors is looked for all the same."""
    monkeypatch.setattr(plan, "LARGE", 0)
    monkeypatch.setattr(plan, "WORTH_IT", 0)
    found = solve(sketch_of(AOS.format(n=32, s=3, of="r")), cost=["accumulates", "sectors"])
    assert found.optimal and found.best.cost == {"accumulates": 1, "sectors": 16}


def test_four_words_go_as_a_vector() -> None:
    """One float4 a lane touches each sector once; word by word, the same sectors are touched four times."""
    body = "mine = cuda.local.array(4, f32)\nfor e in range(4):\n    mine[e] = x[{}]\n"
    body += "for e in range(4):\n    y[{}] = mine[e]"
    options: dict[str, Any] = {"block": 32, "warp_size": 32, "arguments": "x=f32[128], y=f32.out[128]"}
    beside = kernel(body.format(*["4 * cuda.laneid + e"] * 2), spec="[x[i] for i in range(128)]", **options)
    assert solve(beside, cost=["sectors"]).best.cost == {"sectors": 32}
    turned = "[x[i // 4 * 4 + (i + 1) % 4] for i in range(128)]"
    apart = kernel(body.format("4 * cuda.laneid + (e + 1) % 4", "4 * cuda.laneid + e"), spec=turned, **options)
    assert solve(apart, cost=["sectors"]).best.cost == {"sectors": 80}


def test_what_stays_as_it_is_need_not_move() -> None:
    """An inout array of which the first half is written: its other half is neither loaded nor stored."""
    body = "i = cuda.laneid\nz[i] = z[i] + x[0]"
    spec = "[z[i] + x[0] if i < 8 else z[i] for i in range(16)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[64], z=i32.inout[16]", block=8, warp_size=8)
    problem = Problem.of(sketch.program, sketch.spec)
    assert Sectors().floor(problem) == 3
    assert solve(sketch, cost=["sectors"]).best.cost == {"sectors": 3}


@pytest.mark.parametrize("of", ["r", "lane, r"])
def test_every_filling_of_a_small_sketch(of: str) -> None:
    """Eight lanes, three words each (no vector): the sectors of each right filling by its addresses, and the least."""
    sketch = sketch_of(AOS.format(n=8, s=3, of=of))
    problem = Problem.of(sketch.program, sketch.spec)
    made, right = problem.templates("2"), []
    for choices in itertools.product(*(functions(t, p) for t, p in zip(made, problem.points, strict=True))):
        run, wrong = problem.candidate(made, choices)
        if run.violations or wrong:
            continue
        lane, count = np.arange(8), 1  # the store
        for r in range(3):
            arguments = [np.full(8, r)] if of == "r" else [lane, np.full(8, r)]
            structured = np.broadcast_to(made[0].apply(choices[0], arguments), 8)
            cells = np.where(structured, 3 * lane + r, 8 * r + lane)
            count += len(set((cells // 8).tolist()))
        right.append(count)
    found = solve(sketch, Limits(space="2", all_solutions=True), cost=["sectors"])
    assert sorted(right) == [solution.cost["sectors"] for solution in found.solutions]
    assert found.best.cost["sectors"] == min(right) and found.optimal
