"""The day a GPU is there, rehearsed for every case: prepared on one machine, measured on another, to the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bench.gpu.__main__ as command
from bench.gpu import device, solved
from bench.gpu.contenders import Setup
from bench.gpu.solved import Store
from tests.bench_gpu.fakes import FakeGpu, needs_toolkit, run
from tests.slow_cases import slow_unless

CASES = command.all_cases(Setup(Store(Path("nowhere")), {}))
NOT_HERE = ("no checkout was given", "cannot be imported", "the emulation behind the fake driver has no headers", "NPP")
"""Why rivals take no part in a rehearsal."""
EMPTY = ("proved to have no solution in any space",)
"""Why a kernel of ours is not there."""


def nobody(*arguments: Any) -> Any:
    raise AssertionError("all was prepared")


@needs_toolkit
@pytest.mark.parametrize(
    "name",
    slow_unless([case.name for case in CASES], lambda name: name == "Transposition, rows, 32"),
)
def test_a_case_from_preparation_to_the_page(
    fake: FakeGpu,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    capsys: Any,
) -> None:
    """Nothing fails, nothing is solved or compiled any more where it is measured, and every result is right."""
    every_case = command.all_cases
    monkeypatch.setattr(command, "all_cases", lambda setup: [c for c in every_case(setup) if c.name == name])
    fake.case = next(case for case in CASES if case.name == name)
    assert command.main(["--prepare", "--arch", "sm_90", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.endswith("nothing failed\n")
    monkeypatch.setattr(device, "compile_cuda", nobody)
    monkeypatch.setattr(solved, "solve", nobody)
    assert run(tmp_path) == 0
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    (row,) = json.loads(file.read_text())["cases"]
    for contender in row["contenders"]:
        assert contender["status"] in ("measured", "missing"), contender
        reasons = EMPTY if contender["ours"] else NOT_HERE
        assert not contender["reason"] or any(why in contender["reason"] for why in reasons), contender
    assert any(c["ours"] and c["status"] == "measured" for c in row["contenders"])
    assert f"| {row['at']} | " in (tmp_path / "docs" / "gpu-benchmarks.md").read_text()
    assert not list((tmp_path / "results").glob("*unfinished*"))
