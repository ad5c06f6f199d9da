"""Changes that may help: the sketch from which they start, and each change as an attempt that is still to be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.explain.blame import Blame
from swizzle.answers.explain.explanation import TrialKind
from swizzle.sketches.sketch import Sketch, SketchFamily
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, SpaceName
from symbolic.solve.engines import SolverName

SECONDS: Final = 5.0
"""The longest time that one change may take."""
SECONDS_MORE: Final = 2.0
"""The same once a change has helped."""

Attempt: TypeAlias = "Callable[[float], tuple[bool | None, str]]"


class Job(Struct, frozen=True):
    """What is to be changed: the sketch, the space in which it has no solution, and how to make the sketch again.

    `family` gives the sketch for other values of its parameters, if it has any.
    """

    sketch: Sketch
    problem: Problem
    space: SpaceName
    limits: Limits
    solver: SolverName
    blame: Blame | None
    family: SketchFamily[Sketch] | None


def _never(other: Planned) -> bool:
    return False


class Planned(Struct, frozen=True):
    """A change that is still to be tried: `attempt(seconds)` returns whether it helps, if decided, and a detail.

    It is left out if a change that helped makes it superfluous.
    """

    kind: TrialKind
    change: str
    attempt: Attempt
    hole: int | None = None
    unless: Callable[[Planned], bool] = _never


def solving(sketch: Sketch, limits: Limits) -> Attempt:
    """Return the attempt to solve a changed sketch; the solution need not be the cheapest of all spaces."""
    space = None if limits.space == "all" else limits.space

    def attempt(seconds: float) -> tuple[bool | None, str]:
        result = solve(sketch, replace(limits, space=space, timeout=seconds, all_solutions=False, certify=False))
        if result.status == "sat":
            return True, f"solvable in Space {result.space}"
        if result.reason == "interrupted":
            raise KeyboardInterrupt
        return (None if result.status == "unknown" else False), ""

    return attempt
