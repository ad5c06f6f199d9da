"""Texts of patterns, read back, and types with what they refuse."""

from __future__ import annotations

import pytest

from symbolic.errors import SwizzleError
from symbolic.patterns.lengths import facts_text
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.terms import canonical, free
from symbolic.patterns.text import pattern_text
from symbolic.patterns.types import Typing, ValueType

INPUTS: dict[str, ValueType] = {
    "x": read_type("f32[n]"), "y": read_type("f32[k]"), "A": read_type("f32[n, k]"), "i": read_type("i32[n]"),
    "o": read_type("f32[n]"), "a": read_type("f32"), "p": read_type("(f32, i32)[n]"),
}  # fmt: skip

TEXTS = {
    "reduce(lambda a, b: a + b, 0) o map(lambda v: max(-v, v)) o x": "f32[1]",
    "add = lambda a, b: a + b\nmul = lambda v: a * v\nmap_block(map_local(mul)) o split(s) o x": "f32[n / s, s]",
    "map_block(asScalar o map_local(vect(4, lambda v: a * v)) o asVector(4)) o split(1024) o x": "f32[n / 1024, 1024]",
    'map_global(lambda row: at(reduce_seq(lambda c, v: c + v, 0) o row, 0), axis="y", label="rows") o A': "f32[n]",
    "add = lambda a, b: a + b\npart_red(add, 0, n / s) o toShared o x": "f32[n / s]",
    "iterate(3, join o map(reduce(lambda a, b: a + b, 0)) o split(2)) o x": "f32[n / 8]",
    "map(lambda w: w) o slide(3, 1) o pad(1, 1, \"mirror\") o x": "f32[n, 3]",
    "transpose o map(lambda xs: map(lambda v: v * at(xs, 0)) o xs) o A": "f32[k, n]",
    "(map(lambda q: q[0] + sqrt(q[0]) / 2) o p, reorder_stride(4) o reorder o x)": "(f32[n], f32[n])",
    "map(lambda j: at(x, j)) o i": "f32[n]",
    "let(reduce(lambda a, b: a if a < b else b, inf) o x, lambda t: map(lambda v: v - at(t, 0)) o x)": "f32[n]",
    "scan(lambda a, b: a + b, 0) o join o A": "f32[k * n]",
    "map(lambda o: o + 1 if o < 2 else 0 - o) o reorder o o": "f32[n]",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_read_back(text: str) -> None:
    """What is written is read as the same expression, of the same type."""
    read = read_pattern(text)
    again = read_pattern(pattern_text(read, INPUTS))
    assert canonical(again) == canonical(read)
    assert str(Typing().type_of(read, INPUTS)) == str(Typing().type_of(again, INPUTS)) == TEXTS[text]


def test_text_is_the_papers() -> None:
    """A named function is defined once, and a function that is a composition is written as one."""
    text = "abs = lambda v: max(-v, v)\nadd = lambda a, b: a + b\nreduce(add, 0) o join o map(map(abs)) o split(s) o x"
    assert pattern_text(read_pattern(text), INPUTS) == (
        "add = lambda a, b: a + b\n"
        "abs = lambda v: max(v, -v)\n"
        "reduce(add, 0) o join o map(map(abs)) o split(s) o x"
    )  # fmt: skip


REFUSED = {
    "map(lambda p: p[0]) o zip(y, x)": "zip of lengths [k, n]",
    "map(lambda v: v) o a": "map of f32",
    "reduce(lambda a, b: (a, b), 0) o x": "an operator that makes (f32, f32) where f32 is combined",
    "join o x": "join of f32[n]",
    "asVector(4) o i o x": "`i` where a pattern is expected",
    "map(lambda v: v + at(A, 0)) o x": "arithmetic of f32[k]",
    "map(lambda q: q[0] + q[1]) o p": "arithmetic of f32, i32 in one formula",
    "map(lambda v: at(x, v)) o x": "an index of type f32",
    "split(4) o slide(3, 1) o split(5) o split(1) o pad(1, 1, \"clamp\") o unknown": "an unknown name `unknown`",
    "map(lambda v: sqrt(v)) o i": "sqrt of i32",
    "vect(4, x)": "an unknown function `vect`",
    "map(lambda v: v) o split(4": "'(' was never closed",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_fit_is_refused(text: str) -> None:
    """A mistake is one error that says what was found."""
    with pytest.raises(SwizzleError) as refused:
        Typing().type_of(read_pattern(text), INPUTS)
    assert refused.value.found == REFUSED[text]


def test_lengths_that_cannot_divide_are_refused() -> None:
    """Numbers are decided; names become facts."""
    kinds = {"x": read_type("f32[6]"), "y": read_type("f32[n]"), "z": read_type("f32[4 * n]")}
    with pytest.raises(SwizzleError, match="split of length 6 by 4"):
        Typing().type_of(read_pattern("split(4) o x"), kinds)
    for text, facts in {
        "split(4) o y": ["4 divides n"],
        "split(4) o z": [],
        "split(2) o join o split(4) o y": ["4 divides n"],
        "slide(5, 3) o y": ["3 divides n - 5", "5 is at most n"],
        "split(s) o z": ["s divides 4 * n"],
    }.items():
        typing = Typing()
        typing.type_of(read_pattern(text), kinds)
        assert facts_text(typing.facts) == facts


def test_substitution_catches_no_name() -> None:
    """A name that a function binds is another one than the one around it."""
    from symbolic.patterns.terms import Variable, substitute

    made = substitute(read_pattern("map(lambda v: v * a) o x"), {"a": Variable("v")})
    assert free(made) == {"v", "x"}
    assert canonical(made) == canonical(read_pattern("map(lambda w: w * v) o x"))
