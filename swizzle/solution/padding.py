"""Sketches with holes in a shape (`sw_pad`): each extent makes a sketch of its own; the cheapest is the answer."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from swizzle.language.parameters import Declared
from swizzle.sketches.family import SketchFamily
from swizzle.sketches.loading import family_of
from swizzle.sketches.sketch import Sketch
from swizzle.solution.solution import Limits, Progress, Result

Listener = Callable[[Progress], None]
Solver = Callable[[Sketch, Limits, Listener | None], Result]
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


def solve_padded(sketch: Sketch, limits: Limits, progress: Listener | None, solve: Solver) -> Result:
    """Solve a sketch for all extents of its pads, the least first; return the first answer of the least cost.

    It ends with the first that costs nothing, or if no cost depends on an extent. `limits.timeout` bounds the whole.
    """
    family, pads, started = _family(sketch), pads_of(sketch), time.monotonic()
    assert family is not None
    extents = sorted(itertools.product(*(pad.domain for pad in pads)), key=lambda some: (sum(some), some))
    best: Result | None = None
    left, tried = "", 0
    for some in extents:
        chosen = dict(zip([pad.name for pad in pads], some, strict=True))
        there = family.at(chosen)
        if limits.timeout is not None and tried:
            limits = replace(limits, timeout=limits.timeout - (time.monotonic() - started))
            if limits.timeout is not None and limits.timeout <= 0:
                left = "timeout"
                break
        others = {name: value for name, value in there.parameters.items() if name not in chosen}
        found = solve(replace(there, parameters=others), limits, progress)
        tried += 1
        found = replace(found, posed=there, certificate={**found.certificate, "pads": chosen})
        left = left or found.reason
        if best is None or _costs(found) < _costs(best):
            best = found
        if found.status == "unknown" or (found.solutions and _is_least(found)):
            break
    assert best is not None, "a pad has an extent"
    seconds = {**best.seconds, "total": time.monotonic() - started}
    if best.solutions and _is_least(best):
        return replace(best, seconds=seconds)
    done = tried == len(extents) and not left
    proved = {name: done and known for name, known in best.proved.items()}
    return replace(best, seconds=seconds, optimal=best.optimal and done, proved=proved, reason=left)


def _costs(result: Result) -> tuple[bool, tuple[int, ...]]:
    """Return what a result costs; none is more than any."""
    return (not result.solutions, tuple(result.best.cost.values()) if result.solutions else ())


def _is_least(result: Result) -> bool:
    """Say whether no extent can be better: nothing is left to be saved, or no extent makes a difference."""
    cost = result.best.cost
    return not any(value for name, value in cost.items() if name not in ALIKE)
