"""From the constants and the formula of each hole back to a solution: what saved and cached ones are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from swizzle.sketches.hole_formula import HoleFormula
from swizzle.solving.solution.solution import Solution
from symbolic.ir.program import Expr, Hole, Program
from templates.formula import fill, formula_of_text, formula_text, plain
from templates.holes import SCAN_KINDS
from templates.registry import function_of

Constants: TypeAlias = Mapping[str, Any] | None  # None where the formula is all there is of a hole


def refill(program: Program, holes: Sequence[tuple[Constants, str]], cost: Mapping[str, int]) -> Solution:
    """Fill a sketch's holes, given the constants of each and its formula.

    Whether a formula has the values that its constants say is another question (`solution/answered.py`).
    Raises ValueError for constants that are no function of their hole, and for a text that is no formula.
    """
    formulas = [formula_again(hole, *each) for hole, each in zip(program.holes, holes, strict=True)]
    became = tuple(
        HoleFormula(hole.name, hole.kind, hole.place, formula_text(hole, formula), dict(constants or {}))
        for hole, formula, (constants, _) in zip(program.holes, formulas, holes, strict=True)
    )
    return Solution(fill(program, formulas), became, cost, program)


def formula_again(hole: Hole, constants: Constants, text: str) -> Expr:
    """Return the formula that has a text; ValueError where it has none, or the constants are no function."""
    if constants is None or hole.kind in SCAN_KINDS:
        return _checked(hole, text)
    own = plain_formula(hole, constants)
    if text == formula_text(hole, own):
        return own
    return _checked(hole, text)


def _checked(hole: Hole, text: str) -> Expr:
    try:
        return formula_of_text(hole, text)
    except ValueError as error:
        raise ValueError(str(error).replace("the hole", hole.name)) from None


def plain_formula(hole: Hole, constants: Mapping[str, Any]) -> Expr:
    """Return the formula that a hole's function has wherever it may be asked; ValueError for constants of none."""
    return plain(hole, *function_of(hole, constants))
