"""Which outputs no filling makes right, and a smallest set of holes and rules that rules them out.

With it, changes that may help are planned: each as an attempt that is still to be made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.explain.conflicts import Conflict
from swizzle.answers.explain.explanation import TrialKind
from swizzle.answers.explain.more_arguments import with_thread_and_loops
from swizzle.answers.explain.relaxed import Ignores, Kept, Obeys, Relaxed, Requirement, Right, smallest_of
from swizzle.sketches.sketch import Sketch, SketchFamily
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, SpaceName
from symbolic.errors import SwizzleError
from symbolic.limits import OutOfTime, limited
from symbolic.solve.engines import SolverName

LOOK_FOR_OUTPUTS: Final = 3
"""Sets of outputs are proved smallest up to this size."""
LOOK_FOR_HOLES: Final = 6


class Blame(Struct, frozen=True):
    """A smallest conflict: these outputs cannot be right while these holes obey and these rules are kept.

    A hole obeys if it is a function of its template. `ignoring` are holes that conflict with the outputs even as any
    functions of their own arguments; None where that was not looked at, or not decided.

    `all_needed`: without any one of the outputs, the others can be right. `proved_smallest`: no fewer outputs conflict.
    Without `holes`, both are said of any functions of the holes' arguments. `complete`: each hole and rule was shown to
    be needed.
    """

    outputs: tuple[int, ...]
    holes: tuple[int, ...]
    rules: tuple[Kept, ...]
    all_needed: bool
    proved_smallest: bool
    complete: bool
    ignoring: tuple[int, ...] | None = None

    @property
    def requirements(self) -> frozenset[Requirement]:
        return frozenset((*map(Right, self.outputs), *map(Obeys, self.holes), *self.rules))

    @property
    def whatever(self) -> bool:
        """Whether it is proved that the outputs cannot be right whatever value a hole has at each of its uses."""
        return not self.holes and self.ignoring == ()


def find_outputs(relaxed: Relaxed, deadline: float, some_by: float | None = None) -> Conflict[Requirement] | None:
    """Find a smallest set of outputs that cannot be right together; None if there is none, or it takes too long.

    The holes are `free` or `tight`. Until `some_by` it looks for any such set, then for a smallest one. Rules that the
    last proof needed are among the parts.
    """
    whole = relaxed.solve((), some_by or deadline)
    if not isinstance(whole, Conflict):
        assert whole is None or not relaxed.tight, "a sketch without a solution has one"
        return None
    found = smallest_of(relaxed, Right, frozenset(), whole.parts, deadline, LOOK_FOR_OUTPUTS)
    last = relaxed.check(found.parts, deadline)
    rules = last.parts if isinstance(last, Conflict) else frozenset[Requirement](relaxed.violations)
    return replace(found, parts=found.parts | frozenset(r for r in rules if isinstance(r, Kept)))


def find(relaxed: Relaxed, conflict: Conflict[Requirement], deadline: float) -> Blame:
    """Find what forbids outputs that cannot be right together: a smallest set of holes, then of rules.

    `conflict` is the result of `find_outputs`. What is not decided in time stays blamed.
    """
    outputs = frozenset(r for r in conflict.parts if isinstance(r, Right))
    holes = smallest_of(relaxed, Obeys, outputs, relaxed.holes, deadline, LOOK_FOR_HOLES)
    last = relaxed.check(holes.parts | outputs, deadline)
    known = last.parts if isinstance(last, Conflict) else conflict.parts
    rules = smallest_of(relaxed, Kept, holes.parts | outputs, known, deadline, LOOK_FOR_HOLES, rules=False)
    return Blame(
        tuple(sorted(r.output for r in outputs)),
        tuple(sorted(r.hole for r in holes.parts if isinstance(r, Obeys))),
        tuple(sorted((r for r in rules.parts if isinstance(r, Kept)), key=lambda r: rule_place(relaxed, r))),
        conflict.needed,
        conflict.smallest,
        holes.needed and rules.needed,
    )


def find_ignoring(extended: Relaxed, blame: Blame, deadline: float) -> tuple[int, ...] | None:
    """Return a smallest set of holes whose own arguments are not enough for the outputs, for any function of them.

    It is empty if more arguments would not help either, and None if that was not decided.
    """
    given = frozenset(map(Right, blame.outputs))
    whole = extended.check(given | extended.ignoring, deadline)
    if not isinstance(whole, Conflict):
        return None
    found = smallest_of(extended, Ignores, given, whole.parts, deadline, LOOK_FOR_HOLES)
    return tuple(sorted(r.hole for r in found.parts if isinstance(r, Ignores)))


def with_more_arguments(problem: Problem, spec: Callable[..., Any], deadline: float) -> Problem | None:
    """Return the problem whose holes also have the thread and the loops as arguments, unless it is too large."""
    try:
        with limited(deadline):
            return Problem.of(with_thread_and_loops(problem.posed), spec)
    except (SwizzleError, OutOfTime):
        return None


def rule_place(relaxed: Relaxed, rule: Kept) -> tuple[str, int, int]:
    """Return where a rule was seen to be broken, as a key for sorting."""
    place = relaxed.violations[rule].place
    return (place.file, place.line, place.column)


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
