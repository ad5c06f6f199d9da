"""Distributions: the presets against the PTX ISA's, and mistakes of users."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from swizzle import SwizzleError
from swizzle.layouts import access, convert, distribution, ldmatrix, mma, rows, stmatrix
from swizzle.layouts.distribution import held_by

PRESETS: list[tuple[Any, tuple[int, int], int, str]] = [
    (mma("A", "m16n8k8"), (16, 8), 32, "r3 c2 | c0 c1 r0 r1 r2"),
    (mma("A", "m16n8k16"), (16, 16), 16, "c0 r3 c3 | c1 c2 r0 r1 r2"),
    (mma("A", "m16n8k32"), (16, 32), 8, "c0 c1 r3 c4 | c2 c3 r0 r1 r2"),
    (mma("B", "m16n8k16"), (16, 8), 16, "r0 r3 | r1 r2 c0 c1 c2"),
    (mma("B", "m16n8k8"), (8, 8), 32, "r2 | r0 r1 c0 c1 c2"),
    (mma("C", "m16n8k8"), (16, 8), 32, "c0 r3 | c1 c2 r0 r1 r2"),
    (mma("C", "m16n8k16"), (16, 16), 16, "c0 r3 c3 | c1 c2 r0 r1 r2"),
    (ldmatrix(1), (8, 8), 16, "c0 | c1 c2 r0 r1 r2"),
    (ldmatrix(4), (16, 16), 16, "c0 r3 c3 | c1 c2 r0 r1 r2"),
    (ldmatrix(4, trans=True, along=0), (16, 16), 16, "c0 r3 c3 | c1 c2 r0 r1 r2"),
    (ldmatrix(4, trans=True), (16, 16), 16, "r0 r3 c3 | r1 r2 c0 c1 c2"),
    (ldmatrix(4, along=0), (16, 16), 16, "r0 r3 c3 | r1 r2 c0 c1 c2"),
    (ldmatrix(2, along=0), (32, 8), 8, "r0 r1 r4 | r2 r3 c0 c1 c2"),
    (stmatrix(2), (8, 32), 8, "c0 c1 c4 | c2 c3 r0 r1 r2"),
    (rows(4), (8, 16), 32, "c0 c1 | c2 c3 r0 r1 r2"),
]


@pytest.mark.parametrize("preset, shape, bits, text", PRESETS, ids=[f"{p[0].name} {p[1]}" for p in PRESETS])
def test_presets(preset: Any, shape: tuple[int, int], bits: int, text: str) -> None:
    """What lanes hold, register by register, as in the figures of the PTX ISA (rows(4): by instructions)."""
    if preset.name == "rows(4)":
        preset = access(lambda lane: (lane // 4, lane % 4 * 4), width=4, name="rows(4)")
    assert held_by(preset, shape, bits) == distribution(text)


SOURCE = "c0 | c1 c2 r0 r1 r2"
MISTAKES: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: convert(SOURCE, SOURCE, bits=12), "an element has 12 bits", "8, 16, 32 or 64 bits"),
    (lambda: convert(SOURCE, SOURCE, via="smem"), "via is 'smem'", "'auto', 'shuffles' or 'shared'"),  # type: ignore[arg-type]
    (lambda: convert(SOURCE, SOURCE, fewest="bytes"), "fewest is 'bytes'", "'clocks', 'shuffles' or 'instructions'"),  # type: ignore[arg-type]
    (lambda: convert(SOURCE, SOURCE, arch=35), "the architecture is 35", "a number from 70"),
    (lambda: convert(SOURCE, 7), "dst is 7", "a distribution, bits as text, or an access"),  # type: ignore[arg-type]
    (
        lambda: convert(SOURCE, mma("A", "m16n8k8")),
        "dst is the access mma('A', 'm16n8k8'), of no tile",
        "shape=(16, 16)",
    ),
    (lambda: convert(mma("A", "m16n8k8"), SOURCE, shape=8), "the shape is 8", "a tuple of ints"),  # type: ignore[arg-type]
    (
        lambda: convert(SOURCE, "e0 | e1 e2 e3 e4 e5"),
        "a tile of 2 axes, (8, 8), and dst one of 1, (64,)",
        "of one tile",
    ),
    (
        lambda: convert(SOURCE, "c0 r3 | c1 c2 r0 r1 r2"),
        "dst wants the cell (8, 0) in element 2 of lane 0",
        "src holds",
    ),
    (
        lambda: convert("a b | c d e f g", "b c | d e f g h"),
        "src has the axes a, b, c, d, e, f, g, and dst has b, c, d, e, f, g, h",
        "the same letters",
    ),
    (lambda: convert(SOURCE, f"{SOURCE} | r3"), "src is held by 1 warp, dst by 2 warps", "the same warps"),
    (
        lambda: convert("a | b c d e f | g", "g | b c d e f | a", via="shuffles"),
        "elements go from one warp to another",
        'via="shared"',
    ),
    (lambda: convert(SOURCE, SOURCE).cuda("union"), "the function's name is 'union'", "a name in C++"),
    (lambda: convert(SOURCE, SOURCE, free=2), "the free axis is 2", "from 0 to 1"),
    (lambda: convert(SOURCE, SOURCE).cuda("to A"), "the function's name is 'to A'", "a name in C++"),
    (lambda: distribution("c0 c1"), "the distribution is 'c0 c1'", "bits of the register, of the lane (five)"),
    (lambda: distribution("c0 | c1 c2 c3 c4 R"), "'R' in 'c0 | c1 c2 c3 c4 R' is no bit of an axis", "a letter"),
    (lambda: distribution("c0 | c1 c2 c3 c4 c0"), "'c0' stands twice", "every bit of the tile once"),
    (lambda: distribution("c0 | c1 c2 c3 c4 c6"), "has 6 bits of c, without c5", "none left out"),
    (lambda: distribution(5), "a distribution is 5", "a function of register and lane"),  # type: ignore[arg-type]
    (lambda: distribution(lambda r, lane: lane, registers=0), "lambda has 0 registers", "an int from 1 to 256"),
    (lambda: distribution(lambda lane: lane), "lambda cannot be called with (register, lane)", "a function of"),
    (lambda: distribution(lambda r, lane: -1), "lambda at register 0, lane 0, warp 0 gives -1", "or None"),
    (lambda: distribution(lambda r, lane: None), "lambda gives cells of no axes", "cells of one tile"),
    (lambda: distribution(lambda r, lane: (lane, 0), shape=(16, 1)), "the cell (16, 0), which is outside", "(16, 1)"),
]


@pytest.mark.parametrize("call, found, expected", MISTAKES, ids=[found for _, found, _ in MISTAKES])
def test_a_mistake_is_one_error(call: Callable[[], Any], found: str, expected: str) -> None:
    """What was found, what was expected, at the caller's line."""
    with pytest.raises(SwizzleError) as caught:
        call()
    assert found in str(caught.value) and expected in str(caught.value)
    place = caught.value.place
    assert place is not None and place.file == __file__ and linecache.getline(place.file, place.line).strip()
