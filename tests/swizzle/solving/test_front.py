"""The Pareto front: against comparing all solutions two by two, with and without pads, in words and as JSON."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from swizzle import Limits, load, solve
from swizzle.commands.process import execute
from swizzle.solving.front import front
from symbolic.errors import SwizzleError

TILE = """
from swizzle import cuda, f32, sketch, spec, sw_index, sw_pad
{pad}
@spec
def transposed(x):
    return [[x[c, r] for c in range(4)] for r in range(4)]

@cuda.jit(device=True)
def cell(r, c):
    return {cell}

@sketch(spec=transposed, block=4, warp_size=4, x=f32[4, 4], y=f32.out[4, 4])
def transpose(x, y):
    tile = cuda.shared.array((4, {pitch}), f32)
    lane = cuda.laneid
    for r in range(4):
        tile[r, cell(r, lane)] = x[r, lane]
    cuda.syncthreads()
    for r in range(4):
        y[r, lane] = tile[lane, cell(lane, r)]
"""
COSTS = ("conflicts", "bytes", "terms")


HOLE = 'sw_index(c, 4, r, families="rotate")'


def sketch_in(folder: Path, pad: str, pitch: str, cell: str = HOLE) -> Any:
    (folder / "tile.py").write_text(TILE.format(pad=pad, pitch=pitch, cell=cell))
    (found,) = load(folder / "tile.py")
    return found


def undominated(costs: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return the costs to which no other ones are as small in every place, compared two by two."""
    return {
        mine
        for mine in costs
        if not any(their != mine and all(a <= b for a, b in zip(their, mine, strict=True)) for their in costs)
    }


def costs_in(solutions: Any) -> list[tuple[int, ...]]:
    return [tuple(each.cost[name] for name in COSTS) for each in solutions]


def test_it_is_what_none_of_all_solutions_beats(tmp_path: Path) -> None:
    """Each pair of costs once, in the order of the costs; all of the space were compared."""
    posed = sketch_in(tmp_path, "", "32")
    every = solve(posed, Limits(space="4", all_solutions=True, cost=COSTS))
    found = solve(posed, Limits(space="4", pareto=True, cost=COSTS))
    assert set(costs_in(found.solutions)) == undominated(costs_in(every.solutions))
    assert costs_in(found.solutions) == sorted(set(costs_in(found.solutions)))
    assert found.certificate["front"] == {"of": len(every.solutions), "whole": True}
    assert costs_in(front(every.solutions[::-1])) == costs_in(found.solutions)


def test_pads_are_compared_too(tmp_path: Path) -> None:
    """Bytes against conflicts and terms: the front of the fronts of all extents, each solution with its extent."""
    fixed = [sketch_in(tmp_path, f"PITCH = {pitch}", "PITCH", "c") for pitch in range(32, 35)]
    every = [each for posed in fixed for each in costs_in(solve(posed, Limits(pareto=True, cost=COSTS)).solutions)]
    found = solve(sketch_in(tmp_path, "PITCH = sw_pad(32, 2)", "PITCH", "c"), Limits(pareto=True, cost=COSTS))
    assert set(costs_in(found.solutions)) == undominated(every) and len(found.solutions) > 1
    out, err = io.StringIO(), io.StringIO()
    arguments = ["solve", str(tmp_path / "tile.py"), "--cost", ",".join(COSTS), "--pareto", "-q"]
    assert execute(arguments, out, err) == 0, err.getvalue()
    text = out.getvalue()
    assert f"  front   {len(found.solutions)} of " in text and "may be more" not in text
    assert text.count("pad1 = ") == len(found.solutions)
    out = io.StringIO()
    assert execute([*arguments, "--json"], out, err) == 0
    listed = json.loads(out.getvalue())["front"]
    assert [tuple(each["cost"].values()) for each in listed] == costs_in(found.solutions)
    assert [each["pads"]["pad1"] for each in listed] == [s.posed.parameters["pad1"] for s in found.solutions]


def test_what_was_not_looked_at_is_said(tmp_path: Path) -> None:
    found = solve(sketch_in(tmp_path, "", "32"), Limits(space="4", pareto=True, cost=COSTS, timeout=1e-3))
    assert not found.solutions or not found.certificate["front"]["whole"]


@pytest.mark.parametrize(("limits", "said"), [({"cost": ("bytes",)}, "alone"), ({"all_solutions": True}, "--all")])
def test_mistakes(tmp_path: Path, limits: dict[str, Any], said: str) -> None:
    with pytest.raises(SwizzleError, match=re.escape(said)):
        solve(sketch_in(tmp_path, "", "32"), Limits(**{"cost": COSTS, "pareto": True, **limits}))
