"""The shape of a launch: what a grid and a block may be, on a GPU and in the emulation."""

from __future__ import annotations

from typing import TypeAlias

from symbolic.errors import SwizzleError

Shape3: TypeAlias = tuple[int, int, int]


def check_shapes(grid: Shape3, block: Shape3) -> None:
    """Raise SwizzleError unless grid and block have three positive sizes and a block at most 1024 threads."""
    if len(grid) != 3 or len(block) != 3 or min(*grid, *block) < 1:
        raise SwizzleError(
            f"grid {grid} and block {block}",
            expected="three positive sizes each",
            fix="write 1 along an axis that is not used",
        )
    if block[0] * block[1] * block[2] > 1024:
        raise SwizzleError(
            f"a block of {block} threads",
            expected="at most 1024 threads in a block",
            fix="launch smaller blocks, and more of them",
        )
