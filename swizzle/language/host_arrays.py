"""What a host function does while it is read: arrays that are handed on, and the launches of kernels on them."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from msgspec import Struct, field

from swizzle.language.element_types import ArrayType, ElementType, VectorType, caller_place, checked_shape
from symbolic.errors import Place, SwizzleError


class HostArray(Struct, frozen=True, eq=False):
    """An array or scalar of a host function, by name; it is handed to kernels, and has no elements here."""

    name: str
    type: ArrayType
    place: Place

    def _refuse(self, *_: object) -> Any:
        raise SwizzleError(
            f"{self.name} is computed with in a host function",
            place=caller_place(),
            expected="launches of kernels, and cuda.device_array(shape, dtype) for what they hand on",
            fix="compute it in a kernel",
        )

    __getitem__ = __setitem__ = __len__ = __iter__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __bool__ = __lt__ = __gt__ = __call__ = _refuse


class SeenLaunch(Struct, frozen=True):
    """A kernel and what it is launched on, in the order of its parameters."""

    kernel: Any
    given: tuple[Any, ...]
    place: Place


class Launches(Struct):
    """What a host function has done so far, in order."""

    scratch: list[HostArray] = field(default_factory=list)
    launches: list[SeenLaunch] = field(default_factory=list)


LAUNCHES: ContextVar[Launches | None] = ContextVar("LAUNCHES", default=None)
"""The host function that is being read; None where none is."""


def device_array(shape: int | tuple[int, ...], dtype: ElementType | VectorType) -> Any:
    """Make an array that kernels of a host function hand on: `total = cuda.device_array(8, f32)`.

    Only in a function under `@host(...)`. The printed host function takes memory for all such arrays from its caller.
    """
    made, place = LAUNCHES.get(), caller_place()
    if made is None:
        raise SwizzleError(
            "cuda.device_array outside of a host function",
            place=place,
            expected="its use in the body of a function decorated with @host(...)",
            fix="in a kernel, declare cuda.local.array or cuda.shared.array",
        )
    return add_array(made, shape, dtype, place)


def add_array(made: Launches, shape: int | tuple[int, ...], dtype: Any, place: Place) -> HostArray:
    """Add an array to those that a host function hands on."""
    if not isinstance(dtype, ElementType | VectorType):
        raise SwizzleError(
            f"the type {dtype!r} of a device array", place=place, expected="an element type, such as f32",
            fix="write cuda.device_array(8, f32)",
        )  # fmt: skip
    sizes = (
        dtype.with_lanes(shape, place)
        if isinstance(dtype, VectorType)
        else checked_shape(shape, "cuda.device_array", place)
    )
    kind = ArrayType(dtype.dtype, sizes, "inout")
    array = HostArray(f"scratch{len(made.scratch) + 1}", kind, place)
    made.scratch.append(array)
    return array
