"""What an expression is on numbers and on NumPy's columns of them: one evaluator, and one table of the operators.

An operator means the same in each domain where it has a meaning:

- `//` and `%` round down; as in formulas (`symbolic/solve/floor_division.py`), `a // 0` is 0 and `a % 0` is `a`.
- By zero `/` has no meaning: numbers raise ZeroDivisionError, columns have IEEE 754's infinities and NaN.
- `max(a, b)` is b where `a < b`, else a, and `min(a, b)` is b where `b < a`: that counts for NaN and for signed zeros.
- `<<` and `>>` take their amounts as words do: of as many bits as the word has, or of a number below 0, nothing but the
  sign is left. Python's integers have no width; by a number below 0 they are not shifted, which is a ValueError.
- `exp` is an infinity where it is too large, and `log` of 0 is one; of less, columns have NaN, numbers a ValueError.

Python's own numbers (`NUMBERS`) stand for the program as Python runs it: there `//` and `%` by zero are errors, too,
and `/` rounds. Of a choice between numbers only one side is computed, and of `and` and `or` what decides.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from symbolic.expressions.expression import NAME, Expression

Key: TypeAlias = Any
"""A node; or a node and the kind of numbers that it is computed as, where a domain has several."""
Function: TypeAlias = Callable[..., Any]


class Domain:
    """What the operators mean, and constants, where there is one kind of numbers."""

    kinds = False
    """Whether there are several: sorts, or types. Then each is asked for arguments and values of its own."""

    def __init__(
        self, table: Mapping[str, Function], number: Function = lambda value: value, *, lazy: bool = False
    ) -> None:
        self.table, self.number, self.lazy = table, number, lazy

    def arguments(self, key: Key) -> Sequence[Key]:
        """Return what an operator is computed of."""
        found: Sequence[Key] = key.arguments
        return found

    def leaf(self, key: Key, names: Mapping[str, Any]) -> Any:
        """Return what a name stands for, or a constant."""
        return names[key.value] if key.operator == NAME else self.number(key.value)

    def applied(self, key: Key, values: Sequence[Any]) -> Any:
        """Return an operator's value, given those of its `arguments`; of a choice between numbers, the chosen one's."""
        return self.table[key.operator](*values)


class Kinds(Domain):
    """A domain with several kinds of numbers, each of which has its own constants."""

    kinds = True

    def __init__(self, table: Mapping[str, Function], *, lazy: bool = False) -> None:
        super().__init__(table, lazy=lazy)
        self._arguments: dict[Key, Sequence[Key]] = {}

    def arguments(self, key: Key) -> Sequence[Key]:
        found = self._arguments.get(key)
        if found is None:
            found = self._arguments[key] = self.arguments_of(*key)
        return found

    def arguments_of(self, node: Expression, kind: Any) -> Sequence[Key]:
        """Return what an operator is computed of."""
        raise NotImplementedError

    def name(self, value: Any, kind: Any) -> Any:
        """Return what a name stands for as a kind has it."""
        raise NotImplementedError

    def constant(self, value: Any, kind: Any) -> Any:
        """Return a number or a truth value as a kind has it."""
        raise NotImplementedError

    def leaf(self, key: Key, names: Mapping[str, Any]) -> Any:
        node, kind = key
        return self.name(names[node.value], kind) if node.operator == NAME else self.constant(node.value, kind)


def evaluate(
    expression: Expression, names: Mapping[str, Any], domain: Domain | None = None, kind: Any = None,
    known: dict[Key, Any] | None = None,
) -> Any:  # fmt: skip
    """Return what an expression is, its names being numbers or columns; by default, columns of whole numbers.

    `known` has the values of what is computed already of the same names, and gets the others.

    >>> from symbolic.expressions.expression import modulo, number_name
    >>> remainder = modulo(number_name("x"), number_name("y"))
    >>> evaluate(remainder, {"x": np.array([7, -7, 7]), "y": np.array([2, 2, 0])}).tolist()
    [1, 1, 7]
    """
    domain = COLUMNS if domain is None else domain
    known = {} if known is None else known
    root = (expression, kind) if domain.kinds else expression
    pending: list[Key] = [root]
    while pending:
        key = pending[-1]
        if key in known:
            pending.pop()
            continue
        node = key[0] if domain.kinds else key
        if not node.arguments:
            known[pending.pop()] = domain.leaf(key, names)
            continue
        arguments = domain.arguments(key)
        if domain.lazy:
            arguments = _needed(node, arguments, known)
        missing = [each for each in arguments if each not in known]
        if missing:
            pending += missing
        else:
            known[pending.pop()] = domain.applied(key, [known[each] for each in arguments])
    return known[root]


def _needed(node: Expression, keys: Sequence[Key], known: Mapping[Key, Any]) -> Sequence[Key]:
    """Return what is needed of arguments: those that decide, and the next one as long as these are not known."""
    if node.operator == "select":
        test, yes, no = keys
        return (test,) if test not in known else (test, yes if known[test] else no)
    if node.operator in ("and", "or"):
        decides = node.operator == "or"
        last = next((at for at, key in enumerate(keys) if key not in known or known[key] == decides), len(keys))
        return keys[: last + 1]
    return keys


def function_of(names: Sequence[str], results: Sequence[Expression]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of Python's numbers, one for each name, that returns the values of expressions."""

    def function(*numbers: Any) -> tuple[Any, ...]:
        values, known = dict(zip(names, numbers, strict=True)), dict[Key, Any]()
        return tuple(evaluate(each, values, NUMBERS, known=known) for each in results)

    return function


# ---- the table -----------------------------------------------------------------------------------------------------


def _all(function: Function) -> Function:
    def folded(found: Any, *others: Any) -> Any:
        for each in others:
            found = function(found, each)
        return found

    return folded


def _exponential(a: Any) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def _logarithm(a: Any) -> float:
    return math.log(a) if a else -math.inf


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


_MEANING: Final[Mapping[str, tuple[Function, Function]]] = {
    "+": (_all(operator.add), _all(np.add)),
    "*": (_all(operator.mul), _all(np.multiply)),
    "/": (operator.truediv, np.divide),
    "//": (operator.floordiv, _quotients),
    "%": (operator.mod, _remainders),
    "max": (max, _all(lambda a, b: np.where(np.less(a, b), b, a))),
    "min": (min, _all(lambda a, b: np.where(np.less(b, a), b, a))),
    "exp": (_exponential, np.exp),
    "log": (_logarithm, np.log),
    "&": (operator.and_, np.bitwise_and),
    "|": (operator.or_, np.bitwise_or),
    "^": (operator.xor, np.bitwise_xor),
    "<<": (operator.lshift, np.left_shift),
    ">>": (operator.rshift, np.right_shift),
    "<": (operator.lt, np.less),
    "<=": (operator.le, np.less_equal),
    "==": (operator.eq, np.equal),
    "and": (lambda *some: some[-1], _all(np.logical_and)),  # of numbers, what decides
    "or": (lambda *some: some[-1], _all(np.logical_or)),
    "not": (operator.not_, np.logical_not),
    "select": (lambda _, chosen: chosen, np.where),
}
"""Each operator of Python's numbers, and of columns."""

ON_NUMBERS: Final = {name: on_numbers for name, (on_numbers, _) in _MEANING.items()}
ON_COLUMNS: Final = {name: on_columns for name, (_, on_columns) in _MEANING.items()}

NUMBERS: Final = Domain(ON_NUMBERS, lambda value: value if isinstance(value, int) else float(value), lazy=True)
"""Python's integers and floats."""
COLUMNS: Final = Domain(ON_COLUMNS)
"""Columns of 64-bit integers, and Python's integers beside them."""
FLOATS: Final = Domain(
    ON_COLUMNS, lambda value: np.bool_(value) if isinstance(value, bool) else np.float64(float(value))
)
"""Columns of doubles, which hold infinities and every whole number below 2 to the 53."""
