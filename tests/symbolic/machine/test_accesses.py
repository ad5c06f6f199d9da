"""What an access costs, against counting by hand and against a memory that serves words one turn at a time.

Turns over arrays are those of `WarpAccess`, lane by lane.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.ir.program import DType
from symbolic.machine.accesses import WarpAccess, bytes_of, lanes_at_once, turns


def access(cells: list[int], memory: str = "global", size: int = 4) -> WarpAccess:
    return WarpAccess("x", memory, False, (1 << 12,), size, tuple(cells))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "size", "sectors", "lines", "summary"),
    [
        (list(range(32)), 4, 4, 1, "4 sectors of 32 bytes in 1 line of 128: as few as possible"),
        (list(range(1, 33)), 4, 5, 2, "5 sectors of 32 bytes in 2 lines of 128: at best 4"),
        ([32 * i for i in range(32)], 4, 32, 32, "32 sectors of 32 bytes in 32 lines of 128: at best 4"),
        ([5] * 32, 4, 1, 1, "1 sector of 32 bytes in 1 line of 128: as few as possible"),
        ([2 * i for i in range(32)], 4, 8, 2, "8 sectors of 32 bytes in 2 lines of 128: at best 4"),
        (list(range(32)), 8, 8, 2, "8 sectors of 32 bytes in 2 lines of 128: as few as possible"),
        (list(range(32)), 2, 2, 1, "2 sectors of 32 bytes in 1 line of 128: as few as possible"),
        ([7] + [-1] * 31, 4, 1, 1, "1 sector of 32 bytes in 1 line of 128: as few as possible"),
        ([-1] * 32, 4, 0, 0, "no lane is on"),
    ],
)
def test_global_memory(cells: list[int], size: int, sectors: int, lines: int, summary: str) -> None:
    """Sectors and lines are those that the elements lie in."""
    found = access(cells, size=size)
    assert (found.sectors, found.lines, found.summary()) == (sectors, lines, summary)


@pytest.mark.parametrize(
    ("cells", "size", "passes", "summary"),
    [
        (list(range(32)), 4, 1, "no bank conflict"),
        ([33 * i for i in range(32)], 4, 1, "no bank conflict"),
        ([32 * i for i in range(32)], 4, 32, "bank conflict: 32 turns instead of 1"),
        ([2 * i for i in range(32)], 4, 2, "bank conflict: 2 turns instead of 1"),
        ([9] * 32, 4, 1, "no bank conflict, 32 lanes share a word"),
        ([0, 32] * 16, 4, 2, "bank conflict: 2 turns instead of 1"),
        (list(range(32)), 8, 2, "no bank conflict"),
        ([2 * i for i in range(32)], 8, 4, "bank conflict: 4 turns instead of 2"),
        (list(range(32)), 2, 1, "no bank conflict"),
        ([64 * i for i in range(32)], 2, 32, "bank conflict: 32 turns instead of 1"),
    ],
)
def test_shared_memory(cells: list[int], size: int, passes: int, summary: str) -> None:
    """Broadcast is free, two words of one bank are not, and 8-byte elements go by half warps."""
    found = access(cells, "shared", size)
    assert (found.passes, found.summary()) == (passes, summary)


@given(st.lists(st.integers(-1, 300), min_size=32, max_size=32), st.sampled_from([2, 4]))
def test_turns_are_what_a_simple_memory_takes(cells: list[int], size: int) -> None:
    """A memory that serves, each turn, at most one word of each bank."""
    waiting = {cell * size // 4 for cell in cells if cell >= 0}
    turns = 0
    while waiting:
        served: dict[int, int] = {}
        for word in sorted(waiting):
            served.setdefault(word % 32, word)
        waiting -= set(served.values())
        turns += 1
    found = access(cells, "shared", size)
    assert found.passes == turns
    assert bool(found.clashes) == (turns > 1)


def turns_of(lanes: list[range], banks: int) -> int:
    """What one phase takes of a memory that serves, each turn, at most one word of each bank."""
    waiting, turns = {word for words in lanes for word in words}, 0
    while waiting:
        served: dict[int, int] = {}
        for word in sorted(waiting):
            served.setdefault(word % banks, word)
        waiting -= set(served.values())
        turns += 1
    return turns


@given(
    st.lists(st.integers(-1, 100), min_size=1, max_size=32),
    st.sampled_from([(2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2)]),
    st.sampled_from([1, 4, 8, 32]),
    st.sampled_from([4, 8]),
)
def test_wide_accesses_go_in_phases(vectors: list[int], shape: tuple[int, int], banks: int, word: int) -> None:
    """Lanes go together that fill the banks once; a vector is known by any of its elements."""
    size, width = shape
    phases, full = [list[range]()], max(1, banks * word // max(size * width, word))
    for lane, vector in enumerate(vectors):
        if lane and lane % full == 0:
            phases.append([])
        if vector >= 0:
            first = vector * size * width
            phases[-1].append(range(first // word, (first + size * width - 1) // word + 1))
    cells = tuple(vector * width + lane % width if vector >= 0 else -1 for lane, vector in enumerate(vectors))
    found = WarpAccess("x", "shared", False, (1 << 12,), size, cells, width, banks, word)
    assert found.passes == sum(turns_of(phase, banks) for phase in phases)
    assert found.least_passes == sum(bool(phase) for phase in phases)
    touched = {vector * size * width + byte for vector in vectors if vector >= 0 for byte in range(size * width)}
    assert found.sectors == len({byte // 32 for byte in touched})
    assert found.lines == len({byte // 128 for byte in touched})
    assert found.least_sectors == -(-len(touched) // 32)


def test_a_quarter_of_a_warp_fills_the_banks_with_float4() -> None:
    """Neighbouring float4 are four turns and no conflict; rows of 32 words apart, each quarter meets in four banks."""
    side_by_side = WarpAccess("x", "shared", False, (1024,), 4, tuple(range(0, 128, 4)), 4)
    below = WarpAccess("x", "shared", False, (1024,), 4, tuple(range(0, 1024, 32)), 4)
    assert (side_by_side.passes, side_by_side.least_passes) == (4, 4)
    assert side_by_side.summary() == "no bank conflict, 16 bytes a lane at once"
    assert below.summary() == "bank conflict: 32 turns instead of 4, 16 bytes a lane at once"


def test_registers_cost_nothing() -> None:
    """A local array is registers."""
    assert access([0, 1], "local").summary() == "registers"


def test_sizes() -> None:
    """Every data type has its size."""
    assert {d.value: bytes_of(d) for d in DType if d.is_data and d is not DType.STATE} == {
        "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4, "u32": 4,
        "i64": 8, "u64": 8,
    }  # fmt: skip


@settings(deadline=None)
@given(st.data(), st.sampled_from([1, 2, 4]), st.sampled_from([2, 8, 32]))
def test_turns_are_those_of_an_access(data: st.DataObject, wide: int, banks: int) -> None:
    """Of words and of vectors, with lanes that are off or want the same, in a memory of any number of banks."""
    vectors = data.draw(st.lists(st.integers(-1, 40), min_size=32, max_size=32))
    cells = [vector * wide if vector >= 0 else -1 for vector in vectors]
    access = WarpAccess("x", "shared", False, (1 << 12,), 4, tuple(cells), wide, banks)
    at_once = lanes_at_once(4 * wide, banks)
    found = turns(np.array(cells).reshape(-1, at_once), wide, banks)
    assert found.sum() == access.passes
    if all(len(set(p.tolist())) == len(p) for p in np.array(cells).reshape(-1, at_once)):
        assert (turns(np.array(cells).reshape(-1, at_once), wide, banks, distinct=True) == found).all()
