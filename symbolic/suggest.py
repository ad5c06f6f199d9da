"""Suggestions for misspelled names: 'did you mean ...?'"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str], prefix: str = "") -> str:
    """Return a suggestion, or '' when no name is like this one."""
    known = list(names)
    same = [other for other in known if other.lower() == name.lower()]
    close = same or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {prefix}{close[0]}?" if close else ""
