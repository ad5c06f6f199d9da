"""Numbers that grow by the same in each trip of a loop, and what instructions make of them.

A register of n bits holds v + t * s in trip t, modulo 2^n: a polynomial in t, whose *slope* is s. So instructions say
of it what they say of index values (`cuda_out.ptx.instructions.indices`). Sums and products with what stays the same
hold whatever t is. What reads such a register as a number (a comparison, a wider type) does so for some trips: until
the number leaves its type, or until the comparison has another answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cuda_out.ptx.instructions.indices import Indices
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.polynomials import Polynomial, plus, signed
from cuda_out.ptx.kinds import width
from cuda_out.ptx.syntax import NotInterpreted

FOREVER: Final = 1 << 64
"""More trips than any loop has."""
_TRIP: Final = ("t",)


class NoSlope(Exception):
    """What an instruction gives does not grow by the same in each trip."""


def slope_of(operation: Operation, values: Sequence[int], slopes: Sequence[int]) -> tuple[int, int]:
    """Return the slope of what an operation gives in trip 0, and up to which trip it holds; raise NoSlope.

    `values` are the numbers in trip 0 as the operation's types read them.

        >>> from cuda_out.ptx.instructions.table import decode
        >>> slope_of(decode(("mad", "lo", "s32")), (5, 12, 7), (2, 0, 1))
        (25, 18446744073709551616)
        >>> slope_of(decode(("setp", "lt", "s32")), (5, 12), (2, 0))  # 5, 7, 9, 11 are less, 13 is not
        (0, 3)
    """
    if not any(slopes):
        return 0, FOREVER
    trips, kinds = _Trips({}), operation.sources
    if any(kind == "pred" for kind, slope in zip(kinds, slopes, strict=True) if slope):
        raise NoSlope
    row = [trips.value({(): v, _TRIP: s}, width(kind)) for v, s, kind in zip(values, slopes, kinds, strict=True)]
    try:
        value = trips.evaluate(operation, row)
    except NotInterpreted:
        raise NoSlope from None
    found = trips.polynomial(value, width(operation.result)) if value[1] else {}
    return trips.linear(found)[1], trips.most_trip


def within(value: int, slope: int, kind: str) -> int:
    """Return up to which trip a number stays in its type."""
    size = width(kind)
    least = -(1 << size - 1) if kind[0] == "s" else 0
    if slope > 0:
        return (least + (1 << size) - 1 - value) // slope
    return (value - least) // -slope if slope else FOREVER


class _Trips(Indices):
    """Polynomials in the number of a trip; what is asked of one is answered for trip 0, and up to `most_trip`."""

    most_trip = FOREVER

    def linear(self, found: Polynomial) -> tuple[int, int]:
        """Return the number in trip 0, and the slope."""
        if found.keys() - {(), _TRIP}:
            raise NoSlope
        return found.get((), 0), found.get(_TRIP, 0)

    def bounds(self, found: Polynomial) -> tuple[int, int]:
        raise NoSlope

    def integer(self, found: Polynomial, kind: str) -> Polynomial:
        value, slope = self.linear(found)
        value = signed(value, width(kind)) if kind[0] == "s" else value & (1 << width(kind)) - 1
        self.most_trip = min(self.most_trip, within(value, slope, kind))
        return {(): value, _TRIP: slope}

    def apart(self, a: Polynomial, b: Polynomial) -> tuple[int, int]:
        """Return whether a difference is positive or negative, as long as it is not the other."""
        value, slope = self.linear(plus(a, b, -1))
        sign = (value > 0) - (value < 0) or (slope > 0) - (slope < 0)
        self._holds(sign * value, -sign * slope)
        return min(sign, 0), max(sign, 0)

    def answer(self, compare: str, a: Polynomial, b: Polynomial) -> bool:
        value, slope = self.linear(plus(a, b, -1))
        below, above = value < 0, value > 0
        match compare:
            case "lt" | "ge":
                self._holds(-1 - value if below else value, slope if below else -slope)
                return below == (compare == "lt")
            case "gt" | "le":
                self._holds(value - 1 if above else -value, -slope if above else slope)
                return above == (compare == "gt")
            case _:
                if value:
                    self._holds(abs(value) - 1, slope if below else -slope)
                else:
                    self._holds(0, abs(slope))
                return (value == 0) == (compare == "eq")

    def _holds(self, room: int, shrinks: int) -> None:
        """Note that an answer is given as long as a room, which shrinks by so much in each trip, is not negative."""
        if shrinks > 0:
            self.most_trip = min(self.most_trip, room // shrinks)
