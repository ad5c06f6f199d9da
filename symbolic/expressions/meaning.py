"""What an expression is, on numbers and on columns of them (`columns.py`): one evaluator for all domains.

An operator means the same in each domain where it has a meaning:

- `//` and `%` round down; as in formulas (`symbolic/solve/floor_division.py`), `a // 0` is 0 and `a % 0` is `a`.
- By zero `/` has no meaning: of numbers that is a ZeroDivisionError, columns have IEEE 754's infinities and NaN.
- `max(a, b)` is b where `a < b`, else a, and `min(a, b)` is b where `b < a`: that counts for NaN and for signed zeros.
- `<<` and `>>` take their amounts as words do: of as many bits as the word has, or of a number below 0, nothing but the
  sign is left. Python's integers have no width; by a number below 0 they are not shifted (`NoNumber`).
- `exp` is an infinity where it is too large, and `log` of 0 is one; of less, columns have NaN, and numbers none.

Python's own numbers (`NUMBERS`) stand for the program as Python runs it: there `//` and `%` by zero are errors, too,
and `/` rounds. Of a choice between numbers only one side is computed, and of `and` and `or` what decides.

On numbers of given sorts (`value_of`) words wrap at every operation, and others are exact.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any, Final, TypeAlias

from symbolic.bottom_up import bottom_up
from symbolic.expressions.expression import NAME, Expression
from symbolic.expressions.formulas import Formulas, Sort

Key: TypeAlias = Any
"""A node; or a node and the kind of numbers that it is computed as, where a domain has several."""
OperatorTable: TypeAlias = Mapping[str, Callable[..., Any]]


class NoNumber(ZeroDivisionError):
    """What has no number is left out wherever a quotient by zero is."""


class NumberDomain:
    """What the operators mean, and constants, where there is one kind of numbers."""

    kinds = False
    """Whether there are several: sorts, or types. Then each is asked for arguments and values of its own."""

    def __init__(
        self, table: OperatorTable, number: Callable[[Any], Any] = lambda value: value, *, lazy: bool = False
    ) -> None:
        self.table, self.number, self.lazy = table, number, lazy

    def arguments(self, key: Key) -> Sequence[Key]:
        """Return what an operator is computed of."""
        found: Sequence[Key] = key.arguments
        return found

    def leaf(self, key: Key, names: Mapping[str, Any]) -> Any:
        """Return what a name stands for, or a constant."""
        return names[key.value] if key.operator == NAME else self.number(key.value)

    def operation(self, key: Key) -> Callable[..., Any]:
        """Return what an operator makes of its arguments' values; of a choice between numbers, of the chosen one's."""
        return self.table[key.operator]


class SeveralKinds(NumberDomain):
    """A domain with several kinds of numbers, each of which has its own constants."""

    kinds = True

    def __init__(self, table: OperatorTable, *, lazy: bool = False) -> None:
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

    def operation(self, key: Key) -> Callable[..., Any]:
        return partial(self.applied, *key)

    def applied(self, node: Expression, kind: Any, *values: Any) -> Any:
        """Return an operator's value."""
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
    expression: Expression, names: Mapping[str, Any], domain: NumberDomain, kind: Any = None,
    known: dict[Key, Any] | None = None,
) -> Any:  # fmt: skip
    """Return what an expression is in a domain; `kind` is what it is computed as, where there are several.

    `known` has the values of what is computed already of the same names, and gets the others.

    >>> from symbolic.expressions.expression import modulo, number_name
    >>> evaluate(modulo(number_name("x"), number_name("y")), {"x": -7, "y": 2}, NUMBERS)
    1
    """
    known = {} if known is None else known
    root = (expression, kind) if domain.kinds else expression
    if not known and not domain.lazy:  # everything is needed, in an order that is the same each time
        for key, operation, arguments in _in_order(root, domain):
            known[key] = domain.leaf(key, names) if operation is None else operation(*[known[a] for a in arguments])
    pending: list[Key] = [root]
    while pending:
        key = pending[-1]
        node = key[0] if domain.kinds else key
        if key in known:
            pending.pop()
        elif not node.arguments:
            known[pending.pop()] = domain.leaf(key, names)
        else:
            arguments = domain.arguments(key)
            if domain.lazy and node.operator in _LAZY:
                arguments = _needed(node, arguments, known)
            missing = [each for each in arguments if each not in known]
            if missing:
                pending += missing
            else:
                known[pending.pop()] = domain.operation(key)(*[known[each] for each in arguments])
    return known[root]


@lru_cache(maxsize=1024)
def _in_order(root: Key, domain: NumberDomain) -> list[tuple[Key, Callable[..., Any] | None, Sequence[Key]]]:
    """Return what is computed for a value, each after what it is computed of; None of the operator is a leaf."""

    def arguments(key: Key) -> Sequence[Key]:
        node = key[0] if domain.kinds else key
        return domain.arguments(key) if node.arguments else ()

    order: dict[Key, None] = {}
    bottom_up(root, arguments, lambda key, _: None, order)
    return [(key, domain.operation(key) if arguments(key) else None, arguments(key)) for key in order]


_LAZY: Final = ("select", "and", "or")


def _needed(node: Expression, keys: Sequence[Key], known: Mapping[Key, Any]) -> Sequence[Key]:
    """Return what is needed of arguments: those that decide, and the next one as long as these are not known."""
    if node.operator == "select":
        test, yes, no = keys
        return (test,) if test not in known else (test, yes if known[test] else no)
    decides = node.operator == "or"
    last = next((at for at, key in enumerate(keys) if key not in known or known[key] == decides), len(keys))
    return keys[: last + 1]


def function_of(names: Sequence[str], results: Sequence[Expression]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of Python's numbers, one for each name, that returns the values of expressions.

    >>> from symbolic.expressions.expression import add, number_name
    >>> function_of(["x"], [add(number_name("x"), number_name("x"))])(4)
    (8,)
    """
    needed: dict[Expression, None] = {}
    for each in results:
        bottom_up(each, _surely, lambda _, __: None, needed)
    uses = Counter([*results, *(each for node in needed for each in node.arguments)])
    spelled = {name: f"v{place}" for place, name in enumerate(names)}
    texts: dict[Key, str] = {}
    lines = [f"def function({', '.join(spelled.values())}):"]
    try:
        for node in needed:
            if uses[node] > 1 and node.arguments:
                lines.append(f" s{len(lines)} = {evaluate(node, spelled, _WRITTEN, known=texts)}")
                texts[node] = f"s{len(lines) - 1}"
        lines.append(f" return {', '.join(evaluate(each, spelled, _WRITTEN, known=texts) for each in results)},")
        scope = dict(_CALLED)
        exec("\n".join(lines), scope)  # our own text, no user's
    except (_TooLong, SyntaxError, MemoryError, RecursionError):  # parentheses within each other, say
        return lambda *numbers: _one_by_one(dict(zip(names, numbers, strict=True)), results)
    function: Callable[..., tuple[Any, ...]] = scope["function"]
    return function


def _one_by_one(names: Mapping[str, Any], results: Sequence[Expression]) -> tuple[Any, ...]:
    known: dict[Key, Any] = {}
    return tuple(evaluate(each, names, NUMBERS, known=known) for each in results)


def _surely(node: Expression) -> Sequence[Expression]:
    """Return what is needed of an operator's arguments whatever the first one is."""
    return node.arguments[:1] if node.operator in _LAZY else node.arguments


# ---- Python's numbers ----------------------------------------------------------------------------------------------


def _exponential(a: Any) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf if a > 0 else 0.0


def _logarithm(a: Any) -> float:
    if a < 0:
        raise NoNumber("the logarithm of a number below 0")
    return math.log(a) if a else -math.inf


def _shifted(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def shifted(a: Any, b: Any) -> Any:
        if b < 0:
            raise NoNumber("a shift by a number below 0")
        return function(a, b)

    return shifted


ON_NUMBERS: Final[OperatorTable] = {
    "+": lambda *some: reduce(operator.add, some), "*": lambda *some: reduce(operator.mul, some),
    "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "max": max, "min": min,
    "exp": _exponential, "log": _logarithm, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": _shifted(operator.lshift), ">>": _shifted(operator.rshift),
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "and": lambda *some: some[-1], "or": lambda *some: some[-1], "not": operator.not_,
    "select": lambda _, chosen: chosen,
}  # fmt: skip
"""The operators of Python's numbers; of `and` and `or`, what decides comes last."""

NUMBERS: Final = NumberDomain(ON_NUMBERS, lambda value: value if isinstance(value, int) else float(value), lazy=True)
"""Python's integers and floats."""


# ---- Python's source, of which functions are made --------------------------------------------------------------------

LONGEST: Final = 4000
"""Characters of a text, which has a part again wherever it is used."""


class _TooLong(Exception):
    """A text is too long to be a function."""


def _written(operator: str) -> Callable[..., str]:
    """Return how an operator of `ON_NUMBERS` is written that is not one of Python's, or as Python's is."""
    called = _CALLED_AS.get(operator)

    def text(*values: str) -> str:
        if sum(map(len, values)) > LONGEST:
            raise _TooLong
        if operator == "select":
            return f"({values[1]} if {values[0]} else {values[2]})"
        if operator == "not":
            return f"(not {values[0]})"
        return f"{called}({', '.join(values)})" if called else f"({f' {operator} '.join(values)})"

    return text


_CALLED_AS: Final = {"max": "max", "min": "min", "exp": "exp", "log": "log", "<<": "left", ">>": "right"}
_CALLED: Final[dict[str, Any]] = {name: ON_NUMBERS[operator] for operator, name in _CALLED_AS.items()} | {
    "inf": math.inf
}
_WRITTEN: Final = NumberDomain({op: _written(op) for op in ON_NUMBERS}, lambda value: f"({NUMBERS.number(value)!r})")


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
