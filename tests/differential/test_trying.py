"""Exhaustion all fillings side by side finds those that the machine finds right one by one, in random sketches."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import pytest

from swizzle import load
from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import trying
from swizzle.solving.search.metasketch import solve
from swizzle.solving.search.trying import Exhaustion, TooMany
from swizzle.solving.solution.solution import Limits
from symbolic.values import mapped
from tests.differential.random_sketches import what_runs
from tests.differential.test_cancelling import compare
from tests.differential.test_partial_sums import ARGUMENTS, body, spec_of
from tests.differential.test_search_against_brute_force import functions
from tests.sketches import accumulates_of, kernel


@pytest.fixture(autouse=True)
def _by_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "FEW", 1)


def check(seed: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Compare one random sketch; say what came out."""
    rng = Random(seed)
    text = body(rng)
    spec = spec_of(text, rng)
    if spec is None:
        return "breaks a rule"
    sketch = kernel(text, spec=spec, arguments=ARGUMENTS, block=4, warp_size=4)
    problem = Problem.of(sketch.program, sketch.spec)
    monkeypatch.setattr(trying, "AT_ONCE", rng.choice((64, 1 << 15)))
    monkeypatch.setattr(trying, "FEW", rng.choice((2, 64)))
    monkeypatch.setattr(trying, "SHARE", rng.choice((1, 2, 8, 10**9)))
    monkeypatch.setattr(Exhaustion, "_costs_alike", False)
    try:
        engine = Exhaustion(problem, "1", ACCUMULATES)
        found = {what_runs(sketch.program, engine.templates, c.choices): c.cost for c in engine.candidates()}
    except TooMany:
        return "not asked by items"
    made, right = engine.templates, {}
    for choices in itertools.product(*(functions(t, p) for t, p in zip(made, problem.points, strict=True))):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            right[what_runs(sketch.program, made, choices)] = accumulates_of(run)
    if engine.narrowed:  # fillings in which terms cancel may be left out
        assert found.items() <= right.items(), (seed, text, spec)
    else:
        assert found == right, (seed, text, spec)
    return "some" if right else "none"


def test_all_fillings_of_random_sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    met = {check(seed, monkeypatch) for seed in (3, 6, 8, 55, 72, 74, 86, 92, 98, 109, 115, 116)}
    assert met == {"some", "none"}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2000, 25))
def test_all_fillings_of_many_random_sketches(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(start, start + 25):
        check(seed, monkeypatch)


BUTTERFLY = """
i = cuda.laneid
v = x[i]
for m in (4, 2, 1):
    o = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(i, 8, m))
    v = v + o if {condition} else o - v
y[i] = v
"""
SIGNS = "[sum((-1) ** ({0} % 2 + {0} // 2 % 2 + {0} // 4) * x[j] for j in range(8)) for i in range(8)]".format(
    "(i & j)"
)


@pytest.mark.parametrize(
    ("condition", "spec", "space", "solver"),
    [
        ("?sw_cond(i % (2 * m), m)", SIGNS, "4", "exhaustion"),
        ("?sw_cond(i, m)", SIGNS, "2", "exhaustion"),  # no comparison of the lane with the step alone
        ("?sw_cond(i % (2 * m), m)", SIGNS.replace("range(8)]", "range(7)] + [x[1] - x[0]]"), "2", "exhaustion"),
    ],
)
def test_a_butterfly_of_differences(condition: str, spec: str, space: str, solver: str) -> None:
    """Its small spaces are tried out, and in Space 4 light formulas; that proves nothing but what is found."""
    sketch = kernel(
        BUTTERFLY.format(condition=condition), spec=spec, arguments="x=i32[8], y=i32.out[8]", block=8, warp_size=8
    )
    found = solve(sketch, Limits(space=None if space == "4" else space))  # type: ignore[arg-type]
    assert (found.status, found.space) == ("sat" if space == "4" else "unsat", space)
    assert {claim["solver"] for claim in found.certificate["proved"] if claim["space"] in "12"} == {solver}
    if space == "4":
        assert [str(h.formula) for h in found.best.holes] == ["i ^ m", "(i % (2 * m)) < m"]
        assert "left_open" not in found.certificate  # of eight lanes, Space 3 is tried out as well


ROUNDS = """
i = cuda.laneid
v = x[i]
for m in (1, 2):
    o = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(i, 4, m))
    a = accumulator(i32, outer="{op}")
    a.accumulate(v)
    a.accumulate(o, when=?sw_cond(i, m))
    v = a.value
y[i] = v
"""


@pytest.mark.slow
@pytest.mark.parametrize("few", [1, 1_500])
@pytest.mark.parametrize("op", ["+", "max", "^"])
def test_accumulators_of_accumulators(op: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan whose steps are accumulators: existence, number and least cost as brute force finds them."""
    monkeypatch.setattr(mapped, "FEW", few)
    text, rng = ROUNDS.format(op=op), Random(7)
    specs = {spec_of(text, rng) for _ in range(3)} - {None}
    assert specs
    for spec in specs:
        compare(text, str(spec), "1")


def test_a_scan_of_accumulators_at_a_warp() -> None:
    """Every step sums what the steps before it summed, moved by a hole, under a condition that is one."""
    text = ROUNDS.replace("(1, 2)", "(1, 2, 4, 8, 16)").replace("(i, 4, m)", "(i, 32, m)").format(op="+")
    spec = "[sum(x[j] for j in range(i + 1)) for i in range(32)]"
    sketch = kernel(text, spec=spec, arguments="x=i32[32], y=i32.out[32]", block=32, warp_size=32)
    found = solve(sketch)
    assert [str(h.formula) for h in found.best.holes] == ["(i - m) % 32", "i >= m"]
    assert found.optimal


def test_a_hole_without_light_functions(tmp_path: Path) -> None:
    """A hole that no light function fits is no mistake of ours: the space is searched in another way."""
    path = tmp_path / "gray.swz"
    path.write_text(
        """
@spec
def weighted(rgb):
    return [2 * rgb[3 * i] + 3 * rgb[3 * i + 1] + 5 * rgb[3 * i + 2] for i in range(8)]

@sketch(spec=weighted, block=8, warp_size=8, rgb=f32[24], y=f32.out[8])
def gray(rgb, y):
    i = cuda.laneid
    words = cuda.local.array(3, f32)
    for j in range(3):
        words[j] = rgb[j * 8 + i]
    total = f32(0)
    for j, w in enumerate((2, 3, 5)):
        total += f32(w) * cuda.shfl_sync(cuda.FULL_MASK, words[?sw_part(3, i, j)], ?sw_xform(i, 8, j))
    y[i] = total
""",
        encoding="utf-8",
    )
    assert solve(load(path)[0]).status == "unsat"
