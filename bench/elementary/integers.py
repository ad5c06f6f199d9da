"""Equations of words that wrap, as equations of integers: a solver knows sums and orders of these better than bits.

A sum of words is the sum of the integers less a multiple of 2 ** bits, such that the result is in the range of the
type. Which multiple is a name of its own. What is proved so holds of words; a product of words that no number scales is
any word, so what is not proved says nothing. It is as quick for 64 bits as for 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from symbolic.expressions.expression import (
    BUILDERS,
    Expression,
    add,
    constant,
    less_equal,
    multiply,
    number_name,
    terms,
)
from symbolic.expressions.formulas import INTEGER, Sort, decide
from symbolic.expressions.quotients import expanded


def equal_as_integers(left: Sequence[Expression], right: Sequence[Expression], sort: Sort, seconds: float) -> bool:
    """Tell whether two tuples of words are shown to be equal for all words of a sort."""
    integers = _Integers(sort)
    claims = [(integers.of(a), integers.of(b)) for a, b in zip(left, right, strict=True)]
    some = [*integers.premises, *(side for claim in claims for side in claim)]
    sorts = dict.fromkeys(sorted({name for each in some for name in each.names}), INTEGER)
    return decide(claims, sorts, integers.premises, effort=seconds).verdict == "proved"


@dataclass
class _Integers:
    """Words as integers, and what is known of the names in them."""

    sort: Sort
    premises: list[Expression] = field(default_factory=list)
    _known: dict[Expression, Expression] = field(default_factory=dict)
    _sums: dict[Expression, Expression] = field(default_factory=dict)

    def of(self, node: Expression) -> Expression:
        """Return a word as an integer in the range of its type, or a condition."""
        if node not in self._known:
            self._known[node] = self._of(node)
        return self._known[node]

    def _of(self, node: Expression) -> Expression:
        if node.operator == "name":
            return self._in_range(node)
        if node.constant:
            return node if node.truth else constant(self._wrapped(node.value))
        if node.operator in ("+", "*"):
            return self._sum(expanded(node))
        return BUILDERS[node.operator](*map(self.of, node.arguments))

    def _sum(self, node: Expression) -> Expression:
        """Return a sum of multiples of words."""
        parts = [constant(0)]
        for scale, what in terms(node):
            scale = self._wrapped(scale)
            scale -= (scale > 1 << self.sort.bits - 1) << self.sort.bits
            if what.constant:
                parts.append(multiply(constant(scale), constant(self._wrapped(what.value))))
            else:
                parts.append(multiply(constant(scale), self._new(what) if what.operator == "*" else self.of(what)))
        total = add(*parts)
        if total not in self._sums:
            turns = number_name(f"turns{len(self._sums)}")
            self._sums[total] = self._in_range(add(total, multiply(constant(-1 << self.sort.bits), turns)))
        return self._sums[total]

    def _new(self, product: Expression) -> Expression:
        if product not in self._known:
            self._known[product] = self._in_range(number_name(f"product{len(self._known)}"))
        return self._known[product]

    def _in_range(self, node: Expression) -> Expression:
        low, high = map(constant, self.sort.limits)
        self.premises += [less_equal(low, node), less_equal(node, high)]
        return node

    def _wrapped(self, value: Any) -> int:
        low = self.sort.limits[0]
        return int((value - low) % (1 << self.sort.bits) + low)
