"""Tests marked `gpu` or `browser` are skipped, with the reason, where there is none; no test sees the user's cache."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what fixtures of modules solve out of the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SWIZZLE_CACHE_DIR", str(folder))
        patch.setenv("SWIZZLE_STATE_DIR", str(folder / "state"))
        yield folder


@pytest.fixture(autouse=True)
def _a_cache_for_each_test(_no_cache_of_the_users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test with an empty cache; its folder is made when something is kept."""
    number = os.urandom(6).hex()
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(_no_cache_of_the_users / number))


def pytest_configure() -> None:
    """Hear Ctrl-C as in a terminal, also where a shell started the tests in the background with it ignored.

    And let the hundreds of processes that the tests start share bytecode where the environment says to write none: each
    would compile us anew, a third of a second.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _leave_cases_out(items)
    _skip_without_browser(items)
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    from cuda_out.compile.launch import gpu_available

    available, reason = gpu_available()
    if not available:
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason=reason))


def _leave_cases_out(items: list[pytest.Item]) -> None:
    """Mark cases of tests that are `sampled(n)` slow, but for n of them, from the first to the last."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for some in cases.values():
        marker = some[0].get_closest_marker("sampled")
        assert marker is not None
        count = min(marker.args[0], len(some))
        kept = {round(k * (len(some) - 1) / max(1, count - 1)) for k in range(count)}
        for number, item in enumerate(some):
            if number not in kept:
                item.add_marker(pytest.mark.slow)


def _skip_without_browser(items: list[pytest.Item]) -> None:
    browser_items = [item for item in items if item.get_closest_marker("browser")]
    absent = [name for name in ("chromium", "chromedriver") if browser_items and shutil.which(name) is None]
    for item in browser_items if absent else ():
        item.add_marker(pytest.mark.skip(reason=f"no {' and no '.join(absent)} on this machine"))
