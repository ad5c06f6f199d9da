"""What is chosen or found before a sketch is searched: each stage solves sketches in which that is settled. Sketches
whose holes another sketch fills, holes in a shape (`sw_pad`), and the holes of a scan.

A stage is asked in this order, and gives what is left back to the solver that it was called by, which begins again.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from textwrap import shorten
from typing import Final, NamedTuple

from msgspec.structs import replace

from swizzle.language.parameters import Declared
from swizzle.sketches.loading import family_of
from swizzle.sketches.sketch import Sketch, SketchFamily
from swizzle.solving.audit.random_check import INPUTS, disagreement
from swizzle.solving.front import on_front, solve_front
from swizzle.solving.solution.filling import fill_from
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver
from symbolic.errors import SwizzleError
from symbolic.ir.program import HoleCall
from symbolic.ir.walk import own_expressions, statements, subexpressions
from templates.holes import SCAN_KINDS


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


ALIKE: Final = frozenset({"accumulates", "shuffles", "sectors", "terms"})
"""Costs that no extent of a shared array changes."""


def pads_of(sketch: Sketch) -> list[Declared]:
    """Return the pads whose extents are to be chosen: those that nobody has set."""
    family = _family(sketch)
    if family is None:
        return []
    given = sketch.family.parameters.overrides if sketch.family is not None else {}
    return [each for each in family.declared.values() if each.pad and each.name not in given]


def _family(sketch: Sketch) -> SketchFamily[Sketch] | None:
    """Return what makes the sketch for other extents; its file is not loaded again unless it has pads."""
    return family_of(sketch) if any(re.fullmatch(r"pad\d+", name) for name in sketch.parameters) else None


def solve_padded(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result:
    """Solve a sketch for all extents of its pads, the least first; return the first answer of the least cost.

    It ends with the first that costs nothing, or if no cost depends on an extent; for the Pareto front, with the first
    that costs nothing but bytes. `limits.timeout` bounds the whole.
    """
    started = time.monotonic()
    best: Result | None = None
    every: list[Result] = []
    left = ""
    for found in _answers(sketch, limits, progress, solve):
        every.append(found)
        left = left or found.reason
        if best is None or _costs(found) < _costs(best):
            best = found
        if found.status == "unknown" or (found.solutions and _is_least(found, limits.pareto)):
            break
    else:
        if limits.timeout is not None and time.monotonic() >= started + limits.timeout:
            left = left or "timeout"
    assert best is not None, "a pad has an extent"
    best = replace(best, seconds={**best.seconds, "total": time.monotonic() - started})
    least = bool(best.solutions) and _is_least(best, limits.pareto)
    if limits.pareto:
        solutions = [solution for found in every for solution in found.solutions]
        fronts = [found.certificate["front"] for found in every if found.solutions]
        whole = all(said["whole"] for said in fronts) and not left
        return on_front(replace(best, reason=left), solutions, sum(said["of"] for said in fronts), whole)
    if least:
        return best
    proved = {name: not left and known for name, known in best.proved.items()}
    return replace(best, optimal=best.optimal and not left, proved=proved, reason=left)


def _answers(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Iterator[Result]:
    """Yield the answer for each extent of the pads, the least first, as long as there is time."""
    family, pads, started = _family(sketch), pads_of(sketch), time.monotonic()
    assert family is not None
    extents = sorted(itertools.product(*(pad.domain for pad in pads)), key=lambda some: (sum(some), some))
    for some in extents:
        spent = time.monotonic() - started
        if limits.timeout is not None and spent >= limits.timeout and some is not extents[0]:
            return
        chosen = dict(zip([pad.name for pad in pads], some, strict=True))
        there = family.at(chosen)
        others = {name: value for name, value in there.parameters.items() if name not in chosen}
        found = solve(replace(there, parameters=others), limits.after(spent), progress)
        solutions = tuple(replace(solution, posed=there) for solution in found.solutions)
        certificate = {**found.certificate, "pads": chosen}
        yield replace(found, solutions=solutions, posed=there, certificate=certificate)


def _costs(result: Result) -> tuple[bool, tuple[int, ...]]:
    """Return what a result costs; none is more than any."""
    return (not result.solutions, tuple(result.best.cost.values()) if result.solutions else ())


def _is_least(result: Result, pareto: bool) -> bool:
    """Say whether no larger extent can be better: nothing is left to be saved, or no extent makes a difference.

    To a Pareto front, a larger extent adds nothing if some solution costs nothing but bytes, which only rise.
    """
    if pareto:
        return any(not any(v for name, v in each.cost.items() if name != "bytes") for each in result.solutions)
    return not any(value for name, value in result.best.cost.items() if name not in ALIKE)


KNOWN = 'the operator has to be known as an associative one: @operator(order="sequence"), or scan_operator(...)'


def has_scan_holes(sketch: Sketch) -> bool:
    """Say whether a sketch has a hole of a scan."""
    return any(hole.kind in SCAN_KINDS for hole in sketch.program.holes)


def solve_scan(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result:
    """Fill the holes of a scan, then `solve` what is left: forward first, then backward, if nothing says which."""
    from swizzle.scans.filling import directions, filled

    started = time.monotonic()
    result: Result | None = None
    agree = False
    for backward in directions(sketch):
        found = filled(sketch, backward=backward)
        if found is None:
            continue
        spent = time.monotonic() - started
        answer = solve(found.sketch, limits.after(spent), progress)
        said = {} if found.scan is None else {"scan": repr(found.scan).splitlines()}
        if found.placement is not None:
            said["place"] = [found.placement.proof]
        answer = replace(
            answer,
            certificate={**answer.certificate, **said},
            seconds={**answer.seconds, "scan": spent, "total": time.monotonic() - started},
        )
        if answer.status == "sat":
            return answer
        same = not agree and _numbers_agree(found.sketch)
        if result is None or same:
            result, agree = answer, same
    if result is not None:
        shown = [shorten(text, 150, placeholder=" ...") for text in result.certificate.get("mismatch", ())]
        ours = "with the scan that was found it is not the specification's"
        if agree:
            ours = f"with the scan found, the numbers agree on {INPUTS} random inputs, but the terms differ; {KNOWN}"
        reason = result.reason or "; ".join([ours, *shown[:1]])
        return replace(result, status="unknown", space=None, reason=reason)
    reason = "no conditions and sources were found that make a scan of every size"
    example = sketch.example
    reason += "; other distances may have one" if example else "; an example at one size may help: like="
    spent = time.monotonic() - started
    return Result(
        sketch.name, "unknown", None, False, (), sketch.program.warp_size, {"total": spent}, reason=reason, posed=sketch
    )


def _numbers_agree(sketch: Sketch) -> bool:
    """Say whether a filled kernel and its specification agree on random numbers, although they are not shown equal."""
    return not sketch.program.holes and not disagreement(sketch.program, sketch.spec)


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
