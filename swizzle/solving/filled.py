"""Sketches that are filled from others: those are solved first, then this one, with what they found."""

from __future__ import annotations

import time

from msgspec.structs import replace

from swizzle.sketches.sketch import Sketch
from swizzle.solution.filling import fill_from
from swizzle.solution.solution import Limits, Listener, Result, SketchSolver


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
    result = solve(replace(sketch, filled_from=()), limits.after(time.monotonic() - started), progress)
    total = result.seconds["total"] + spent_on_sources
    return replace(result, seconds={**result.seconds, "sources": spent_on_sources, "total": total})


def _for_a_source(limits: Limits) -> Limits:
    """Return the limits for a sketch of which one solution is wanted: the one that it has by itself."""
    return replace(limits, all_solutions=False, pareto=False, certify=False)


def _named(name: str, progress: Listener | None) -> Listener | None:
    """Report the progress of another sketch with its name."""
    if progress is None:
        return None
    return lambda step: progress(replace(step, doing=f"{name}: {step.doing}"))
