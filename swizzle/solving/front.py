"""The Pareto front: the solutions of which none is as good in every cost as another one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver, Solution
from symbolic.errors import SwizzleError


def front(solutions: Sequence[Solution]) -> tuple[Solution, ...]:
    """Return the solutions that no other one equals or beats in every cost, the best in the first cost first.

    Of those with the same costs, the first one given is kept.
    """
    found: list[Solution] = []
    for solution in sorted(solutions, key=lambda each: tuple(each.cost.values())):
        cost = solution.cost
        if not any(all(kept.cost[name] <= cost[name] for name in cost) for kept in found):
            found.append(solution)
    return tuple(found)


def solve_front(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result:
    """Solve a sketch for all its solutions, and return those of the front; the certificate says of how many.

    Raises SwizzleError for a single cost, and for `all_solutions` beside.
    """
    if len(limits.cost) < 2:
        raise SwizzleError(
            "--pareto with one cost alone",
            expected="two costs or more, which may be at odds with each other",
            fix="name them, such as --cost conflicts,bytes; the least of one cost is found without --pareto",
        )
    if limits.all_solutions:
        raise SwizzleError(
            "--pareto and --all",
            expected="one of them: --pareto looks at all solutions, and shows those that none is better than",
            fix="leave --all out",
        )
    found = solve(sketch, replace(limits, pareto=False, all_solutions=True), progress)
    return on_front(found, found.solutions, len(found.solutions), is_whole(found))


def is_whole(result: Result) -> bool:
    """Say whether a search for all solutions has found all of them."""
    return not result.reason and not result.certificate.keys() & {"cancelling", "left_out"}


def on_front(result: Result, solutions: Sequence[Solution], of: int, whole: bool) -> Result:
    """Return a result with the front of some solutions; `of` is how many were compared, `whole` says if all were."""
    said = {"front": {"of": of, "whole": whole}} if solutions else {}
    return replace(result, solutions=front(solutions), certificate={**result.certificate, **said})
