"""From the constants of a hole's function back to the function: how saved and cached solutions are restored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swizzle.sketches.hole_formula import HoleFormula
from swizzle.solution.solution import Solution
from symbolic.ir.program import Hole, Program
from templates.formula import fill, formula
from templates.holes import kind_of
from templates.registry import function_of


def refill(program: Program, holes: Sequence[tuple[Mapping[str, Any], bool]], cost: Mapping[str, int]) -> Solution:
    """Fill a sketch's holes, given the constants of each, and whether `k` alone is in range where it is the formula.

    Raises ValueError for constants that are no function of their hole.
    """
    chosen = [function_of(hole, *each) for hole, each in zip(program.holes, holes, strict=True)]
    formulas = tuple(
        HoleFormula(hole.name, hole.kind, hole.place, formula(hole, *function), dict(constants))
        for hole, function, (constants, _) in zip(program.holes, chosen, holes, strict=True)
    )
    return Solution(fill(program, [of for of, _ in chosen], [choice for _, choice in chosen]), formulas, cost, program)


def is_plain_k(hole: Hole, text: str) -> bool:
    """Tell whether a hole's formula is its `k` as it stands, which then is in range wherever it is asked."""
    return kind_of(hole).moves and text in hole.arguments[1:2]
