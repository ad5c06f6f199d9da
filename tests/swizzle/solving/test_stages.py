"""What is settled before a search, in which order, and what is given back to the solver.

A pitch is a hole in a shape: the least extent with the least costs.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle import SwizzleError, load, solve
from swizzle.commands.process import execute
from swizzle.language.parameters import Parameters
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.solution import Limits, Listener, Result
from swizzle.solving.stages import staged

TEXT = """
@cuda.jit(device=True)
def turned(v):
    return cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(cuda.laneid, 8))

@spec
def once(x):
    return [x[(i + 1) % 8] for i in range(8)]

@sketch(spec=once, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def one(x, y):
    y[cuda.laneid] = turned(x[cuda.laneid])

@spec
def twice(x):
    return [x[(i + 2) % 8] for i in range(8)]

@sketch(spec=twice, filled_from=one, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def two(x, y):
    y[cuda.laneid] = turned(turned(x[cuda.laneid]))
"""


def test_each_stage_hands_on_what_is_left() -> None:
    """A sketch that needs no stage is the solver's own; one that is filled has its sources solved by it first."""
    from swizzle.solving.search.metasketch import solve

    one, two = read_swz(TEXT, "two.swz", Parameters())
    asked: list[tuple[str, Limits]] = []

    def solver(sketch: Sketch, limits: Limits, progress: Listener | None) -> Result:
        asked.append((sketch.name, limits))
        return staged(sketch, limits, progress, solver) or solve(sketch, limits, progress)

    assert staged(one, Limits(), None, solver) is None and not asked
    costs = Limits(cost=("accumulates", "bytes"), pareto=True)
    assert solver(two, costs, None).status == "sat"
    every = Limits(cost=costs.cost, all_solutions=True)
    lexicographic = Limits(cost=costs.cost)
    assert asked == [("two", costs), ("one", lexicographic), ("two", costs), ("two", every)]


def test_what_is_left_of_a_timeout() -> None:
    """None is left of none; never nothing at all, which would be an error of its own."""
    assert Limits().after(5) == Limits()
    assert Limits(timeout=3.0, space="2").after(1.0) == Limits(timeout=2.0, space="2")
    assert Limits(timeout=3.0).after(10).timeout == 0.001


TILE = """
from swizzle import cuda, f32, sketch, spec, sw_index, sw_pad

PITCH = sw_pad({extent})

@spec
def transposed(x):
    return [[x[c, r] for c in range(16)] for r in range(16)]

@sketch(spec=transposed, block=16, warp_size=16, x=f32[16, 16], y=f32.out[16, 16])
def transpose(x, y):
    tile = cuda.shared.array((16, PITCH), f32)
    lane = cuda.laneid
    for r in range(16):
        tile[r, lane] = x[r, lane]
    cuda.syncthreads()
    for r in range(16):
        y[r, lane] = tile[lane, r]
"""


def tile(folder: Path, extent: str = "16") -> Path:
    path = folder / "pitch.py"
    path.write_text(TILE.format(extent=extent), encoding="utf-8")
    return path


def test_the_least_pitch_without_conflicts(tmp_path: Path) -> None:
    """And of each pitch, what it costs: a pitch of 16 or 24 words has conflicts."""
    path = tile(tmp_path)
    (sketch,) = load(path)
    result = solve(sketch, cost="conflicts")
    assert (result.best.cost, result.optimal) == ({"conflicts": 0}, True)
    assert result.posed is not None
    assert result.posed.parameters == {"pad1": 17}
    for pitch, conflicts in ((16, True), (17, False), (24, True)):
        cost = solve(load(path, overrides={"pad1": pitch})[0], cost="conflicts").best.cost
        assert (cost["conflicts"] > 0) == conflicts


def test_the_same_in_the_language_of_its_own(tmp_path: Path) -> None:
    """`?sw_pad`, of which nothing is run: each extent is read again."""
    text = TILE.format(extent="16").partition("\n\n")[2].replace("sw_pad", "?sw_pad")
    (tmp_path / "pitch.swz").write_text(text, encoding="utf-8")
    (sketch,) = load(tmp_path / "pitch.swz")
    result = solve(sketch, cost="conflicts")
    assert result.optimal and result.posed is not None and result.posed.parameters == {"pad1": 17}
    assert load(tmp_path / "pitch.swz", overrides={"pad1": 24})[0].parameters == {"pad1": 24}


def test_without_a_cost_that_depends_on_it_the_least_pitch_will_do(tmp_path: Path) -> None:
    result = solve(load(tile(tmp_path))[0])
    assert result.posed is not None
    assert result.posed.parameters == {"pad1": 16}


def test_all_pitches_are_looked_at_where_some_cost_remains(tmp_path: Path) -> None:
    """The bytes grow with each pitch, so the least one without conflicts is the answer, and it is proved."""
    result = solve(load(tile(tmp_path, "16, 3"))[0], cost=("conflicts", "bytes"))
    assert result.best.cost == {"conflicts": 0, "bytes": 4 * (15 * 17 + 16)}
    result = solve(load(tile(tmp_path, "16, 0"))[0], cost="conflicts")
    assert result.best.cost["conflicts"] > 0


def test_the_command_line_writes_what_it_chose(tmp_path: Path) -> None:
    """The kernel, and a solution that is read back with the pitch that was chosen."""
    path, out = tile(tmp_path), io.StringIO()
    solved = ["solve", str(path), "--cost", "conflicts", "-o", str(tmp_path / "out"), "--no-cache"]
    assert execute(solved, out, io.StringIO()) == 0, out.getvalue()
    assert "    pad1 = 17\n" in out.getvalue()
    assert "tile[16][17]" in (tmp_path / "out" / "transpose.cu").read_text(encoding="utf-8")
    saved = tmp_path / "out" / "transpose.json"
    assert "17" in json.dumps(json.loads(saved.read_text(encoding="utf-8"))["parameters"])
    assert execute(["check", str(saved), "--trust"], out, io.StringIO()) == 0, out.getvalue()


def test_an_extent_is_a_positive_int(tmp_path: Path) -> None:
    with pytest.raises(SwizzleError, match="the extent of sw_pad is 0"):
        load(tile(tmp_path, "0"))
