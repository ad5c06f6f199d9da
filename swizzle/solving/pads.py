"""Sketches with holes in a shape (`sw_pad`): each extent makes a sketch of its own; the cheapest is the answer."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from swizzle.language.parameters import Declared
from swizzle.sketches.family import SketchFamily
from swizzle.sketches.loading import family_of
from swizzle.sketches.sketch import Sketch
from swizzle.solving.front import on_front
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver

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
