"""The costs that are counted on a filled kernel: bank conflicts, the extra turns that accesses to shared memory take;
sectors of 32 bytes of global memory, over every access of every warp; and terms, the length of all holes' formulas.

They are counted on the kernel as it is printed, with vectors of the printed width. The floor is what accesses take at
least, one by one (`unavoidable.py`).

They are counted on the kernel as it is printed, with vectors of the printed width. The floor is each sector once that
holds an output, or an input on which an output depends.

Each function counts with the shortest formula that is found for it (`templates/shortest.py`), as it is printed.
"""

from __future__ import annotations

from msgspec.structs import replace

from swizzle.solving.costs.cost import Cost, Filled
from swizzle.solving.problem.problem import Problem
from symbolic.machine.accesses import BANKS, SECTOR, WORD, bytes_of
from templates.formula import length_of


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


class Sectors(Cost):
    """How many sectors all loads and stores touch."""

    name = "sectors"

    def of_run(self, filled: Filled) -> int:
        return sum(access.sectors for access in filled.accesses if access.memory == "global")

    def floor(self, problem: Problem) -> int:
        sizes = {parameter.name: bytes_of(parameter.dtype) for parameter in problem.program.parameters}
        both = (problem.must_load(), problem.must_store())
        return sum(len({(array, index * sizes[array] // SECTOR) for array, index in cells}) for cells in both)


class FormulaTerms(Cost):
    """How many terms the formulas have: `k` has 1, `lane + k` 3, `(lane + k) % 32` 5."""

    name = "terms"

    def of_run(self, filled: Filled) -> int:
        return sum(map(length_of, filled.formulas))

    def floor(self, problem: Problem) -> int:
        return len(problem.program.holes)
