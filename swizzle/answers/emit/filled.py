"""A kernel without holes, with what is needed to print it and to compare it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from swizzle.answers.emit.emitters import Sizes
from swizzle.language.specs.specification import Remembered
from swizzle.sketches.sketch import Sketch
from symbolic.ir.program import Program


class FilledKernel(Struct, frozen=True):
    """A kernel without holes, its specification, the comment at the head of its `.cu`, and where else it may run."""

    program: Program
    spec: Callable[..., Any]
    head: tuple[str, ...]
    sizes: Sizes = None

    @staticmethod
    def of(program: Program, sketch: Sketch, head: Sequence[str], *, printed: bool = True) -> FilledKernel:
        """Return a filled program of a sketch; of one that is printed, it is worked out at which lengths it may run."""
        from swizzle.answers.emit.sizes import sizes_of

        spec = Remembered(sketch.spec)
        return FilledKernel(program, spec, tuple(head), sizes_of(program, sketch, spec) if printed else None)
