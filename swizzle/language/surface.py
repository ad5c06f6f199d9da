"""The names that a sketch uses: element types, the `cuda` namespace, holes, accumulators, load/store helpers.

They have signatures and documentation, but no behaviour: the body of a kernel is read as text (`language.frontend`),
never run, and outside a kernel each of them says so. The front end knows a name by the object it stands for, so
`import swizzle as sw; sw.sw_xform(...)` and other aliases work. Paper: sections 3.2 (holes), 4.2 (accumulators),
6.2 (load/store functions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

from swizzle.language.cuda_namespace import CUDA_NAMES, cuda
from swizzle.language.element_types import (
    ElementType,
    bf16,
    caller_place,
    checked_shape,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    kernel_only,
    u8,
    u16,
    u32,
    u64,
)
from swizzle.language.mathematics import gather, math, where
from swizzle.language.operators import Operator, ScanOperator
from symbolic.algebra.operator_laws import LAWS
from symbolic.errors import SwizzleError

# ---- holes -----------------------------------------------------------------------------------------------------


def sw_xform(i: int, n: int, k: int = 0) -> int:
    """A hole: an index in [0, n), a permutation or a broadcast of `i` that may rotate with `k`.

    `i` is an index in [0, n), and `k` any index. `n` is a constant, at most 1024. The hole
    becomes `(c_f * i + c_r * k + c) % n` with the best constants. In Space 3 it may also work inside groups, and in
    Space 4 it may be an exclusive or of bits such as `i ^ k`: docs/solving.md. It is an error in the sketch if `i`
    leaves [0, n) for some thread. Source: the paper, section 5.3.
    """
    kernel_only("sw_xform")


def sw_index(i: int, n: int, k: int = 0, families: str = "xor, rotate") -> int:
    """A hole: an index in [0, n) that is `i` moved by an amount of `k`, by a function of the families that are named.

    `i`, `n` (at most 2048) and `k` are as in `sw_xform`. It is meant for layouts: a device function with this hole,
    called wherever a tile is written and read. `families` are names separated by commas: `xor`, `rotate`, `pad`,
    `xform`, `column_major`, `compose`, `table` (docs/solving.md). Of functions with the same costs, the first family's
    come first, and of these the light ones; a table is looked for where no formula is right.
    """
    kernel_only("sw_index")


def sw_part(n: int, *v: int) -> int:
    """A hole: an index in [0, n), chosen by n - 1 conditions on the indices `v`: which register, or which side.

    It becomes `0 if v1 < v2 + c else 1` and the like, with conditions as in `sw_cond`. `n` is a constant, at most 64.
    Source: the paper, section 5.2.
    """
    kernel_only("sw_part")


def sw_cond(*v: int) -> bool:
    """A hole: a condition on the indices `v`: True, False, or a comparison of two of them, or of one with a number.

    It becomes `v1 <= v2 + c`, `v1 == c` and the like. As `when=` of an accumulate, a
    condition that is false for all threads removes the statement, and the cost counts the statements that are left.
    Source: the paper, section 5.1.
    """
    kernel_only("sw_cond")


def sw_when(i: int, d: int = 1) -> bool:
    """A hole: the condition under which element `i` of a scan takes another one, in the step of distance `d`.

    Together with `sw_from` it is filled by `swizzle.scans`, for every size at once: docs/scans.md. `d` runs through
    powers (1, 2, 4, ...) up or down, or through their exponents.
    """
    kernel_only("sw_when")


def sw_from(i: int, d: int = 1) -> int:
    """A hole: the element that element `i` of a scan takes, in the step of distance `d`, where its `sw_when` holds."""
    kernel_only("sw_from")


def sw_place(j: int) -> int:
    """A hole: where element `j` is kept in a shared array of one axis. All of a kernel are one function, the one with
    the fewest bank conflicts, then bytes, then instructions. Words that the array has beyond its elements are padding.
    """
    kernel_only("sw_place")


# ---- accumulators ----------------------------------------------------------------------------------------------


class Accumulator:
    """What `accumulator(...)` makes in a kernel: use `out.accumulate(...)`, then `out.value`; `out[i]` with a shape."""

    def __getitem__(self, index: int | tuple[int, ...]) -> Accumulator:
        kernel_only("accumulator[...]")

    def accumulate(self, *operands: Any, when: bool = True) -> None:
        """Do `out = out OUTER (a INNER b INNER ...)` for the threads where the condition `when` holds.

        Takes one operand, or more if the accumulator has an inner operator; data of its dtype. Not allowed under `if`:
        use `when`.
        """
        kernel_only("accumulate")

    @property
    def value(self) -> Any:
        """What was accumulated so far, after the final function. A min or max of nothing has no value."""
        kernel_only("value")


def accumulator(
    dtype: ElementType | ScanOperator,
    outer: str | Operator | None = None,
    inner: str | Operator | None = None,
    init: Any = None,
    final: Callable[[Any], Any] | None = None,
    shape: int | tuple[int, ...] | None = None,
) -> Accumulator:
    """Declare a reduction whose order does not matter: `out = accumulator(f32, outer="+", inner="*")`.

    `outer` and `inner` are "+", "*", "min", "max", for integers also "&", "|", "^" ("and", "or", "xor"), or an operator
    of your own. `init` is a constant, the outer operator's neutral element unless given. `final` is a lambda of the
    reduced value, scalars and constants, applied by `.value`. `shape`, an int or up to three, makes an array of
    accumulators. Source: the paper, section 4.2.

    `accumulator(op)` of a scan's operator (`scan_operator`) is a reduction of states in the order of its statements:
    `out.accumulate(op.lift(x[i]))`, and `op.result(out.value)`. It begins with the state `init`, or of no element.
    """
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
    """Load a contiguous chunk of `source` into the local arrays `destination` of a warp's lanes.

    In round r, lane t copies the `stride` elements that begin at `offset + (r * warp_size + shfl(t)) * stride` to
    `destination[r * stride]` and the elements after it. Unless `rounds` is given, there are as many rounds as the local
    array has room for. `shfl` is a lambda of the lane, or of lane and round, or an index; it may contain a hole.
    Elements past the end of `source` give `fill`; an element before its start is an error. In two or three dimensions,
    `shape` arranges the warp, and each argument is a tuple. Source: the paper, section 6.2.
    """
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
    """Store the local arrays `source` of a warp's lanes to a contiguous chunk of `destination`.

    This is `warp_load` in the other direction; elements past the end of `destination` are not stored.
    Source: the paper, section 6.2.
    """
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
    """Load a contiguous chunk of `source` into the shared array `destination`, by all threads of the block.

    Like `warp_load`, with the block's threads instead of lanes: thread t's slice begins at
    `(r * threads + t) * stride`. It contains no barrier: write `cuda.syncthreads()` before you read other threads'
    elements. Source: the paper, section 6.2.
    """
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
    """Store the shared array `source` to a contiguous chunk of `destination`, by all threads of the block.

    This is `block_load` in the other direction; elements past the end of `destination` are not stored. It contains no
    barrier. Source: the paper, section 6.2.
    """
    kernel_only("block_store")


def permute_local(array: Any, shfl: Callable[[int], int]) -> None:
    """Reorder each thread's local array of one dimension in place: element i gets the old value of element `shfl(i)`.

    `shfl` is a lambda of an index; it may contain a hole: `permute_local(mine, lambda i: sw_xform(i, 4, cuda.laneid))`.
    Source: the paper, section 7.3.
    """
    kernel_only("permute_local")


def exchange(mine: Any, theirs: Any, home: Any = None) -> None:
    """Fill each thread's local array `theirs` with elements that threads of its block have in `mine`.

    Which element goes where is not said: it is what the specification needs. `home=sw_home(...)` says in which ways the
    elements may get there, or a name does, `home="shared"`; all ways are allowed unless it is given. Both arrays have
    one dimension and one type; they may be the same. All threads of the block take part.
    """
    kernel_only("exchange")


def sw_home(*homes: str) -> Any:
    """A hole for the way of an `exchange`: the one of those named that takes the fewest clocks.

    "shuffle" stays in registers, "shared" goes through shared memory word by word, "vector" in vectors of up to 16
    bytes. None named means all of them.
    """
    kernel_only("sw_home")


# ---- the sequential part ---------------------------------------------------------------------------------------


def zeros(shape: int | tuple[int, ...]) -> Any:
    """Return a NumPy array of zeros whose elements may be numbers or symbolic values: for specifications.

    `shape` is an int or up to three.
    """
    import numpy

    return numpy.zeros(checked_shape(shape, "zeros", caller_place()), dtype=object)


def minimum(a: Any, *more: Any) -> Any:
    """Return the smallest of some values, or of those of one list, which may be data: for specifications."""
    return reduce(lambda best, value: _extreme("min", best, value), _compared("minimum", a, more))


def maximum(a: Any, *more: Any) -> Any:
    """Return the largest of some values, or of those of one list, which may be data: for specifications."""
    return reduce(lambda best, value: _extreme("max", best, value), _compared("maximum", a, more))


def _compared(name: str, first: Any, more: tuple[Any, ...]) -> Sequence[Any]:
    """Return the values to compare: all arguments, or those of the only one, if it has several."""
    one = hasattr(first, "reduce_with") or getattr(first, "ndim", 1) == 0  # data, or an array of one number
    if more or one or not isinstance(first, Iterable):
        return first, *more
    values = list(first)
    if not values:
        raise SwizzleError(f"{name} of nothing", expected="at least one value", fix=f"{name}(a, b), {name}(values)")
    return values


def _extreme(op: str, a: Any, b: Any) -> Any:
    """Apply `op`; a symbolic value answers through its own `reduce_with`, a number through NumPy."""
    for value, other in ((a, b), (b, a)):
        if hasattr(value, "reduce_with") and not getattr(other, "ndim", 0):
            return value.reduce_with(op, other)
    import numpy

    return getattr(numpy, str(LAWS[op].numpy))(a, b)


# ---- the table that the front end reads ------------------------------------------------------------------------

ELEMENT_TYPES: Final[dict[str, ElementType]] = {
    t.dtype.value: t for t in (f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64)
}

HOLES: Final[dict[str, Callable[..., Any]]] = {
    hole.__name__: hole for hole in (sw_xform, sw_index, sw_part, sw_cond, sw_when, sw_from, sw_place)
}
"""The holes of `templates/holes.py`, written out for their documentation and types."""

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
    "exchange": exchange,
    "sw_home": sw_home,
    "accumulator": accumulator,
    "cuda": cuda,
    "math": math,
    "where": where,
    "gather": gather,
    **{builtin.__name__: builtin for builtin in (range, enumerate, zip, len, min, max, abs)},
}

FUNCTION_NAMES: Final[dict[int, str]] = {
    **{id(value): name for name, value in KERNEL_NAMES.items()},
    **CUDA_NAMES,
}
"""The name of each object of the language, by identity."""
