"""Shuffles: how many of them the warps of the grid execute, in words of 4 bytes.

They are counted on the kernel as it is printed, where what nothing reads is gone.
"""

from __future__ import annotations

from swizzle.costs.cost import Cost, Filled


class Shuffles(Cost):
    """How many words all warps shuffle: one shuffle of a double is two."""

    name = "shuffles"

    def of_run(self, filled: Filled) -> int:
        return filled.shuffles
