"""Patterns against the PTX ISA's own words, and that each asks for every cell."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from swizzle import layouts
from swizzle.layouts import Access

WHOLE = [
    ((5, 70), 32, layouts.rows()),
    ((8, 64), 32, layouts.rows(4)),
    ((70, 5), 32, layouts.columns()),
    ((64, 8), 16, layouts.columns(8)),
    ((24, 36), 32, layouts.linear("row")),
    ((24, 36), 32, layouts.linear("column", 2)),
    ((3, 5, 8), 32, layouts.linear("row", 4)),
    ((32, 32), 32, layouts.blocks(4, 8)),
    ((32, 32), 32, layouts.blocks(8, 4, 2, along=0)),
    ((16, 64), 16, layouts.cp_async(16)),
    ((16, 64), 16, layouts.cp_async(8, along=0)),
    ((8, 64), 16, layouts.tma()),
    ((24, 40), 16, layouts.ldmatrix(4)),
    ((40, 24), 16, layouts.ldmatrix(2, trans=True, along=0)),
    ((24, 40), 16, layouts.ldmatrix(2, trans=True)),
    ((8, 16), 8, layouts.stmatrix(1)),
    ((32, 16), 32, layouts.mma("A", "m16n8k8")),
    ((32, 32), 16, layouts.mma("A", "m16n8k16")),
    ((32, 32), 16, layouts.mma("A", "m16n8k16", along=0)),
    ((64, 32), 8, layouts.mma("B", "m16n8k32")),
    ((16, 64), 8, layouts.mma("B", "m16n8k32", k=1)),
    ((32, 16), 32, layouts.mma("C", "m16n8k16")),
    ((8, 4), 64, layouts.mma("A", "m8n8k4")),
]


@pytest.mark.parametrize("shape, bits, access", WHOLE, ids=lambda each: repr(each))
def test_every_cell_once(shape: tuple[int, ...], bits: int, access: Access) -> None:
    """The whole tile is moved, each cell by one lane of one instruction."""
    asked = access.of(shape, bits)
    moved = Counter(
        tuple(x + j * (a == asked.along) for a, x in enumerate(cell))
        for cell in asked.starts.reshape(-1, len(shape)).tolist()
        if cell[0] >= 0
        for j in range(asked.width)
    )
    assert moved == Counter(np.ndindex(shape))


def test_operand_a_of_m16n8k16() -> None:
    """PTX ISA, m16n8k16 with .f16: a0, a1: row g, a2, a3: row g + 8; a4 ... 8 columns on; columns 2t and 2t + 1."""
    asked = layouts.mma("A", "m16n8k16").of((16, 16), 16)
    for lane in range(32):
        group, place = lane >> 2, lane % 4
        wanted = set()
        for i in (0, 2, 4, 6):  # of each pair a_i, a_(i+1), the first
            row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
            wanted.add((row, place * 2 + (i & 1) if i < 4 else place * 2 + (i & 1) + 8))
        assert {tuple(cell) for cell in asked.starts[:, lane].tolist()} == wanted
    assert asked.width == 2 and asked.along == 1


def test_operand_b_of_m16n8k32() -> None:
    """PTX ISA, m16n8k32 with .s8: b_i at row 4t + (i & 3), 16 more from i = 4, and column g."""
    asked = layouts.mma("B", "m16n8k32").of((32, 8), 8)
    for lane in range(32):
        wanted = {(4 * (lane % 4) + (16 if i >= 4 else 0), lane >> 2) for i in (0, 4)}
        assert {tuple(cell) for cell in asked.starts[:, lane].tolist()} == wanted
    assert asked.width == 4 and asked.along == 0


def test_accumulators_of_m16n8k8() -> None:
    """PTX ISA, m16n8k8: c0, c1 at row g, c2, c3 at row g + 8, columns 2t and 2t + 1."""
    asked = layouts.mma("C", "m16n8k8").of((16, 8), 32)
    for lane in range(32):
        wanted = {(lane >> 2, 2 * (lane % 4)), ((lane >> 2) + 8, 2 * (lane % 4))}
        assert {tuple(cell) for cell in asked.starts[:, lane].tolist()} == wanted


def test_an_access_of_ones_own() -> None:
    """A function of the lane and of what counts instructions; lanes may be off; values may be listed."""
    asked = layouts.access(lambda lane, k: (lane, k) if lane < 3 else None, k=[0, 2], lanes=4).of((3, 3), 32)
    assert asked.starts.tolist() == [[[0, k], [1, k], [2, k], [-1, -1]] for k in (0, 2)]
    assert layouts.access(lambda lane: lane, lanes=2).of((2,), 32).starts.tolist() == [[[0], [1]]]
