"""The benchmark driver from the command line to the written page, on a GPU that is none: see fakes.py.

What the page says here is made up, and stays in the tests' own folders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import bench.gpu.__main__ as command
from bench.gpu import solved
from bench.gpu.contenders import Setup
from bench.gpu.driver import DriverError, Refused
from bench.gpu.guard import Guard
from bench.gpu.measure import summary
from bench.gpu.missing import Missing
from bench.gpu.solved import Store, sketch
from tests.bench_gpu.fakes import FakeGpu, needs_toolkit, run
from tests.fake_gpu.library import ILLEGAL_ADDRESS

pytestmark = [pytest.mark.slow, needs_toolkit]
OUT_OF_RESOURCES = 701
CASE = "Multiplication of polynomials, coefficients, 32"


def test_a_case_from_the_command_line_to_the_page(fake: FakeGpu, tmp_path: Path, capsys: Any) -> None:
    """Every contender is compared and timed; who is missing is said, with the reason; kept rows stay."""
    assert run(tmp_path, "--only", CASE) == 0
    assert not list((tmp_path / "results").glob("gpu-*.json"))
    assert fake.library.fake_allocations() == 2, "all arrays are given back but those of the sweep"
    launched = fake.launched
    assert run(tmp_path, "--only", CASE, "--partial") == 0
    assert fake.launched - launched < 60, "only the ceilings again"
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    content = json.loads(file.read_text())
    assert content["device"]["name"] == "Fake GPU" and content["device"]["l2_bytes"] == 4096
    (row,) = content["cases"]
    by_name = {c["name"]: c for c in row["contenders"]}
    assert {name for name, c in by_name.items() if c["status"] == "measured"} == {
        *("integer multiplications", "ours: register", "ours: shared", "ours: product of chunks")
    }
    ours = by_name["ours: register"]
    assert (ours["ms"], ours["runs"], ours["about"]["registers"]) == (1.0, 3, 32)
    assert ours["compared_with"] == "integer multiplications"
    assert row["bytes"] == 4 * 4 * 512 and row["operations"] == {"and-xors": 32 * 32 * 16} and row["floor_ms"] > 0
    text = (tmp_path / "docs" / "gpu-benchmarks.md").read_text()
    (tmp_path / "docs" / "gpu-benchmarks.md").unlink()
    assert run(tmp_path, "--page", str(file)) == 0, "written again, from the file"
    assert (tmp_path / "docs" / "gpu-benchmarks.md").read_text() == text
    measured = re.search(r"^1 of the (\d+) cases were measured\.$", text, re.MULTILINE)
    assert measured and int(measured[1]) > 60
    assert "- Ben-Sasson: register at 32: missing: no checkout was given (--field-mult DIR)" in text
    assert "| draw, 1.00 |" in text
    ElementTree.parse(tmp_path / "docs" / "images" / "gpu-multiplication-of-polynomials-coefficients.svg")
    assert "rival integer multiplications 1.000 ms" in capsys.readouterr().out


def test_the_budget_ends_a_measurement(fake: FakeGpu, tmp_path: Path, capsys: Any) -> None:
    """No case is begun that may not end in time; without rows nothing is written."""
    assert run(tmp_path, "--only", CASE, "--budget", "0", "--partial") == 0
    assert "the budget of 0 s is spent" in capsys.readouterr().out
    assert not (tmp_path / "docs").exists()


def test_telling_cases_come_first(fake: FakeGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the budget is short, the tables have a few rows of each kind; on the page they stand in their order."""
    asked: list[str] = []

    def measure(case: Any, run: Any) -> Any:
        asked.append(case.name)
        raise RuntimeError("not measured")

    monkeypatch.setattr(command, "measure", measure)
    assert run(tmp_path) == 1
    cases = [case.name for case in command.all_cases(Setup(Store(Path("nowhere")), {}))]
    assert tuple(asked[:8]) == command.TELLING and sorted(asked) == sorted(cases) and len(set(asked)) == len(cases)
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    assert [row["name"] for row in json.loads(file.read_text())["cases"]] == cases


def test_a_wrong_contender_is_not_timed(fake: FakeGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row says where it is wrong; the others are measured."""
    broken = command.multiply.by_hand

    def by_hand(file: str, entry: str, *rest: Any, **defines: Any) -> Any:
        kernel = broken(file, entry, *rest, **defines)
        if entry != "polynomials":
            return kernel
        return type(kernel)(
            kernel.text.replace("z[l * n + i] = c[l]", "z[l * n + i] = c[l] ^ (i == 31)"), *_rest(kernel)
        )

    monkeypatch.setattr(command.multiply, "by_hand", by_hand)
    assert run(tmp_path, "--only", CASE, "--partial") == 0
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    (row,) = json.loads(file.read_text())["cases"]
    plainest, ours, *_ = row["contenders"]
    assert plainest["status"] == "wrong" and "are wrong at 32: (0,) is" in plainest["reason"]
    assert ours["status"] == "measured" and ours["compared_with"] == "NumPy, at small sizes"


def _rest(kernel: Any) -> tuple[Any, ...]:
    return tuple(getattr(kernel, name) for name in list(kernel.__dataclass_fields__)[1:])


def test_a_contender_that_breaks_the_device_is_left_out(
    fake: FakeGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is replaced by one that knows; there its row has the reason, and the case is measured."""
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(command, "Guard", partial(Guard, start=commands.append))
    fake.refuse = lambda entry: ILLEGAL_ADDRESS if entry == "polynomials" else 0
    with pytest.raises(DriverError, match=r"cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
        run(tmp_path, "--only", CASE, "--partial", "--budget", "500")
    ((_, *words),) = commands
    assert words[:2] == ["-m", "bench.gpu"] and words[-2] == "--budget" and 400 < int(words[-1]) <= 500
    assert command.main(words[2:]) == 0
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    (row,) = json.loads(file.read_text())["cases"]
    assert row["contenders"][0]["reason"].startswith("broke the device: cuLaunchKernel")
    assert row["contenders"][1]["status"] == "measured"


def test_a_launch_that_is_refused_costs_its_own_place(fake: FakeGpu, tmp_path: Path) -> None:
    """Too many registers for a block, say: the device goes on, and the row has CUDA's words."""
    fake.refuse = lambda entry: OUT_OF_RESOURCES if entry == "polynomials" else 0
    assert run(tmp_path, "--only", CASE, "--partial") == 0
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    plainest, ours, *_ = json.loads(file.read_text())["cases"][0]["contenders"]
    assert (plainest["status"], plainest["reason"]) == (
        "missing",
        "a thread for each product: cuLaunchKernel: another error (701)",
    )
    assert ours["status"] == "measured"


@pytest.mark.parametrize("error", [AssertionError("a bug of ours"), Refused("cuMemAlloc_v2: no memory (2)")])
def test_a_case_that_fails_is_a_line(
    fake: FakeGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, error: Exception
) -> None:
    """The others are measured, the page says what is missing and why, and the status is 1."""
    measured, other = command.measure, "Transposition, rows, 32"

    def measure(case: Any, run: Any) -> Any:
        if case.name == CASE:
            raise error
        return measured(case, run)

    every_case = command.all_cases
    monkeypatch.setattr(command, "all_cases", lambda setup: [c for c in every_case(setup) if c.name in (CASE, other)])
    monkeypatch.setattr(command, "measure", measure)
    fake.case = next(case for case in command.all_cases(Setup(Store(Path("nowhere")), {})) if case.name == other)
    assert run(tmp_path) == 1
    words = f"{type(error).__name__}: {error}"
    assert f"{CASE:<48} failed: {words}" in capsys.readouterr().out
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    rows = json.loads(file.read_text())["cases"]
    assert sorted(row.get("failed", "") for row in rows) == ["", words]
    text = (tmp_path / "docs" / "gpu-benchmarks.md").read_text()
    assert "1 of the 2 cases were measured." in text and f"Not measured:\n\n- {CASE}: {words}\n" in text
    assert "| 32 | " in text


def test_a_case_that_breaks_the_device_is_left_out(
    fake: FakeGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of its contenders, too: the next process knows, and nothing is claimed."""
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(command, "Guard", partial(Guard, start=commands.append))
    monkeypatch.setattr(command, "measure", lambda case, run: fake.driver("cuMemFree_v2", 0) or {})
    monkeypatch.setattr("bench.gpu.driver.REFUSALS", frozenset())
    with pytest.raises(DriverError, match="cuMemFree_v2"):
        run(tmp_path, "--only", CASE, "--partial")
    ((_, *words),) = commands
    assert command.main(words[2:]) == 1
    (file,) = (tmp_path / "results").glob("gpu-fake-gpu-*.json")
    (row,) = json.loads(file.read_text())["cases"]
    assert row["failed"].startswith("broke the device: cuMemFree_v2") and "contenders" not in row
    text = (tmp_path / "docs" / "gpu-benchmarks.md").read_text()
    assert "## Ceilings" not in text and not (tmp_path / "docs" / "images").exists()


def test_a_contender_that_hangs_is_left_out(tmp_path: Path) -> None:
    """After so many seconds a thread replaces the process."""
    import threading

    started = threading.Event()
    commands: list[Sequence[str]] = []

    def start(words: Sequence[str]) -> None:
        commands.append(words)
        started.set()

    guard = Guard(
        tmp_path / "broken.json",
        "mark",
        {},
        ["--afresh", "--runs", "3"],
        float("inf"),
        0.0,
        patience_s=0.05,
        start=start,
    )
    with guard("case, 3", "trove"):
        assert started.wait(5)
    assert commands[0][1:] == ["-m", "bench.gpu", "--runs", "3"]
    assert (
        "did not end within 0 s"
        in json.loads((tmp_path / "broken.json").read_text())["rows"]["case, 3: trove"]["reason"]
    )
    with guard("case, 3", "CUB"):
        pass
    assert len(commands) == 1


def test_the_driver_says_what_failed(fake: FakeGpu) -> None:
    """The call, CUDA's name of the error, its number."""
    with pytest.raises(DriverError, match=r"cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY \(2\)"):
        fake.empty((1 << 30,), "float32")
    values = np.arange(7, dtype=np.uint32)
    buffer = fake.upload(values)
    other = fake.empty((7,), "uint32")
    fake.copy(buffer, other)
    np.testing.assert_array_equal(fake.download(other), values)
    assert other.__cuda_array_interface__["shape"] == (7,) and other.__cuda_array_interface__["typestr"] == "<u4"
    fake.poison(other)
    assert (fake.download(other) == 0xFFFFFFFF).all()
    fake.release(buffer)
    fake.release(other)
    assert fake.library.fake_allocations() == 0


def test_the_emulation_rehearses(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """`--emulate` solves, prints, runs and compares, and writes nothing."""
    monkeypatch.setattr(command, "Store", lambda: Store(folder / "kernels.json"))
    assert run(tmp_path, "--emulate", "--only", "AoS load-sum, 6") == 0
    out = capsys.readouterr().out
    assert "direct right, shared memory right" in out and "ours: crc missing, ours: vectors right" in out
    assert out.endswith("4 contenders ran, and every result is the specification's; nothing was timed\n")
    assert not (tmp_path / "results").exists() and not (tmp_path / "docs").exists()


def test_a_rehearsal_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: Any) -> None:
    """One variant beside others that are right, and a case that does not come to an end."""
    name, average = "Transposition, rows, 32", "2D stencil (window average), window side, 3"
    every_case, by_hand = command.all_cases, command.tiles.by_hand

    def wrong(file: str, entry: str, block: Any, *rest: Any, **defines: Any) -> Any:
        kernel = by_hand(file, entry, block, *rest, **defines)
        if (entry, block) != ("shared_transpose", (32, 4)):
            return kernel
        return replace(kernel, text=kernel.text.replace("tile[threadIdx.x][r]", "tile[r][threadIdx.x]"))

    def broken(lengths: Any) -> Any:
        raise RuntimeError("no such problem")

    def cases(setup: Setup) -> Any:
        named = {case.name: case for case in every_case(setup)}
        return [replace(named[average], problem=broken), replace(named[name], sketches=dict)]

    monkeypatch.setattr(command.tiles, "by_hand", wrong)
    monkeypatch.setattr(command.tiles, "transposition_kernels", dict)
    monkeypatch.setattr(command, "all_cases", cases)
    monkeypatch.setattr(command, "Store", lambda: Store(folder / "kernels.json"))
    assert command.main(["--emulate"]) == 1
    first, failed, wrong_one, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{name:<48} direct right, shared memory right")
    assert failed == f"{average:<48} failed: RuntimeError: no such problem"
    assert wrong_one.startswith(f"{name}: shared memory: 32 x 4 threads: ")
    assert last == f"{average}: RuntimeError: no such problem"


def test_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a driver the command ends with the reason; a name that no case has is said too."""
    monkeypatch.setattr("cuda_out.compile.launch.driver_available", lambda: (False, "no NVIDIA driver"))
    with pytest.raises(SystemExit, match=r"no NVIDIA driver; `python -m bench.gpu --emulate` rehearses"):
        command.main(["--only", CASE])
    with pytest.raises(SystemExit, match="no case's name contains 'nothing'"):
        command.main(["--only", "nothing"])


def test_solved_kernels_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By sketch, parameters and sources; a machine without a solver says so, and does not keep that."""
    store, wanted = Store(tmp_path / "kernels.json"), sketch("case_studies/mult32.py:register")
    monkeypatch.setattr(solved, "solve", _no_solver)
    with pytest.raises(Missing, match="this machine has no solver"):
        store.kernel(wanted)
    assert not store.path.exists()
    monkeypatch.undo()
    kernel = store.kernel(wanted)
    assert (kernel.pointers, kernel.lengths, kernel.tiles) == (("a", "b", "c"), "x", (32,))
    assert kernel.grid({"x": 96}) == (3, 1, 1)
    monkeypatch.setattr(solved, "solve", _no_solver)
    assert Store(store.path).kernel(wanted) == kernel
    monkeypatch.setattr(solved, "sources_mark", lambda wanted: "other sources")
    with pytest.raises(Missing):
        Store(store.path).kernel(wanted)


def _no_solver(wanted: Any) -> Any:
    raise ImportError("No module named 'pysmt'")


def test_samples_are_summed_up() -> None:
    """The median, and the tenth and ninetieth of a hundred."""
    assert summary([5.0, 1.0, 2.0, 3.0, 4.0])["ms"] == 3.0
    found = summary([float(n) for n in range(1, 100)])
    assert (found["ms"], found["p10_ms"], found["p90_ms"], found["runs"]) == (50.0, 10.0, 90.0, 99)
    assert summary([2.0]) == {"ms": 2.0, "p10_ms": 2.0, "p90_ms": 2.0, "runs": 1}
