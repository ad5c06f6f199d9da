"""Collects lines of Python: indents them, and folds long ones inside brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

WIDTH: Final = 110
_VALUE = re.compile(r"([^\W\d]\w*(?:\[.*?\])? [-+*&|^]?= )(.*)")
_CONDITION = re.compile(r"((?:el)?if )(.*):")
_GOES_ON: Final = ("if ", "else ", "and ", "or ", "+ ", "- ", "^ ", "| ", "& ")


def bracketed(text: str) -> str:
    """Return a statement with brackets around its value or condition, so that it can be folded there."""
    if condition := _CONDITION.fullmatch(text):
        return f"{condition[1]}({condition[2]}):"
    value = _VALUE.fullmatch(text)
    return f"{value[1]}({value[2]})" if value else text


def fold(text: str, width: int) -> list[str]:
    """Split a statement at spaces inside its brackets into pieces of at most `width`, if possible.

    >>> fold("y = (first[a, b] + second[c, d])", 24)
    ['y = (first[a, b]', '+ second[c, d])']
    """
    pieces, outer = [], 0
    while len(text) > width:
        best: tuple[int, bool, int] | None = None
        depth = outer
        for at, character in enumerate(text[: width + 1]):
            depth += (character in "([") - (character in ")]")
            if character == " " and depth > 0 and at > width // 3:
                rank = (depth, not text[at + 1 :].startswith(_GOES_ON) and text[at - 1] != ",", -at)
                best = min(best, rank) if best else rank
        if best is None:
            break
        at = -best[2]
        outer += sum((c in "([") - (c in ")]") for c in text[:at])
        pieces.append(text[:at])
        text = text[at + 1 :]
    return [*pieces, text]


class PythonLines:
    """The lines of a module or of a function's body."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self._depth = depth

    def line(self, text: str = "") -> None:
        indent = "    " * self._depth
        if len(indent + text) <= WIDTH or text.startswith("#"):
            self._lines.append((indent + text).rstrip())
            return
        for number, piece in enumerate(fold(bracketed(text), WIDTH - len(indent) - 4)):
            self._lines.append(indent + ("    " if number else "") + piece)

    @contextmanager
    def nested(self, head: str) -> Iterator[None]:
        """Indent what follows under `head`; a body without statements gets a `pass`."""
        self.line(head)
        count = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == count:
            self.line("pass")
        self._depth -= 1

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)
