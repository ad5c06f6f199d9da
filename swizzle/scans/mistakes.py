"""A user's mistake in what was given to `swizzle.scans`: one error, at the line that called."""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import NoReturn

from symbolic.errors import Place, SwizzleError
from symbolic.user_places import is_ours


def users_line() -> Place | None:
    """Return the line outside of Swizzle that called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
    start = len(text) - len(text.lstrip()) + 1
    return Place(frame.f_code.co_filename, frame.f_lineno, start, max(len(text), start) + 1)


def mistake(found: str, expected: str, fix: str) -> NoReturn:
    """Raise the user's error."""
    raise SwizzleError(found, place=users_line(), expected=expected, fix=fix)
