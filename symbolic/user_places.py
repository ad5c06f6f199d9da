"""Where in a user's own Python an exception comes from: the call that failed, not our frames below it.

What users write for Swizzle to call (costs, families of templates) is called inside `users_code`, so that what it
raises becomes a mistake with a place.
"""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any, Final

from symbolic.errors import Place, SwizzleError

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
