"""How a mistake is told: nothing of a stranger's file reaches the terminal but what can be printed."""

from __future__ import annotations

from pathlib import Path

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
