"""Polynomials over terms, in the two rings of `cuda_out.ptx.normal`, and the numbers that are their coefficients."""

from __future__ import annotations

from typing import Any, TypeAlias

from symbolic.algebra.terms import Term

Factors: TypeAlias = tuple[Term, ...]
Polynomial: TypeAlias = dict[Factors, Any]
"""From products to coefficients: integers or fractions in a sum, masks in an exclusive-or."""


def nearly_equal(a: Any, b: Any, tolerance: float) -> bool:
    """Tell whether numbers differ by no more than a part of the larger one."""
    return bool(abs(a - b) <= tolerance * max(abs(a), abs(b)))


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


def product_of(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply sums of products."""
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
