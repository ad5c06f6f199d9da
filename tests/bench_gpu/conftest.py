"""The fixtures of tests that rehearse a measurement on a GPU that is none: see fakes.py."""

from __future__ import annotations

from pathlib import Path

import pytest

import bench.gpu.__main__ as command
from bench.gpu.solved import Store
from tests.bench_gpu.fakes import FakeGpu
from tests.fake_gpu.library import build


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled programs and solved kernels are shared by the tests of a module."""
    return tmp_path_factory.mktemp("gpu")


@pytest.fixture
def fake(library: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    """The benchmarks' device is the fake one, and no process is replaced."""
    gpu = FakeGpu(library, folder)
    monkeypatch.setattr(command, "device", lambda: gpu)
    monkeypatch.setattr(command, "LOOPS", 1)
    monkeypatch.setattr(command, "BLOCKS_PER_MULTIPROCESSOR", 1)
    monkeypatch.setattr(command, "CUBINS", folder)
    monkeypatch.setattr(command, "Store", lambda: Store(folder / "kernels.json"))
    gpu.library.fake_forget()
    return gpu
