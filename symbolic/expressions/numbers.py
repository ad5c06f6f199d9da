"""What an expression is on numbers of given sorts: words wrap at every operation, others are Python's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from symbolic.expressions.expression import NAME, Expression
from symbolic.expressions.formulas import Formulas, Sort


def value_of(expression: Expression, values: Mapping[str, Any], sorts: Mapping[str, Sort]) -> Any:
    """Return the number or truth value that an expression is; `values` and `sorts` are those of its names.

    >>> from symbolic.expressions.expression import add, number_name
    >>> x = number_name("x")
    >>> value_of(add(x, x), {"x": 100}, {"x": Sort("word", 8)})
    -56
    """
    meaning = Formulas(sorts)
    known: dict[tuple[Expression, Sort | None], Any] = {}

    def walk(node: Expression, sort: Sort | None) -> Any:
        key = (node, sort)
        if key not in known:
            known[key] = wrapped(apply(node, sort), sort) if not node.truth else apply(node, sort)
        return known[key]

    def apply(node: Expression, sort: Sort | None) -> Any:
        if node.operator == NAME:
            return values[node.value]
        if node.constant:
            return node.value
        if node.operator == "select":
            return walk(node.arguments[1 if walk(node.arguments[0], None) else 2], sort)
        inner = sort
        if node.operator in ("<", "<=", "=="):
            found = [meaning.sort_of(each) for each in node.arguments]
            inner = next((each for each in found if each is not None), None) or meaning.common_sort()
        elif node.truth:
            inner = None
        return _MEANING[node.operator](*(walk(each, inner) for each in node.arguments))

    return walk(expression, meaning.sort_of(expression) or meaning.common_sort())


def wrapped(value: Any, sort: Sort | None) -> Any:
    """Return a number as a word has it; of any other sort, as it is."""
    if sort is None or sort.kind != "word" or isinstance(value, bool | float):
        return value
    low, high = sort.limits
    return (value - low) % (high - low + 1) + low


def _product(*factors: Any) -> Any:
    found = factors[0]
    for each in factors[1:]:
        found = found * each
    return found


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return Fraction(a) / Fraction(b)


_MEANING: Final[Mapping[str, Callable[..., Any]]] = {
    "+": lambda *some: sum(some), "*": _product, "/": _divided, "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else a, "max": max, "min": min, "exp": math.exp, "log": math.log,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b, "and": lambda *some: all(some),
    "or": lambda *some: any(some), "not": lambda a: not a, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "<<": lambda a, b: a << min(b, 1 << 10), ">>": lambda a, b: a >> min(b, 1 << 10),
}  # fmt: skip
