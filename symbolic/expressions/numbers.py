"""What an expression is on numbers of given sorts: words wrap at every operation, others are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from symbolic.expressions.expression import Expression
from symbolic.expressions.formulas import Formulas, Sort
from symbolic.expressions.meaning import ON_NUMBERS, Key, SeveralKinds, evaluate


def value_of(expression: Expression, values: Mapping[str, Any], sorts: Mapping[str, Sort]) -> Any:
    """Return the number or truth value that an expression is; `values` and `sorts` are those of its names.

    >>> from symbolic.expressions.expression import add, number_name
    >>> x = number_name("x")
    >>> value_of(add(x, x), {"x": 100}, {"x": Sort("word", 8)})
    -56
    """
    domain = _domain_of(tuple(sorts.items()))
    return evaluate(expression, values, domain, domain.sort_of(expression))


@lru_cache(maxsize=64)
def _domain_of(sorts: tuple[tuple[str, Sort], ...]) -> _Sorted:
    return _Sorted(dict(sorts))


class _Sorted(SeveralKinds):
    """Words, integers and reals: what formulas of these sorts mean, and what is looked at as a counterexample."""

    def __init__(self, sorts: Mapping[str, Sort]) -> None:
        super().__init__(_EXACT, lazy=True)
        self._formulas = Formulas(sorts)

    def sort_of(self, *some: Expression) -> Sort:
        """Return the sort of expressions, or that of all names."""
        found = filter(None, map(self._formulas.sort_of, some))
        return next(found, None) or self._formulas.common_sort()

    def name(self, value: Any, sort: Sort | None) -> Any:
        return wrapped(value, sort)

    def constant(self, value: Any, sort: Sort | None) -> Any:
        return wrapped(value, sort)

    def arguments_of(self, node: Expression, sort: Sort | None) -> Sequence[Key]:
        if node.operator in ("<", "<=", "=="):
            sort = self.sort_of(*node.arguments)
        elif node.operator == "select":
            return [(node.arguments[0], None), *((each, sort) for each in node.arguments[1:])]
        elif node.truth:
            sort = None
        return [(each, sort) for each in node.arguments]

    def applied(self, node: Expression, sort: Sort | None, *values: Any) -> Any:
        if node.operator in ("<<", ">>") and sort is not None and sort.kind == "word":
            value, amount = values
            values = (value, amount if 0 <= amount < sort.bits else sort.bits)
        found = self.table[node.operator](*values)
        return found if node.truth else wrapped(found, sort)


def wrapped(value: Any, sort: Sort | None) -> Any:
    """Return a number as a word has it; of any other sort, as it is."""
    if sort is None or sort.kind != "word" or isinstance(value, bool | float):
        return value
    low, high = sort.limits
    return (value - low) % (high - low + 1) + low


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return Fraction(a) / Fraction(b)


_EXACT: Final = {
    **ON_NUMBERS,
    "/": _divided, "//": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else a,
}  # fmt: skip
"""The operators of exact numbers, where they differ from Python's: those that divide."""
