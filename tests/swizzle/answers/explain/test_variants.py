"""A barrier that is missing is named, and only where the sketch with it is solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle import load, solve
from swizzle.answers.explain.explain import explain
from swizzle.answers.explain.variants import with_barriers
from swizzle.sketches.sketch import Sketch

ROOT = Path(__file__).resolve().parents[4]
LACKING = ROOT / "tests" / "explain" / "missing_barrier.swz"
STORED, READ = "        s[t] = v\n", "        v = s[?sw_xform(t, 8)]\n"
BARRIER = "        cuda.syncthreads()\n"


def sketch(folder: Path, text: str) -> Sketch:
    path = folder / "k.swz"
    path.write_text(text, encoding="utf-8")
    return load(path)[0]


def test_both_places_of_a_loop_are_named() -> None:
    """The text with barriers at the places that are named is solved, as it says."""
    found = explain(load(LACKING)[0])
    assert found.reasons == (
        "s is written at line 12 and read at line 13, and no cuda.syncthreads() is between",
        "s is read at line 13 and written at line 12 in the next round, and no cuda.syncthreads() is between",
    )
    ((change, verdict),) = [(t.change, t.verdict) for t in found.trials]
    assert (change, verdict) == ("cuda.syncthreads() before line 13 and behind line 13", "solvable")


@pytest.mark.parametrize("old", [STORED, READ])
def test_the_place_that_is_left_is_named(tmp_path: Path, old: str) -> None:
    """With a barrier at one of the two places, the other one is to blame; with both, the sketch has a solution."""
    text = LACKING.read_text(encoding="utf-8")
    half = sketch(tmp_path, text.replace(old, old + BARRIER))
    (reason,) = explain(half).reasons
    assert ("next round" in reason) == (old == STORED)
    variant = with_barriers(half.program)
    assert variant is not None and with_barriers(variant[0].program) is None
    whole = sketch(tmp_path, text.replace(STORED, STORED + BARRIER).replace(READ, READ + BARRIER))
    assert with_barriers(whole.program) is None
    assert solve(whole).status == "sat"


def test_a_barrier_that_does_not_help_is_not_named(tmp_path: Path) -> None:
    """The specification wants what no thread has: what is told is not the barrier."""
    text = LACKING.read_text(encoding="utf-8").replace("(i + 2) % 8", "(i * i) % 8")
    found = explain(sketch(tmp_path, text))
    assert found.outputs
    assert not any("syncthreads" in line for line in (*found.reasons, *(t.change for t in found.trials)))


TREE = """
@spec
def total(x):
    return [sum(x[j] for j in range(4))]

@sketch(spec=total, block=4, warp_size=4, x=f32[4], y=f32.out[1])
def tree(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(4, f32)
    tile[t] = x[t]
    cuda.syncthreads()
    for k in range(2):
        if t < 2 >> k:
            tile[t] = tile[t] + tile[?sw_xform(t, 4, 2 >> k)]
        cuda.syncthreads()
    if t == 0:
        y[0] = tile[0]
"""


def test_a_barrier_before_a_loop_that_has_one(tmp_path: Path) -> None:
    """What is written before a loop is read in its first round; the barrier is wanted before the loop."""
    assert with_barriers(sketch(tmp_path, TREE).program) is None
    found = explain(sketch(tmp_path, TREE.replace("    cuda.syncthreads()\n", "", 1)))
    assert found.reasons == ("tile is written at line 10 and read at line 13, and no cuda.syncthreads() is between",)
    assert [(t.change, t.verdict) for t in found.trials] == [("cuda.syncthreads() before line 11", "solvable")]


def test_a_barrier_behind_a_loop_that_has_one(tmp_path: Path) -> None:
    """What a loop's last round writes behind its barrier is read after the loop."""
    text = TREE.replace("        cuda.syncthreads()\n", "")
    text = text.replace("        if t < 2", "        cuda.syncthreads()\n        if t < 2").replace("t == 0", "t == 1")
    variant = with_barriers(sketch(tmp_path, text.replace("tile[0]", "tile[0] + tile[1]")).program)
    assert variant is not None
    assert variant[0].change == "cuda.syncthreads() before line 16"
