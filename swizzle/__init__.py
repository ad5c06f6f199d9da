"""Swizzle: a solver-aided language for GPU kernels with holes.

`from swizzle import sketch, spec, cuda, f32, sw_xform, ...` is all that a sketch needs; nothing here loads a solver
until `solve` is asked for.
"""

from swizzle import startup as startup  # guards the process before the rest is imported

# isort: split

from typing import TYPE_CHECKING, Any

from swizzle.cuda_namespace import cuda
from swizzle.element_types import ArrayType, ElementType, f16, f32, f64, i32, i64, u32, u64
from swizzle.language import (
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
from swizzle.loading import load
from swizzle.parameters import parameter
from swizzle.sketch import Sketch, Spec, sketch, spec
from swizzle.solution import Limits, Result, Solution
from symbolic.errors import SwizzleError

if TYPE_CHECKING:
    from swizzle.search.metasketch import solve

__all__ = [
    "Accumulator",
    "ArrayType",
    "ElementType",
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


def __getattr__(name: str) -> Any:
    if name == "solve":
        from swizzle.search.metasketch import solve

        return solve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
