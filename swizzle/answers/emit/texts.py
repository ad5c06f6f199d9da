"""A solution as text, with the comment at its top: what `swizzle solve -o` writes, from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cuda_out.c.printer import CudaSource
from swizzle.answers.emit.calling import solution_sizes
from swizzle.answers.emit.emitters import FILE_KINDS, Sizes, about_sizes, cuda_source, provenance
from swizzle.solving.solution.in_words import cost_text
from swizzle.solving.solution.solution import Solution


def text_of(solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str:
    """Return the text of one of the FILE_KINDS; for arrays of any length if that is shown."""
    return FILE_KINDS[emitter].text(solution.program, *_head_and_sizes(solution))


def source_of(solution: Solution) -> CudaSource:
    """Return the text of the `.cu` file, with the places in the sketch that its lines come from."""
    return cuda_source(solution.program, *_head_and_sizes(solution))


def _head_and_sizes(solution: Solution) -> tuple[Sequence[str], Sizes]:
    sizes, posed = solution_sizes(solution), solution.posed
    claims = [] if posed is None else ["Verified for all inputs against the specification."]
    claims.append(f"Cost: {cost_text(solution.cost)}.")
    head = provenance(solution, claims, posed.parameters if posed else None)
    return [*head, *about_sizes(solution.program, sizes)], sizes
