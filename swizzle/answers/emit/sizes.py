"""At which lengths a solved sketch may run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from swizzle.answers.emit.any_length.conditions import any_length
from swizzle.answers.emit.any_length.reductions import along_loops
from swizzle.answers.emit.emitters import Sizes
from swizzle.language.specs.specification import remembered
from swizzle.sketches.loading import family_of
from swizzle.sketches.sketch import Sketch
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program


def sizes_of(program: Program, sketch: Sketch, spec: Callable[..., Any] | None = None) -> Sizes:
    """Find out at which lengths a filled sketch may run; if its specification fixes its sizes, its family is used.

    `spec` may replace the sketch's own specification, to share what it remembers.
    """
    asked = remembered(spec or sketch.spec, program)
    return along_loops(program, asked, any_length(program, asked, partial(larger_instances, sketch)))


def larger_instances(sketch: Sketch) -> Iterator[tuple[Program, Callable[..., Any]]]:
    """Make a sketch again with each of its parameters a little larger, where the domain allows that."""
    family = family_of(sketch) if sketch.parameters else None
    if family is None:
        return
    for name, value in sketch.parameters.items():
        for larger in (value + 1, 2 * value):
            try:
                found = family.at({name: larger})
            except SwizzleError:
                continue
            yield found.program, found.spec
