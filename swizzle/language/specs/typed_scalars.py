"""What a specification is given and gives where NumPy's types are followed: scalars that know their own type."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from swizzle.language.specs.array_elements import common_kind, kind_of, kind_of_type, settled, with_type
from swizzle.language.specs.data_array import DataArray, array_of, called, cells, kind_of_array, made, result
from symbolic.algebra.datum import Datum
from symbolic.algebra.terms import Terms
from symbolic.ir.functions import ChoiceFunction, row_of
from symbolic.ir.program import DType

_BY_SIGN: Final[dict[str, Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.remainder,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "~": np.invert, "<<": np.left_shift,
    ">>": np.right_shift, "min": np.minimum, "max": np.maximum, "negative": np.negative, "absolute": np.absolute,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def symbolic_array(table: Terms, name: str, shape: tuple[int, ...]) -> DataArray | Datum:
    """Return an input array of distinct variables, or one datum for the shape `()`."""
    if not shape:
        table.scalars.add(name)
        scalar: Datum = with_type(Datum(table, table.atom(name, 0)), kind_of_type(table.types.get(name, DType.F64)))
        return scalar
    some = np.empty(prod(shape), object)
    some[:] = [Datum(table, term) for term in table.atoms(name, len(some))]
    return made(some.reshape(shape), kind_of_type(table.types.get(name, DType.F64)), name)


def in_own_type(value: Any) -> Any:
    """Return what a specification gives, with its integers as their type has them."""
    if isinstance(value, list | tuple):
        return [in_own_type(part) for part in value]
    if isinstance(value, DataArray) or (isinstance(value, Datum) and value.own is not None):
        some = settled(cells(value), kind_of_array(value, cells(value)))
        return some if some.ndim else some[()]
    return value


def _by_type(op: str, *operands: Any) -> Any:
    """Return a function of scalars of NumPy's types, or a function of mathematics of them."""
    if op in _BY_SIGN:
        return called(_BY_SIGN[op], *operands)
    if op == "astype":
        found = array_of(operands[0]).astype(operands[1])
        return result(cells(found), found.kind)
    kinds = [kind_of(each) for each in operands]
    some: list[Any] = [settled(cells(each), kind)[()] for each, kind in zip(operands, kinds, strict=True)]
    first = next(each for each in some if isinstance(each, Datum))
    chosen = isinstance(row_of(op), ChoiceFunction)
    return with_type(first.apply_function(op, some), common_kind(kinds[2:]) if chosen else np.float64)


Datum.by_type = staticmethod(_by_type)
