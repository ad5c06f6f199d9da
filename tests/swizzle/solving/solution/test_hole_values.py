"""The tables of a solution: what its formulas say, wherever the kernel asks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from swizzle import Limits, load, solve

CASES = Path(__file__).parents[4] / "case_studies"


@pytest.mark.parametrize(
    ("target", "parameters"),
    [("conv1d", {}), ("conv1d", {"warp_size": 4, "K": 6}), ("mult32:register", {"warp_size": 4})],
)
def test_tables_hold_what_the_formulas_say(target: str, parameters: dict[str, int]) -> None:
    """Python evaluates the printed formula at every point."""
    file, _, name = target.partition(":")
    (sketch,) = load(CASES / f"{file}.py", name or None, parameters)
    best = solve(sketch).best
    tables = best.tables()
    assert list(tables) == [hole.name for hole in best.holes]
    for hole in best.holes:
        table = tables[hole.name]
        assert table.values.dtype == (bool if hole.kind == "cond" else np.int64)
        assert len(table.points) > 1
        for point, value in zip(table.points.tolist(), table.values.tolist(), strict=True):
            assert eval(hole.formula, dict(zip(table.arguments, point, strict=True))) == value
            at = tuple(int(np.flatnonzero(axis == i)[0]) for axis, i in zip(table.axes, point, strict=True))
            assert table.grid[at] == value
        assert table.grid.count() == len(table.points)


def test_the_grid_of_a_hole_has_an_axis_for_each_argument() -> None:
    """`(lane + k) % 32` at 32 lanes and 3 iterations."""
    (sketch,) = load(CASES / "conv1d.py", None, {})
    table = solve(sketch).best.tables()["xform1"]
    assert table.arguments == ("lane", "k")
    np.testing.assert_array_equal(table.grid, (np.arange(32)[:, None] + np.arange(3)) % 32)
    assert not table.grid.mask.any()


def test_a_naive_template_is_tabled_and_shown() -> None:
    """Its solutions are functions like any other."""
    (sketch,) = load(CASES / "conv1d.py", None, {"warp_size": 4})
    best = solve(sketch, Limits(template="naive-1")).best
    tables = best.tables()
    for hole in best.holes:
        table = tables[hole.name]
        for point, value in zip(table.points.tolist(), table.values.tolist(), strict=True):
            assert eval(hole.formula, dict(zip(table.arguments, point, strict=True))) == value
    assert "svg" in best.show().svg
