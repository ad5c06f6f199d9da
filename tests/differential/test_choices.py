"""Choices by comparisons of data behind holes, written in another way than in the specification: as brute force finds.

Brute force runs the concrete machine on every filling.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest

from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.values import mapped
from tests.differential.random_sketches import what_runs
from tests.differential.test_search_against_brute_force import functions
from tests.sketches import kernel

LANE = "?sw_xform(i, 4)"
OPS = ("<", "<=", ">", ">=", "==", "!=")


def comparison(rng: Random) -> str:
    return f"{rng.choice('abc')} {rng.choice(OPS)} {rng.choice(('a', 'b', 'c', '0', '1'))}"


def chosen(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice("abc")
    condition = comparison(rng)
    if rng.random() < 0.5:
        condition = f"({condition}) {rng.choice(('and', 'or'))} ({rng.choice(('', 'not '))}{comparison(rng)})"
    inner = [chosen(rng, depth - 1) for _ in range(2)]
    if rng.random() < 0.15:
        return f"max({inner[0]}, {inner[1]})"
    return f"where({condition}, {inner[0]}, {inner[1]})"


def check(seed: int) -> str:
    rng = Random(seed)
    body = f"""
i = cuda.laneid
a = x[i]
b = cuda.shfl_sync(cuda.FULL_MASK, x[i], {LANE})
c = x[{LANE if rng.random() < 0.4 else "3 - i"}]
y[i] = where({comparison(rng)}, {chosen(rng, 1)}, {chosen(rng, 2)})
"""
    arguments = "x=i32[4], y=i32.out[4]"
    posed = kernel(body, spec="[v for v in x]", arguments=arguments, block=4, warp_size=4)
    problem = Problem.of(posed.program, posed.spec)
    made = problem.templates("1")
    each = [functions(t, p) for t, p in zip(made, problem.points, strict=True)]
    run, _ = problem.candidate(made, [rng.choice(some) for some in each])
    wanted = [problem.terms.show(term) for term in run.memories["y"].data.tolist()]
    if rng.random() < 0.2:
        wanted[rng.randrange(4)] = rng.choice(("x[0]", "max(x[1], x[2])", wanted[0]))
    spec = f"[{', '.join(wanted)}]".replace("max(", "maximum(").replace("min(", "minimum(")
    sketch = kernel(body, spec=spec, arguments=arguments, block=4, warp_size=4)
    problem = Problem.of(sketch.program, sketch.spec)
    made = problem.templates("1")
    right = set()
    for choices in itertools.product(*each):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            right.add(what_runs(sketch.program, made, choices))
    found = solve(sketch, Limits(space="1", all_solutions=True))
    assert (found.status, len(found.solutions)) == ("sat" if right else "unsat", len(right)), body + spec
    return found.status


@pytest.mark.sampled(1)
@pytest.mark.parametrize("few", [1, mapped.FEW])
def test_random_choices(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Existence and the number of solutions, whether values are told apart or asked for one by one."""
    monkeypatch.setattr(mapped, "FEW", few)
    met = {check(seed) for seed in range(4)}
    assert "sat" in met


@pytest.mark.slow
@pytest.mark.parametrize("few", [1, mapped.FEW])
@pytest.mark.parametrize("seed", range(100, 300))
def test_more_random_choices(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "FEW", few)
    check(seed)


@pytest.mark.parametrize(
    ("kernel_says", "spec_says"),
    [
        ("where(x[i] < v and v < 5, v, 0)", "where((v < 5) & (x[i] < v), v, 0)"),
        ("where(v > x[i] or not (v >= 5), 1, v)", "where((v < 5) | (x[i] < v), 1, v)"),
        ("where(v == x[i], v, x[i] + 1)", "where(x[i] != v, 1 + x[i], v)"),
        ("where(v < 1 or v < 2 or v < x[i], v, 0)", "where((v < x[i]) | (v < 1) | (v < 2), v, 0)"),
    ],
)
def test_a_choice_written_in_another_order_is_found(kernel_says: str, spec_says: str) -> None:
    """At 32 lanes, with the lane open."""
    body = f"""
i = cuda.laneid
v = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(i, 32))
y[i] = {kernel_says}
"""
    spec = f"[{spec_says.replace('v', 'x[(i + 3) % 32]')} for i in range(32)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[32], y=i32.out[32]", block=32, warp_size=32)
    assert solve(sketch).status == "sat"
