"""A step that doubles or halves, in place of a loop's variable: what the advice says is what was solved."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from swizzle import Limits, load, solve
from swizzle.answers.explain.explain import explain
from swizzle.answers.explain.variants import doubled_steps
from swizzle.commands.process import execute
from swizzle.sketches.sketch import Sketch
from symbolic.ir.program import Program
from symbolic.ir.walk import own_expressions, spelling, statements

SCAN = """@spec
def prefix(x):
    return [sum(x[j] for j in range(i + 1)) for i in range(8)]

@sketch(spec=prefix, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def scan(x, y):
    lane = cuda.laneid
    s = x[lane]
    for k in range(3):
        t = cuda.shfl_sync(cuda.FULL_MASK, s, ?sw_xform(lane, 8, k))
        s = s + t if ?sw_cond(lane, k) else s
    y[lane] = s
"""
TREE = """@spec
def total(x):
    return [sum(x[i] for i in range(8))]

@sketch(spec=total, block=8, warp_size=8, x=f32[8], y=f32.out[1])
def tree(x, y):
    t = cuda.laneid
    tile = cuda.shared.array(8, f32)
    for k in range(2):
        v = x[?sw_xform(t, 8, k)]
    tile[t] = x[t]
    cuda.syncthreads()
    for k in range(3):
        if ?sw_cond(t, k):
            tile[t] = tile[t] + tile[?sw_xform(t, 8, k)]
        cuda.syncthreads()
    if t == 0:
        y[0] = tile[0]
"""


def written(folder: Path, text: str) -> Sketch:
    path = folder / "k.swz"
    path.write_text(text, encoding="utf-8")
    return load(path)[0]


def spelled(program: Program) -> list[object]:
    """Return the expressions of a program as they are spelled, wherever they stand."""
    return [spelling(e) for node in statements(program.body) for e in own_expressions(node)]


@pytest.mark.parametrize("step", ["1 << k", "4 >> k"])
def test_the_change_is_the_one_that_is_named(tmp_path: Path, step: str) -> None:
    """The text with the step in it has the holes of the changed program, called with the same values."""
    variants = dict(doubled_steps(written(tmp_path, SCAN).program))
    changed = variants[f"{step} in place of k in xform1 (line 10) and cond1 (line 11)"]
    text = SCAN.replace("8, k)", f"8, {step})").replace("lane, k)", f"lane, {step})")
    by_hand = written(tmp_path, text)
    assert [h.arguments for h in changed.holes] == [h.arguments for h in by_hand.program.holes]
    assert len(variants) == 2
    assert spelled(changed) == spelled(by_hand.program)


def test_only_the_loop_that_goes_on_is_changed(tmp_path: Path) -> None:
    """A loop that reads nothing of its rounds before keeps its variable, though both loops call it `k`."""
    assert [change for change, _ in doubled_steps(written(tmp_path, TREE).program)] == [
        "1 << k in place of k in cond1 (line 14) and xform2 (line 15)",
        "4 >> k in place of k in cond1 (line 14) and xform2 (line 15)",
    ]
    once = TREE.replace("tile[t] + tile[", "x[t] + x[")
    assert not list(doubled_steps(written(tmp_path, once).program))


def test_an_undecided_sketch_is_told_the_step(tmp_path: Path) -> None:
    """`solve` names the command, which is also the answer from Python."""
    sketch = written(tmp_path, SCAN)
    undecided = solve(sketch, Limits(timeout=1e-6))
    assert undecided.status == "unknown"
    found = undecided.explain()
    assert str(found).startswith("scan: undecided, but solved with a change\n  tried\n    1 << k in place of k in ")
    assert [(t.kind, t.verdict) for t in found.trials] == [("step", "solvable")]
    path, out = str(tmp_path / "k.swz"), io.StringIO()
    assert execute(["solve", "-q", "--no-cache", "--timeout", "0.000001", path], out, io.StringIO()) == 3
    assert f"  try     swizzle explain {path}\n" in out.getvalue()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seconds", [4.0, 1e-6])
def test_a_sketch_that_no_step_helps_is_explained_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Decided at once or only after the steps were tried, a solution or a proof that there is none is told."""
    monkeypatch.setattr("swizzle.answers.explain.explain.STEP_SECONDS", seconds)
    assert explain(written(tmp_path, SCAN.replace(" k)", " 1 << k)"))).status == "sat"
    few = explain(written(tmp_path, SCAN.replace("range(3)", "range(2)")))
    assert few.status == "unsat"
    assert ("step", "does not help") in {(t.kind, t.verdict) for t in few.trials}


def test_an_undecided_search_ends_where_a_step_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer comes from the steps, not from the search, which would go on."""
    monkeypatch.setattr("swizzle.answers.explain.explain.STEP_SECONDS", 1e-6)
    found = explain(written(tmp_path, SCAN))
    assert (found.status, found.changed_and_solved) == ("unknown", True)
