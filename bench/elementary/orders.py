"""Laws of functions that give one of their arguments, decided on few numbers: by all orders that these can be in.

Let a function be made of `max`, `min`, choices and comparisons of x, y and k, of conditions on x or on y alone, and of
comparisons of a key of x with that of y, whatever these compute. Then it gives one of x, y and k, and which one depends
on their order, on whether the conditions hold of each of them, and on the order of their keys. So four values stand for
all numbers, with every order of x, y, z and k, every set of values of which a condition holds, and every order of keys.
That proves a law for all types at once, and for every such condition and key; SMT takes seconds where one has a
product.

A function is as good in other words: with x + k for each x, less k in the end, or with negatives of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import (
    Expression,
    add,
    constant,
    negate,
    number_name,
    subexpressions,
    substituted,
    subtract,
)
from symbolic.expressions.meaning import Key

VALUES: Final = 4
MOST: Final = 8
"""Bits of all conditions and keys."""
Combining: TypeAlias = Callable[[Any, Any], Any]
OfK: TypeAlias = Callable[[Expression], bool | None]


class NotOrdered(Exception):
    """A function computes with its arguments."""


def associative_by_order(node: Expression, of_k: OfK) -> bool:
    """Tell whether a function of x0, y0 and k is associative for all numbers, as orders say.

    `of_k` tells whether a condition on k holds of every number, or of none: as the function may give k, its conditions
    are asked of k, too.
    """
    return any(_law(each, of_k, lambda f, x, y, z: (f(f(x, y), z), f(x, f(y, z)))) for each in conjugates(node))


def commutative_by_order(node: Expression, of_k: OfK) -> bool:
    """Tell whether a function of x0, y0 and k commutes for all numbers, as orders say."""
    return any(_law(each, of_k, lambda f, x, y, _: (f(x, y), f(y, x))) for each in conjugates(node))


def conjugates(node: Expression) -> Iterator[Expression]:
    """Yield a function, and itself in other words, all of which obey the same laws."""
    yield node
    x, y, k = map(number_name, ("x0", "y0", "k"))
    for shift in (k, negate(k)):
        yield subtract(substituted(node, {"x0": add(x, shift), "y0": add(y, shift)}), shift)
    turned = {name: subtract(constant(-1), number_name(name)) for name in ("x0", "y0", "k")}  # ~x, of words
    yield subtract(constant(-1), substituted(node, turned))


def _law(node: Expression, of_k: OfK, sides: Callable[[Combining, Any, Any, Any], tuple[Any, Any]]) -> bool:
    bits: dict[Expression, int] = {}
    try:
        _collect(node, bits)
    except NotOrdered:
        return False
    if sum(bits.values()) > MOST:
        return False
    sets = [np.arange(1 << size) for size in bits.values()]
    x, y, z, k, *held = (each.ravel() for each in np.meshgrid(*[np.arange(VALUES)] * 4, *sets, indexing="ij"))
    holds = dict(zip(bits, held, strict=True))
    possible = np.ones(len(x), bool)
    for condition, those in holds.items():
        known = of_k(substituted(condition, {"x0": number_name("k")})) if condition.truth else None
        if known is not None:
            possible &= (those >> k & 1 == 1) == known

    def function(a: Any, b: Any) -> Any:
        return _value(node, {"x0": a, "y0": b, "k": k}, holds)

    one, other = sides(function, x, y, z)
    return bool((one == other)[possible].all())


def _collect(node: Expression, bits: dict[Expression, int]) -> None:
    """Collect the conditions and keys of x, or of y, that a function asks for, with a bit, or two, for each value.

    Raises NotOrdered where it computes with both.
    """
    if node.operator == "name":
        return
    if node.operator in ("max", "min", "select", "and", "or", "not"):
        for each in node.arguments:
            _collect(each, bits)
        return
    if not node.truth or node.constant:
        raise NotOrdered
    try:
        for each in node.arguments:
            _collect(each, {})
    except NotOrdered:
        if len(node.names - {"k"}) == 1:
            bits[_of_x(node)] = VALUES
        elif _keys(node):
            bits[_of_x(node.arguments[0])] = 2 * VALUES
        else:
            raise


def _keys(node: Expression) -> bool:
    """Tell whether what is compared is the same of x and of y."""
    sides = [each.names - {"k"} for each in node.arguments]
    return all(len(side) == 1 for side in sides) and len({_of_x(each) for each in node.arguments}) == 1


def _of_x(node: Expression) -> Expression:
    """Return what is said of y as said of x."""
    return substituted(node, {"y0": number_name("x0")})


def _value(node: Expression, values: dict[str, Any], holds: dict[Expression, Any]) -> Any:
    """Return what a function is of orders, where it is known of what conditions hold and how keys are ordered."""
    known = dict[Key, Any]()
    for each in subexpressions(node):
        of = each.names - {"k"}
        if each.operator != "name" and len(of) == 1 and _of_x(each) in holds:
            held, at = holds[_of_x(each)], values[next(iter(of))]
            known[each] = held >> at & 1 == 1 if each.truth else held >> 2 * at & 3
    return on_columns(node, values, known=known)
