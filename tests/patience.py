"""Time for explanations on a busy machine: what is decided in seconds must not be 'not decided' in a test."""

import pytest

LIMITS = (
    "swizzle.answers.explain.free_holes.SECONDS",
    "swizzle.answers.explain.explain.SECONDS",
    "swizzle.answers.explain.explain.BLAME_SECONDS",
    "swizzle.answers.explain.explain.FREE_SECONDS",
    "swizzle.answers.explain.explain.WORDS_SECONDS",
)


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every step of an explanation minutes."""
    for limit in LIMITS:
        monkeypatch.setattr(limit, 600.0)
