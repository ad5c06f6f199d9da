"""What expressions divide by, and where they do: the divisor of a choice's side is asked on that side only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

from symbolic.bottom_up import bottom_up
from symbolic.expressions.expression import FALSE, TRUE, Expression, both, either, negation

ARGUMENTS: Final = attrgetter("arguments")


def divisors_in(expressions: Iterable[Expression]) -> dict[Expression, Expression]:
    """Return all divisors of expressions, each with the condition under which something is divided by it."""
    roots = list(expressions)
    divides: dict[Expression, bool] = {}
    for root in roots:
        bottom_up(root, ARGUMENTS, lambda node, inner: node.operator == "/" or any(inner), divides)
    asked = {root: TRUE for root in roots if divides[root]}
    found: dict[Expression, Expression] = {}
    for node in reversed(divides):  # what is outside comes first
        if node not in asked:
            continue
        if node.operator == "/":
            divisor = node.arguments[1]
            found[divisor] = either(found.get(divisor, FALSE), asked[node])
        for inner, condition in _asked(node, divides):
            asked[inner] = either(asked.get(inner, FALSE), both(asked[node], condition))
    return dict(reversed(found.items()))


def _asked(node: Expression, divides: dict[Expression, bool]) -> Iterator[tuple[Expression, Expression]]:
    """Yield what divides of a node's arguments, each with the condition under which it is asked; of `and` and `or`,
    whose order nobody knows, that those which do not divide leave it open."""
    condition = TRUE
    if node.operator == "and":
        condition = both(*(each for each in node.arguments if not divides[each]))
    elif node.operator == "or":
        condition = both(*(negation(each) for each in node.arguments if not divides[each]))
    sides = (TRUE, node.arguments[0], negation(node.arguments[0])) if node.operator == "select" else None
    for place, each in enumerate(node.arguments):
        if divides[each]:
            yield each, condition if sides is None else sides[place]
