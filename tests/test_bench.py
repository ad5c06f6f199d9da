"""The benchmark runner measures real processes and refuses to measure a wrong answer."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    specification = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules["bench_run"] = module
    specification.loader.exec_module(module)
    return module


def test_every_benchmark_has_its_sketch(runner: ModuleType) -> None:
    """Names are distinct and files exist."""
    names = [benchmark.name for benchmark in runner.BENCHMARKS]
    assert len(set(names)) == len(names)
    assert all((ROOT / benchmark.sketch.split(":")[0]).exists() for benchmark in runner.BENCHMARKS)


def test_one_benchmark(runner: ModuleType) -> None:
    """A run gives times, memory and an answer; two runs give one row and one line of the table."""
    benchmark = runner.BENCHMARKS[0]
    row = runner.summary(benchmark, [runner.run_once(benchmark) for _ in range(2)])
    assert row["wall_s"] > row["seconds"]["total"] > 0
    assert row["peak_mib"] > 10
    table = runner.table({"machine": runner.machine(), "benchmarks": [row]})
    assert f"| {benchmark.name} | sat, proved minimal |" in table


def test_an_unexpected_answer_ends_the_measurement(runner: ModuleType) -> None:
    """A benchmark that expects unsat does not time a sat."""
    with pytest.raises(SystemExit, match="expected unsat, the answer is sat"):
        runner.run_once(replace(runner.BENCHMARKS[0], status="unsat"))
