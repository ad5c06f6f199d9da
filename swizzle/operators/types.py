"""In which type printed texts compute an expression, and which types its words have as data."""

from __future__ import annotations

from collections.abc import Mapping

from swizzle.operators.loop import BOOL
from symbolic.expressions.expression import Expression
from symbolic.ir.program import DType


def computed_in(types: Mapping[str, DType], *some: Expression) -> DType:
    """Return the type that numbers are computed in: the widest of their names, floating-point before all."""
    if some[0].truth:
        return BOOL
    found = [types[name] for each in some for name in each.names if types[name] is not BOOL]
    return max(found, key=lambda dtype: (dtype.is_float, dtype.value[1:]), default=DType.I32)


def as_data(dtype: DType) -> DType:
    """Return the type of data that a word is in a kernel: conditions, which would steer there, are numbers."""
    return DType.I32 if dtype is BOOL else dtype
