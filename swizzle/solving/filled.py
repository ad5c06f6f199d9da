"""Sketches that are filled from others: those are solved first, then this one, with what they found."""

from __future__ import annotations

import time

from msgspec.structs import replace

from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.filling import fill_from
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver
from symbolic.errors import SwizzleError
from symbolic.ir.program import HoleCall
from symbolic.ir.walk import own_expressions, statements, subexpressions


def solve_filled(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result:
    """Solve the sketches named by `filled_from=`, then this one with what they found.

    `solve` answers for each; `limits.timeout` bounds the whole. If one of them is not solved, the answer is unknown.
    """
    started = time.monotonic()
    for source in sketch.filled_from:
        if not {hole.place for hole in source.program.holes} & {hole.place for hole in sketch.program.holes}:
            continue  # a solution file has filled them
        found = solve(source, _for_a_source(limits.after(time.monotonic() - started)), _named(source.name, progress))
        if found.status != "sat":
            where = "" if limits.space in (None, "all") else f" in Space {limits.space}"
            why = f"has no solution{where}" if found.status == "unsat" else f"is not solved: {found.reason}"
            reason = f"{source.name}, which fills holes of {sketch.name}, {why}"
            spent = {"total": time.monotonic() - started}
            return Result(
                sketch.name, "unknown", None, False, (), sketch.program.warp_size, spent, reason=reason, posed=sketch
            )
        sketch = fill_from(sketch, found.best)
    spent_on_sources = time.monotonic() - started
    try:
        result = solve(replace(sketch, filled_from=()), limits.after(time.monotonic() - started), progress)
    except SwizzleError as error:
        raise _with_formulas(error, sketch) from None
    total = result.seconds["total"] + spent_on_sources
    return replace(result, seconds={**result.seconds, "sources": spent_on_sources, "total": total})


def _with_formulas(error: SwizzleError, sketch: Sketch) -> SwizzleError:
    """Add to a mistake in an expression what its holes were filled with: it may be wrong where this sketch asks."""
    assert sketch.opened is not None
    asked = set[int]()
    for statement in statements(sketch.opened.body):
        for own in own_expressions(statement):
            wrong = (
                [own] if statement.place == error.place else [e for e in subexpressions(own) if e.place == error.place]
            )
            asked |= {part.hole for each in wrong for part in subexpressions(each) if isinstance(part, HoleCall)}
    names = {sketch.opened.holes[number].name for number in asked}
    given = [hole for hole in sketch.filled if hole.name in names]
    if not given:
        return error
    said = " and ".join(f"{hole.name} = {hole.formula}, found in {hole.found_in}" for hole in given)
    fix = f"{error.fix}; or let {given[0].found_in} ask {given[0].name} where {sketch.name} does"
    return SwizzleError(f"{error.found}, with {said}", place=error.place, expected=error.expected, fix=fix)


def _for_a_source(limits: Limits) -> Limits:
    """Return the limits for a sketch of which one solution is wanted: the one that it has by itself."""
    return replace(limits, all_solutions=False, pareto=False, certify=False)


def _named(name: str, progress: Listener | None) -> Listener | None:
    """Report the progress of another sketch with its name."""
    if progress is None:
        return None
    return lambda step: progress(replace(step, doing=f"{name}: {step.doing}"))
