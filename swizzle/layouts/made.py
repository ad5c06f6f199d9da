"""Layouts that somebody has already, to be counted: by their usual names and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swizzle.layouts.access import is_int, mistake
from swizzle.layouts.layout import Layout
from swizzle.layouts.steps import FlipBits, Pad, Rotate, swizzle


def row_major(shape: Sequence[int], bits: int = 32) -> Layout:
    """Return the tile in row-major order, the last axis the fastest."""
    return Layout(_shape(shape), _bits(bits), tuple(range(len(shape))))


def column_major(shape: Sequence[int], bits: int = 32) -> Layout:
    """Return the tile in column-major order, the first axis the fastest."""
    return Layout(_shape(shape), _bits(bits), tuple(reversed(range(len(shape)))))


def padded(shape: Sequence[int], pitch: int, bits: int = 32) -> Layout:
    """Return the tile in row-major order whose rows begin `pitch` elements apart: `float tile[32][33]` is pitch 33."""
    plain = row_major(shape, bits)
    n = plain.shape[-1]
    if not is_int(pitch) or pitch < n:
        mistake(f"the pitch is {pitch!r}", f"at least the {n} elements of a row", fix=f"write {n} or more")
    return plain if pitch == n else Layout(plain.shape, bits, plain.order, (Pad(n, pitch - n),))


def rotated(shape: Sequence[int], by: int = 1, bits: int = 32) -> Layout:
    """Return the tile in row-major order with row r turned by `by * r`: r * n + (c + by * r) % n."""
    plain = row_major(shape, bits)
    n = plain.shape[-1]
    if not is_int(by):
        mistake(
            f"rows are turned by {by!r}",
            "an int",
            fix="write by how many elements each row is turned further than the one before",
        )
    return Layout(plain.shape, bits, plain.order, (Rotate(n, by % n),))


def swizzled(shape: Sequence[int], b: int, m: int, s: int, bits: int = 32) -> Layout:
    """Return the tile in row-major order under CuTe's Swizzle<B, M, S>, which counts elements."""
    if not all(is_int(each) and each >= 0 for each in (b, m, s)) or s < b:
        mistake(
            f"the swizzle is <{b!r}, {m!r}, {s!r}>", "B, M, S from 0, with S at least B", "swizzled(shape, 3, 3, 3)"
        )
    plain = row_major(shape, bits)
    return Layout(plain.shape, bits, plain.order, (swizzle(b, m, s),))


def xored(shape: Sequence[int], columns: Sequence[int], bits: int = 32) -> Layout:
    """Return the tile in row-major order where bit j of an address flips the bits of `columns[j]`, all below bit j."""
    if not all(is_int(column) and 0 <= column < 1 << j for j, column in enumerate(columns)):
        mistake(
            f"the columns are {columns!r}",
            "for each bit of the address the bits below that it flips",
            fix="write a mask for each bit, 0 for none",
        )
    plain = row_major(shape, bits)
    return Layout(plain.shape, bits, plain.order, (FlipBits(tuple(columns)),))


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple | list) or not shape or not all(is_int(n) and n >= 1 for n in shape):
        mistake(f"the shape is {shape!r}", "a tuple of ints from 1", "row_major((32, 32))")
    return tuple(int(n) for n in shape)


def _bits(bits: Any) -> int:
    if bits not in (8, 16, 32, 64, 128):
        mistake(f"an element has {bits!r} bits", "8, 16, 32, 64 or 128 bits", "bits=16 for f16 and bf16")
    return int(bits)
