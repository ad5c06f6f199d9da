"""What an access costs, against counting by hand and against a memory that serves words one turn at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swizzle.show.access import Access, bytes_of
from symbolic.ir.program import DType


def access(cells: list[int], memory: str = "global", size: int = 4) -> Access:
    return Access("x", memory, False, (1 << 12,), size, tuple(cells))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "size", "sectors", "lines", "summary"),
    [
        (list(range(32)), 4, 4, 1, "4 sectors of 32 bytes in 1 line of 128: as few as possible"),
        (list(range(1, 33)), 4, 5, 2, "5 sectors of 32 bytes in 2 lines of 128: 4 would do side by side"),
        ([32 * i for i in range(32)], 4, 32, 32, "32 sectors of 32 bytes in 32 lines of 128: 4 would do side by side"),
        ([5] * 32, 4, 1, 1, "1 sector of 32 bytes in 1 line of 128: as few as possible"),
        ([2 * i for i in range(32)], 4, 8, 2, "8 sectors of 32 bytes in 2 lines of 128: 4 would do side by side"),
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


def test_registers_cost_nothing() -> None:
    """A local array is registers."""
    assert access([0, 1], "local").summary() == "registers"


def test_sizes() -> None:
    """Every data type has its size."""
    assert {d.value: bytes_of(d) for d in DType if d.is_data} == {
        "f16": 2, "f32": 4, "f64": 8, "i32": 4, "u32": 4, "i64": 8, "u64": 8,
    }  # fmt: skip
