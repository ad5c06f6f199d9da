"""Which float types hold a number exactly: where a conversion to fewer bits is certain to change nothing.

Sums, products and quotients of floats of one type count as those of real numbers. A conversion does not:
`double(float(x))` is another number than x, and so is a sum of floats that is read as a double. It changes nothing
where the number is one of the type with fewer bits: an element of such an array, what was rounded to it. Nor is it
more than the arithmetic of that type where it rounds one operation on such numbers: so bf16 is computed, by way of f32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from cuda_out.ptx.kinds import KINDS, width
from symbolic.algebra.numbers import as_numbers
from symbolic.ir.program import DType

FloatTypes: TypeAlias = frozenset[str]
"""Float types, of which each holds a number exactly."""
EVERY: Final[FloatTypes] = frozenset(("bf16", "f16", "f32", "f64"))
WIDER: Final[dict[str, FloatTypes]] = {
    "bf16": EVERY - {"f16"}, "f16": EVERY - {"bf16"}, "f32": frozenset(("f32", "f64")), "f64": frozenset(("f64",)),
}  # fmt: skip
"""The types that hold each number of a type."""
_OF_WIDTH: Final = {16: "f16", 32: "f32", 64: "f64"}
FEW: Final = 4
"""So many units in the last place are few."""
_TAKEN: ContextVar[list[tuple[Any, Any]] | None] = ContextVar("_TAKEN", default=None)
_DIGITS: Final = {dtype.value: dtype.row.digits for dtype in DType if dtype.is_float}


def rounded_number(kind: str, value: Any) -> Fraction | None:
    """Return a number as a type has it; None for what is none there."""
    with np.errstate(all="ignore"):
        found = float(as_numbers(float(value), DType(kind)))
    return Fraction(found) if np.isfinite(found) else None


def same_constant(kind: str, value: Any, said: Any) -> bool:
    """Tell whether a constant of a text is the one that is said, a float of a type or what rounds to one: it differs by
    less than half a unit in the last place of that number, so that no other float is taken for it."""
    if value == said or rounded_number(kind, said) == value:
        return True
    exact, off = abs(Fraction(said)), abs(Fraction(value) - Fraction(said))
    if exact == 0:
        return False
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < Fraction(2) ** exponent
    half = Fraction(2) ** (exponent - max(_DIGITS[kind], _DIGITS["f32"]))
    if off >= half and (taken := _TAKEN.get()) is not None and off < 2 * FEW * half:
        taken.append((value, said))
        return True
    return off < half


@contextmanager
def few_units() -> Iterator[list[tuple[Any, Any]]]:
    """Take constants for the same that differ by few units in the last place, and give all such pairs."""
    token = _TAKEN.set([])
    try:
        found = _TAKEN.get()
        assert found is not None
        yield found
    finally:
        _TAKEN.reset(token)


def holding(value: Fraction) -> FloatTypes:
    """Return the types that hold a number."""
    return frozenset(kind for kind in EVERY if rounded_number(kind, value) == value)


def of_type(kind: str) -> FloatTypes:
    """Return the types that hold all numbers of a type."""
    return WIDER[_OF_WIDTH.get(width(kind), "f64")]


def of_bits(kind: str, bits: int) -> FloatTypes:
    """Return the types that hold the number which a register's bits are."""
    name = _OF_WIDTH.get(width(kind), "f64")
    value = float(np.array([bits & (1 << width(name)) - 1], f"u{width(name) // 8}").view(KINDS[name])[0])
    return holding(Fraction(value)) if np.isfinite(value) else EVERY


def of_integers(size: int) -> FloatTypes:
    """Return the types that hold all integers of so many bits."""
    return frozenset(kind for kind, digits in _DIGITS.items() if size <= digits)
