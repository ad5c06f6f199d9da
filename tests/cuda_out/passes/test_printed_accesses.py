"""What warps access as it is printed: against the addresses of the sketch's own run, and by hand for vectors."""

from __future__ import annotations

from collections import Counter

import pytest

from cuda_out.passes.printed_accesses import printed_moves, printed_widths
from symbolic.ir.program import Program
from tests.sketches import kernel

COPY = """
lane = cuda.laneid
mine = cuda.local.array(4, f32)
for e in range(4):
    mine[e] = x[{source}]
for e in range(4):
    y[cuda.grid(1) * 4 + e] = mine[e]
"""


def copying(source: str, **options: int) -> Program:
    arguments = "x=f32[128], y=f32.out[128]"
    return kernel(
        COPY.format(source=source), spec="[0]", arguments=arguments, **({"block": 32, "warp_size": 32} | options)
    ).program


@pytest.mark.parametrize(
    ("source", "width", "count", "sectors"),
    [
        ("cuda.grid(1) * 4 + e", 4, 1, 16),
        ("e * 32 + lane", 1, 4, 4),
        ("(cuda.grid(1) * 4 + e + 1) % 128", 1, 4, 16),
    ],
)
def test_loads_are_as_wide_as_printed(source: str, width: int, count: int, sectors: int) -> None:
    """Neighbouring words are one access of 16 bytes a lane; others are four of 4."""
    program = copying(source)
    loads = [a for a in printed_moves(program).accesses if a.array == "x"]
    assert [(a.width, a.memory, a.writes) for a in loads] == [(width, "global", False)] * count
    assert max(a.sectors for a in loads) == sectors
    assert {w for (array, writes, _), w in printed_widths(program).items() if array == "x"} == {width}


def test_every_warp_of_the_grid_is_heard() -> None:
    """Two blocks of two warps of 8 lanes: each moves its own words, and no lane of another."""
    heard = printed_moves(copying("cuda.grid(1) * 4 + e", block=16, warp_size=8, grid=2)).accesses
    loads = sorted(a.cells for a in heard if a.array == "x")
    assert loads == [tuple(range(first, first + 32, 4)) for first in (0, 32, 64, 96)]


def test_a_lane_that_is_off_wants_nothing() -> None:
    """A guard that holds for some lanes, and for no lane of the last warp."""
    body = "i = cuda.grid(1)\nif i < 5:\n    y[i] = x[i]"
    program = kernel(body, spec="[0]", arguments="x=f32[5], y=f32.out[5]", block=12, warp_size=4).program
    assert Counter(a.cells for a in printed_moves(program).accesses) == {(0, 1, 2, 3): 2, (4, -1, -1, -1): 2}
