"""What is chosen or found before a sketch is searched: each stage solves sketches in which that is settled.

A stage is asked in this order, and gives what is left back to the solver that it was called by, which begins again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from swizzle.sketches.sketch import Sketch
from swizzle.solving.filled import solve_filled
from swizzle.solving.front import solve_front
from swizzle.solving.pads import pads_of, solve_padded
from swizzle.solving.scan_holes import has_scan_holes, solve_scan
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver


class Stage(NamedTuple):
    """What a sketch is asked for, and how it is solved then."""

    suits: Callable[[Sketch, Limits], bool]
    solve: Callable[[Sketch, Limits, Listener | None, SketchSolver], Result]


def _solve_homes(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result:
    from swizzle.solving.exchanges import solve_homes  # it needs the layouts, which other sketches do not

    return solve_homes(sketch, limits, progress, solve)


STAGES: Final = (
    Stage(lambda sketch, limits: bool(pads_of(sketch)), solve_padded),
    Stage(lambda sketch, limits: has_scan_holes(sketch), solve_scan),
    Stage(lambda sketch, limits: bool(sketch.filled_from), solve_filled),
    Stage(lambda sketch, limits: bool(sketch.exchanges), _solve_homes),
    Stage(lambda sketch, limits: limits.pareto, solve_front),
)


def staged(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result | None:
    """Return the answer for a sketch in which something is settled before a search; None where nothing is."""
    for stage in STAGES:
        if stage.suits(sketch, limits):
            return stage.solve(sketch, limits, progress, solve)
    return None
