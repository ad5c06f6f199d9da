"""The functions of mathematics on data, `math.exp` and its like, and `where`: for kernels and specifications.

In a specification they take numbers, NumPy's arrays and symbolic data. To the proof, a function means nothing but that
equal arguments give equal values (`symbolic.ir.functions`). In a kernel, Python's own `math.exp` and `numpy.exp`
are read as these.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from math import prod
from types import SimpleNamespace
from typing import Any, Final

from symbolic.algebra.datum import Datum, SymbolicArray, pick
from symbolic.errors import SwizzleError
from symbolic.ir.functions import FUNCTIONS, External, MathFunction, applied, gathered
from symbolic.ir.functions import where as where_row


class DataFunction:
    """A function on data: `math.exp`. Call it in a kernel, or in a specification on numbers or data.

    `on_numbers` is Python's function of that name, where it has one: it is what a lifted function calls.
    """

    def __init__(self, row: MathFunction | External) -> None:
        self.row = row
        self.__name__ = row.symbol
        self.on_numbers: Callable[..., Any] = getattr(python_math, row.symbol, self)
        of = ", ".join(row.operands)
        self.__doc__ = f"{row.symbol}({of}) of float data, f32 or f64."

    def __call__(self, *arguments: Any) -> Any:
        """Apply the function to numbers, NumPy's arrays or data."""
        if len(arguments) != len(self.row.operands):
            raise SwizzleError(
                f"{self.row.symbol} with {len(arguments)} argument{'s' * (len(arguments) != 1)}",
                expected=f"{self.row.symbol}({', '.join(self.row.operands)})",
                fix="pass one value for each name",
            )
        return applied(self.row, list(arguments))

    def __repr__(self) -> str:
        return f"math.{self.row.symbol}"


class MathNamespace(SimpleNamespace):
    """The functions of mathematics on data, and the constants of Python's `math`."""

    def __repr__(self) -> str:
        return "swizzle.math"


def _namespace() -> MathNamespace:
    constants = {name: getattr(python_math, name) for name in ("pi", "e", "tau", "inf")}
    return MathNamespace(**{name: DataFunction(row) for name, row in FUNCTIONS.items()}, **constants)


math: Final[Any] = _namespace()


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return `then` where the condition holds, else `otherwise`; the condition may compare data: `where(a < b, a, b)`.

    Both values are computed. Conditions are combined with `&`, `|` and `~`, in a kernel also with `and`, `or`, `not`.
    """
    if hasattr(condition, "dtype") and getattr(condition, "ndim", False):
        import numpy

        return numpy.where(condition, then, otherwise)
    return pick(_where, condition, then, otherwise)


def _where(op: str, a: Any, b: Any, then: Any, otherwise: Any) -> Any:
    return applied(where_row(op), [a, b, then, otherwise])


def gather(x: Any, *indices: Any) -> Any:
    """Return the element of a read-only array at an index that may be data: `gather(x, columns[i])`.

    There is an index for each dimension. In a kernel, data among them must be within the extent by its declared range,
    `columns=i32.below(64)[130]`. In a specification, `x` is one of its arrays.
    """
    shape = getattr(x, "shape", None)
    if not shape or len(shape) != len(indices):
        found = (
            f"{len(indices)} {'index' if len(indices) == 1 else 'indices'} for an array of {len(shape)} dimensions"
            if shape
            else f"gather from a {type(x).__name__}"
        )
        raise SwizzleError(
            found,
            expected="gather(x, i), with an input array and an index for each dimension",
            fix="pass the array itself, and as many indices as it has dimensions",
        )
    if isinstance(x, SymbolicArray):
        return _gathered(x, indices)
    if hasattr(x, "gather") and any(hasattr(index, "reduce_with") for index in indices):  # NumPy's array of data
        return x.gather(indices)
    for index, extent in zip(indices, shape, strict=True):
        if not 0 <= int(index) < extent:
            raise SwizzleError(
                f"gather at {int(index)} of an extent of {extent}",
                expected="indices within the array",
                fix=f"clamp the index, min(max(i, 0), {extent - 1}), or declare its range, i32.below({extent})[...]",
            )
    return x[tuple(map(int, indices))]


def _gathered(x: SymbolicArray, indices: tuple[Any, ...]) -> Any:
    """Return an element of an input by places that are data: a function of the place in the array, row-major."""
    total: Any = x.offset
    for at, index in enumerate(indices):
        if not isinstance(index, Datum) and not 0 <= index < x.shape[at]:
            raise IndexError(f"index {index} is out of bounds for {x.name} with size {x.shape[at]}")
        total = total + index * prod(x.shape[at + 1 :])
    return total.apply_function(gathered(x.name), [total]) if isinstance(total, Datum) else x[indices]


_BY_NAME: Final = {
    **{row.numpy: row for row in FUNCTIONS.values() if isinstance(row.numpy, str)}, **FUNCTIONS,
    "fix": FUNCTIONS["trunc"],
}  # fmt: skip
"""The functions by Python's names and by NumPy's."""


def data_function(found: object) -> MathFunction | External | None:
    """Return the function on data that an object stands for, which may be Python's or NumPy's; None for others."""
    if isinstance(found, DataFunction):
        return found.row
    if getattr(found, "__module__", None) == "math" or type(found).__name__ == "ufunc":
        return _BY_NAME.get(str(getattr(found, "__name__", "")))
    return None
