"""Tests marked `gpu` are skipped, with the reason, where there is no GPU; the same for `tests/` and `bench/`."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    from cuda_out.launch import gpu_available

    available, reason = gpu_available()
    if not available:
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason=reason))
