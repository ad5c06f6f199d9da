"""Clocks: how long the busiest pipe is at work, for what threads exchange, added up over all warps of the grid.

Shuffles and shared memory share a pipe: a word that is shuffled takes one clock, a turn of shared memory one. A choice
between two words, or a word put together of two, takes half a clock of the pipe of arithmetic. They are counted on the
kernel as it is printed.
"""

from __future__ import annotations

from swizzle.costs.cost import Cost, Filled


class Clocks(Cost):
    """How many clocks shuffles and shared memory take, or what chooses and permutes words if that takes longer."""

    name = "clocks"

    def of_run(self, filled: Filled) -> int:
        turns = sum(access.passes for access in filled.accesses if access.memory == "shared")
        return max(filled.shuffles + turns, -(-filled.selects // 2))
