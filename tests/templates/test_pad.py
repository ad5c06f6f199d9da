"""Addresses with free elements: all of them are layouts, read back as they are; the pitch of 33 is found."""

from __future__ import annotations

import numpy as np
import pytest

from swizzle import solve
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.solution import Limits
from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.formula import formula_of_text, formula_text, plain, values_of
from templates.pad import make
from templates.registry import function_of

HERE = Place("-", 1, 1)


@pytest.mark.parametrize(("n", "cells"), [(30, 18), (40, 32), (7, 6), (9, 8)])
def test_every_choice_is_a_layout(n: int, cells: int) -> None:
    """No two cells have one place, none is beyond n; constants and the formula's text say the same function."""
    hole, cells_of = Hole("a", "index", n, ("i",), HERE, ("pad",)), np.arange(cells)
    made = make(n, 1, tuple((i,) for i in range(cells)), "3")
    assert made is not None
    assert next(made.lightest()) == ((1, 0),)
    for choice in made.lightest():
        values = made.apply(choice, [cells_of])
        assert len(set(values.tolist())) == cells and values.min() >= 0 and values.max() < n
        read, again = function_of(hole, made.constants(choice))
        formula = formula_of_text(hole, formula_text(hole, plain(hole, read, again)))
        assert np.array_equal(values_of(formula, [cells_of]), values)
    (components,) = made.components
    assert [(every, by) for every, by in components if every == 1 and by] == [
        (1, by) for by in range(1, 33) if cells - 1 + (cells - 1) * by < n
    ]


def test_nothing_stays_free_without_room() -> None:
    made = make(8, 1, tuple((i,) for i in range(8)), "3")
    assert made is not None and made.components == (((1, 0),),)
    assert make(7, 1, tuple((i,) for i in range(8)), "3") is None


def conflicts_of(every: int, by: int) -> int:
    """Count the conflicts of a tile of 16 rows of 32 words by hand: rows are written, columns are read."""
    cells = np.arange(512).reshape(16, 32)
    places = cells + cells // every * by
    turns = [np.bincount(line % 32).max() for line in (*places, *places.T)]
    return sum(int(some) - 1 for some in turns)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [512, 513, 516, 519])
def test_every_address_is_looked_at(n: int) -> None:
    """There are few of them, so the least conflicts are proved, and the front is whole: as counted by hand."""
    (sketch,) = read_swz(TILE.replace("544", str(n)), "k.swz", Parameters())
    every = [p for p in range(1, 512) if 512 % p == 0]
    pairs = [(1, 0), *((p, by) for p in every for by in range(1, 33) if 511 + 511 // p * by < n)]
    counted = {(conflicts_of(p, by), 4 * (512 + 511 // p * by)) for p, by in pairs}
    found = solve(sketch, cost="conflicts")
    assert found.optimal and found.best.cost["conflicts"] == min(conflicts for conflicts, _ in counted)
    front = [one for one in sorted(counted) if not any(o != one and o[0] <= one[0] and o[1] <= one[1] for o in counted)]
    both = solve(sketch, Limits(cost=("conflicts", "bytes"), pareto=True))
    assert [(each.cost["conflicts"], each.cost["bytes"]) for each in both.solutions] == front
    assert both.certificate["front"] == {"of": len(pairs), "whole": True}


TILE = """
@spec
def transposed(x):
    return [[x[c, r] for c in range(16)] for r in range(32)]

@cuda.jit(device=True)
def cell(r, c):
    return ?sw_index(32 * r + c, 544, families="pad")

@sketch(spec=transposed, block=32, x=f32[16, 32], y=f32.out[32, 16])
def transpose(x, y):
    tile = cuda.shared.array(544, f32)
    lane = cuda.laneid
    for r in range(16):
        tile[cell(r, lane)] = x[r, lane]
    cuda.syncthreads()
    if lane < 16:
        for r in range(32):
            y[r, lane] = tile[cell(lane, r)]
"""


def test_the_pitch_is_found() -> None:
    """Sixteen rows of 32 words that are read by columns, with 32 words to spare."""
    (sketch,) = read_swz(TILE, "tile.swz", Parameters())
    found = solve(sketch, cost="conflicts")
    assert (
        found.best.holes[0].formula == "(32 * r + c) + (32 * r + c) // 32"
        and found.best.cost == {"conflicts": 0}
        and found.optimal
    )
