"""From the constants of a hole's function back to the function: what saved and cached solutions are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import assert_never

from swizzle.sketches.hole_formula import HoleFormula
from swizzle.solution.solution import Solution
from symbolic.ir.program import Hole, Program
from templates.chooser import Choice
from templates.formula import fill, formula
from templates.holes import Point, Space, Template, template

_XFORM: Final = ("gs", "c_f", "d_f", "wrap", "c_r", "d_r", "c")
_COND: Final = ("left", "sign", "right", "equal", "negated", "threshold")
_ANY_SHIFT: Final[tuple[Point, ...]] = ((0, -1),)


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


def function_of(hole: Hole, constants: Mapping[str, Any], plain_k: bool) -> tuple[Template, Choice]:
    """Return a hole's function, given its constants, and whether `k` alone is in range where it is the formula."""
    choice = choice_of(hole, constants)
    space: Space = "1" if hole.kind == "xform" else "3"  # the smallest that has choices of this form
    return template(hole, () if plain_k else _ANY_SHIFT, space), choice


def is_plain_k(hole: Hole, text: str) -> bool:
    """Tell whether a hole's formula is its `k` as it stands, which then is in range wherever it is asked."""
    return hole.kind == "xform" and text in hole.arguments[1:2]


def choice_of(hole: Hole, constants: Mapping[str, object]) -> Choice:
    """Return a hole's choice, in the form of Space 3, from its constants; ValueError when they are none."""
    match hole.kind:
        case "xform":
            gs, c_f, d_f, wrap, c_r, d_r, c = _integers(hole, constants, _XFORM)
            if gs < 1 or d_f < 1 or hole.size % gs or gs % d_f or d_r < 0:
                raise ValueError(f"gs = {gs}, d_f = {d_f}, d_r = {d_r} is no xform of size {hole.size}")
            return ((gs, c_f, d_f, bool(wrap)), (c_r, d_r), c)
        case "part":
            names = [[f"{name}_{j}" for name in _COND] for j in range(hole.size - 1)]
            return tuple(part for some in names for part in _condition(hole, constants, some))
        case "cond":
            return _condition(hole, constants, _COND)
        case _:
            assert_never(hole.kind)


def _condition(hole: Hole, constants: Mapping[str, object], names: Sequence[str]) -> Choice:
    left, sign, right, equal, negated, threshold = _integers(hole, constants, names)
    arity = max(1, len(hole.arguments))
    if not (0 <= left < arity and 0 <= right < arity and sign in (-1, 1)):
        raise ValueError(f"arguments {left} and {right}, sign {sign} in {hole.name}, which takes {arity}")
    return ((left, sign, right), ("==" if equal else "<=", bool(negated)), threshold)


def _integers(hole: Hole, constants: Mapping[str, object], names: Sequence[str]) -> list[int]:
    found = []
    for name in names:
        value = constants.get(name)
        if type(value) is not int or abs(value) >= 1 << 31:
            raise ValueError(f"{name} of {hole.name} is {value!r}")
        found.append(value)
    return found
