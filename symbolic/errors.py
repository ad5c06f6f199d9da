"""Places in source text, and the one kind of exception that a user's mistake raises.

sat, unsat and unknown are values (`symbolic.core.query`), never exceptions; a bug of ours is an `AssertionError`.

Suggestions for misspelled names: 'did you mean ...?'
"""

from __future__ import annotations

import copyreg
import difflib
import linecache
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Final

from msgspec import Struct

WIDEST: Final = 240
"""As many characters of a line are shown."""


class Place(Struct, frozen=True):
    """A span of source text: lines count from 1, columns from 1, the end column is exclusive.

    In the body of a device function, `function` is its name and `called_from` the place of the call that is looked at.
    """

    file: str
    line: int
    column: int
    end_column: int = 0
    called_from: Place | None = None
    function: str = ""

    def __str__(self) -> str:
        return f"{printable(self.file)}:{self.line}:{self.column}"

    @property
    def callers(self) -> tuple[Place, ...]:
        """The calls that lead here, the innermost first."""
        return () if self.called_from is None else (self.called_from, *self.called_from.callers)

    def seen_from(self, file: str) -> Place:
        """Return the place, or that of the innermost call that leads here from a file's own text."""
        return next((place for place in (self, *self.callers) if place.file == file), self)

    def excerpt(self) -> str:
        """Return the source line with a caret line under the span, or '' when the source is not at hand."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return ""
        width = max(1, min(self.end_column or self.column + 1, len(text) + 1) - self.column)
        text = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)
        if len(text) <= WIDEST:
            return f"    {text}\n    {' ' * (self.column - 1)}{'^' * width}"
        first = max(0, self.column - 1 - WIDEST // 4)
        part = text[first : first + WIDEST]
        return (
            f"    {part}\n    {' ' * (self.column - 1 - first)}{'^' * min(width, WIDEST - (self.column - 1 - first))}"
        )


def printable(text: str) -> str:
    """Return a text with all that no terminal, comment or other program should be sent written out as Python does.

    >>> print(printable("new\\nline\\x1b[31m"))
    new\\nline\\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def shown(value: object) -> str:
    """Return how a wrong value is quoted: as Python writes it, cut off; of a huge int, which has no text, its size."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an int of {value.bit_length()} bits"
    return f"{value!r:.60}"


class Portable(BaseException):
    """An exception with an initializer of its own that goes from one process to another as it is, with all its fields.

    Python makes an unpickled exception by calling its class with `args`, which is for those that have no initializer.
    """

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class SwizzleError(Portable, Exception):
    """A mistake of the user: the place, what was found, what was expected, how to fix it.

    The command line prints `str(error)` and leaves with `exit_code`; no traceback reaches the user.
    """

    exit_code = 2

    def __init__(self, found: str, *, place: Place | None = None, expected: str = "", fix: str) -> None:
        super().__init__(found)
        self.found = found
        self.place = place
        self.expected = expected
        self.fix = fix

    def _render_traceback_(self) -> list[str]:
        """Show only the message in a notebook: it names the place, and the frames above it are ours."""
        return str(self).splitlines()

    def __str__(self) -> str:
        head = f"{self.place}: error: {self.found}" if self.place else f"error: {self.found}"
        excerpt = self.place.excerpt() if self.place else ""
        callers = groupby(map(str, self.place.callers if self.place else ()))
        times = [(caller, len(list(some))) for caller, some in callers]
        calls = [f"  called at {caller}" + (f", {n} times in a row" if n > 1 else "") for caller, n in times]
        lines = [
            head,
            excerpt,
            *calls,
            self.expected and f"  expected: {self.expected}",
            self.fix and f"  fix: {self.fix}",
        ]
        # Of what was found, line breaks may be meant; nothing else that no terminal prints is.
        return "\n".join(printable(line) for part in lines if part for line in part.split("\n"))


def near(name: str, names: Iterable[str], prefix: str = "") -> str:
    """Return a suggestion, or '' when no name is like this one."""
    known = list(names)
    same = [other for other in known if other.lower() == name.lower()]
    close = same or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {prefix}{close[0]}?" if close else ""
