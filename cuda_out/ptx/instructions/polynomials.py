"""Polynomials over terms, in the two rings of `cuda_out.ptx.instructions.rings`, or over named variables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

Factors: TypeAlias = tuple[Any, ...]
"""Terms, or the names of variables, in order."""
Polynomial: TypeAlias = dict[Factors, Any]
"""From products to coefficients: integers or fractions in a sum, masks in an exclusive-or."""


def signed(value: int, size: int) -> int:
    """Read the low bits of an integer as a signed number."""
    value &= (1 << size) - 1
    return value - (1 << size) if value >> size - 1 else value


def add_to(total: Polynomial, more: Polynomial, times: int = 1) -> None:
    """Add a sum, so many times, to a sum, in place."""
    for factors, coefficient in more.items():
        total[factors] = total.get(factors, 0) + times * coefficient


def plus(a: Polynomial, b: Polynomial, times: int = 1) -> Polynomial:
    """Return a + times * b, without zeros."""
    total = dict(a)
    add_to(total, b, times)
    return {factors: coefficient for factors, coefficient in total.items() if coefficient}


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
        return _over(whole, common)
    total: Polynomial = {}
    for part in parts:
        add_to(total, part)
    return total


def _over(whole: Polynomial, common: int) -> Polynomial:
    """Return a sum of integers divided by a number; its coefficients are few, and each is made once."""
    made = {c: Fraction(c, common) for c in set(whole.values())}
    return {factors: made[c] for factors, c in whole.items()}


def product_of(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply sums of products; fractions as integers, as `sum_of` adds them."""
    if len(left) > 1 < len(right):
        one, other = (lcm(*{c.denominator for c in each.values()}) for each in (left, right))
        if one * other > 1:
            first = {f: c.numerator * (one // c.denominator) for f, c in left.items()}
            second = {f: c.numerator * (other // c.denominator) for f, c in right.items()}
            return _over(product_of(first, second), one * other)
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


def show(found: Polynomial) -> str:
    """Return a polynomial over variables as text.

    >>> show({(): 3, ("block x",): 64})
    '3 + 64*(block x)'
    """
    parts = ["*".join([str(c), *(f"({name})" for name in m)]) if m else str(c) for m, c in sorted(found.items())]
    return " + ".join(parts) or "0"
