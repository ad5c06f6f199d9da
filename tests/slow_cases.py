"""Which cases of one kind `make test` runs: some of them; the others are marked slow, for `make test-all`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_unless(cases: Iterable[Any], quick: Callable[[Any], bool]) -> list[Any]:
    """Return parameters of a test, in their order; a case that is not quick is marked slow."""
    return [case if quick(case) else _slow(case) for case in cases]


def _slow(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
