"""What an expression is on NumPy's columns: the operators as `meaning.py` says what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from symbolic.expressions.expression import Expression
from symbolic.expressions.meaning import Key, NumberDomain, OperatorTable, evaluate


def _all(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def folded(found: Any, *others: Any) -> Any:
        for each in others:
            found = function(found, each)
        return found

    return folded


def _without_zeros(b: Any) -> bool:
    return bool(b.all() if isinstance(b, np.ndarray) else b)


def _quotients(a: Any, b: Any) -> Any:
    if _without_zeros(b):
        return np.floor_divide(a, b)
    found = np.floor_divide(a, b + np.equal(b, 0))
    return np.where(np.equal(b, 0), np.zeros_like(found), found)


def _remainders(a: Any, b: Any) -> Any:
    if _without_zeros(b):
        return np.remainder(a, b)
    return np.where(np.equal(b, 0), a, np.remainder(a, b + np.equal(b, 0)))


def _whole(*some: Any) -> bool:
    return all(np.asarray(each).dtype.kind in "iub" for each in some)


def _greater(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if _whole(a, b) else np.where(np.less(a, b), b, a)


def _lesser(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if _whole(a, b) else np.where(np.less(b, a), b, a)


ON_COLUMNS: Final[OperatorTable] = {
    "+": _all(np.add), "*": _all(np.multiply), "/": np.divide, "//": _quotients, "%": _remainders,
    "max": _all(_greater), "min": _all(_lesser),
    "exp": np.exp, "log": np.log, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<<": np.left_shift, ">>": np.right_shift, "<": np.less, "<=": np.less_equal, "==": np.equal,
    "and": _all(np.logical_and), "or": _all(np.logical_or), "not": np.logical_not, "select": np.where,
}  # fmt: skip

WHOLE: Final = NumberDomain(ON_COLUMNS)
"""Columns of 64-bit integers, and Python's integers beside them."""
FLOATS: Final = NumberDomain(
    ON_COLUMNS, lambda value: (np.bool_ if isinstance(value, bool) else np.float64)(float(value))
)
"""Columns of doubles, which hold infinities and every whole number below 2 to the 53."""


def on_columns(
    expression: Expression,
    columns: Mapping[str, Any],
    domain: NumberDomain = WHOLE,
    known: dict[Key, Any] | None = None,
) -> Any:
    """Return what an expression is, its names being columns, of whole numbers unless said otherwise.

    >>> from symbolic.expressions.expression import modulo, number_name
    >>> remainder = modulo(number_name("x"), number_name("y"))
    >>> on_columns(remainder, {"x": np.array([7, -7, 7]), "y": np.array([2, 2, 0])}).tolist()
    [1, 1, 7]
    """
    return evaluate(expression, columns, domain, known=known)
