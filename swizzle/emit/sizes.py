"""At which lengths a solved sketch may run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from swizzle.emit.any_length.conditions import any_length
from swizzle.emit.any_length.instances import instances
from swizzle.emit.emitters import Sizes
from swizzle.sketches.sketch import Sketch
from swizzle.specs.specification import Remembered
from symbolic.ir.program import Program


def sizes_of(program: Program, sketch: Sketch, spec: Callable[..., Any] | None = None) -> Sizes:
    """Find out at which lengths a filled sketch may run; its file is read again for other values of parameters.

    `spec` may stand for the sketch's own specification, to share what it remembers.
    """
    return any_length(program, spec or Remembered(sketch.spec), partial(instances, Path(sketch.place.file), sketch))
