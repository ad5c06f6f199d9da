"""Finds the `?` of each hole in a `.swz` file's text, outside strings and comments.

Each `?` becomes `_`, so the text keeps its length and Python's parser its columns; the positions are kept.
"""

from __future__ import annotations

import re
from typing import Final

from symbolic.errors import Place, SwizzleError
from templates.holes import spellings

_TOKEN: Final = re.compile(
    r"""
    \#[^\n]*                                  # a comment
    | (?P<quote>\"{3}|'{3}|["'])              # the start of a string
    | (?P<hole>\?(?=[A-Za-z_]))               # the start of a hole
    | (?P<stray>\?)
    """,
    re.VERBOSE,
)


def find_marks(text: str, file: str) -> tuple[str, frozenset[tuple[int, int]]]:
    """Return the text with each hole's `?` replaced by `_`, and the (line, column) of each."""
    marks: set[tuple[int, int]] = set()
    characters = list(text)
    position = 0
    while token := _TOKEN.search(text, position):
        position = token.end()
        if token["quote"]:
            position = _end_of_string(text, position, token["quote"])
        elif token["hole"]:
            marks.add(_line_and_column(text, token.start()))
            characters[token.start()] = "_"
        elif token["stray"]:
            line, column = _line_and_column(text, token.start())
            raise SwizzleError(
                "a `?` that begins no hole",
                place=Place(file, line, column, column + 1),
                expected=spellings("or", call="(...)"),
                fix="write the hole's name right after the `?`, or leave the `?` out",
            )
    return "".join(characters), frozenset(marks)


def _end_of_string(text: str, position: int, quote: str) -> int:
    """Return where the string ends that was opened by `quote`; a short string ends with its line at the latest."""
    stop = re.compile(rf"\\.|{quote}" + ("" if len(quote) == 3 else r"|\n"), re.DOTALL)
    while found := stop.search(text, position):
        position = found.end()
        if not found[0].startswith("\\"):
            return position
    return len(text)


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
