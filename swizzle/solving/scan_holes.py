"""Sketches with the holes of a scan: these are filled first, and the filled sketch is solved, or verified, like any."""

from __future__ import annotations

import time
from textwrap import shorten

from msgspec.structs import replace

from swizzle.sketches.sketch import Sketch
from swizzle.solving.audit.random_check import INPUTS, disagreement
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver
from templates.holes import SCAN_KINDS

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
