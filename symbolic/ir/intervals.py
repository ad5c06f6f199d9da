"""Ranges of integers and their arithmetic: a closed interval each, an open end of which is infinite.

What an operation gives is always an over-approximation, in Python's unbounded integers.

    >>> Range(0, 31).floor_mod(Range(8, 8))
    Range(lo=0, hi=7)
    >>> Range(-3, 5).floor_div(Range(4, 4))
    Range(lo=-1, hi=1)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

Bound: TypeAlias = int | float  # an int, or one of the two infinities


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b


def _floor_div(a: Bound, b: Bound) -> Bound:
    if math.isinf(b):
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    return a * (1 if b > 0 else -1) if math.isinf(a) else a // b


class Range(Struct, frozen=True):
    """All integers from lo to hi, both included; an end without a bound is infinite. Only `NOTHING` has none."""

    lo: Bound
    hi: Bound

    def __post_init__(self) -> None:
        assert self.lo <= self.hi or self.lo == -self.hi == math.inf, f"empty range {self.lo}..{self.hi}"

    @property
    def value(self) -> int | None:
        """The only member, or None."""
        return int(self.lo) if self.lo == self.hi else None

    def within(self, lo: Bound, hi: Bound) -> bool:
        return lo <= self.lo and self.hi <= hi

    def join(self, other: Range) -> Range:
        return Range(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, lo: Bound, hi: Bound) -> Range:
        """Narrow to lo..hi; if nothing is left (unreachable code), return the range unchanged."""
        low, high = max(self.lo, lo), min(self.hi, hi)
        return Range(low, high) if low <= high else self

    def __add__(self, other: Range) -> Range:
        return Range(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Range:
        return Range(-self.hi, -self.lo)

    def __sub__(self, other: Range) -> Range:
        return self + -other

    def __mul__(self, other: Range) -> Range:
        return self._corners(other, _times)

    def _corners(self, other: Range, op: Callable[[Bound, Bound], Bound]) -> Range:
        values = [op(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Range(min(values), max(values))

    def _without_zero(self) -> Range:
        if self.lo == 0 < self.hi:
            return Range(1, self.hi)
        return Range(self.lo, -1) if self.lo < 0 == self.hi else self

    def floor_div(self, divisor: Range) -> Range:
        divisor = divisor._without_zero()
        if divisor.lo <= 0 <= divisor.hi:
            largest = max(abs(self.lo), abs(self.hi))
            return Range(-largest, largest)
        return self._corners(divisor, _floor_div)

    def floor_mod(self, divisor: Range) -> Range:
        divisor = divisor._without_zero()
        if divisor.lo > 0 and self.within(0, divisor.lo - 1):
            return self
        n = divisor.value
        if n and not math.isinf(self.lo) and not math.isinf(self.hi) and self.lo // n == self.hi // n:
            ends = (self.lo % n, self.hi % n)
            return Range(min(ends), max(ends))
        result = Range(min(divisor.lo + 1, 0), max(divisor.hi - 1, 0))
        return result.meet(0, self.hi) if divisor.lo > 0 and self.lo >= 0 else result

    def shift_left(self, amount: Range) -> Range:
        return self * Range(2**amount.lo, 2**amount.hi) if amount.within(0, 64) else ANY

    def shift_right(self, amount: Range) -> Range:
        return self.floor_div(Range(2**amount.lo, 2**amount.hi)) if amount.within(0, 64) else ANY

    def bit_and(self, other: Range) -> Range:
        tops = [side.hi for side in (self, other) if side.lo >= 0]
        return Range(0, min(tops)) if tops else self._signed(other)

    def bit_or(self, other: Range) -> Range:
        filled = self.bit_xor(other)
        return filled.meet(max(self.lo, other.lo), math.inf) if filled.lo == 0 else filled

    def bit_xor(self, other: Range) -> Range:
        if self.lo < 0 or other.lo < 0:
            return self._signed(other)
        top = max(self.hi, other.hi)
        return Range(0, math.inf if math.isinf(top) else (1 << int(top).bit_length()) - 1)

    def _signed(self, other: Range) -> Range:
        """Return what so many bits, one of them for the sign, can hold."""
        ends = (self.lo, self.hi, other.lo, other.hi)
        if any(math.isinf(end) for end in ends):
            return ANY
        bits = max(int(end if end >= 0 else ~int(end)).bit_length() for end in ends)
        return Range(-(1 << bits), (1 << bits) - 1)

    def minimum(self, other: Range) -> Range:
        return Range(min(self.lo, other.lo), min(self.hi, other.hi))

    def maximum(self, other: Range) -> Range:
        return Range(max(self.lo, other.lo), max(self.hi, other.hi))

    def absolute(self) -> Range:
        if self.lo >= 0:
            return self
        return -self if self.hi <= 0 else Range(0, max(-self.lo, self.hi))


ANY = Range(-math.inf, math.inf)
NOTHING = Range(math.inf, -math.inf)
"""No integer; it joins with any range, and is no operand."""
