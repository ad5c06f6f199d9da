"""Terms: how long the formulas of all holes are together, in operators, arguments and numbers.

Each function counts with the shortest formula that is found for it (`templates/shortest.py`), as it is printed.
"""

from __future__ import annotations

from swizzle.solving.costs.cost import Cost, Filled
from swizzle.solving.problem.problem import Problem
from templates.formula import length_of


class FormulaTerms(Cost):
    """How many terms the formulas have: `k` has 1, `lane + k` 3, `(lane + k) % 32` 5."""

    name = "terms"

    def of_run(self, filled: Filled) -> int:
        return sum(map(length_of, filled.formulas))

    def floor(self, problem: Problem) -> int:
        return len(problem.program.holes)
