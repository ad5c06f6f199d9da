"""How much may be looked at: counted, so that a search ends in the same place on every machine, however busy it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from symbolic.expressions.formulas import MORE


class Work:
    """What may still be computed, about as much as in some seconds; what a part of it spends is spent of all."""

    def __init__(self, seconds: float, whole: Work | None = None) -> None:
        self._whole = whole or WORK.get()
        self.left = seconds * MORE.get()

    def spend(self, operations: float, nanoseconds: float) -> None:
        """Count operations, each of which takes some nanoseconds."""
        self.left -= operations * nanoseconds / 1e9
        if self._whole is not None:
            self._whole.spend(operations, nanoseconds)

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0 or (self._whole is not None and self._whole.over)


WORK: Final[ContextVar[Work | None]] = ContextVar("WORK", default=None)
"""What all that is looked for may spend together."""


@contextmanager
def share(seconds: float, part: float = 1) -> Iterator[None]:
    """Let all that is looked for spend so much together; no more than a part of what is left, where it is a part."""
    whole = WORK.get()
    token = WORK.set(Work(seconds if whole is None else part * max(0, whole.left) / MORE.get()))
    try:
        yield
    finally:
        WORK.reset(token)
