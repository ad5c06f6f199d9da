"""Why a contender takes no part, and what went wrong, in words for a table."""

from __future__ import annotations

import traceback


class Missing(Exception):
    """A contender is not there; the message is the reason, for the table."""


def in_a_line(error: BaseException) -> str:
    """Return an error's kind and the first line of its message; of one without a message, where it was raised."""
    lines = str(error).splitlines()
    where = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__}: {(lines or where[-1:] or [''])[0]}"
