"""The same sketch with other values of its parameters: how a specification that fixes its sizes is asked at others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program


def instances(path: Path, sketch: Sketch) -> Iterator[tuple[Program, Callable[..., Any]]]:
    """Load a sketch again with each of its parameters a little larger, where the domain allows that.

    The name is the one under which the file knows the sketch.
    """
    for name, value in sketch.parameters.items():
        for larger in (value + 1, 2 * value):
            try:
                found = load(path, None, {**sketch.parameters, name: larger})
            except SwizzleError:
                continue
            for other in found:
                if other.name == sketch.name:
                    yield other.program, other.spec
