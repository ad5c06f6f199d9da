"""In which type printed texts compute an expression, which types its words have as data, and what infinities are.

An infinity of whole numbers is the least or the greatest number of the type, which no other word is: that is part of
what is proved of ranges. Sums with it are said to be it; everything else is as it is with any number.
"""

from __future__ import annotations

from collections.abc import Mapping

from swizzle.operators.loop import BOOL
from symbolic.algebra.operator_laws import limits
from symbolic.expressions.expression import Expression, terms
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


def stand_in(sign: float, dtype: DType) -> int:
    """Return the number of a type of whole numbers that stands for an infinity.

    >>> stand_in(-1, DType.I32)
    -2147483648
    """
    return limits(dtype)[sign > 0]


def infinite_summands(node: Expression, infinite: Mapping[str, int]) -> list[tuple[Expression, int]]:
    """Return what of a sum may be an infinity, each with its sign; `infinite` are the names that may be one."""
    found = []
    for _, what in terms(node):
        signs = {infinite[name] for name in what.names if name in infinite}
        found += [(what, sign) for sign in signs]
    return found


def sums_infinities(node: Expression, infinite: Mapping[str, int]) -> bool:
    """Say whether infinities among these names are in sums only, each once and all of one sign."""
    if node.operator in ("max", "min", "select", "and", "or", "not", "<", "<=", "==", "name", "constant"):
        return all(sums_infinities(each, infinite) for each in node.arguments)
    if node.operator != "+":
        return node.names.isdisjoint(infinite)
    if len({sign for _, sign in infinite_summands(node, infinite)}) > 1:
        return False
    return all(
        what.names.isdisjoint(infinite) or (number == 1 and sums_infinities(what, infinite))
        for number, what in terms(node)
    )
