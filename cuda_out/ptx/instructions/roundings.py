"""Which float types hold a number exactly: where a conversion to fewer bits is certain to change nothing.

Sums, products and quotients of floats of one type count as those of real numbers. A conversion does not:
`double(float(x))` is another number than x, and so is a sum of floats that is read as a double. It changes nothing
where the number is one of the type with fewer bits: an element of such an array, what was rounded to it. Nor is it
more than the arithmetic of that type where it rounds one operation on such numbers: so bf16 is computed, by way of f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from cuda_out.ptx.instructions.concrete import Operation
from cuda_out.ptx.kinds import KINDS, is_float, width
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
_DIGITS: Final = {dtype.value: dtype.row.digits for dtype in DType if dtype.is_float}
_CHOICES: Final = frozenset(("selp", "min", "max", "neg", "abs"))
_ONE_ROUNDING: Final = frozenset(("add", "sub", "mul", "div", "rcp", "sqrt", "math"))
"""Operations that are the narrower type's own where they are computed on its numbers in a wider one, and rounded."""


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
    return off < Fraction(2) ** (exponent - max(_DIGITS[kind], _DIGITS["f32"]))


def holding(value: Fraction) -> FloatTypes:
    """Return the types that hold a number."""
    return frozenset(kind for kind in EVERY if rounded_number(kind, value) == value)


def of_bits(kind: str, bits: int) -> FloatTypes:
    """Return the types that hold the number which a register's bits are."""
    name = _OF_WIDTH.get(width(kind), "f64")
    value = float(np.array([bits & (1 << width(name)) - 1], f"u{width(name) // 8}").view(KINDS[name])[0])
    return holding(Fraction(value)) if np.isfinite(value) else EVERY


def of_integers(size: int) -> FloatTypes:
    """Return the types that hold all integers of so many bits."""
    return frozenset(kind for kind, digits in _DIGITS.items() if size <= digits)


def narrows(operation: Operation) -> str | None:
    """Return the type that a conversion rounds to, None for what is no conversion that may round."""
    if operation.name == "bf16.bits":
        return "bf16"
    if operation.name.startswith("cvt.") and is_float(operation.result):
        target, source = operation.name.split(".")[-2:]
        fewer = not is_float(source) or width(target) < width(source)
        return target if fewer and operation.name == f"cvt.{target}.{source}" else None
    return None


def widens(operation: Operation) -> str | None:
    """Return the type that a conversion of floats reads, to which its number was rounded; None for any other."""
    if operation.name == "bf16.number":
        return "bf16"
    if operation.name.startswith("cvt.") and is_float(operation.result):
        target, source = operation.name.split(".")[-2:]
        if is_float(source) and width(source) < width(target) and operation.name == f"cvt.{target}.{source}":
            return source
    return None


def chooses(operation: Operation) -> bool:
    """Tell whether an instruction gives one of its operands, or that with another sign."""
    return operation.name.partition(".")[0] in _CHOICES


def of_result(operation: Operation, operands: Sequence[FloatTypes]) -> FloatTypes:
    """Return the types that hold what an instruction gives, by those of its operands."""
    head, _, rest = operation.name.partition(".")
    own = WIDER[_OF_WIDTH.get(width(operation.result), "f64")]
    if head in _CHOICES:
        return own.union(frozenset.intersection(*operands[: 2 if len(operands) > 1 else 1]))
    if operation.name == "bf16.number":
        return own | WIDER["bf16"]
    if operation.name == "bf16.bits":
        return WIDER["bf16"]
    if head == "cvt" and is_float(operation.result):
        source = operation.sources[0]
        if not is_float(source):
            return own | of_integers(width(source))
        if rest.count(".") == 1 and operation.result in operands[0]:
            return own | operands[0]
    return own


def is_of_type(kind: str, operation: Operation | None, result: FloatTypes, operands: Sequence[FloatTypes]) -> bool:
    """Tell whether rounding to a type what an instruction gave (None: what is no instruction's) is no more than the
    arithmetic of that type."""
    if kind in result:
        return True
    head = operation.name.partition(".")[0] if operation is not None else ""
    return head in _ONE_ROUNDING and all(kind in each for each in operands)
