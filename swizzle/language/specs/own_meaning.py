"""What a kernel without a specification of its own computes, as a specification: the machine, run on its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symbolic.ir.program import Program


class OwnMeaning:
    """A program without holes as a function of its inputs, symbolic ones or numbers; it gives its outputs by name."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __call__(self, *arrays: Any) -> Mapping[str, Any]:
        from swizzle.language.specs.launching import launched

        return launched(self.program, arrays)
