"""A barrier that is missing is named, and only where the sketch with it is solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle import load, solve
from swizzle.explain.barriers import with_barriers
from swizzle.explain.explain import explain
from swizzle.sketches.sketch import Sketch

ROOT = Path(__file__).resolve().parents[3]
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
