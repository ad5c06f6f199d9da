"""What is seen of integers' formulas without a solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode


def constant_sum(terms: list[tuple[int, FNode]]) -> int | None:
    """Return a sum of so many times each of some integers, where what is no constant cancels; None otherwise."""
    counts: dict[FNode, int] = {}
    total = 0
    while terms:
        times, node = terms.pop()
        if node.is_constant():
            total += times * node.constant_value()
        elif node.is_plus():
            terms += [(times, each) for each in node.args()]
        elif node.is_minus():
            terms += [(times, node.arg(0)), (-times, node.arg(1))]
        else:
            counts[node] = counts.get(node, 0) + times
    return None if any(counts.values()) else total


def decided(number: FNode, holds: Callable[[int], bool]) -> FNode | None:
    """Return for which of the constants that a number is chosen among something holds; None where it is no such choice.

    A choice among numbers, as lifted functions make, then needs no arithmetic.
    """
    m, choice = manager(), number
    tests: list[tuple[FNode, FNode]] = []
    while choice.is_ite() and choice.arg(1).is_constant():
        tests.append((choice.arg(0), choice.arg(1)))
        choice = choice.arg(2)
    if not tests or not choice.is_constant():
        return None
    found = m.Bool(holds(choice.constant_value()))
    for test, constant in reversed(tests):
        if holds(constant.constant_value()):
            found = test if found.is_false() else found if found.is_true() else m.Or(test, found)
        else:
            found = m.Not(test) if found.is_true() else found if found.is_false() else m.And(m.Not(test), found)
    return found
