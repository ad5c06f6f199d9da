"""What a command gives back: its exit status, and text on streams, of which nothing that it quotes reaches a terminal
but what it shows.

Names, lines of kernels, words of PTX and what a solution file says may be a stranger's, and may hold what a terminal
obeys. So all text is cleaned in this one place, and no command needs to know whose words it writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO, cast

from symbolic.errors import printable

DONE = 0
"""Solved, or equal."""

NO = 1
"""Proved that no filling gives the specification's terms, or not equal."""

MISTAKE = 2
"""A mistake of the user; stderr says which."""

UNDECIDED = 3
"""A timeout, or an interruption; what was found until then is printed. Or a solution whose minimum is not proved, as
fillings in which something cancels were too many. Or different terms whose numbers agree."""

BUG = 70
"""A bug of ours."""


class Clean(str):
    """A text that is written as it stands: of our own making, with colours for a terminal."""

    __slots__ = ()


class Screen:
    """A stream that writes control characters as Python writes them in a string, line feeds and tabs aside."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(text if isinstance(text, Clean) else cleaned(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def cleaned(text: str) -> str:
    """Return a text of which a terminal obeys the ends of lines and tabs only."""
    return "\n".join(map(printable, text.split("\n")))


def on_screen(stream: TextIO) -> TextIO:
    """Return a stream to which a command may write whatever it quotes."""
    return cast(TextIO, Screen(stream))


def beneath(stream: TextIO) -> TextIO:
    """Return the stream itself, for what draws on a terminal."""
    return stream.stream if isinstance(stream, Screen) else stream
