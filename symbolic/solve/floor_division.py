"""Python's `//`, `%` and `/` as formulas, from the divisions that the solvers have; the only definition of them here.

`//` rounds towards minus infinity and `%` takes the divisor's sign. All are total: by zero, `//` and `/` give 0 and `%`
gives the dividend.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysmt.fnode import FNode


def manager() -> Any:
    """Return what builds formulas; PySMT is loaded when the first one is built."""
    return _environment()().formula_manager


def bit_vector_type(width: int) -> Any:
    """Return PySMT's type of bit-vectors; its own function asks for an environment that nobody may have loaded."""
    return manager().env.type_manager.BVType(width)


@cache
def _environment() -> Callable[[], Any]:
    from pysmt.environment import get_env

    return get_env  # type: ignore[no-any-return]


def floor_div(a: FNode, b: FNode) -> FNode:
    """SMT-LIB's div never leaves a negative remainder, which is the floor when the divisor is positive;
    a / b = -a / -b settles the rest."""
    m = manager()
    zero = m.Int(0)
    if b.is_constant():
        value = b.constant_value()
        return zero if value == 0 else m.Div(a, b) if value > 0 else m.Div(m.Minus(zero, a), m.Int(-value))
    is_zero, negative = m.Equals(b, zero), m.LT(b, zero)
    # The divisor handed to Div is never zero, whatever b becomes: PySMT warns of one, and SMT-LIB leaves it open.
    divisor = m.Ite(is_zero, m.Int(1), m.Ite(negative, m.Minus(zero, b), b))
    return m.Ite(is_zero, zero, m.Div(m.Ite(negative, m.Minus(zero, a), a), divisor))


def floor_mod(a: FNode, b: FNode) -> FNode:
    m = manager()
    return m.Minus(a, m.Times(b, floor_div(a, b)))


def real_div(a: FNode, b: FNode) -> FNode:
    """Divide exactly; by zero it is zero."""
    m = manager()
    zero = m.Real(0)
    if b.is_constant():
        return zero if b.constant_value() == 0 else m.Div(a, b)
    is_zero = m.Equals(b, zero)
    return m.Ite(is_zero, zero, m.Div(a, m.Ite(is_zero, m.Real(1), b)))


def _halvings(b: FNode, *, signed: bool) -> FNode | None:
    """Return by how many places a division by a constant shifts; None where it is by no power of two."""
    value = (b.bv_signed_value() if signed else b.bv_unsigned_value()) if b.is_bv_constant() else 0
    return manager().BV(value.bit_length() - 1, b.bv_width()) if value > 0 and not value & (value - 1) else None


def unsigned_floor_div(a: FNode, b: FNode) -> FNode:
    m, places = manager(), _halvings(b, signed=False)
    if places is not None:
        return m.BVLShr(a, places)
    zero = m.BV(0, b.bv_width())
    return m.Ite(m.Equals(b, zero), zero, m.BVUDiv(a, b))


def signed_floor_mod(a: FNode, b: FNode) -> FNode:
    """SMT-LIB's remainder has the dividend's sign: add the divisor where the signs differ."""
    m = manager()
    if _halvings(b, signed=True) is not None:
        return m.BVAnd(a, m.BVSub(b, m.BV(1, b.bv_width())))
    zero = m.BV(0, b.bv_width())
    remainder = m.BVSRem(a, b)
    wrong = m.And(m.Not(m.Equals(b, zero)), m.Not(m.Equals(remainder, zero)),
                  m.Not(m.Iff(m.BVSLT(remainder, zero), m.BVSLT(b, zero))))  # fmt: skip
    return m.Ite(wrong, m.BVAdd(remainder, b), remainder)


def signed_floor_div(a: FNode, b: FNode) -> FNode:
    """SMT-LIB's quotient rounds towards zero: one less where the remainder had to be corrected."""
    m, places = manager(), _halvings(b, signed=True)
    if places is not None:
        return m.BVAShr(a, places)
    width = b.bv_width()
    zero, one = m.BV(0, width), m.BV(1, width)
    remainder = m.BVSRem(a, b)
    wrong = m.And(m.Not(m.Equals(remainder, zero)), m.Not(m.Iff(m.BVSLT(remainder, zero), m.BVSLT(b, zero))))
    quotient = m.BVSDiv(a, b)
    return m.Ite(m.Equals(b, zero), zero, m.Ite(wrong, m.BVSub(quotient, one), quotient))
