"""Until when a text may run that somebody else wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def deadline() -> float | None:
    """Return until when (of `time.monotonic`) what is run now may take; None without a limit."""
    return _deadline.get()


@contextmanager
def ending_by(until: float | None) -> Iterator[None]:
    """Let what is run inside take until then, or until the deadline around it, whichever comes first."""
    given = [each for each in (until, _deadline.get()) if each is not None]
    token = _deadline.set(min(given, default=None))
    try:
        yield
    finally:
        _deadline.reset(token)
