"""The kinds of symbolic values and their operators; `symbolic.core.values` makes them.

Bit-vectors wrap around; each is unsigned unless it was made `signed`, and that decides about comparisons, division,
`>>` and how an outcome shows it.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, cast

from symbolic.core.booleans import Boolean, BooleanLike, as_condition, describe
from symbolic.core.formulas import constant_sum, decided
from symbolic.core.obligations import demand
from symbolic.core.refusals import Refusals, refuse
from symbolic.errors import SwizzleError
from symbolic.solve.floor_division import (
    floor_div,
    floor_mod,
    manager,
    real_div,
    signed_floor_div,
    signed_floor_mod,
    unsigned_floor_div,
)

if TYPE_CHECKING:
    from pysmt.fnode import FNode

__all__ = [
    "WIDEST", "BitVector", "Boolean", "BooleanLike", "Integer", "IntegerLike", "Real", "Symbolic", "as_condition",
    "bits_of", "check_width", "describe", "power_of_two",
]  # fmt: skip

_ORDER: dict[str, Callable[[int, int], bool]] = {"==": operators.eq, "<": operators.lt, "<=": operators.le}
N = TypeVar("N", bound="IntegerLike")
GREATEST_POWER = 1024
WIDEST = 1 << 16
"""As many bits a bit-vector may have."""


class IntegerLike(Refusals):
    """What integers and bit-vectors share. A subclass says how to lift a Python int and how to build each node."""

    __slots__ = ()
    formula: FNode

    def lift(self: N, other: object, *, exact: bool = False) -> N:
        """Return `other` as a value of this kind; `exact` when its sign matters."""
        raise NotImplementedError

    def like(self: N, formula: FNode) -> N:
        """Return a value of this kind."""
        raise NotImplementedError

    def _build(self, operator: str, left: FNode, right: FNode) -> FNode:
        raise NotImplementedError

    def _operate(self: N, operator: str, other: object, *, swap: bool = False, exact: bool = False) -> N:
        if isinstance(self, Integer) and isinstance(other, Real | Fraction):
            return cast(N, self.to_real()._operate(operator, other, swap=swap))
        right = self.lift(other, exact=exact)
        left, right = (right, self) if swap else (self, right)
        return self.like(self._build(operator, left.formula, right.formula))

    def _compare(self, operator: str, other: object, *, swap: bool = False) -> Boolean:
        if isinstance(self, Integer) and isinstance(other, Real | Fraction):
            return self.to_real()._compare(operator, other, swap=swap)
        left, right = self.formula, self.lift(other, exact=True).formula
        return Boolean(self._build(operator, right, left) if swap else self._build(operator, left, right))

    def __add__(self: N, other: object) -> N:
        return self._operate("+", other)

    def __radd__(self: N, other: object) -> N:
        return self._operate("+", other, swap=True)

    def __sub__(self: N, other: object) -> N:
        return self._operate("-", other)

    def __rsub__(self: N, other: object) -> N:
        return self._operate("-", other, swap=True)

    def __mul__(self: N, other: object) -> N:
        return self._operate("*", other)

    def __rmul__(self: N, other: object) -> N:
        return self._operate("*", other, swap=True)

    def __floordiv__(self: N, other: object) -> N:
        return self._operate("//", other, exact=True)

    def __rfloordiv__(self: N, other: object) -> N:
        return self._operate("//", other, swap=True, exact=True)

    def __mod__(self: N, other: object) -> N:
        return self._operate("%", other, exact=True)

    def __rmod__(self: N, other: object) -> N:
        return self._operate("%", other, swap=True, exact=True)

    def __divmod__(self: N, other: object) -> tuple[N, N]:
        return self // other, self % other

    def __rdivmod__(self: N, other: object) -> tuple[N, N]:
        return other // self, other % self

    def __round__(self: N, digits: object = None) -> N:
        if digits is not None:
            refuse("a whole number is rounded to digits", "round(x) is x")
        return self

    def __trunc__(self: N) -> N:
        return self

    __floor__ = __ceil__ = __trunc__

    def __neg__(self: N) -> N:
        return 0 - self

    def __pos__(self: N) -> N:
        return self

    def __abs__(self: N) -> N:
        return self.like(manager().Ite((self < 0).formula, (-self).formula, self.formula))

    def __pow__(self: N, exponent: int) -> N:
        if not isinstance(exponent, int) or isinstance(exponent, bool) or not 0 <= exponent <= GREATEST_POWER:
            raise SwizzleError(
                f"`**` by {describe(exponent)}", expected=f"a Python integer from 0 to {GREATEST_POWER}", fix="x * x"
            )
        return reduce(lambda product, _: product * self, range(exponent), self.lift(1))

    def __rpow__(self, _: object) -> NoReturn:
        refuse("an exponent that is symbolic", "1 << x, of a bit-vector of the result's width")

    def __eq__(self, other: object) -> Boolean:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: object) -> Boolean:  # type: ignore[override]
        return ~self._compare("==", other)

    def __lt__(self, other: object) -> Boolean:
        return self._compare("<", other)

    def __le__(self, other: object) -> Boolean:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Boolean:
        return self._compare("<", other, swap=True)

    def __ge__(self, other: object) -> Boolean:
        return self._compare("<=", other, swap=True)


@dataclass(frozen=True, slots=True, eq=False)
class Integer(IntegerLike):
    """A symbolic integer without bounds: + - * // % ** and comparisons; << and >> by a Python integer."""

    formula: FNode

    __hash__ = Refusals.__hash__

    def _compare(self, operator: str, other: object, *, swap: bool = False) -> Boolean:
        if type(other) is int:
            meaning = _ORDER[operator]
            known = decided(self.formula, lambda value: meaning(other, value) if swap else meaning(value, other))
            if known is not None:
                return Boolean(known)
        return IntegerLike._compare(self, operator, other, swap=swap)

    def lift(self, other: object, *, exact: bool = False) -> Integer:
        if isinstance(other, Integer):
            return other
        if isinstance(other, int) and not isinstance(other, bool):
            return Integer(manager().Int(other))
        fix = "select(condition, 1, 0)" if isinstance(other, Boolean) else "x.to_real() for fractions"
        if hasattr(type(other), "__index__"):  # NumPy's, and a bool
            fix = "int(...)"
        if isinstance(other, BitVector):
            sign = ", signed=True" if other.signed else ""
            fix = f"v.to_integer(), or x.to_bitvector({other.width}{sign})"
        raise SwizzleError(f"an Integer meets {describe(other)}", expected="an Integer or a Python int", fix=fix)

    def like(self, formula: FNode) -> Integer:
        return Integer(formula)

    def _build(self, operator: str, left: FNode, right: FNode) -> FNode:
        m = manager()
        table: dict[str, Callable[[FNode, FNode], FNode]] = {
            "+": m.Plus, "-": m.Minus, "*": m.Times, "//": floor_div, "%": floor_mod,
            "==": m.Equals, "<": m.LT, "<=": m.LE,
        }  # fmt: skip
        return table[operator](left, right)

    def __invert__(self) -> Integer:
        return -self - 1

    def __lshift__(self, count: int) -> Integer:
        return self * power_of_two(count)

    def __rshift__(self, count: int) -> Integer:
        return self // power_of_two(count)

    def __rlshift__(self, _: object) -> NoReturn:
        refuse("a shift by an Integer", "bitvector(name, width), or x.to_bitvector(width)")

    __rrshift__ = __rlshift__

    def __and__(self, other: object) -> NoReturn:
        refuse("an Integer has no bits to combine", "bitvector(name, width), or `% 2**n` for the lowest n bits")

    __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __and__

    def __truediv__(self, other: object) -> Any:
        return self.to_real() / other if isinstance(other, Real | Fraction) else Refusals.__truediv__(self, other)

    def __rtruediv__(self, other: object) -> Any:
        return other / self.to_real() if isinstance(other, Real | Fraction) else Refusals.__rtruediv__(self, other)

    def to_real(self) -> Real:
        """Return the same number among the fractions."""
        return Real(manager().ToReal(self.formula))

    def to_bitvector(self, width: int, *, signed: bool = False) -> BitVector:
        """Return the number modulo `2**width` as a bit-vector."""
        check_width(width)
        return BitVector(bits_of(self.formula, width), signed)


@dataclass(frozen=True, slots=True, eq=False)
class Real(IntegerLike):
    """A symbolic fraction, exactly: + - * / // % ** and comparisons, also with Integers, ints and Fractions.

    `x // y` is an Integer, the floor of `x / y`. Division is total: `x / 0` and `x // 0` are 0, `x % 0` is x. A float
    is refused, as it is rarely the number that it is written as.
    """

    formula: FNode

    __hash__ = Refusals.__hash__

    def lift(self, other: object, *, exact: bool = False) -> Real:
        if isinstance(other, Real):
            return other
        if isinstance(other, Integer):
            return other.to_real()
        if isinstance(other, int | Fraction) and not isinstance(other, bool):
            return Real(manager().Real(Fraction(other)))
        fix = f"Fraction('{other}')" if isinstance(other, float) else ""
        raise SwizzleError(
            f"a Real meets {describe(other)}", expected="a Real, an Integer, a Python int or a Fraction", fix=fix
        )

    def like(self, formula: FNode) -> Real:
        return Real(formula)

    def _build(self, operator: str, left: FNode, right: FNode) -> FNode:
        m = manager()
        table: dict[str, Callable[[FNode, FNode], FNode]] = {
            "+": m.Plus, "-": m.Minus, "*": m.Times, "/": real_div, "==": m.Equals, "<": m.LT, "<=": m.LE,
        }  # fmt: skip
        return table[operator](left, right)

    def __truediv__(self, other: object) -> Any:
        return self._operate("/", other)

    def __rtruediv__(self, other: object) -> Any:
        return self._operate("/", other, swap=True)

    def _bits(self, *_: object) -> NoReturn:
        refuse("a Real has no bits", "bitvector(name, width)")

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _bits
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _bits

    def _operate(self, operator: str, other: object, *, swap: bool = False, exact: bool = False) -> Any:
        if operator == "//":
            return self._operate("/", other, swap=swap).floor()
        if operator == "%":
            a, b = (self.lift(other), self) if swap else (self, self.lift(other))
            return a - b * (a // b)
        return IntegerLike._operate(self, operator, other, swap=swap)

    def __round__(self, digits: object = None) -> Integer:  # type: ignore[override]
        """Round to the nearest integer, a half to the even one, as Python does."""
        if digits is not None:
            refuse("a Real is rounded to digits", "round(x * 100) * Fraction(1, 100)")
        near = (self + Fraction(1, 2)).floor()
        tie = (near == self + Fraction(1, 2)) & (near % 2 == 1)
        return Integer(manager().Ite(tie.formula, (near - 1).formula, near.formula))

    def floor(self) -> Integer:
        """Return the greatest Integer that is not above it."""
        from symbolic.solve.floors import real_floor

        return Integer(real_floor(self.formula))

    to_integer = __floor__ = floor  # type: ignore[assignment]

    def __ceil__(self) -> Integer:  # type: ignore[override]
        return -(-self).floor()

    def __trunc__(self) -> Integer:  # type: ignore[override]
        return Integer(manager().Ite((self < 0).formula, self.__ceil__().formula, self.floor().formula))


@dataclass(frozen=True, slots=True, eq=False)
class BitVector(IntegerLike):
    """A symbolic machine integer of fixed width that wraps around.

    In + - * & | ^ a Python int may be any number of the width, signed or not; where its sign matters (comparisons,
    // and %) it must be one that the bit-vector can have. A shift's count is unsigned; a large one shifts all out.
    """

    formula: FNode
    signed: bool = False

    __hash__ = Refusals.__hash__

    @property
    def width(self) -> int:
        """The number of bits."""
        return int(manager().env.stc.get_type(self.formula).width)

    @property
    def described(self) -> str:
        """What an error calls it."""
        return f"{'a signed' if self.signed else 'an unsigned'} {self.width}-bit BitVector"

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number it can be."""
        half = 1 << (self.width - 1)
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)

    def lift(self, other: object, *, exact: bool = False) -> BitVector:
        width = self.width
        if isinstance(other, BitVector):
            if other.width != width or other.signed != self.signed:
                raise SwizzleError(
                    f"{describe(self)} meets {describe(other)}", expected="the same width and sign on both sides",
                    fix="resize(width), as_signed() or as_unsigned()",
                )  # fmt: skip
            return other
        if not isinstance(other, int) or isinstance(other, bool):
            sign = ", signed=True" if self.signed else ""
            fix = f"x.to_bitvector({width}{sign}), or v.to_integer()" if isinstance(other, Integer) else ""
            raise SwizzleError(
                f"{describe(self)} meets {describe(other)}", expected="a BitVector or a Python int", fix=fix
            )
        low, high = self.bounds if exact else (-(1 << (width - 1)), (1 << width) - 1)
        if not low <= other <= high:
            number = str(other) if other.bit_length() <= 512 else "a number of more than 512 bits"
            raise SwizzleError(
                f"{number} does not fit {describe(self)}", expected=f"{low} to {high}",
                fix=f"{other % (1 << width)}, its lowest {width} bits, or a wider BitVector: resize(width)",
            )  # fmt: skip
        return self.like(manager().BV(other % (1 << width), width))

    def like(self, formula: FNode) -> BitVector:
        return BitVector(formula, self.signed)

    def _build(self, operator: str, left: FNode, right: FNode) -> FNode:
        m = manager()
        table: dict[str, Callable[[FNode, FNode], FNode]] = {
            "+": m.BVAdd, "-": m.BVSub, "*": m.BVMul, "==": m.Equals, "&": m.BVAnd, "|": m.BVOr, "^": m.BVXor,
            "<<": m.BVLShl,
            ">>": m.BVAShr if self.signed else m.BVLShr,
            "<": m.BVSLT if self.signed else m.BVULT,
            "<=": m.BVSLE if self.signed else m.BVULE,
            "//": signed_floor_div if self.signed else unsigned_floor_div,
            "%": signed_floor_mod if self.signed else m.BVURem,
        }  # fmt: skip
        return table[operator](left, right)

    def __and__(self, other: object) -> BitVector:
        return self._operate("&", other)

    def __or__(self, other: object) -> BitVector:
        return self._operate("|", other)

    def __xor__(self, other: object) -> BitVector:
        return self._operate("^", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> BitVector:
        return self.like(manager().BVNot(self.formula))

    def __lshift__(self, count: object) -> BitVector:
        return self._shift("<<", count)

    def __rlshift__(self, other: object) -> BitVector:
        return self.lift(other) << self

    def __rshift__(self, count: object) -> BitVector:
        return self._shift(">>", count)

    def __rrshift__(self, other: object) -> BitVector:
        return self.lift(other) >> self

    def _shift(self, operator: str, count: object) -> BitVector:
        if isinstance(count, int) and not isinstance(count, bool):
            if count < 0:
                other_way = f"{'>>' if operator == '<<' else '<<'} {-count}"
                raise SwizzleError(f"a shift by {count}", expected="a count that is not negative", fix=other_way)
            # All ones is at least the width.
            fitting = min(count, (1 << self.width) - 1)
            return self.like(self._build(operator, self.formula, manager().BV(fitting, self.width)))
        return self._operate(operator, count)

    def resize(self, width: int) -> BitVector:
        """Return the value in `width` bits: cut off at the top, or extended by zeros or, when signed, by the sign."""
        check_width(width)
        m, more = manager(), width - self.width
        if more < 0:
            return self.like(m.BVExtract(self.formula, 0, width - 1))
        return self.like((m.BVSExt if self.signed else m.BVZExt)(self.formula, more)) if more else self

    def extract(self, high: Any, low: Any) -> BitVector:
        """Return the bits from `high` down to `low`, both of them included, counted from 0 at the lowest; unsigned.

        The two may be symbolic where it is known how many bits there are: `extract(i + 3, i)` are four. That they are
        places of this bit-vector is then an obligation. In lifted functions the number of bits may depend on them.
        """
        if isinstance(high, IntegerLike) or isinstance(low, IntegerLike):
            return self._extracted(high, low)
        if type(high) is not int or type(low) is not int or not 0 <= low <= high < self.width:
            given = " to ".join(str(each) if type(each) is int else describe(each) for each in (high, low))
            raise SwizzleError(
                f"bits {given} of {describe(self)}", expected=f"Python ints, {self.width - 1} >= high >= low >= 0",
                fix="the highest bit comes first; (v >> n) & 1, where the place is a BitVector n",
            )  # fmt: skip
        return BitVector(manager().BVExtract(self.formula, low, high))

    def _extracted(self, high: Any, low: Any) -> BitVector:
        start, end = (place.to_integer() if isinstance(place, BitVector) else place for place in (low, high))
        width = constant_sum([(1, (end - start + 1).formula)])
        if width is None or not 1 <= width <= self.width:
            raise SwizzleError(
                f"bits {describe(high)} to {describe(low)} of {describe(self)}, of which it is not known how many",
                expected="places that are a constant apart", fix="extract(i + 3, i), or (v >> i) & mask",
            )  # fmt: skip
        last = self.width - width
        demand((start >= 0) & (start <= last), f"extract: bits that {describe(self)} has")
        bits = [manager().BVExtract(self.formula, place, place + width - 1) for place in range(last + 1)]
        found = bits[-1]
        for place in reversed(range(last)):
            found = manager().Ite((start == place).formula, bits[place], found)
        return BitVector(found)

    def concat(self, lower: BitVector) -> BitVector:
        """Return these bits above those of another; as wide as both, signed as this one is."""
        if not isinstance(lower, BitVector):
            raise SwizzleError(
                f"{describe(self)} above {describe(lower)}", expected="a BitVector",
                fix="x.to_bitvector(width) of an Integer, or bitvector(name, width)",
            )  # fmt: skip
        return self.like(manager().BVConcat(self.formula, lower.formula))

    def rotate_left(self, count: int) -> BitVector:
        """Return the bits turned by a Python int; a negative one turns them right."""
        if not isinstance(count, int):
            raise SwizzleError(
                f"a rotation by {describe(count)}", expected="a Python int", fix="(v << n) | (v >> (width - n))"
            )
        return self.like(manager().BVRol(self.formula, count % self.width))

    def rotate_right(self, count: int) -> BitVector:
        """Return the bits turned the other way."""
        return self.rotate_left(-count if isinstance(count, int) else count)

    def to_integer(self) -> Integer:
        """Return the number that these bits are, without a width."""
        m = manager()
        natural = m.BVToNatural(self.formula)
        if not self.signed:
            return Integer(natural)
        negative = (self < 0).formula
        return Integer(m.Ite(negative, m.Minus(natural, m.Int(1 << self.width)), natural))

    def as_signed(self) -> BitVector:
        """Return the same bits, read as two's complement."""
        return BitVector(self.formula, True)

    def as_unsigned(self) -> BitVector:
        """Return the same bits, read as a number that is not negative."""
        return BitVector(self.formula, False)


def check_width(width: object) -> None:
    """Raise SwizzleError where something is no number of bits."""
    if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= WIDEST:
        raise SwizzleError(f"a width of {describe(width)}", expected=f"a Python int from 1 to {WIDEST}", fix="8")


def bits_of(number: FNode, width: int) -> FNode:
    """Return an integer's lowest bits; of one that was a bit-vector, the bits that it had."""
    import pysmt.operators as op

    m = manager()
    if number.is_constant():
        return m.BV(number.constant_value() % (1 << width), width)
    signed = number.is_ite() and number.arg(2).node_type() == op.BV_TONATURAL
    natural = number.arg(2) if signed else number
    if natural.node_type() == op.BV_TONATURAL:
        bits = natural.arg(0)
        if not signed or number is BitVector(bits, True).to_integer().formula:
            return BitVector(bits, signed).resize(width).formula
    halves = [number]  # what is left after so many bits
    for _ in range(width):
        halves.append(floor_div(halves[-1], m.Int(2)))
    ones = (m.Equals(m.Minus(a, m.Times(m.Int(2), b)), m.Int(1)) for a, b in pairwise(halves))
    return reduce(lambda low, high: m.BVConcat(high, low), [m.Ite(one, m.BV(1, 1), m.BV(0, 1)) for one in ones])


Symbolic: TypeAlias = Integer | Boolean | BitVector | Real


def power_of_two(count: object) -> int:
    """Return 2 to a shift's count."""
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= WIDEST:
        return 1 << count
    raise SwizzleError(
        f"an Integer is shifted by {describe(count)}", expected=f"a Python integer from 0 to {WIDEST}",
        fix="bitvector(name, width) shifts by symbolic counts",
    )  # fmt: skip
