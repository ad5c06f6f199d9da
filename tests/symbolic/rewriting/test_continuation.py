"""A specification of patterns goes on at every length as it begins, or that is not proved."""

from __future__ import annotations

import pytest

from symbolic.patterns.reading import read_pattern, read_type
from symbolic.rewriting.continuation import MovedInput, continues_along, prove_continues

NAMES = "add = lambda a, b: a + b\nmul = lambda p: p[0] * p[1]\n"
CONV = "map(lambda w: at(reduce(add, 0) o map(mul) o zip(w, c), 0)) o slide(k, 1) o x"
GEMV = "map(lambda p: a * at(reduce(add, 0) o map(mul) o zip(p[0], x), 0) + b * p[1]) o zip(A, y)"
PRODUCT = "map(lambda r: map(lambda c: at(reduce(add, 0) o map(mul) o zip(r, c), 0)) o transpose o B) o A"
OF_GEMV = {"A": "f32[m, k]", "x": "f32[k]", "y": "f32[m]", "a": "f32", "b": "f32"}
OF_PRODUCT = {"A": "f32[m, k]", "B": "f32[k, n]"}
X = {"x": "f32[n]"}

CASES: dict[str, tuple[str, dict[str, str], str, int, bool | None]] = {
    "scal": ("map(lambda v: a * v) o x", {**X, "a": "f32"}, "n", 128, True),
    "conv1d of 3": (CONV.replace("k", "3"), {**X, "c": "f32[3]"}, "n", 64, True),
    "conv1d of any width": (CONV, {**X, "c": "f32[k]"}, "n", 64, True),
    "conv1d, n results": (CONV, {"x": "f32[n + k - 1]", "c": "f32[k]"}, "n", 64, True),
    "gemv": (GEMV, OF_GEMV, "m", 4, True),
    "gemv along its sums": (GEMV, OF_GEMV, "k", 4, None),
    "rows of a product": (PRODUCT, OF_PRODUCT, "m", 16, True),
    "columns of a product": (PRODUCT, OF_PRODUCT, "n", 16, True),
    "sums of chunks": ("map(lambda c: at(reduce(add, 0) o c, 0)) o split(256) o x", X, "n", 512, True),
    "sums of parts of chunks": ("map(lambda c: at(reduce(add, 0) o c, 0)) o split(256) o x", X, "n", 128, None),
    "two results": ("(map(lambda v: 2 * v) o x, map(lambda c: at(c, 1)) o split(4) o x)", X, "n", 32, True),
    "gathered": ("map(lambda i: at(x, i)) o y", {**X, "y": "i32[k]"}, "k", 32, True),
    "vectors": ("asScalar o map(vect(4, lambda v: v + 1)) o asVector(4) o x", X, "n", 32, True),
    "transposed": ("transpose o A", {"A": "f32[m, k]"}, "k", 8, True),
    "a square": ("map(lambda r: map(lambda v: 2 * v) o r) o A", {"A": "f32[n, n]"}, "n", 8, None),
    "strided": ("reorder_stride(2) o x", X, "n", 64, False),
    "clamped": ('map(lambda v: v * 2) o pad(1, 1, "clamp") o x', X, "n", 64, False),
    "a scan": ("scan(add, 0) o x", X, "n", 64, False),
    "a sum": ("reduce(add, 0) o x", X, "n", 64, None),
    "gathered from what moves": ("map(lambda i: at(x, i)) o y", {**X, "y": "i32[n]"}, "n", 32, False),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_block_is_the_first_one_moved(name: str) -> None:
    """At all lengths, for all data; None where no axis of the result grows, or blocks are no whole elements of it."""
    text, inputs, along, unit, wanted = CASES[name]
    kinds = {each: read_type(kind) for each, kind in inputs.items()}
    found = continues_along(read_pattern(NAMES + text), kinds, along, unit)
    assert (found and found.proved) == wanted, found and found.why


@pytest.mark.parametrize(("axis", "size"), [(0, 32), (0, 65), (0, 0)])
def test_inputs_that_are_moved_otherwise(axis: int, size: int) -> None:
    """Blocks are the first one of inputs that are moved by a block, and of no others."""
    doubled = read_pattern("map(lambda v: v * 2) o x")
    inputs = {"x": read_type("f32[n]")}
    assert prove_continues(doubled, inputs, {"x": MovedInput(0, 64)}, MovedInput(0, 64)).proved
    assert not prove_continues(doubled, inputs, {"x": MovedInput(axis, size)}, MovedInput(0, 64)).proved
