"""Tables that have no bank conflicts where every formula has some: by pairs of entries, and by colouring edges."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from swizzle import Limits, load, solve
from swizzle.solving.costs.counted import Conflicts
from swizzle.solving.search.coloured import _by_colours, _by_pairs, _Tile
from swizzle.solving.solution.solution import Result
from templates.table import forms_of

ROWS = """
@spec
def wanted(x):
    return [[x[c, (c * c % 7 + r) % 8] for c in range(8)] for r in range(8)]

@cuda.jit(device=True)
def cell(r, c):
    return ?sw_index(c, 8, r, families="{families}")

@sketch(spec=wanted, block=8, warp_size=8, x=f32[8, 8], y=f32.out[8, 8])
def k(x, y):
    tile = cuda.shared.array((8, 8), f32)
    lane = cuda.laneid
    for r in range(8):
        tile[r, cell(r, lane)] = x[r, lane]
    cuda.syncthreads()
    for r in range(8):
        y[r, lane] = tile[lane, cell(lane, (lane * lane % 7 + r) % 8)]
"""
FLAT = """
@spec
def wanted(x):
    return [x[j % {m} * {n} + j // {m}] for j in range({m} * {n})]

@cuda.jit(device=True)
def cell(i):
    return ?sw_index(i, {cells}, families="{families}")

@sketch(spec=wanted, block=8, warp_size=8, x=f32[{m} * {n}], y=f32.out[{m} * {n}])
def k(x, y):
    tile = cuda.shared.array({cells}, f32)
    lane = cuda.laneid
    for t in range({cells} // 8):
        if 8 * t + lane < {m} * {n}:
            tile[cell(8 * t + lane)] = x[8 * t + lane]
    cuda.syncthreads()
    for t in range({cells} // 8):
        if 8 * t + lane < {m} * {n}:
            y[8 * t + lane] = tile[cell((8 * t + lane) % {m} * {n} + (8 * t + lane) // {m})]
"""


def solved(path: Path, text: str, families: str, space: str | None = None) -> Result:
    """In a memory of eight banks."""
    file = path / "k.swz"
    file.write_text(text.replace("{families}", families), encoding="utf-8")
    return solve(load(file)[0], Limits(space=space), cost=[Conflicts(8)])  # type: ignore[arg-type]


def most_in_a_bank(phases: list[list[int]]) -> int:
    return max(max(np.bincount(np.array(cells) % 8)) for cells in phases)


@pytest.mark.slow
def test_rows_are_turned_by_a_table(tmp_path: Path) -> None:
    """By what makes r * r % 7 a permutation: no rate of a rotation does that."""
    without = solved(tmp_path, ROWS, "rotate")
    assert without.best.cost == {"conflicts": 8}
    result = solved(tmp_path, ROWS, "rotate, table")
    (hole,) = result.best.holes
    assert (result.best.cost, result.optimal, result.space) == ({"conflicts": 0}, True, "4")
    assert hole.table_bytes == 4 and hole.formula.startswith("(c + ")
    values = result.best.tables()["index1"]
    cell = {tuple(map(int, point)): int(value) for point, value in zip(values.points, values.values, strict=True)}
    phases = [[8 * r + cell[c, r] for c in range(8)] for r in range(8)]
    phases += [[8 * c + cell[(c * c % 7 + r) % 8, c] for c in range(8)] for r in range(8)]
    assert most_in_a_bank(phases) == 1
    assert not solved(tmp_path, ROWS, "rotate, table", space="1").best.holes[0].table_bytes


def test_both_linear_orders_by_colours(tmp_path: Path) -> None:
    """Of 6 x 10 elements, 8 at a time: no formula of the families has as few conflicts as there may be."""
    text = FLAT.replace("{m}", "6").replace("{n}", "10").replace("{cells}", "64")
    result = solved(tmp_path, text, "pad, constant_table")
    (hole,) = result.best.holes
    assert (result.best.cost, result.optimal, result.space) == ({"conflicts": 0}, True, "4")
    assert hole.table_bytes > 0
    values = result.best.tables()["index1"]
    cell = {int(point[0]): int(value) for point, value in zip(values.points, values.values, strict=True)}
    orders = list(range(60)), [j % 6 * 10 + j // 6 for j in range(60)]
    assert most_in_a_bank([[cell[i] for i in order[t : t + 8]] for order in orders for t in range(0, 60, 8)]) == 1
    assert len(set(cell.values())) == 60


@pytest.mark.parametrize("seed", range(30))
def test_what_is_chosen_keeps_banks_and_cells_apart(seed: int) -> None:
    """Random phases of random rows: what is found has no conflict, and two elements of a row never meet."""
    random = Random(seed)
    rows, n, banks = random.choice([(8, 8, 8), (6, 8, 4), (1, 32, 4), (4, 4, 4), (3, 12, 4)])
    points = [(c, r) for r in range(rows) for c in range(n)]
    shuffled = random.sample(range(n), n)
    by = [random.randrange(n) for _ in range(rows)]
    phases = [tuple(r * n + (by[r] + c) % n for r in range(min(rows, banks))) for c in range(n)]
    if rows == 1:
        phases = [tuple(shuffled[at : at + banks]) for at in range(0, n, banks)]
    first = np.array([r * n for _, r in points])
    tile = _Tile(np.array(points), np.arange(n), first, phases, banks)
    found = [
        _by_colours(tile),
        *(_by_pairs(tile, form) for form in forms_of(n, 2, tuple(points)) if form.way != "value"),
    ]
    for values in found:
        if values is not None:
            cells = first + values
            assert len(set(cells.tolist())) == len(cells) and values.min() >= 0 and values.max() < n
            assert all(len({int(cells[p]) % banks for p in phase}) == len(phase) for phase in phases)
    assert any(values is not None for values in found)
