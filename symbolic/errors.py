"""Places in source text and in a user's own Python, and the one kind of exception that a user's mistake raises.

sat, unsat and unknown are values (`symbolic.core.query`), never exceptions; a bug of ours is an `AssertionError`.

Suggestions for misspelled names: 'did you mean ...?'

What users write for Swizzle to call (costs, families of templates) is called inside `users_code`, so that what it
raises becomes a mistake with a place.
"""

from __future__ import annotations

import copyreg
import difflib
import inspect
import linecache
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import CodeType
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


_ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = tuple(_ROOT / name for name in ("swizzle", "symbolic", "templates", "cuda_out"))


def is_ours(file: str) -> bool:
    """Tell whether a file of a traceback belongs to Swizzle."""
    return any(Path(file).is_relative_to(package) for package in PACKAGES)


def user_place(error: BaseException, file: str | None = None) -> Place | None:
    """Return the innermost place of a traceback in `file`, or else outside Swizzle; None where there is neither."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename == file] or [f for f in frames if not is_ours(f.filename)]
    if not theirs:
        return None
    frame = theirs[-1]
    line = frame.lineno or 1
    column = getattr(frame, "colno", None)  # Python 3.10 knows lines only
    if column is None:
        text = linecache.getline(frame.filename, line)
        return Place(frame.filename, line, len(text) - len(text.lstrip()) + 1, len(text.rstrip()) + 1)
    encoded = linecache.getline(frame.filename, line).encode()  # Python counts columns in bytes
    start = len(encoded[:column].decode(errors="ignore"))
    one_line = getattr(frame, "end_lineno", None) == line
    last = getattr(frame, "end_colno", None) if one_line else None
    end = len(encoded[:last].decode(errors="ignore").rstrip())
    return Place(frame.filename, line, start + 1, max(end, start + 1) + 1)


@contextmanager
def users_code(subject: str, called: Callable[..., Any], expected: str) -> Iterator[None]:
    """Turn what a user's function raises into one mistake of `subject`, at the last line of the function's own file.

    Exceptions that Swizzle defines pass, and so does what is nobody's mistake: an interruption, the end of memory.
    """
    try:
        yield
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        if type(error).__module__.partition(".")[0] in {package.name for package in PACKAGES}:
            raise
        code = getattr(inspect.unwrap(called), "__code__", None)
        place = None
        if isinstance(code, CodeType):
            in_file = any(frame.filename == code.co_filename for frame in traceback.extract_tb(error.__traceback__))
            place = user_place(error, code.co_filename) if in_file else definition_place(code)
        found = f"{subject} fails: {type(error).__name__}: {error}"
        raise SwizzleError(found, place=place, expected=expected, fix="mend the function that fails") from error


def definition_place(code: CodeType) -> Place:
    """Return the place of a function's name, below its decorators."""
    file, line = code.co_filename, code.co_firstlineno
    for number in range(line, line + 50):
        text = linecache.getline(file, number)
        head = text.lstrip().removeprefix("async ").lstrip()
        if head.startswith("def ") and code.co_name in head:
            column = text.index(code.co_name, len(text) - len(head)) + 1
            return Place(file, number, column, column + len(code.co_name))
    return Place(file, line, 1)
