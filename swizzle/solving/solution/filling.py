"""Solutions made again of what is known of their holes: from the constants and the formula of each, as saved and cached
ones are; and the holes of device functions that another sketch has solved, which become the same function in every
caller.

A hole is identified by its place in the text. The filled sketch is then solved, or only verified, as a whole: it is not
believed because its parts were solved.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.solution import Solution
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Expr, Hole, Program
from templates.formula import fill, fill_some, formula_of_text, formula_text, plain
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


Spot = tuple[str, int, int]


def fill_from(sketch: Sketch, solution: Solution) -> Sketch:
    """Return the sketch with those of its holes filled that a solution of another sketch has filled.

    Each becomes the formula that is printed there, which means here what it says, wherever it is asked. It keeps its
    constants if they say the same everywhere; those of a shorter formula say it only where that sketch asks.

    Raises SwizzleError for a hole that has another size there, or constants that belong to no template.
    """
    known = {_spot(hole.place): hole for hole in solution.holes}
    there = {_spot(hole.place): hole for hole in solution.sketch.holes} if solution.sketch else {}
    name, chosen, filled = solution.program.name, {}, list(sketch.filled)
    for number, hole in enumerate(sketch.program.holes):
        found = known.get(_spot(hole.place))
        if found is None:
            continue
        asked = there.get(_spot(hole.place), hole)
        try:
            if asked.size != hole.size:
                raise ValueError(f"it has the size {asked.size} there and {hole.size} in {sketch.name}")
            filling = formula_again(asked, found.constants or None, found.formula)
            everywhere = bool(found.constants) and filling == plain_formula(asked, found.constants)
        except ValueError as error:
            raise SwizzleError(
                f"the solution of {name} does not fill {hole.name} of {sketch.name}: {error}",
                place=hole.place,
                expected="a solution by the paper's templates, at the same size of the hole",
                fix=f"solve {name} with the parameters that {sketch.name} has",
            ) from None
        chosen[number] = filling
        text, origin = formula_text(hole, filling), found.found_in or name
        constants = dict(found.constants) if everywhere else {}
        filled.append(HoleFormula(hole.name, hole.kind, hole.place, text, constants, origin))
    program, opened = fill_some(sketch.program, chosen), sketch.opened or sketch.program
    return replace(sketch, program=program, filled=tuple(filled), opened=opened)


def completed(solution: Solution, sketch: Sketch) -> Solution:
    """Add to a solution of a filled sketch the holes that were filled before."""
    if sketch.opened is None:
        return solution
    holes = {hole.name: hole for hole in (*solution.holes, *sketch.filled)}
    return replace(solution, holes=tuple(holes[hole.name] for hole in sketch.opened.holes), sketch=sketch.opened)


def shares_a_hole(sketch: Sketch, solution: Solution) -> bool:
    """Say whether a solution fills any hole of a sketch."""
    known = {_spot(hole.place) for hole in solution.holes}
    return any(_spot(hole.place) in known for hole in sketch.program.holes)


def _spot(place: Place) -> Spot:
    """Return where a place is, however its file is named."""
    return os.path.realpath(place.file), place.line, place.column
