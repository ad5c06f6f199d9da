"""Expressions on NumPy's arrays, as printed texts compute them: each in the type of the word that it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np

from swizzle.operators.loop import BOOL
from swizzle.operators.types import computed_in, infinite_summands, stand_in
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.elements import wrapped
from symbolic.expressions.expression import ONE, Expression, terms
from symbolic.ir.program import DType

_FOLD: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "max": lambda a, b: np.where(a < b, b, a), "min": lambda a, b: np.where(b < a, b, a), "*": np.multiply,
    "and": np.logical_and, "or": np.logical_or,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "/": np.divide,
    "//": np.floor_divide, "%": np.mod, "<<": np.left_shift, ">>": np.right_shift,
}  # fmt: skip
_COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"<": np.less, "<=": np.less_equal, "==": np.equal}
_ALONE: Final[Mapping[str, Callable[[Any], Any]]] = {"not": np.logical_not, "exp": np.exp, "log": np.log}


def on_arrays(
    expression: Expression, dtype: DType, values: Mapping[str, Any], types: Mapping[str, DType],
    infinite: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    """Return an expression of arrays in a type; conditions are any numbers that are not 0.

    `infinite` are the names of whole numbers that may be an infinity.
    """

    def value(node: Expression, kind: DType) -> Any:
        match node.operator:
            case "constant":
                return _constant(node.value, kind)
            case "name" if types[node.value] is BOOL:
                return np.asarray(values[node.value]) != 0
            case "name":
                return np.asarray(values[node.value]).astype(NUMPY_DTYPES[kind])
            case "select":
                condition, yes, no = node.arguments
                return np.where(value(condition, BOOL), value(yes, kind), value(no, kind))
            case "+":
                parts = [
                    _constant(number, kind) if what is ONE else _constant(number, kind) * value(what, kind)
                    for number, what in terms(node)
                ]
                found = reduce(np.add, parts)
                for what, sign in () if kind.is_float else infinite_summands(node, infinite or {}):
                    limit = _constant(stand_in(sign, kind), kind)
                    found = np.where(value(what, kind) == limit, limit, found)
                return found
            case "<" | "<=" | "==":
                compared = computed_in(types, *node.arguments)
                return _COMPARE[node.operator](*(value(each, compared) for each in node.arguments))
            case "//" | "%" | "<<" | ">>":
                own = computed_in(types, node.arguments[0])
                found = _FOLD[node.operator](*(value(each, own) for each in node.arguments))
                return found if own is kind else found.astype(NUMPY_DTYPES[kind])
            case "not" | "exp" | "log":
                return _ALONE[node.operator](value(node.arguments[0], kind))
            case _:
                return reduce(_FOLD[node.operator], (value(each, kind) for each in node.arguments))

    found = value(expression, dtype)
    return np.asarray(found).astype(NUMPY_DTYPES[DType.I32 if dtype is BOOL else dtype])[()]


def _constant(value: Any, dtype: DType) -> Any:
    if dtype is BOOL or dtype.is_float:
        return np.asarray(bool(value) if dtype is BOOL else float(value), NUMPY_DTYPES[dtype])[()]
    whole = stand_in(value, dtype) if isinstance(value, float) else wrapped(int(value), dtype)
    return np.asarray(whole, NUMPY_DTYPES[dtype])[()]
