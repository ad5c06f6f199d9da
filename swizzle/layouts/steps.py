"""What is done to a linear address to make a layout of it: five steps, each an injection of the natural numbers.

A layout takes a cell's address in some order of the axes and applies its steps, one after the other. All addresses
count elements. `Pad(32, 1)` after the row-major order of a 32x32 tile is the pitch of 33 that everybody knows;
`swizzle(3, 3, 3)` is CuTe's `Swizzle<3, 3, 3>`:

    >>> x = np.arange(64)
    >>> Pad(8, 1).of(x)[8:12], swizzle(1, 0, 3).of(x)[8:12]
    (array([ 9, 10, 11, 12]), array([ 9,  8, 11, 10]))
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Addresses = npt.NDArray[np.int64]


def padded(x: Any, every: Any, by: Any) -> Any:
    """Leave `by` elements free after each `every` of them."""
    return x + x // every * by


def rotated(x: Any, n: Any, by: Any, per: Any, unit: Any) -> Any:
    """Turn each row of n elements by `by` more than the one before, and by a `unit` more after each `per` rows."""
    row, column = x // n, x % n
    return row * n + (column + by * row + row // per * unit) % n


def exchanged(x: Any, mask: Any, shift: Any) -> Any:
    """Flip those bits of an address that are 1 in the address shifted down, under a mask: CuTe's Swizzle."""
    return x ^ ((x >> shift) & mask)


class Pad(Struct, frozen=True):
    """x + x // every * by: free elements between rows, or between any other stretches."""

    every: int
    by: int

    def of(self, x: Addresses) -> Addresses:
        found: Addresses = padded(x, self.every, self.by)
        return found


class Rotate(Struct, frozen=True):
    """Row r, of n elements, is turned by `by * r + r // per * unit`; where `per` is 0, by `by * r`."""

    n: int
    by: int
    per: int = 0
    unit: int = 1

    def of(self, x: Addresses) -> Addresses:
        found: Addresses = rotated(x, self.n, self.by, self.per or 1, self.unit if self.per else 0)
        return found


class FlipBits(Struct, frozen=True):
    """Bit j of the address flips the bits of `columns[j]`, all of them below j; so no two addresses become one."""

    columns: tuple[int, ...]

    def of(self, x: Addresses) -> Addresses:
        found = x.copy()
        for j, column in enumerate(self.columns):
            if column:
                found ^= ((x >> j) & 1) * column
        return found

    @property
    def ones(self) -> int:
        return sum(column.bit_count() for column in self.columns)

    @property
    def bms(self) -> tuple[int, int, int] | None:
        """CuTe's B, M and S, in elements, where the matrix is one diagonal of neighbouring bits."""
        bits = [(j, column.bit_length() - 1) for j, column in enumerate(self.columns) if column]
        if not bits or any(column & (column - 1) for column in self.columns):
            return None
        (high, low), b = bits[0], len(bits)
        s = high - low
        return (b, low, s) if bits == [(high + i, low + i) for i in range(b)] and s >= b else None


class FlipRun(Struct, frozen=True):
    """x ^ ((x >> shift) & (x ^ (x + 1)) & (2 ** shift - 1)): bits are flipped up to the lowest one that is 0.

    Without `ones`, up to the lowest one that is 1: x - 1 for x + 1. A level of a tree in one array is the addresses
    that end in the same run of bits. Their banks repeat after 2 ** shift of them, wherever a warp begins.
    """

    shift: int
    ones: bool = True

    def of(self, x: Addresses) -> Addresses:
        run = x ^ (x + (1 if self.ones else -1))
        return x ^ ((x >> self.shift) & run & ((1 << self.shift) - 1))


class Listed(Struct, frozen=True):
    """Where no formula is known: the address of each cell, listed."""

    values: tuple[int, ...]

    def of(self, x: Addresses) -> Addresses:
        return np.array(self.values, np.int64)[x]


Step: TypeAlias = Pad | Rotate | FlipBits | FlipRun | Listed


def swizzle(b: int, m: int, s: int) -> FlipBits:
    """Return CuTe's Swizzle<B, M, S> of element addresses: bits M+S ... M+S+B-1 flip bits M ... M+B-1."""
    return FlipBits((0,) * (m + s) + tuple(1 << m + i for i in range(b)))
