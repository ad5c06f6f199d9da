"""The operators of `loops.py`, each found and proved once for all tests that a process runs."""

from __future__ import annotations

from functools import cache

from swizzle.operators import Found, operator_of
from tests.swizzle.operators import loops


@cache
def found_of(name: str) -> Found:
    """Return what is found of a loop of `loops.py`."""
    return operator_of(getattr(loops, name).loop)
