"""Elements of unsigned input arrays that accept Python's ints: modulo two to the number of bits.

NumPy refuses `-1 * x` for an unsigned `x`, although its meaning is clear. A specification that contains it runs on
these.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.algebra.numbers import CONVERT, joined
from symbolic.ir.program import DType


def _comparison(function: Callable[[Any, Any], Any]) -> Callable[[Wrapping, Any], Any]:
    def method(self: Wrapping, other: Any) -> Any:
        right = self.lift(other)
        return NotImplemented if right is None else function(self.value, right)

    return method


def _operator(function: Callable[[Any, Any], Any], swap: bool = False) -> Callable[[Wrapping, Any], Any]:
    def method(self: Wrapping, other: Any) -> Any:
        right = self.lift(other)
        if right is None:
            return NotImplemented
        with np.errstate(all="ignore"):
            return wrapping(function(right, self.value) if swap else function(self.value, right))

    return method


class Wrapping(Struct, frozen=True, eq=False):
    """One unsigned element; `value` is NumPy's."""

    value: np.unsignedinteger[Any]

    def lift(self, other: Any) -> Any:
        """Return the other operand for NumPy: an int modulo the element's range, None for what is no number."""
        if isinstance(other, Wrapping):
            return other.value
        if isinstance(other, int) and not isinstance(other, bool):
            return self.value.dtype.type(other % (int(np.iinfo(self.value.dtype).max) + 1))
        return other if isinstance(other, (np.generic, float, bool)) else None

    __add__, __radd__ = _operator(operator.add), _operator(operator.add, swap=True)
    __sub__, __rsub__ = _operator(operator.sub), _operator(operator.sub, swap=True)
    __mul__, __rmul__ = _operator(operator.mul), _operator(operator.mul, swap=True)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv), _operator(operator.floordiv, swap=True)
    __mod__, __rmod__ = _operator(operator.mod), _operator(operator.mod, swap=True)
    __truediv__, __rtruediv__ = _operator(operator.truediv), _operator(operator.truediv, swap=True)
    __and__, __rand__ = _operator(operator.and_), _operator(operator.and_, swap=True)
    __or__, __ror__ = _operator(operator.or_), _operator(operator.or_, swap=True)
    __xor__, __rxor__ = _operator(operator.xor), _operator(operator.xor, swap=True)
    __lshift__, __rshift__ = _operator(operator.lshift), _operator(operator.rshift)

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        return 0 - self

    def __invert__(self) -> Any:
        return self ^ -1

    def __int__(self) -> int:
        return int(self.value)

    def __abs__(self) -> Wrapping:
        return self

    def converted_to(self, target: DType) -> Any:
        """Return the value as a type has it."""
        return wrapping(CONVERT.get()(self.value, target))

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> Any:
        """Return what an operator without Python syntax makes of two values, as min; `swapped`: the other first."""
        a, b = (self.lift(other), self.value) if swapped else (self.value, self.lift(other))
        return wrapping(joined(op, a, b))


def wrapping(value: Any) -> Any:
    """Return an unsigned NumPy scalar as a wrapping one, and anything else as it is."""
    return Wrapping(value) if isinstance(value, np.unsignedinteger) else value


def wrapping_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an unsigned array with wrapping elements, and any other array as it is."""
    if array.dtype.kind != "u":
        return array
    made = np.empty(array.shape, object)
    for at in np.ndindex(array.shape):
        made[at] = wrapping(array[at])
    return made


def unwrapped(value: Any) -> Any:
    """Return what a specification gave, with NumPy's elements in place of wrapping ones."""
    if isinstance(value, Wrapping):
        return value.value
    if isinstance(value, (list, tuple)):
        return type(value)(unwrapped(part) for part in value)
    if isinstance(value, dict):
        return {name: unwrapped(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype == object:
        made = np.empty(value.shape, object)
        for at in np.ndindex(value.shape):
            made[at] = unwrapped(value[at])
        return made
    return value
