"""The second description of maps that are affine over bits: by their values at 0 and at the powers of two.

A map is affine where f(x ^ y) = f(x) ^ f(y) ^ f(0). So it is any function of 0, of the powers of two of i and of those
of k, one bit of a value chosen at a time, and at any other point it is what these make by exclusive or.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symbolic.second.formulas import Cases, both, no, some_of
from templates.second.groups import OneOf, Point


class XorHole:
    """`?sw_xform(i, n, k)`, n a power of two."""

    def __init__(self, n: int, points: Sequence[Point]) -> None:
        self.n = n
        self.width = len(f"{n - 1:b}")
        powers = [(1 << j, 0) for j in range(self.width)]
        highest = max((point[1] for point in points if len(point) > 1), default=0)
        powers += [(0, 1 << j) for j in range(highest.bit_length())]
        self.bases = [(0, 0), *powers]
        self._bits = {base: [OneOf((1, 0)) for _ in range(self.width)] for base in self.bases}
        self.groups = [group for some in self._bits.values() for group in some]
        self._known: dict[Point, Cases] = {}

    def at(self, point: Point) -> Cases:
        if point not in self._known:
            bits = [some_of(()) for _ in range(self.width)]
            for base in self._of(point[0], point[1] if len(point) > 1 else 0):
                ones = [group.literals[0] for group in self._bits[base]]
                bits = [some_of((both(a, no(b)), both(no(a), b))) for a, b in zip(bits, ones, strict=True)]
            cases = {
                value: both(*(bit if value >> r & 1 else no(bit) for r, bit in enumerate(bits)))
                for value in range(self.n)
            }
            self._known[point] = {value: when for value, when in cases.items() if not when.is_false()}
        return self._known[point]

    def _of(self, i: int, k: int) -> list[tuple[int, int]]:
        """Return the bases that make a point, 0 among them."""
        return [base for base in self.bases if base[0] & i == base[0] and base[1] & k == base[1]]

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        values = {
            base: sum(group.chosen(model) << r for r, group in enumerate(some)) for base, some in self._bits.items()
        }

        def function(arguments: Sequence[Any]) -> Any:
            i, k = arguments[0], arguments[1] if len(arguments) > 1 else 0
            found: Any = i * 0
            for (own, shift), value in values.items():
                found = found ^ value * (((i & own) == own) & ((k & shift) == shift))
            return found

        return function
