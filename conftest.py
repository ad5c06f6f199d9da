"""Tests marked `gpu` or `browser` are skipped, with the reason, where there is none; for `tests/` and `bench/`."""

from __future__ import annotations

import shutil

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _skip_without_browser(items)
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    from cuda_out.launch import gpu_available

    available, reason = gpu_available()
    if not available:
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason=reason))


def _skip_without_browser(items: list[pytest.Item]) -> None:
    browser_items = [item for item in items if item.get_closest_marker("browser")]
    absent = [name for name in ("chromium", "chromedriver") if browser_items and shutil.which(name) is None]
    for item in browser_items if absent else ():
        item.add_marker(pytest.mark.skip(reason=f"no {' and no '.join(absent)} on this machine"))
