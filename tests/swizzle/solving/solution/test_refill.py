"""Functions from their constants: the same formulas and the same programs as the search gave."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle import SwizzleError, solve
from swizzle.commands.cli import execute
from swizzle.solving.solution.refill import refill
from swizzle.solving.solution.saved import load_saved
from tests.sketches import kernel, sketch_of

TURNING = """
@spec
def turned(x):
    return [[x[k % {size}] for k in range({rounds})] for i in range(4)]

@sketch(spec=turned, block=4, warp_size=4, x=f32[{size}], y=f32.out[4, {rounds}])
def turn(x, y):
    for k in range({rounds}):
        y[cuda.laneid, k] = x[?sw_xform(0, {size}, k)]
"""


@pytest.mark.parametrize(("rounds", "expected"), [(4, "k"), (8, "k % 4")])
def test_k_alone_where_it_stays_in_range(rounds: int, expected: str) -> None:
    """The points of a hole are not kept: its formula is."""
    sketch = sketch_of(TURNING.format(size=4, rounds=rounds))
    best = solve(sketch).best
    (hole,) = best.holes
    assert hole.formula == expected
    assert refill(sketch.program, [(hole.constants, hole.formula)], best.cost) == best


def test_other_parameters_may_ask_at_other_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved `k` is `k % 4` again where k may be larger; a formula that its constants contradict is refused."""
    monkeypatch.chdir(tmp_path)
    text = "R = parameter('R', 4, domain=(4, 8))\n" + TURNING.replace("{rounds}", "R").format(size=4)
    (tmp_path / "turn.swz").write_text(text, encoding="utf-8")
    assert execute(["solve", "turn.swz", "-o", "out", "-q"], io.StringIO(), io.StringIO()) == 0
    saved = tmp_path / "out" / "turn.json"
    assert [load_saved(saved, given)[1].holes[0].formula for given in ({}, {"R": 8})] == ["k", "k % 4"]
    content = json.loads(saved.read_text())
    content["holes"][0]["formula"] = "3 - k"
    saved.write_text(json.dumps(content))
    with pytest.raises(SwizzleError, match=r"says xform1 = 3 - k, and its constants say xform1 = k % 4"):
        load_saved(saved, {})
    content["holes"][0]["formula"] = "__import__('os').getcwd()"
    saved.write_text(json.dumps(content))
    with pytest.raises(SwizzleError, match="which is neither an argument nor a number"):
        load_saved(saved, {})


@pytest.mark.parametrize(
    ("constants", "complaint"),
    [
        ({}, "gs of xform1 is None"),
        ({"gs": True}, "gs of xform1 is True"),
        ({"gs": 3}, "gs = 3, d_f = 8, d_r = 0 is not an xform of size 8"),
        ({"c": 1 << 40}, "c of xform1 is 1099511627776"),
    ],
)
def test_constants_that_are_no_function(constants: dict[str, object], complaint: str) -> None:
    """Whatever a file says, only a function of the hole's template fills it."""
    sketch = kernel("y[cuda.laneid] = x[?sw_xform(cuda.laneid, 8)]")
    right = dict.fromkeys(("gs", "d_f"), 8) | dict.fromkeys(("c_f", "wrap", "c_r", "d_r", "c"), 0)
    assert refill(sketch.program, [(right, "0")], {}).holes[0].formula == "0"
    with pytest.raises(ValueError, match=complaint):
        refill(sketch.program, [(right | constants if constants else {}, "0")], {})
