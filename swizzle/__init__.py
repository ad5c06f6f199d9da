"""Swizzle: a solver-aided language for GPU kernels with holes.

`from swizzle import sketch, spec, cuda, f32, sw_xform, ...` is all that a sketch needs; nothing here loads a solver
until `solve` is asked for. What can be done with solutions (call, print, draw, explain) is handed in here, so that
below they are data.
"""

from __future__ import annotations

from swizzle.commands import startup as startup  # guards the process before the rest is imported

# isort: split

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from swizzle.language.cuda_namespace import cuda
from swizzle.language.element_types import ArrayType, ElementType, f16, f32, f64, i32, i64, u32, u64
from swizzle.language.parameters import parameter
from swizzle.language.surface import (
    Accumulator,
    accumulator,
    block_load,
    block_store,
    maximum,
    minimum,
    permute_local,
    sw_cond,
    sw_part,
    sw_xform,
    warp_load,
    warp_store,
    zeros,
)
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch, Spec, sketch, spec
from swizzle.solution.solution import Drawn, Explained, Limits, Result, Solution, hand_in
from symbolic.errors import SwizzleError

if TYPE_CHECKING:
    from swizzle.costs.cost import Cost, Filled
    from swizzle.search.metasketch import solve
    from swizzle.solution.hole_values import HoleValues

__all__ = [
    "Accumulator",
    "ArrayType",
    "Cost",
    "ElementType",
    "Filled",
    "Limits",
    "Result",
    "Sketch",
    "Solution",
    "Spec",
    "SwizzleError",
    "accumulator",
    "block_load",
    "block_store",
    "cuda",
    "f16",
    "f32",
    "f64",
    "i32",
    "i64",
    "load",
    "maximum",
    "minimum",
    "parameter",
    "permute_local",
    "sketch",
    "solve",
    "spec",
    "sw_cond",
    "sw_part",
    "sw_xform",
    "u32",
    "u64",
    "warp_load",
    "warp_store",
    "zeros",
]


class _Abilities:
    """What can be done with solutions, each loaded when it is asked for."""

    def call(self, solution: Solution, arrays: Sequence[Any], stream: Any) -> None:
        from swizzle.emit.calling import call

        call(solution, arrays, stream)

    def text(self, solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str:
        from swizzle.emit.texts import text_of

        return text_of(solution, emitter)

    def tables(self, solution: Solution) -> dict[str, HoleValues]:
        from swizzle.solution.answered import hole_values

        return hole_values(solution)

    def picture(self, solution: Solution, *, block: int, warp: int, colour: Literal["element", "lane"]) -> Drawn:
        from swizzle.show.picture import picture_of

        return picture_of(solution, block=block, warp=warp, colour=colour)

    def explanation(self, result: Result, timeout: float | None) -> Explained:
        from swizzle.explain.explain import explain_result

        return explain_result(result, timeout)


hand_in(_Abilities())


def __getattr__(name: str) -> Any:
    if name == "solve":
        from swizzle.search.metasketch import solve

        return solve
    if name in ("Cost", "Filled"):
        from swizzle.costs import cost

        return getattr(cost, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
