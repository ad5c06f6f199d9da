"""Sectors: how much of global memory moves, in units of 32 bytes, over every access of every warp of the grid.

They are counted on the kernel as it is printed, with vectors of the printed width. The floor is each sector once that
holds an output, or an input on which an output depends.
"""

from __future__ import annotations

from swizzle.solving.costs.cost import Cost, Filled
from swizzle.solving.problem.problem import Problem
from symbolic.machine.accesses import SECTOR, bytes_of


class Sectors(Cost):
    """How many sectors all loads and stores touch."""

    name = "sectors"

    def of_run(self, filled: Filled) -> int:
        return sum(access.sectors for access in filled.accesses if access.memory == "global")

    def floor(self, problem: Problem) -> int:
        sizes = {parameter.name: bytes_of(parameter.dtype) for parameter in problem.program.parameters}
        both = (problem.must_load(), problem.must_store())
        return sum(len({(array, index * sizes[array] // SECTOR) for array, index in cells}) for cells in both)
