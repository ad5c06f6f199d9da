"""The names that a sketch uses: element types, the `cuda` namespace, holes, accumulators, load/store helpers.

They have signatures and documentation, but no behaviour: the body of a kernel is read as text (`swizzle.frontend`),
never run, and outside a kernel each of them says so. The front end knows a name by the object it stands for, so
`import swizzle as sw; sw.sw_xform(...)` and other aliases work. Paper: sections 3.2 (holes), 4.2 (accumulators),
6.2 (load/store functions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from swizzle.cuda_namespace import CUDA_NAMES, cuda
from swizzle.element_types import (
    ElementType,
    caller_place,
    checked_shape,
    f16,
    f32,
    f64,
    i32,
    i64,
    kernel_only,
    u32,
    u64,
)

# ---- holes -----------------------------------------------------------------------------------------------------


def sw_xform(i: int, n: int, k: int = 0) -> int:
    """An index to invent: a permutation or broadcast of `i` in [0, n), which may depend on `k`."""
    kernel_only("sw_xform")


def sw_part(n: int, *v: int) -> int:
    """An index to invent in [0, n): `n` partitions of the values of `v`."""
    kernel_only("sw_part")


def sw_cond(*v: int) -> bool:
    """A condition to invent: a comparison over the values of `v`."""
    kernel_only("sw_cond")


# ---- accumulators ----------------------------------------------------------------------------------------------


class Accumulator:
    """What `accumulator(...)` makes in a kernel: `accumulate(...)`, then `value`."""

    def __getitem__(self, index: int | tuple[int, ...]) -> Accumulator:
        kernel_only("accumulator[...]")

    def accumulate(self, *operands: Any, when: bool = True) -> None:
        """Combine the operands with the inner operator, and the result into the accumulator with the outer one."""
        kernel_only("accumulate")

    @property
    def value(self) -> Any:
        """The final function of what was accumulated so far."""
        kernel_only("value")


def accumulator(
    dtype: ElementType,
    outer: str,
    inner: str | None = None,
    init: float | None = None,
    final: Callable[[Any], Any] | None = None,
    shape: int | tuple[int, ...] | None = None,
) -> Accumulator:
    """A reduction whose order does not matter; operators: + * min max & | ^ (also 'and', 'or', 'xor')."""
    kernel_only("accumulator")


# ---- load and store helpers ------------------------------------------------------------------------------------

Count: TypeAlias = int | tuple[int, ...]
"""One int, or one for each dimension of the arrays."""
Shuffling: TypeAlias = Callable[..., int] | int | tuple[Callable[..., int] | int | None, ...] | None
"""Whose slice a thread moves: a function of its number, and of the round where it wants; one for each dimension."""


def warp_load(
    source: Any,
    destination: Any,
    offset: Count = 0,
    stride: Count = 1,
    rounds: Count | None = None,
    shfl: Shuffling = None,
    fill: float = 0,
    shape: Count | None = None,
    transpose: bool = False,
) -> None:
    """Each warp loads a contiguous chunk of `source`, spread over its lanes' local arrays."""
    kernel_only("warp_load")


def warp_store(
    source: Any,
    destination: Any,
    offset: Count = 0,
    stride: Count = 1,
    rounds: Count | None = None,
    shfl: Shuffling = None,
    shape: Count | None = None,
    transpose: bool = False,
) -> None:
    """Each warp stores its lanes' local arrays to a contiguous chunk of `destination`."""
    kernel_only("warp_store")


def block_load(
    source: Any,
    destination: Any,
    offset: Count = 0,
    stride: Count = 1,
    rounds: Count | None = None,
    shfl: Shuffling = None,
    fill: float = 0,
    shape: Count | None = None,
    transpose: bool = False,
) -> None:
    """The whole block loads a contiguous chunk of `source` into a shared array (no barrier is implied)."""
    kernel_only("block_load")


def block_store(
    source: Any,
    destination: Any,
    offset: Count = 0,
    stride: Count = 1,
    rounds: Count | None = None,
    shfl: Shuffling = None,
    shape: Count | None = None,
    transpose: bool = False,
) -> None:
    """The whole block stores a shared array to a contiguous chunk of `destination` (no barrier is implied)."""
    kernel_only("block_store")


def permute_local(array: Any, shfl: Callable[[int], int]) -> None:
    """Reorder each thread's local array in place: element i becomes what element shfl(i) was (a column shuffle)."""
    kernel_only("permute_local")


# ---- the sequential part ---------------------------------------------------------------------------------------


def zeros(shape: int | tuple[int, ...]) -> Any:
    """Return a NumPy array of zeros that holds any value, numbers and symbolic ones: for specifications."""
    import numpy

    return numpy.zeros(checked_shape(shape, "zeros", caller_place()), dtype=object)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two values, which may be data: for specifications."""
    return _extreme("min", a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two values, which may be data: for specifications."""
    return _extreme("max", a, b)


def _extreme(op: str, a: Any, b: Any) -> Any:
    """Apply `op`; a symbolic value answers through its own `reduce_with`, a number through NumPy."""
    for value, other in ((a, b), (b, a)):
        if hasattr(value, "reduce_with"):
            return value.reduce_with(op, other)
    import numpy

    return numpy.minimum(a, b) if op == "min" else numpy.maximum(a, b)


# ---- the table that the front end reads ------------------------------------------------------------------------

ELEMENT_TYPES: Final[dict[str, ElementType]] = {t.dtype.value: t for t in (f16, f32, f64, i32, u32, i64, u64)}

HOLES: Final[dict[str, Callable[..., Any]]] = {"sw_xform": sw_xform, "sw_part": sw_part, "sw_cond": sw_cond}

LOAD_STORE: Final[dict[str, Callable[..., None]]] = {
    "warp_load": warp_load,
    "warp_store": warp_store,
    "block_load": block_load,
    "block_store": block_store,
}

KERNEL_NAMES: Final[dict[str, Any]] = {
    **ELEMENT_TYPES,
    **HOLES,
    **LOAD_STORE,
    "permute_local": permute_local,
    "accumulator": accumulator,
    "cuda": cuda,
    **{builtin.__name__: builtin for builtin in (range, len, min, max, abs)},
}

FUNCTION_NAMES: Final[dict[int, str]] = {
    **{id(value): name for name, value in KERNEL_NAMES.items()},
    **CUDA_NAMES,
}
"""The name of each object of the language, by identity."""
