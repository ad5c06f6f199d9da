"""Holes of device functions that another sketch has solved: each becomes the same function in every caller.

A hole is identified by its place in the text. The filled sketch is then solved, or only verified, as a whole: it is not
believed because its parts were solved.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from msgspec.structs import replace

from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solution.refill import is_plain_k
from swizzle.solution.solution import Limits, Progress, Result, Solution
from symbolic.errors import Place, SwizzleError
from templates.formula import fill_some, formula
from templates.registry import function_of

Listener = Callable[[Progress], None]
Solver = Callable[[Sketch, Limits, Listener | None], Result]
Spot = tuple[str, int, int]


def fill_from(sketch: Sketch, solution: Solution) -> Sketch:
    """Return the sketch with those of its holes filled that a solution of another sketch has filled.

    Raises SwizzleError for a hole that has another size there, or constants that belong to no template.
    """
    known = {_spot(hole.place): hole for hole in solution.holes}
    sizes = {_spot(hole.place): hole.size for hole in solution.sketch.holes} if solution.sketch else {}
    name, chosen, filled = solution.program.name, {}, list(sketch.filled)
    for number, hole in enumerate(sketch.program.holes):
        found = known.get(_spot(hole.place))
        if found is None:
            continue
        try:
            if sizes.get(_spot(hole.place), hole.size) != hole.size:
                raise ValueError(f"it has the size {sizes[_spot(hole.place)]} there and {hole.size} in {sketch.name}")
            function = function_of(hole, found.constants, is_plain_k(hole, found.formula))
        except ValueError as error:
            raise SwizzleError(
                f"the solution of {name} does not fill {hole.name} of {sketch.name}: {error}",
                place=hole.place,
                expected="a solution by the paper's templates, at the same size of the hole",
                fix=f"solve {name} with the parameters that {sketch.name} has",
            ) from None
        chosen[number] = function
        text, origin = formula(hole, *function), found.found_in or name
        filled.append(HoleFormula(hole.name, hole.kind, hole.place, text, dict(found.constants), origin))
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


def solve_filled(sketch: Sketch, limits: Limits, progress: Listener | None, solve: Solver) -> Result:
    """Solve the sketches named by `filled_from=`, then this one with what they found.

    `solve` answers for each; `limits.timeout` bounds the whole. If one of them is not solved, the answer is unknown.
    """
    started = time.monotonic()
    for source in sketch.filled_from:
        if not {hole.place for hole in source.program.holes} & {hole.place for hole in sketch.program.holes}:
            continue  # a solution file has filled them
        found = solve(source, _for_a_source(_left(limits, started)), _named(source.name, progress))
        if found.status != "sat":
            why = "has no solution" if found.status == "unsat" else f"is not solved: {found.reason}"
            reason = f"{source.name}, which fills holes of {sketch.name}, {why}"
            spent = {"total": time.monotonic() - started}
            return Result(
                sketch.name, "unknown", None, False, (), sketch.program.warp_size, spent, reason=reason, posed=sketch
            )
        sketch = fill_from(sketch, found.best)
    spent_on_sources = time.monotonic() - started
    result = solve(replace(sketch, filled_from=()), _left(limits, started), progress)
    total = result.seconds["total"] + spent_on_sources
    return replace(result, seconds={**result.seconds, "sources": spent_on_sources, "total": total})


def _for_a_source(limits: Limits) -> Limits:
    """Return the limits for a sketch of which one solution is wanted, with its constants."""
    return Limits(timeout=limits.timeout, solver=limits.solver, light=limits.light)


def _left(limits: Limits, started: float) -> Limits:
    if limits.timeout is None:
        return limits
    return replace(limits, timeout=max(0.001, limits.timeout - (time.monotonic() - started)))


def _named(name: str, progress: Listener | None) -> Listener | None:
    """Report the progress of another sketch with its name."""
    if progress is None:
        return None
    return lambda step: progress(replace(step, doing=f"{name}: {step.doing}"))


def _spot(place: Place) -> Spot:
    """Return where a place is, however its file is named."""
    return os.path.realpath(place.file), place.line, place.column
