"""Sketches whose accumulators take states behind holes, against every filling tried one by one.

Warps of four lanes; one or two arrays, whose elements are read at the same hole or at two; with a condition, and with
several accumulates. A specification is what one filling computes, at times spoilt. Both kinds of operators are there:
the best run of a sequence does not commute, the least with its place does.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from random import Random

import pytest

from swizzle import solve
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.expansion import in_words
from symbolic.values import mapped
from tests.differential.test_search_against_brute_force import functions, specification_of
from tests.sketches import accumulates_of
from tests.slow_cases import slow_unless

TEXT = """
from swizzle import accumulator, cuda, f32, i32, operator, scan_operator, serial, sketch, spec, sw_cond, sw_xform

@serial
def best(x: f32):
    here, most = 0, 0
    for v in x:
        here = max(0, here + v)
        most = max(most, here)
    return most

@operator
def least(a: (i32, i32), b: (i32, i32)):
    return a if a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]) else b

op = scan_operator({name})

@spec
def wanted(x, z):
    return [0] * 4

@sketch(spec=wanted, block=4, warp_size=4, x={dtype}[4], z={dtype}[4], y={dtype}.out[4])
def k(x, z, y):
    lane = cuda.laneid
    out = accumulator(op)
    for k in range({rounds}):
        out.accumulate({state}{when})
{last}    y[lane] = {result}
"""


def random_sketch(random: Random, folder: Path) -> Sketch:
    name = random.choice(["best", "least"])
    own = random.choice(["x[sw_xform(lane, 4, k)]", "x[sw_xform(lane, 4)]", "x[(lane + k) % 4]"])
    other = random.choice(["z[lane]", "z[sw_xform(lane, 4)]", "2 * z[3 - lane]"])
    state = f"op.lift({own})" if name == "best" else f"op.lift({own}, {other})"
    if random.random() < 0.3:
        state = "cuda.shfl_sync(cuda.FULL_MASK, op.lift(%s), sw_xform(lane, 4))" % (
            "x[lane]" + ", z[lane]" * (name != "best")
        )
    last = "op.lift(x[lane])" if name == "best" else "op.lift(x[lane], z[lane])"
    text = TEXT.format(
        name=name,
        dtype="f32" if name == "best" else "i32",
        rounds=random.choice([1, 2]),
        state=state,
        when=random.choice(["", ", when=sw_cond(lane, k)", ", when=sw_cond(lane)"]) if name == "best" else "",
        last=f"    out.accumulate({last})\n" if random.random() < 0.4 else "",
        result="op.result(out.value)" if name == "best" else f"op.result(out.value)[{random.randrange(2)}]",
    )
    file = folder / "k.py"
    file.write_text(text, encoding="utf-8")
    (found,) = load(str(file))
    return found


@pytest.mark.parametrize("seed", slow_unless(range(80), lambda seed: seed < 5))
def test_states_behind_holes(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there is a filling, and the least number of accumulates, are what trying every filling gives."""
    if seed % 2:
        monkeypatch.setattr(mapped, "FEW", 1)
    random = Random(seed)
    sketch = random_sketch(random, tmp_path)
    program = sketch.program
    probe = Problem.of(program, sketch.spec)
    made = probe.templates("1")
    each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
    if math.prod(map(len, each)) > 3_000:
        pytest.skip("more fillings than are tried")
    truth, spoilt = tuple(random.choice(some) for some in each), random.random() < 0.4
    spec = specification_of(in_words(program), made, truth, spoilt)
    problem = Problem.of(program, spec)
    costs = []
    for choices in itertools.product(*each):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            costs.append(accumulates_of(run))
    found = solve(Sketch(sketch.name, program, spec, {}, sketch.place), Limits(space="1"))  # type: ignore[arg-type]
    assert found.status == ("sat" if costs else "unsat")
    assert not costs or found.best.cost["accumulates"] == min(costs)
