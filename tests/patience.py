"""Time for explanations on a busy machine: what is decided in seconds must not be 'not decided' in a test."""

import pytest

LIMITS = (
    "swizzle.explain.trials.SECONDS",
    "swizzle.explain.explain.SECONDS",
    "swizzle.explain.explain.BLAME_SECONDS",
    "swizzle.explain.explain.FREE_SECONDS",
    "swizzle.explain.explain.WORDS_SECONDS",
)


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every step of an explanation minutes."""
    for limit in LIMITS:
        monkeypatch.setattr(limit, 600.0)
