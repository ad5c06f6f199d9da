"""A specification of patterns goes on at every length as it begins, or it is shown that it does not."""

from __future__ import annotations

import pytest

from symbolic.patterns.reading import read_pattern, read_type
from symbolic.rewriting.continuation import MovedInput, prove_continues

NAMES = "add = lambda a, b: a + b\nmul = lambda p: p[0] * p[1]\ndot = lambda p: at(reduce(add, 0) o map(mul) o p, 0)\n"
CASES = {
    "scal": ("map(lambda v: a * v) o x", {"x": "f32[n]", "a": "f32"}, {"x": MovedInput(0, 128)}, 128),
    "conv1d": (
        "map(lambda w: at(reduce(add, 0) o map(mul) o zip(w, c), 0)) o slide(3, 1) o x",
        {"x": "f32[n]", "c": "f32[3]"}, {"x": MovedInput(0, 64)}, 64,
    ),
    "conv1d of any width": (
        "map(lambda w: at(reduce(add, 0) o map(mul) o zip(w, c), 0)) o slide(k, 1) o x",
        {"x": "f32[n]", "c": "f32[k]"}, {"x": MovedInput(0, 64)}, 64,
    ),
    "gemv": (
        "map(lambda p: a * at(reduce(add, 0) o map(mul) o zip(p[0], x), 0) + b * p[1]) o zip(A, y)",
        {"A": "f32[m, k]", "x": "f32[k]", "y": "f32[m]", "a": "f32", "b": "f32"},
        {"A": MovedInput(0, 4), "y": MovedInput(0, 4)}, 4,
    ),
    "product": (
        "map(lambda r: map(lambda c: at(reduce(add, 0) o map(mul) o zip(r, c), 0)) o transpose o B) o A",
        {"A": "f32[m, k]", "B": "f32[k, n]"}, {"A": MovedInput(0, 16)}, 16,
    ),
    "sums of chunks": (
        "map(lambda c: at(reduce(add, 0) o c, 0)) o split(256) o x", {"x": "f32[n]"}, {"x": MovedInput(0, 512)}, 2,
    ),
    "two results": (
        "(map(lambda v: 2 * v) o x, map(lambda c: at(reduce(add, 0) o c, 0)) o split(4) o x)",
        {"x": "f32[n]"}, {"x": MovedInput(0, 32)}, (32, 8),
    ),
    "gathered": ("map(lambda i: at(x, i)) o y", {"x": "f32[n]", "y": "i32[k]"}, {"y": MovedInput(0, 32)}, 32),
    "vectors": (
        "asScalar o map(vect(4, lambda v: v + 1)) o asVector(4) o x", {"x": "f32[n]"}, {"x": MovedInput(0, 32)}, 32,
    ),
}  # fmt: skip
OTHERS = {
    "strided": ("reorder_stride(2) o x", {"x": "f32[n]"}, {"x": MovedInput(0, 64)}, 64),
    "clamped": ('map(lambda v: v * 2) o pad(1, 1, "clamp") o x', {"x": "f32[n]"}, {"x": MovedInput(0, 64)}, 64),
    "moved by another block": ("map(lambda v: v * 2) o x", {"x": "f32[n]"}, {"x": MovedInput(0, 32)}, 64),
    "moved along another axis": ("map(lambda r: at(r, 0)) o A", {"A": "f32[m, k]"}, {"A": MovedInput(1, 4)}, 4),
    "not moved": ("map(lambda v: v * 2) o x", {"x": "f32[n]"}, {}, 64),
    "a scan": ("scan(add, 0) o x", {"x": "f32[n]"}, {"x": MovedInput(0, 64)}, 64),
    "reversed by data": ("map(lambda i: at(x, i)) o y", {"x": "f32[n]", "y": "i32[n]"}, {"x": MovedInput(0, 32)}, 32),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_block_is_the_first_one_moved(name: str) -> None:
    """At all lengths, for all data."""
    text, inputs, moved, block = CASES[name]
    kinds = {each: read_type(kind) for each, kind in inputs.items()}
    found = prove_continues(read_pattern(NAMES + text), kinds, moved, block)
    assert found.proved, found.why


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_go_on_is_not_proved(name: str) -> None:
    """Blocks that are other ones, or of other inputs."""
    text, inputs, moved, block = OTHERS[name]
    kinds = {each: read_type(kind) for each, kind in inputs.items()}
    assert not prove_continues(read_pattern(NAMES + text), kinds, moved, block).proved
