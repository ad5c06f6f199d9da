"""Arithmetic on values that came through holes: what the search finds is what trying all fillings finds.

Values are asked what they hold, item by item, even where they are few enough to be told apart. Brute force runs the
concrete machine on every filling; the second reading, which shares no code, confirms that there are no more.
"""

import functools
import random
from pathlib import Path

import numpy as np
import pytest

from swizzle import load
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.algebra import orders
from symbolic.values import mapped
from tests.differential.test_cancelling import compare
from tests.differential.test_search_against_brute_force import functions
from tests.sketches import kernel
from tests.slow_cases import slow_unless

ARGUMENTS = "x=i32[4], y=i32.out[4]"
LANE = "?sw_xform(i, 4)"
COMMON = ("+", "+", "+", "-", "^", "max", "min", "&", "*")


def body(rng: random.Random) -> str:
    """Return a kernel of some rounds: values go to other lanes by way of holes, and are put together."""
    lines, values, holes = ["i = cuda.laneid"], ["x[i]", "x[3 - i]"], 0
    ops = rng.choice([("+",), ("+", "-"), ("max",), ("^",), ("&",), COMMON])
    shared = rng.random() < 0.3
    if shared:
        lines.append("tile = cuda.shared.array(4, i32)")
    for step in range(rng.randint(2, 3)):
        name, source, op = f"v{step}", rng.choice(values), rng.choice(ops)
        way, most = rng.random(), 3 if rng.random() < 0.3 else 2
        moved = source
        if holes < most and way < 0.6:
            moved, holes = f"cuda.shfl_sync(cuda.FULL_MASK, {source}, {LANE})", holes + 1
        elif way < 0.8 and shared:
            lines += ["cuda.syncthreads()", f"tile[i] = {source}", "cuda.syncthreads()"]
            where, holes = (LANE, holes + 1) if holes < most else ("3 - i", holes)
            moved = f"tile[{where}]"
        scale = rng.choice(("", "", "", "2 * ", "-")) if op in "+-" else ""
        other = rng.choice(values)
        both = f"{op}({other}, {moved})" if op in ("min", "max") else f"{other} {op} {scale}{moved}"
        if holes < most and rng.random() < 0.4:
            both, holes = f"({both}) if ?sw_cond(i, {rng.randint(0, 3)}) else {other}", holes + 1
        lines.append(f"{name} = {both}")
        values.append(name)
    if rng.random() < 0.3:
        lines += [
            f'a = accumulator(i32, outer="{rng.choice(ops) if ops != ("+", "-") else "+"}")'.replace('"-"', '"+"'),
            f"a.accumulate({values[-1]}, when=i < 5)",
            f"a.accumulate({values[-2]})",
        ]
        values.append("a.value")
    return "\n".join([*lines, f"y[i] = {values[-1]}"])


def spec_of(text: str, rng: random.Random) -> str | None:
    """Return what some filling computes, at times with one output changed."""
    sketch = kernel(text, spec="[v for v in x]", arguments=ARGUMENTS, block=4, warp_size=4)
    problem = Problem.of(sketch.program, sketch.spec)
    made = problem.templates("1")
    choices = [rng.choice(functions(t, p)) for t, p in zip(made, problem.points, strict=True)]
    run, _ = problem.candidate(made, choices)
    if run.violations:
        return None
    wanted = [problem.terms.show(term) for term in run.memories["y"].data.tolist()]
    if rng.random() < 0.3:
        wanted[rng.randrange(4)] = rng.choice(("x[0]", "x[1] + x[2]", "2 * x[3]", "max(x[0], x[1])", wanted[0]))
    return f"[{', '.join(wanted)}]"


def check(seed: int) -> str:
    """Compare one random sketch; return the search's status, '' where the filling drawn for it breaks a rule."""
    rng = random.Random(seed)
    text = body(rng)
    spec = spec_of(text, rng)
    return "" if spec is None else compare(text, spec, "1")


@pytest.fixture(autouse=True)
def _by_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "FEW", 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", slow_unless(range(12), lambda seed: seed not in (4, 10)))
def test_random_sketches(seed: int) -> None:
    """Existence, number of solutions and least cost agree with brute force, and the second reading."""
    assert check(seed) != "undecided"


@pytest.mark.parametrize(
    ("spec", "told_apart", "asked"),
    [
        ("[abs(v) for v in x]", "sat", "sat"),
        ("[abs(x[0]) for v in x]", "sat", "unknown"),  # x[i] - x[i] + x[0] is left out where it is too much to look at
        ("[abs(x[0] + x[1]) for v in x]", "unsat", "unsat"),  # one more item cannot cancel
        ("[abs(x[lane]) for lane in (1, 0, 0, 2)]", "unsat", "unknown"),
    ],
)
def test_what_cancels_is_left_out_and_said(
    spec: str, told_apart: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum that another operator takes as a whole: where its values cannot be told apart, 'none' is not claimed."""
    text = f"""
i = cuda.laneid
v = x[i] - cuda.shfl_sync(cuda.FULL_MASK, x[i], {LANE})
w = v + cuda.shfl_sync(cuda.FULL_MASK, x[i], {LANE})
y[i] = abs(w)
"""
    posed = kernel(text, spec=spec, arguments=ARGUMENTS, block=4, warp_size=4)
    assert solve(posed, Limits(space="1")).status == told_apart
    monkeypatch.setattr(mapped, "EXPANSION_LIMIT", 2)
    found = solve(posed, Limits(space="1"))
    assert found.status == asked
    assert asked != "unknown" or "cancel" in found.reason


def test_a_sum_of_just_enough_items_has_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum within another operator: where each item must come in once, no coefficients are added up."""
    text = f"""
i = cuda.laneid
v = x[i] - cuda.shfl_sync(cuda.FULL_MASK, x[i], {LANE})
y[i] = abs(v + cuda.shfl_sync(cuda.FULL_MASK, v, {LANE}))
"""
    spec = "[abs((-1) ** i * (x[0] - x[1] + x[2] - x[3])) for i in range(4)]"
    posed = kernel(text, spec=spec, arguments=ARGUMENTS, block=4, warp_size=4)
    right = len(solve(posed, Limits(space="1", all_solutions=True)).solutions)
    monkeypatch.setattr(mapped, "EXPANSION_LIMIT", 2)
    monkeypatch.delattr(orders, "Coefficient")
    assert len(solve(posed, Limits(space="1", all_solutions=True)).solutions) == right > 0


@pytest.mark.parametrize("number", [2, 3])
def test_multiples_of_what_holes_bring(number: int) -> None:
    """A multiple holds an item as often as its number says: of two such items, few are enough."""
    text = f"""
i = cuda.laneid
v = {number} * cuda.shfl_sync(cuda.FULL_MASK, x[i], {LANE}) + cuda.shfl_sync(cuda.FULL_MASK, x[i], {LANE})
y[i] = v + x[0]
"""
    spec = f"[x[0] + x[1] + {number} * x[2] for v in x]"
    posed = kernel(text, spec=spec, arguments=ARGUMENTS, block=4, warp_size=4)
    assert len(solve(posed, Limits(space="1", all_solutions=True)).solutions) == 1


@pytest.mark.slow
@pytest.mark.parametrize("start", range(12, 2012, 50))
def test_many_random_sketches(start: int) -> None:
    """The same, 2,000 times."""
    for seed in range(start, start + 50):
        check(seed)


def _fft(points: int) -> str:
    """Return the sketch of an FFT of one real part in which every shuffle, condition and weight is a hole."""
    halves = [points >> step for step in range(1, points.bit_length())]
    rounds = [
        "    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, N))\n"
        f"    v = v + o if sw_cond(lane % {2 * d}, {d}) else (o - v) * "
        + (f"w[sw_xform(lane % {d}, N // 2)]" if d > 1 else "w[0]")
        for d in halves
    ]
    return f"""from swizzle import cuda, f32, sketch, spec, sw_cond, sw_xform

N = {points}

@spec
def fft_spec(x, w):
    v = list(x)
    for step, d in enumerate({halves}):
        v = [v[i] + v[i ^ d] if i & d == 0 else (v[i ^ d] - v[i]) * w[(i % d) << step] for i in range(N)]
    return v

@sketch(spec=fft_spec, block=N, warp_size=N, x=f32[N], w=f32[N // 2], y=f32.out[N])
def fft(x, w, y):
    lane = cuda.laneid
    v = x[lane]
{chr(10).join(rounds)}
    y[lane] = v
"""


@pytest.mark.parametrize("points", slow_unless((4, 16, 32), lambda points: points == 4))
def test_an_fft_with_everything_open(points: int, tmp_path: Path) -> None:
    """It is solved by the default order; with weights of one it is the Walsh-Hadamard transform."""
    path = tmp_path / "fft.py"
    path.write_text(_fft(points))
    found = solve(load(path)[0])
    assert (found.status, found.optimal) == ("sat", True)
    rng = np.random.default_rng(0)
    x, w, y = rng.integers(-9, 10, points), np.ones(points // 2), np.zeros(points, np.float32)
    found.best(x.astype(np.float32), w.astype(np.float32), y)
    walsh = functools.reduce(np.kron, [np.array([[1, 1], [1, -1]])] * (points.bit_length() - 1))
    np.testing.assert_array_equal(y, walsh @ x)


TURNED = """from swizzle import cuda, f32, sketch, spec, sw_xform

@spec
def turned_spec(x, w):
    v = list(x)
    for d in (8, 4, 2, 1):
        v = [v[i] + v[i ^ d] if i & d == 0 else (v[i] - v[i ^ d]) * w[i % d] for i in range(16)]
    return v

@sketch(spec=turned_spec, block=16, warp_size=16, x=f32[16], w=f32[8], y=f32.out[16])
def turned(x, w, y):
    lane = cuda.laneid
    v = x[lane]
    for d in (8, 4, 2, 1):
        o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, 16, d))
        v = v + o if lane & d == 0 else (v - o) * w[lane % d]
    y[lane] = v
"""


def test_a_value_may_be_an_item_that_is_taken_off(tmp_path: Path) -> None:
    """A butterfly's difference the other way round: its terms are those of the usual order, taken off."""
    path = tmp_path / "turned.py"
    path.write_text(TURNED)
    found = solve(load(path)[0])
    assert (found.status, found.optimal, found.space) == ("sat", True, "4")
