"""Solve with a memory: look the question up, verify what was kept, and search only if that does not answer it.

An answer that is decided (proved minimal, complete, or proved to have no solution) is used as it is. A search that was
cut short keeps its best solution; if the next one is cut short too, the better of the two is reported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any, TypeAlias

from msgspec.structs import replace

from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import compare, run_canonical
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solving.cache.entries import cache_folder, read_entry, why_unused, write_entry
from swizzle.solving.cache.key import key
from swizzle.solving.costs.cost import Filled, counted
from swizzle.solving.costs.goal import Goal
from swizzle.solving.costs.registry import costs_of
from swizzle.solving.problem.many import by_function, costs
from swizzle.solving.search.metasketch import solve as search
from swizzle.solving.solution.filling import completed, formula_again, refill
from swizzle.solving.solution.solution import Limits, Listener, Result, Solution
from swizzle.solving.stages import staged
from symbolic.algebra.expansion import in_words
from symbolic.errors import printable
from symbolic.ir.program import Expr, Hole
from symbolic.limits import Interruption, limited
from symbolic.values.vector import Lanes
from templates.chooser import Choice
from templates.formula import formula_text, nameless, values_of
from templates.holes import SPACES
from templates.registry import function_of
from templates.template import Template

Holes: TypeAlias = list[tuple[Mapping[str, Any], str]]  # the constants of each, and its formula
KeptAnswer: TypeAlias = tuple[Mapping[str, int], Holes]  # a solution's cost, and its holes, whose formulas are nameless


def solve(sketch: Sketch, limits: Limits, progress: Listener | None) -> Result:
    """Answer a solve job from the cache if its answer is kept; if not, search, and keep what was found.

    The sketches named by `filled_from=` are answered first, in the same way. Raises `SwizzleError` for a mistake in the
    sketch or its specification.
    """
    if (answer := staged(sketch, limits, progress, solve)) is not None:
        return answer
    started = time.monotonic()
    until = None if limits.timeout is None else started + limits.timeout
    try:
        with limited(until, limits.memory):
            goal, meaning = Goal.of(costs_of(limits.cost)), Meaning.of(sketch.program, sketch.spec)
            folder, name = cache_folder(), key(sketch, meaning, limits)
            if folder is not None and (why := why_unused(folder)):
                _note(f"no answer is looked for in {folder}, or kept there: {why}")
            kept = _restored(sketch, meaning, goal, read_entry(folder, name), started)
    except (KeyboardInterrupt, Interruption) as stopped:
        late = "timeout" if limits.timeout is None else f"timeout after {limits.timeout:g} s"
        spent, reason = {"total": time.monotonic() - started}, str(stopped)
        reason = reason or (late if isinstance(stopped, Interruption) else "interrupted")
        return Result(sketch.name, "unknown", None, False, (), sketch.program.warp_size, spent, reason=reason)
    if kept is not None and is_final(kept):
        return kept
    before = time.monotonic() - started

    with limited(until):
        found = search(sketch, limits, progress, meaning)
    seconds = {part: taken + before * (part in ("interpret", "total")) for part, taken in found.seconds.items()}
    found = _better(replace(found, seconds=seconds), kept)
    if is_final(found) or (found.solutions and not limits.all_solutions):
        write_entry(folder, name, _content(sketch, found))
    return found


@lru_cache
def _note(said: str) -> None:
    """Say something once."""
    print(f"note: {printable(said)}", file=sys.stderr)


def is_final(result: Result) -> bool:
    """Tell whether an answer is final: more time would not change it."""
    as_good_as_it_gets = result.optimal or "cancelling" in result.certificate
    return not result.reason and (result.status == "unsat" or (result.status == "sat" and as_good_as_it_gets))


def _better(found: Result, kept: Result | None) -> Result:
    """Return a result with the solution of an earlier search, where that is cheaper and the search was cut short."""
    if kept is None or is_final(found):
        return found
    if found.solutions and tuple(found.best.cost.values()) <= tuple(kept.best.cost.values()):
        return found
    certificate = {**found.certificate, "verified": kept.certificate["verified"], "best": "of an earlier search"}
    return replace(found, status="sat", space=kept.space, solutions=kept.solutions, certificate=certificate)


def _content(sketch: Sketch, result: Result) -> dict[str, Any]:
    """Return an answer as JSON: the constants of the holes, and no kernel."""
    return {
        "sketch": sketch.name,
        "file": PurePath(sketch.place.file).name,
        "parameters": dict(sketch.parameters),
        "status": result.status,
        "space": result.space,
        "optimal": result.optimal,
        "proved": dict(result.proved),
        "reason": result.reason,
        "certificate": dict(result.certificate),
        "solutions": [
            {
                "cost": dict(solution.cost),
                "holes": _kept(sketch, solution),
            }
            for solution in result.solutions
        ],
    }


def _kept(sketch: Sketch, solution: Solution) -> list[dict[str, Any]]:
    """Return what is kept of the holes that were searched for: the others are part of the question."""
    own = [hole for hole in solution.holes if not hole.found_in]
    return [
        {"constants": dict(became.constants), "formula": _nameless_text(hole, became)}
        for hole, became in zip(sketch.program.holes, own, strict=True)
    ]


def _nameless_text(hole: Hole, became: HoleFormula) -> str:
    return formula_text(nameless(hole), formula_again(hole, became.constants, became.formula))


def _restored(
    sketch: Sketch, meaning: Meaning, goal: Goal, content: Mapping[str, Any] | None, started: float
) -> Result | None:
    """Return the answer that an entry holds, its solutions verified now; None where it holds none."""
    if content is None:
        return None
    interpreted = time.monotonic()
    try:
        kept: list[KeptAnswer] = [
            (solution["cost"], [(hole["constants"], str(hole["formula"])) for hole in solution["holes"]])
            for solution in content["solutions"]
        ]
        refilled = [refill(sketch.program, _with_names(sketch, holes), cost) for cost, holes in kept]
        solutions = tuple(completed(solution, sketch) for solution in refilled)
        status, space, optimal = content["status"], content["space"], content["optimal"]
        fits = status == ("sat" if solutions else "unsat") and isinstance(optimal, bool)
        if not fits or space not in (None, *SPACES) or not _hold(kept, refilled, meaning, goal):
            return None
        certificate, reason = dict(content["certificate"]), str(content["reason"])
        proved = {str(name): value is True for name, value in content["proved"].items()}
    except Exception:  # whatever a file from elsewhere holds, it is no reason to fail
        return None
    now = time.monotonic()
    seconds = {"total": now - started, "interpret": interpreted - started, "search": 0.0, "verify": now - interpreted}
    warp_size = sketch.program.warp_size
    return Result(
        sketch.name, status, space, optimal, solutions, warp_size, seconds, certificate, reason, True, proved, sketch
    )


def _with_names(sketch: Sketch, holes: Holes) -> Holes:
    """Return constants and formulas in the names of a sketch."""
    return [
        (constants, formula_text(hole, formula_again(nameless(hole), constants, text)))
        for hole, (constants, text) in zip(sketch.program.holes, holes, strict=True)
    ]


def _hold(kept: Sequence[KeptAnswer], solutions: Sequence[Solution], meaning: Meaning, goal: Goal) -> bool:
    """Verify solutions for all inputs on the concrete machine, and count what they cost.

    The first one runs as its own program, the others as the sketch whose holes give what their formulas do; and all of
    them as the sketch whose holes give what their constants do.
    """
    if not solutions:
        return True
    run = run_canonical(solutions[0].program, meaning.terms)
    right = not run.violations and not compare(solutions[0].program, run, meaning.wanted)
    sketch = solutions[0].sketch
    assert sketch is not None
    functions: list[list[Expr]] = [
        [formula_again(nameless(hole), *each) for hole, each in zip(sketch.holes, holes, strict=True)]
        for _, holes in kept
    ]
    constants = [
        [function_of(hole, some) for hole, (some, _) in zip(sketch.holes, holes, strict=True)] for _, holes in kept
    ]

    def by_formula(some: Sequence[Expr], number: int, lanes: Sequence[Lanes]) -> Any:
        return values_of(some[number], lanes)

    def by_constants(some: Sequence[tuple[Template, Choice]], number: int, lanes: Sequence[Lanes]) -> Any:
        made, choice = some[number]
        return made.apply(choice, lanes)

    of_copies = goal.lowered.of_copies
    found = [of_copies(run, 1)[0] if right else None]
    words = in_words(sketch)
    found += costs(words, meaning, functions[1:], partial(by_function, by_formula), of_copies)
    if costs(words, meaning, constants, partial(by_function, by_constants), of_copies) != found:
        return False
    return all(
        lowered is not None and cost == goal.by_name((lowered, *_counted(solution, formulas, meaning, goal)))
        for lowered, solution, formulas, (cost, _) in zip(found, solutions, functions, kept, strict=True)
    )


def _counted(solution: Solution, formulas: Sequence[Expr], meaning: Meaning, goal: Goal) -> list[int]:
    """Return the costs of a solution that are counted on what is printed."""
    filled = Filled(solution.program, formulas, lambda program: run_canonical(program, meaning.terms))
    return [counted(cost, filled) for cost in goal.counted]
