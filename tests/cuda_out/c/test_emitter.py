"""Emitted text is indented, and folded where a reader would fold it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cuda_out.c.emitter import WIDTH, Emitter, fold


def test_blocks_nest() -> None:
    """A block indents what it holds and closes itself."""
    out = Emitter()
    with out.block("if (a)"), out.block("if (b)"):
        out.line("c();")
    assert out.text() == "if (a) {\n  if (b) {\n    c();\n  }\n}\n"


def test_a_line_is_folded_outside_its_brackets() -> None:
    """Before an operator if possible, not inside the call that would fit, too."""
    assert fold("y = first(a, b) + second(c, d);", 20) == ["y = first(a, b)", "+ second(c, d);"]
    assert fold("call(first, second(a, b), third);", 22) == ["call(first,", "second(a, b), third);"]


def test_a_type_of_two_words_stays_together() -> None:
    """`long long` on two lines would read as two things."""
    assert fold("total = static_cast<long long>(first) + 1;", 40) == ["total = static_cast<long long>(first)", "+ 1;"]
    assert fold("launch(const int* x, long long n)", 30) == ["launch(const int* x,", "long long n)"]


def test_comments_and_directives_are_never_folded() -> None:
    """A folded comment or directive would be code."""
    out = Emitter()
    out.line("// " + "word " * 60)
    out.line("#define " + "word " * 60)
    assert len(out.text().splitlines()) == 2


@given(st.lists(st.sampled_from(["a", "+ b", "(c", "d)", "? e", ": [f", "g]", "h" * 30]), min_size=1, max_size=80))
def test_folding_only_changes_spaces(words: list[str]) -> None:
    """The pieces joined again are the line; only a single word can be too wide."""
    text = " ".join(words)
    pieces = fold(text, WIDTH)
    assert " ".join(pieces) == text
    assert all(len(piece) <= WIDTH for piece in pieces)
