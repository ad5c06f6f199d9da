"""The two texts beside a picture: the sketch and the printed CUDA, and which lines of one come from the other."""

from __future__ import annotations

import linecache

from swizzle.emit.texts import source_of
from swizzle.solution.solution import Solution
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program
from symbolic.ir.walk import statements


def sketch_lines(program: Program) -> tuple[int, list[str]]:
    """Return the number of the kernel's first line, and its lines; none where its text is not at hand."""
    linecache.checkcache(program.place.file)
    lines = [line.rstrip("\n") for line in linecache.getlines(program.place.file)]
    own = [statement.place.seen_from(program.place.file).line for statement in statements(program.body)]
    first, last = min([program.place.line, *own]), max([program.place.line, *own])
    while (
        first > 1
        and first <= len(lines)
        and lines[first - 2].strip()
        and not lines[first - 2].startswith(("#", "def "))
    ):
        first -= 1
    while last < len(lines) and lines[last].startswith((" ", "\t", ")")):
        last += 1
    return first, lines[first - 1 : last]


def cuda_lines(solution: Solution) -> tuple[list[str], list[int]]:
    """Return the lines of the `.cu` file, and for each the sketch's line that it comes from, 0 for none."""
    try:
        source = source_of(solution)
    except SwizzleError as error:
        return [f"// not printed: {error.found}"], [0]
    lines = source.text.splitlines()
    file = solution.program.place.file
    return lines, [place.seen_from(file).line if place else 0 for place in source.origins]
