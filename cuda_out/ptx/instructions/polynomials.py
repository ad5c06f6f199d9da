"""Polynomials over terms, in the two rings of `cuda_out.ptx.instructions.rings`, and their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

from symbolic.algebra.terms import Term

Factors: TypeAlias = tuple[Term, ...]
Polynomial: TypeAlias = dict[Factors, Any]
"""From products to coefficients: integers or fractions in a sum, masks in an exclusive-or."""


def signed(value: int, size: int) -> int:
    """Read the low bits of an integer as a signed number."""
    value &= (1 << size) - 1
    return value - (1 << size) if value >> size - 1 else value


def add_to(total: Polynomial, more: Polynomial) -> None:
    """Add a sum to a sum, in place."""
    for factors, coefficient in more.items():
        total[factors] = total.get(factors, 0) + coefficient


def merge_masks(total: Polynomial, more: Polynomial) -> None:
    """Exclusive-or into an exclusive-or, in place."""
    for factors, mask in more.items():
        total[factors] = total.get(factors, 0) ^ mask


def sum_of(parts: Sequence[Polynomial]) -> Polynomial:
    """Add sums; many fractions are added as integers over one denominator, which takes a fraction of the time."""
    if len(parts) > 2 and (common := lcm(*{c.denominator for part in parts for c in part.values()})) > 1:
        whole: Polynomial = {}
        for part in parts:
            add_to(whole, {f: c.numerator * (common // c.denominator) for f, c in part.items()})
        return {factors: Fraction(c, common) for factors, c in whole.items()}
    total: Polynomial = {}
    for part in parts:
        add_to(total, part)
    return total


def product_of(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply sums of products; fractions as integers, as `sum_of` adds them."""
    if len(left) > 1 < len(right):
        one, other = (lcm(*{c.denominator for c in each.values()}) for each in (left, right))
        if one * other > 1:
            first = {f: c.numerator * (one // c.denominator) for f, c in left.items()}
            second = {f: c.numerator * (other // c.denominator) for f, c in right.items()}
            return {factors: Fraction(c, one * other) for factors, c in product_of(first, second).items()}
    found: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            factors = tuple(sorted(a + b))
            found[factors] = found.get(factors, 0) + x * y
    return found


def conjunction_of(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply exclusive-ors of conjunctions: a factor counts once."""
    found: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            factors = tuple(sorted({*a, *b}))
            found[factors] = found.get(factors, 0) ^ (x & y)
    return found
