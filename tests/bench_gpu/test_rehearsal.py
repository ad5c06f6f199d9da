"""The day a GPU is there, rehearsed for every case: prepared on one machine, measured on another, to the page."""

from __future__ import annotations

import json
import subprocess
import sys
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


@pytest.mark.slow
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


WITHOUT_A_SOLVER = """
import sys
before = set(sys.modules)
for name in ("pysmt", "z3", "pysat", "cvc5", "numba", "click", "rich", "torch", "cupy"):
    sys.modules[name] = None
from pathlib import Path
import bench.gpu.__main__ as command
from bench.gpu.solved import Store
command.Store = lambda: Store(Path(sys.argv[1]))
status = command.main(["--emulate", "--only", "Transposition"])
outside = {path for path in sys.path if path.endswith("-packages")}
files = [(name, getattr(module, "__file__", None) or "") for name, module in sys.modules.items() if name not in before]
print(*sorted({name.partition(".")[0] for name, file in files if any(file.startswith(path) for path in outside)}))
sys.exit(status)
"""


@pytest.mark.slow
@needs_toolkit
def test_what_is_prepared_runs_without_a_solver(tmp_path: Path) -> None:
    """A machine with a GPU needs NumPy and msgspec besides what is prepared."""
    store = Store(tmp_path / "kernels.json")
    assert store.prepare(command.all_sketches([c for c in CASES if c.group.startswith("Transposition")]), 1) == []
    command_line = [sys.executable, "-c", WITHOUT_A_SOLVER, str(store.path)]
    done = subprocess.run(command_line, capture_output=True, text=True, cwd=solved.ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, said, packages = done.stdout.splitlines()
    assert said == "4 contenders ran, and every result is the specification's; nothing was timed"
    assert set(packages.split()) <= {"msgspec", "numpy", "typing_extensions"}
