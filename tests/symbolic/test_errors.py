"""How a mistake is told: nothing of a stranger's file reaches the terminal but what can be printed.

Mistakes of a specification in Python are shown where the user wrote them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from swizzle import load
from swizzle.language.specs.specification import Meaning
from symbolic.errors import WIDEST, Place, SwizzleError, printable


def test_names_and_texts_are_printed_as_far_as_they_can_be(tmp_path: Path) -> None:
    """Line breaks, colours, marks that turn writing round, bytes that are no text."""
    assert printable("a\nb\x1b[31m\u202ec\udcffd\x00é漢") == r"a\nb\x1b[31m\u202ec\udcffd\x00é漢"
    file = tmp_path / "new\nline\x1b[31m.swz"
    file.write_text("x = \x1b[31m1\n")
    text = str(SwizzleError("found \x1b[0m\nand more", place=Place(str(file), 1, 11), fix="mend \udcff"))
    assert text.isascii() is False and all(line.isprintable() for line in text.splitlines())
    assert text.splitlines()[0].endswith(r"new\nline\x1b[31m.swz:1:11: error: found \x1b[0m")
    assert text.splitlines()[1:] == ["and more", "    x = \ufffd[31m1", "              ^", r"  fix: mend \udcff"]


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    """Around the place, with the marks below it."""
    file = tmp_path / "long.swz"
    file.write_text("y = " + "-" * 5000 + "here" + "-" * 5000)
    line, marks = Place(str(file), 1, 5005, 5009).excerpt().splitlines()
    assert len(line) == WIDEST + 4 and line[marks.index("^") : marks.rindex("^") + 1] == "here"
    line, marks = Place(str(file), 1, 5, 10000).excerpt().splitlines()
    assert len(marks) <= len(line) == WIDEST + 4 and line.startswith("    y = -") and marks.startswith("        ^")


PROLOGUE = "from swizzle import cuda, f32, i32, maximum, sketch, spec\n\n"
KERNEL = """

@sketch(spec=wanted, block=8, warp_size=8, x=i32[8], y=i32.out[8])
def move(x, y):
    y[cuda.laneid] = x[cuda.laneid]
"""


@pytest.mark.parametrize(
    ("body", "place", "found"),
    [
        ("return [x[i + 1] for i in range(8)]", (5, 13, 21), "the specification fails: IndexError: index 8 is out"),
        ("return [helper(x, i) for i in range(8)]", (8, 19, 26), "the specification fails: ValueError: max() "),
        ("return [1 if x[i] > 0 else 0 for i in range(8)]", (5, 18, 26), "the specification compares the data value"),
        ("größe = 3; return [x[x[0] / 2] for i in range(8)]", (5, 24, 35), "the specification indexes with the data"),
        ("return [x[i] for i in range(7)]", (4, 5, 11), "the specification gives y the shape (7,)"),
        ("return 1, 2", (4, 5, 11), "the specification gives y the shape (2,)"),
        ("return [None] * 8", (4, 5, 11), "the specification gives NoneType as an element of y"),
        ("return missing(x)", (5, 12, 19), "the specification fails: NameError: name 'missing' is not defined"),
    ],
)
def test_the_place_is_the_specifications(body: str, place: tuple[int, int, int], found: str, tmp_path: Path) -> None:
    """Line and columns of the failing expression, or the specification's name; also below a folder called swizzle."""
    file = tmp_path / "swizzle" / "moves.py"
    file.parent.mkdir()
    helper = "\ndef helper(x, i):\n    return x[i] + max([])\n"
    file.write_text(f"{PROLOGUE}@spec\ndef wanted(x):\n    {body}\n{helper}{KERNEL}", encoding="utf-8")
    (sketch,) = load(file)
    with pytest.raises(SwizzleError) as caught:
        Meaning.of(sketch.program, sketch.spec)
    at = caught.value.place
    assert at is not None
    assert (at.file, at.line) == (str(file), place[0])
    if sys.version_info >= (3, 11) or place[0] == 4:  # 3.10 knows the lines of a traceback only
        assert (at.column, at.end_column) == place[1:]
    assert caught.value.found.startswith(found)
    assert "^" in at.excerpt()
