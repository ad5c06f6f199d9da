"""Preparing for a GPU: what fails is one line, and everything else is there."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bench.gpu.__main__ as command
from bench.gpu import solved, wheels
from bench.gpu.contenders import Setup
from bench.gpu.contenders import solved as contender_of
from bench.gpu.kernels import Kernel
from bench.gpu.missing import Missing
from bench.gpu.problem import ArraySpec, Case, Problem
from bench.gpu.solved import Sketch, Store, sketch
from cuda_out.compile.toolchain import available_tools

KERNEL = """
import os
from swizzle import cuda, f32, parameter, sketch, spec, sw_xform

SHIFT = parameter("shift", 0, domain=range(100))
if SHIFT == 99:
    os._exit(3)

@spec
def same(x):
    return [x[i] for i in range(64)]

@sketch(spec=same, block=32, grid=2, x=f32[64], y=f32.out[64])
def copied(x, y):
    lane, i = cuda.laneid, cuda.grid(1)
    y[i] = cuda.shfl_sync(cuda.FULL_MASK, x[i + SHIFT], sw_xform(lane, 32))
"""
GOOD, WRONG, DEADLY = 0, 1, 99


@pytest.fixture
def shifted(tmp_path: Path) -> Any:
    """Return a sketch that is right, that reads out of bounds, or whose process dies; by its parameter."""
    (tmp_path / "copied.py").write_text(KERNEL)
    return lambda shift: sketch(f"{tmp_path}/copied.py:copied", shift=shift)


@pytest.mark.slow
def test_what_fails_is_a_line(tmp_path: Path, shifted: Any) -> None:
    """A user's mistake, with its place, and a process that dies cost their own sketches, and are tried again."""
    store, said = Store(tmp_path / "kernels.json"), list[str]()
    failed = store.prepare([shifted(WRONG), shifted(DEADLY), shifted(GOOD)], 2, said.append)
    assert len(said) == 3 and sorted(line.partition("/")[0] for line in said) == ["1", "2", "3"]
    wrong, dead = sorted(failed)
    assert dead == f"{shifted(DEADLY).name}: the process that solved it died"
    assert (
        wrong.startswith(f"{shifted(WRONG).name}: SwizzleError: {tmp_path}/copied.py:16:") and "x[64] is out" in wrong
    )
    assert isinstance(store.kernel(shifted(GOOD)), Kernel)
    again = Store(store.path)
    for shift in (WRONG, DEADLY):
        with pytest.raises(Missing, match="SwizzleError" if shift == WRONG else "died"):
            again.kernel(shifted(shift))  # where it is measured, nobody waits for it once more
    (tmp_path / "copied.py").write_text(KERNEL.replace("i + SHIFT", "i").replace("os._exit(3)", "pass"))
    assert again.prepare([shifted(WRONG), shifted(DEADLY), shifted(GOOD)], 1, said.append) == []
    assert len(said) == 6, "of another file, all three are solved anew"
    assert again.prepare([shifted(WRONG), shifted(DEADLY), shifted(GOOD)], 1, said.append) == [] and len(said) == 6


def test_what_failed_is_tried_again(tmp_path: Path, shifted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a failure does not count as prepared; one without a solution does."""
    store, asked = Store(tmp_path / "kernels.json"), list[Sketch]()
    rows = {
        shifted(1): {"missing": "unknown", "failed": True},
        shifted(2): {"missing": "proved to have no solution in any space", "failed": False},
    }

    def solved_by(wanted: Any, jobs: int) -> Any:
        asked.extend(wanted)
        return [(each, rows[each]) for each in wanted]

    monkeypatch.setattr(solved, "_solved_by", solved_by)
    for _ in range(2):
        failed = store.prepare(rows, 1, lambda line: None)
        assert failed == [f"{shifted(1).name}: unknown"]
    assert asked == [shifted(1), shifted(2), shifted(1)]


def test_wheels_are_those_that_a_gpus_environment_lacks() -> None:
    """Of what we require, the rest is there; all in the versions that are tested."""
    config = configparser.ConfigParser()
    config.read(solved.ROOT / "setup.cfg")
    required = {line.split()[0] for line in config["options"]["install_requires"].split("\n") if line}
    there = {"click", "numba", "numpy", "rich", "typing_extensions"}
    assert required - there - {"cvc5"} == set(wheels.LACKING)
    constraints = (solved.ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = wheels.pinned([*wheels.LACKING, "numpy"], constraints)
    assert [pin.partition("==")[0] for pin in pins] == [*wheels.LACKING, "numpy"]
    assert all(f"{pin}\n" in constraints or f"{pin} ;" in constraints for pin in pins)
    with pytest.raises(AssertionError, match="a version of each"):
        wheels.pinned(["no-such-package"], constraints)


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
def test_the_command_says_what_failed(
    tmp_path: Path, shifted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its status is 1 then; kernels and the measurement's own tools are compiled all the same."""

    def cases(setup: Setup) -> list[Case]:
        arrays = (ArraySpec("x", "float32", (64,), "in"), ArraySpec("y", "float32", (64,), "out"))
        variants = [shifted(GOOD), shifted(WRONG)]
        return [
            Case(
                "Copies", 1, lambda lengths: Problem(lengths, arrays, 64), lambda arrays: np.copy(arrays["x"]), (),
                lambda bytes_: {"x": 64}, lambda: {"ours": variants},
                lambda: [contender_of(setup, "ours", variants)], "elements",
            )
        ]  # fmt: skip

    monkeypatch.setattr(command, "all_cases", cases)
    monkeypatch.setattr(command, "CUBINS", tmp_path / "cubins")
    monkeypatch.setattr(command, "Store", lambda: Store(tmp_path / "kernels.json"))
    assert command.main(["--prepare", "--arch", "sm_90", "--jobs", "1"]) == 1
    *_, compiled, failed = capsys.readouterr().out.splitlines()
    assert compiled == f"{len(command.tools()) + 1} kernels are compiled for sm_90"
    assert failed.startswith(f"failed: {shifted(WRONG).name}: SwizzleError: ")
    assert len(list((tmp_path / "cubins").glob("*.cubin"))) == len(command.tools()) + 1
