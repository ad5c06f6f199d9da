"""Functions that no map of bits goes with, against propagation and maps one function at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import tables
from swizzle.solving.search.bit_maps import matched
from swizzle.solving.search.point_values import PointValues
from swizzle.solving.search.tables import Tables
from templates.chooser import Allowed, Functions
from templates.either import EitherOf
from templates.xform_functions import Xforms
from templates.xor_functions import AffineMaps
from tests.sketches import kernel

CASES = Path(__file__).parents[4] / "case_studies"


def parts_of(functions: Functions) -> list[Functions]:
    return [*functions.parts.values()] if isinstance(functions, EitherOf) else [functions]


def fits(values: PointValues, hole: int, line: np.ndarray, other: int, maps: AffineMaps) -> bool:
    """Say whether some map may go with a function, by what unit propagation makes of its values."""
    asked, theirs = values.asked[hole], values.asked[other]
    implied = values.implied(asked.guards[np.arange(len(line)), line].tolist())
    if implied is None:
        return False
    allowed = ~np.isin(theirs.guards, [-guard for guard in implied])
    every = AffineMaps(maps.of, [(0, 0)])
    every.at = maps.at
    return every.keep(theirs.places, allowed).count > 0


def chained(of: str) -> Sketch:
    """Return two shuffles in turn; y[i, k] is the x of a lane."""
    rounds = """
lane = cuda.laneid
for k in range(4):
    first = cuda.shfl_sync(cuda.FULL_MASK, x[lane], ?sw_xform(lane, 4, k))
    y[lane, k] = cuda.shfl_sync(cuda.FULL_MASK, first, ?sw_xform(lane, 4, k))
"""
    wanted = f"[[x[{of}] for k in range(4)] for i in range(4)]"
    return kernel(rounds, spec=wanted, arguments="x=i32[4], y=i32.out[4, 4]", block=4, warp_size=4)


def sums(words: int) -> Sketch:
    (sketch,) = load(str(CASES / "aos_sum.py"), "crc", {"struct_size": words, "warp_size": 4})
    return sketch


@pytest.mark.parametrize(
    ("sketch", "some_fit"),
    [
        pytest.param(lambda: chained("((i ^ k) + k) % 4"), True, id="a turn and a flip"),
        pytest.param(lambda: chained("(i * i * k + i) % 4"), False, id="neither"),
        pytest.param(lambda: sums(6), False, id="a sum"),
    ],
)
def test_what_is_left_is_what_fits_one_by_one(
    sketch: Callable[[], Sketch], some_fit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = list[tuple[bool, bool]]()

    def compared(values: PointValues, allowed: Allowed, left: Sequence[Functions]) -> dict[int, Functions]:
        found = matched(values, allowed, left)
        for hole, other in ((0, 1), (1, 0)):
            (maps, *more), before = parts_of(left[other]), parts_of(left[hole])[0]
            if more or not isinstance(maps, AffineMaps) or not isinstance(before, Xforms):
                assert hole not in found
                continue
            places, after = values.asked[hole].places, parts_of(found.get(hole, left[hole]))[:1]
            kept = {line.tobytes() for some in after if isinstance(some, Xforms) for line in some.values(places)}
            for line in before.values(places):
                verdicts.append((line.tobytes() in kept, fits(values, hole, line, other, maps)))
        return found

    monkeypatch.setattr(tables, "matched", compared)
    posed = sketch()
    problem = Problem.of(posed.program, posed.spec)
    with Tables(problem, None, lambda told: None) as search:
        assert not [*search.candidates("3")]
        assert bool([*search.candidates("4")]) == some_fit
    assert all(kept >= right for kept, right in verdicts), "no function is left out that some map may go with"
    left_out = sum(not kept for kept, _ in verdicts)
    assert left_out > 0.5 * len(verdicts) > 0
