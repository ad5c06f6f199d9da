"""Bank conflicts: the extra turns that accesses to shared memory take beyond the minimum, over all warps of the grid.

They are counted on the kernel as it is printed, with vectors of the printed width. The floor is what accesses take at
least, one by one (`unavoidable.py`).
"""

from __future__ import annotations

from msgspec.structs import replace

from swizzle.solving.costs.cost import Cost, Filled
from swizzle.solving.problem.problem import Problem
from symbolic.machine.accesses import BANKS, WORD


class Conflicts(Cost):
    """How many turns lanes wait for each other, in a memory of `banks` banks that are `word` bytes wide."""

    name = "conflicts"

    def __init__(self, banks: int = BANKS, word: int = WORD) -> None:
        self.banks, self.word = banks, word

    def of_run(self, filled: Filled) -> int:
        shared = [replace(a, banks=self.banks, word=self.word) for a in filled.accesses if a.memory == "shared"]
        return sum(access.passes - access.least_passes for access in shared)

    def floor(self, problem: Problem) -> int:
        from swizzle.solving.costs.unavoidable import least_conflicts

        return least_conflicts(problem, self.banks, self.word)
