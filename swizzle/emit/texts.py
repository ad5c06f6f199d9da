"""A solution as text, with the comment at its top: what `swizzle solve -o` writes, from Python."""

from __future__ import annotations

from typing import Literal

from swizzle.emit.calling import solution_sizes
from swizzle.emit.emitters import FILE_KINDS, about_sizes, provenance
from swizzle.solution.solution import Solution
from swizzle.solution.words import cost_text


def text_of(solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str:
    """Return the text of one of the FILE_KINDS; for arrays of any length if that is shown."""
    sizes, posed = solution_sizes(solution), solution.posed
    claims = [] if posed is None else ["Verified for all inputs against the specification."]
    claims.append(f"Cost: {cost_text(solution.cost)}.")
    head = provenance(solution, claims, posed.parameters if posed else None)
    return FILE_KINDS[emitter].text(solution.program, [*head, *about_sizes(solution.program, sizes)], sizes)
