"""Semirings, and expressions that are linear over one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from symbolic.expressions.expression import (
    GREATEST,
    LEAST,
    ONE,
    ZERO,
    Expression,
    add,
    bits,
    constant,
    divide,
    maximum,
    minimum,
    multiply,
    select,
)


class NotLinear(Exception):
    """An expression is not linear over a semiring."""


@dataclass(frozen=True, slots=True)
class Semiring:
    """Two operators, the second of which distributes over the first: `zero` changes no sum and swallows a product,
    `one` changes no product. `names` are how expressions call the operators."""

    name: str
    names: tuple[str, str]
    plus: Callable[..., Expression]
    times: Callable[..., Expression]
    zero: Expression
    one: Expression


_ALL_BITS: Final = constant(-1)
SEMIRINGS: Final = (
    Semiring("(+, *)", ("+", "*"), add, multiply, ZERO, ONE),
    Semiring("(max, +)", ("max", "+"), maximum, add, LEAST, ZERO),
    Semiring("(min, +)", ("min", "+"), minimum, add, GREATEST, ZERO),
    Semiring("(max, min)", ("max", "min"), maximum, minimum, LEAST, GREATEST),
    Semiring("(min, max)", ("min", "max"), minimum, maximum, GREATEST, LEAST),
    Semiring("(^, &)", ("^", "&"), lambda a, b: bits("^", a, b), lambda a, b: bits("&", a, b), ZERO, _ALL_BITS),
    Semiring("(|, &)", ("|", "&"), lambda a, b: bits("|", a, b), lambda a, b: bits("&", a, b), ZERO, _ALL_BITS),
    Semiring("(&, |)", ("&", "|"), lambda a, b: bits("&", a, b), lambda a, b: bits("|", a, b), _ALL_BITS, ZERO),
)

UNIT: Final = "1"
"""What the coefficient that no variable goes with is kept under."""
Row = Mapping[str, Expression]


def row_of(node: Expression, variables: frozenset[str], ring: Semiring) -> dict[str, Expression]:
    """Return an expression as coefficients of variables; NotLinear where it is no such sum.

    >>> from symbolic.expressions.expression import number_name
    >>> x, v = number_name("x"), number_name("v")
    >>> row_of(maximum(add(x, v), ZERO), frozenset({"x"}), SEMIRINGS[1])
    {'x': v, '1': 0}
    """
    if node.names.isdisjoint(variables):
        return {UNIT: node}
    if node.operator == "name":
        return {node.value: ring.one}
    if node.operator == ring.names[0]:
        found: dict[str, Expression] = {}
        for each in node.arguments:
            for key, coefficient in row_of(each, variables, ring).items():
                found[key] = ring.plus(found[key], coefficient) if key in found else coefficient
        return found
    if node.operator == ring.names[1]:
        inside = [each for each in node.arguments if not each.names.isdisjoint(variables)]
        if len(inside) > 1:
            raise NotLinear
        factor = _folded(ring.times, [each for each in node.arguments if each is not inside[0]])
        return {key: ring.times(factor, each) for key, each in row_of(inside[0], variables, ring).items()}
    if node.operator == "select" and node.arguments[0].names.isdisjoint(variables):
        condition, yes, no = node.arguments
        a, b = row_of(yes, variables, ring), row_of(no, variables, ring)
        return {key: select(condition, a.get(key, ring.zero), b.get(key, ring.zero)) for key in dict.fromkeys([*a, *b])}
    if node.operator == "/" and ring.names == ("+", "*") and node.arguments[1].names.isdisjoint(variables):
        over = divide(ONE, node.arguments[1])
        return {key: multiply(over, each) for key, each in row_of(node.arguments[0], variables, ring).items()}
    raise NotLinear


def _folded(operator: Callable[..., Expression], some: list[Expression]) -> Expression:
    found = some[0]
    for each in some[1:]:
        found = operator(found, each)
    return found
