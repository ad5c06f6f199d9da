"""Numbers that compute without rounding: floats count as the real numbers that they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any


def exact(value: Any) -> Any:
    """Return a number that computes without rounding."""
    return Fraction(value) if isinstance(value, float) else value


def number(value: Any) -> Any:
    """Return a rational in its simplest Python form.

    >>> number(Fraction(4, 2)), number(Fraction(1, 2)), number(Fraction(1, 3))
    (2, 0.5, Fraction(1, 3))
    """
    if value.denominator == 1:
        return int(value)
    try:
        plain = float(value)
    except OverflowError:
        return value
    return plain if Fraction(plain) == value else value


def folded(fold: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return what an operator makes of two numbers, without rounding where they are finite."""
    if isinstance(a, int) and isinstance(b, int):
        return fold(a, b)
    return number(fold(Fraction(a), Fraction(b))) if is_finite(a) and is_finite(b) else fold(a, b)


def is_finite(value: Any) -> bool:
    """Say whether a number is none of the infinities and NaN."""
    return not isinstance(value, float) or math.isfinite(value)


def content(numbers: Iterable[Any]) -> Any:
    """Return the greatest number of which all these are whole multiples.

    >>> content([4, -6]), content([1.5, 2])
    (2, 0.5)
    """
    some = [Fraction(n) for n in numbers]
    return number(Fraction(math.gcd(*(n.numerator for n in some)), math.lcm(*(n.denominator for n in some))))


def over(a: Any, b: Any) -> Any:
    """Return a quotient without rounding."""
    return number(Fraction(a) / Fraction(b))


def reciprocal(value: Any) -> Any:
    """Return what multiplies as a power of two that is not 1 divides, without rounding; None of other numbers."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not is_finite(value) or abs(value) == 1:
        return None
    return over(1, value) if abs(math.frexp(value)[0]) == 0.5 else None
