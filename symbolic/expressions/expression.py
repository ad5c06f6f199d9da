"""Expressions over numbers and conditions as plain data, interned and simplified while they are built.

What a lifted function computed is a formula of one domain; read as an expression (`reading.py`) it has a meaning in
each: integers, reals, words that wrap (`formulas.py`), Python's numbers (`text.py`). So every simplification here
holds in all of them: sums are collected, as all are rings, but nothing is moved across a comparison, and two numbers
are compared only where words of every type agree on it. Sums, products, `max`, `min`, `and` and `or` have any number
of arguments: names in alphabetical order, then others in the order in which they were first made.

An infinity is a constant like any other; it is below or above every name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import count
from operator import attrgetter
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from symbolic.bottom_up import bottom_up

Number: TypeAlias = int | Fraction | float
"""An int, a Fraction that is not whole, or an infinity."""

CONSTANT: Final = "constant"
NAME: Final = "name"
_serial = count()
_ARGUMENTS: Final = attrgetter("arguments")


class Expression:
    """A constant (`value`), a name (`value`), or an operator with its arguments; equal ones are the same object."""

    __slots__ = ("__weakref__", "arguments", "names", "operator", "serial", "size", "truth", "value")

    def __init__(self, operator: str, arguments: tuple[Expression, ...], value: Any, truth: bool) -> None:
        self.operator = operator
        self.arguments = arguments
        self.value = value
        self.truth = truth
        self.serial = next(_serial)
        self.size: int = 1 + sum(each.size for each in arguments)
        self.names: frozenset[str] = (
            frozenset({value}) if operator == NAME else frozenset[str]().union(*(each.names for each in arguments))
        )

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.arguments))
        return str(self.value) if not self.arguments else f"{self.operator}({inner})"

    @property
    def constant(self) -> bool:
        """Whether it is a number or a truth value."""
        return self.operator == CONSTANT

    @property
    def infinite(self) -> bool:
        """Whether it is an infinity."""
        return self.operator == CONSTANT and isinstance(self.value, float)


_KNOWN: WeakValueDictionary[tuple[Any, ...], Expression] = WeakValueDictionary()


def _make(operator: str, arguments: Iterable[Expression] = (), value: Any = None, truth: bool = False) -> Expression:
    arguments = tuple(arguments)
    key = (operator, arguments, type(value), value, truth)
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = Expression(operator, arguments, value, truth)
    return found


# ---- leaves ------------------------------------------------------------------------------------------------------


def constant(value: bool | Number) -> Expression:
    """Return a number or a truth value; a float is taken as the number that it is."""
    if isinstance(value, bool):
        return _make(CONSTANT, value=value, truth=True)
    if isinstance(value, float) and not math.isinf(value):
        value = Fraction(value)
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    return _make(CONSTANT, value=value)


def number_name(name: str) -> Expression:
    """Return the number of that name."""
    return _make(NAME, value=name)


def truth_name(name: str) -> Expression:
    """Return the condition of that name."""
    return _make(NAME, value=name, truth=True)


TRUE: Final = constant(True)
FALSE: Final = constant(False)
ZERO: Final = constant(0)
ONE: Final = constant(1)
LEAST: Final = constant(-math.inf)
GREATEST: Final = constant(math.inf)


def _ordered(some: Iterable[Expression]) -> list[Expression]:
    return sorted(some, key=lambda each: (0, each.value, 0) if each.operator == NAME else (1, "", each.serial))


# ---- sums and products -------------------------------------------------------------------------------------------


def terms(expression: Expression) -> list[tuple[Any, Expression]]:
    """Return a sum as coefficients and what each is of; a number is a multiple of ONE."""
    if expression.operator == "+":
        return [term for each in expression.arguments for term in terms(each)]
    if expression.constant:
        return [(expression.value, ONE)]
    if expression.operator == "*" and expression.arguments[0].constant:
        return [(expression.arguments[0].value, _product(expression.arguments[1:]))]
    return [(1, expression)]


def add(*some: Expression) -> Expression:
    """Return the sum; an infinity absorbs what is finite."""
    found: dict[Expression, Any] = {}
    infinite = {each for each in some if each.infinite}
    if infinite:
        if len(infinite) > 1:
            raise ArithmeticError("the sum of both infinities")
        return infinite.pop()
    for each in some:
        for coefficient, what in terms(each):
            found[what] = found.get(what, 0) + coefficient
    parts = [_scaled(found[what], what) for what in _ordered(found) if found[what] != 0]
    if len(parts) > 1 and parts[0].constant:  # numbers come last
        parts = [*parts[1:], parts[0]]
    return _make("+", parts) if len(parts) > 1 else parts[0] if parts else ZERO


def _scaled(coefficient: Any, what: Expression) -> Expression:
    if what is ONE:
        return constant(coefficient)
    if coefficient == 1:
        return what
    factors = what.arguments if what.operator == "*" else (what,)
    return _make("*", (constant(coefficient), *factors))


def _product(factors: tuple[Expression, ...]) -> Expression:
    return factors[0] if len(factors) == 1 else _make("*", factors)


def negate(expression: Expression) -> Expression:
    """Return the negative."""
    return multiply(constant(-1), expression)


def subtract(a: Expression, b: Expression) -> Expression:
    """Return the difference."""
    return add(a, negate(b))


def multiply(*some: Expression) -> Expression:
    """Return the product; of a number and a sum, the sum of products. Infinities have a sign and no zero."""
    coefficient: Any = 1
    factors: list[Expression] = []
    for each in some:
        if each.constant:
            coefficient *= each.value
        elif each.operator == "*":
            for factor in each.arguments:
                if factor.constant:
                    coefficient *= factor.value
                else:
                    factors.append(factor)
        else:
            factors.append(each)
    if coefficient != coefficient or (isinstance(coefficient, float) and factors):
        raise ArithmeticError("a product with an infinity")
    if coefficient == 0 or not factors:
        return constant(coefficient)
    if len(factors) == 1 and factors[0].operator == "+" and coefficient != 1:
        return add(*(multiply(constant(coefficient), each) for each in factors[0].arguments))
    product = _product(tuple(_ordered(factors)))
    return _scaled(coefficient, product)


def power(base: Expression, exponent: int) -> Expression:
    """Return the product of so many."""
    return multiply(*[base] * exponent) if exponent else ONE


def divide(a: Expression, b: Expression) -> Expression:
    """Return the quotient of real numbers; by zero it has no meaning."""
    if b.constant and not b.infinite and b.value != 0:
        return multiply(constant(Fraction(1) / b.value), a)
    return ZERO if a is ZERO else _make("/", (a, b))


def _whole(operator: str, function: Callable[[Any, Any], Any]) -> Callable[[Expression, Expression], Expression]:
    def make(a: Expression, b: Expression) -> Expression:
        if a.constant and b.constant and 0 <= a.value < SMALL and 0 < b.value < SMALL:
            return constant(function(a.value, b.value))
        return _make(operator, (a, b))

    return make


floor_divide: Final = _whole("//", lambda a, b: a // b)
modulo: Final = _whole("%", lambda a, b: a % b)


def exponential(a: Expression) -> Expression:
    """Return e to a number."""
    if a is LEAST:
        return ZERO
    return ONE if a is ZERO else a.arguments[0] if a.operator == "log" else _make("exp", (a,))


def logarithm(a: Expression) -> Expression:
    """Return the natural logarithm."""
    return ZERO if a is ONE else LEAST if a is ZERO else a.arguments[0] if a.operator == "exp" else _make("log", (a,))


def bits(operator: str, a: Expression, b: Expression) -> Expression:
    """Return `&`, `|`, `^`, `<<` or `>>` of two numbers as words have them."""
    if a.infinite or b.infinite:
        raise ArithmeticError("the bits of an infinity")
    if a.constant and b.constant and operator in "&|^":
        return constant({"&": a.value & b.value, "|": a.value | b.value, "^": a.value ^ b.value}[operator])
    absorber, neutral = {"&": (0, -1), "|": (-1, 0), "^": (None, 0)}.get(operator, (None, None))
    for one, other in ((a, b), (b, a)):
        if one.constant and one.value == absorber and absorber is not None:
            return one
        if one.constant and one.value == neutral and neutral is not None:
            return other
    if operator in "&|" and a is b:
        return a
    if operator == "^" and a is b:
        return ZERO
    return _make(operator, _ordered((a, b)) if operator in "&|^" else (a, b))


# ---- order and choice --------------------------------------------------------------------------------------------


def _extreme(operator: str, choose: Callable[..., Any], neutral: Expression, absorber: Expression) -> Any:
    def make(*some: Expression) -> Expression:
        found: dict[Expression, None] = {}
        numbers: list[Any] = []
        for each in some:
            for part in each.arguments if each.operator == operator else (each,):
                if part is absorber:
                    return absorber
                if not part.constant:
                    found[part] = None
                elif part is not neutral:
                    numbers.append(part.value)
        limits = [constant(choose(group)) for group in _comparable(numbers)]
        parts = [*_ordered(found), *limits]
        tests = {part.arguments[0] for part in found if part.operator == "select"}
        if len(tests) == 1 and all(part.operator == "select" for part in found) and len(parts) > 1:
            (test,) = tests
            sides = [[part.arguments[side] if part in found else part for part in parts] for side in (1, 2)]
            return select(test, make(*sides[0]), make(*sides[1]))
        return _make(operator, parts) if len(parts) > 1 else parts[0] if parts else neutral

    return make


maximum: Final[Callable[..., Expression]] = _extreme("max", max, LEAST, GREATEST)
minimum: Final[Callable[..., Expression]] = _extreme("min", min, GREATEST, LEAST)


SMALL: Final = 1 << 31
"""Numbers below are the same words of every type, and negative ones above its negative are in the same order."""


def _comparable(numbers: list[Any]) -> list[list[Any]]:
    """Return numbers in groups in which words of every type have the same order; a fraction is no word."""
    if any(isinstance(number, Fraction) for number in numbers):
        return [numbers]
    groups: dict[Any, list[Any]] = {}
    for number in numbers:
        kind = "negative" if -SMALL <= number < 0 else "small" if 0 <= number < SMALL else number
        groups.setdefault(kind, []).append(number)
    return [groups[kind] for kind in sorted(groups, key=str)]


def _agreed(a: Expression, b: Expression) -> bool:
    """Tell whether two numbers are compared alike as words of every type."""
    if not a.constant or not b.constant or a.truth:
        return a.constant and b.constant
    return a.infinite or b.infinite or len(_comparable([a.value, b.value])) == 1


def less(a: Expression, b: Expression) -> Expression:
    """Return `a < b`."""
    if _agreed(a, b):
        return constant(bool(a.value < b.value))
    return FALSE if a is b or b is LEAST or a is GREATEST else _make("<", (a, b), truth=True)


def less_equal(a: Expression, b: Expression) -> Expression:
    """Return `a <= b`."""
    if _agreed(a, b):
        return constant(bool(a.value <= b.value))
    return TRUE if a is b or a is LEAST or b is GREATEST else _make("<=", (a, b), truth=True)


def equal(a: Expression, b: Expression) -> Expression:
    """Return `a == b`, of two numbers or two conditions."""
    if _agreed(a, b) or (a.constant and b.constant and abs(a.value - b.value) < 2 * SMALL):
        return constant(bool(a.value == b.value))
    if a.truth:
        for one, other in ((a, b), (b, a)):
            if one.constant:
                return other if one.value else negation(other)
        if a is negation(b):
            return FALSE
    return TRUE if a is b else _make("==", _ordered((a, b)), truth=True)


def negation(a: Expression) -> Expression:
    """Return `not a`."""
    match a.operator:
        case "constant":
            return constant(not a.value)
        case "not":
            return a.arguments[0]
        case "<":
            return less_equal(a.arguments[1], a.arguments[0])
        case "<=":
            return less(a.arguments[1], a.arguments[0])
    return _make("not", (a,), truth=True)


def _connective(operator: str, decides: bool) -> Callable[..., Expression]:
    def make(*some: Expression) -> Expression:
        found: dict[Expression, None] = {}
        for each in some:
            for part in each.arguments if each.operator == operator else (each,):
                if part.constant:
                    if part.value == decides:
                        return constant(decides)
                else:
                    found[part] = None
        if any(negation(part) in found for part in found):
            return constant(decides)
        parts = _ordered(found)
        return (
            _make(operator, parts, truth=True) if len(parts) > 1 else parts[0] if parts else constant(not decides)
        )  # fmt: skip

    return make


both: Final = _connective("and", False)
either: Final = _connective("or", True)


def select(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """Return `yes` where the condition holds, else `no`; a choice of the greater or the lesser is `max` or `min`."""
    if condition.constant:
        return yes if condition.value else no
    if yes is no:
        return yes
    if yes.truth:
        if yes.constant:
            return either(condition, no) if yes.value else both(negation(condition), no)
        if no.constant:
            return either(negation(condition), yes) if no.value else both(condition, yes)
    if condition.operator == "not":
        return select(condition.arguments[0], no, yes)
    if condition.operator in ("<", "<="):
        a, b = condition.arguments
        if (yes, no) == (b, a):
            return maximum(a, b)
        if (yes, no) == (a, b):
            return minimum(a, b)
        if (yes is b and _is_bounded("min", no, a, b)) or (no is a and _is_bounded("min", yes, b, a)):
            return maximum(yes, no)
        if (yes is a and _is_bounded("max", no, b, a)) or (no is b and _is_bounded("max", yes, a, b)):
            return minimum(yes, no)
    if yes.operator == "select" and yes.arguments[0] is condition:
        yes = yes.arguments[1]
    if no.operator == "select" and no.arguments[0] is condition:
        no = no.arguments[2]
    if yes is no:
        return yes
    if no.operator == "select" and no.arguments[1] is yes:
        return select(either(condition, no.arguments[0]), yes, no.arguments[2])
    if yes.operator == "select" and yes.arguments[2] is no:
        return select(both(condition, yes.arguments[0]), yes.arguments[1], no)
    return _make("select", (condition, yes, no), truth=yes.truth)


def _is_bounded(operator: str, expression: Expression, number: Expression, edge: Expression) -> bool:
    """Tell whether an expression is the `min` of a number and of bounds that are all at least `edge`; or the `max`, of
    bounds that are all at most that."""
    if expression.operator != operator or number not in expression.arguments:
        return False
    bounds = (each for each in expression.arguments if each is not number)
    return all((less_equal(edge, b) if operator == "min" else less_equal(b, edge)) is TRUE for b in bounds)


# ---- all over again ----------------------------------------------------------------------------------------------

BUILDERS: Final[Mapping[str, Callable[..., Expression]]] = {
    "+": add, "*": multiply, "/": divide, "//": floor_divide, "%": modulo, "max": maximum, "min": minimum,
    "exp": exponential, "log": logarithm, "<": less, "<=": less_equal, "==": equal, "and": both, "or": either,
    "not": negation, "select": select,
    **{each: (lambda a, b, each=each: bits(each, a, b)) for each in ("&", "|", "^", "<<", ">>")},
}  # fmt: skip
"""What builds each operator, by its name."""


def rebuilt(expression: Expression, leaf: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with other leaves, simplified again; of a choice that is decided, only one side."""
    known: dict[Expression, Expression] = {}

    def arguments(node: Expression) -> Sequence[Expression]:
        if node.operator != "select":
            return node.arguments
        condition = known.get(node.arguments[0])
        if condition is None:
            return node.arguments[:1]
        return (node.arguments[1 if condition.value else 2],) if condition.constant else node.arguments

    def made(node: Expression, inner: list[Expression]) -> Expression:
        if not node.arguments:
            return leaf(node)
        return inner[0] if node.operator == "select" and len(inner) == 1 else BUILDERS[node.operator](*inner)

    return bottom_up(expression, arguments, made, known)


def substituted(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return an expression with other expressions for its names."""
    if expression.names.isdisjoint(values):
        return expression
    return rebuilt(expression, lambda leaf: values.get(leaf.value, leaf) if leaf.operator == NAME else leaf)


def decided(expression: Expression, condition: Expression, holds: bool) -> Expression:
    """Return an expression where a condition is known."""
    return replaced(expression, {condition: constant(holds), negation(condition): constant(not holds)})


def replaced(expression: Expression, values: Mapping[Expression, Expression]) -> Expression:
    """Return an expression with others in the place of subexpressions, the largest first."""

    def made(node: Expression, inner: list[Expression]) -> Expression:
        return BUILDERS[node.operator](*inner) if node.arguments else node

    return bottom_up(expression, _ARGUMENTS, made, dict(values))


def rewritten(
    expression: Expression, change: Callable[[Expression, list[Expression]], Expression | None]
) -> Expression:
    """Return an expression made anew from its leaves; `change`, of a node and its new arguments, may be another one."""

    def made(node: Expression, inner: list[Expression]) -> Expression:
        changed = change(node, inner) if node.arguments else node
        return BUILDERS[node.operator](*inner) if changed is None else changed

    return bottom_up(expression, _ARGUMENTS, made)


def subexpressions(expression: Expression) -> Iterable[Expression]:
    """Yield an expression and all that is in it, each once."""
    seen: set[Expression] = set()
    pending = [expression]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending.extend(node.arguments)
