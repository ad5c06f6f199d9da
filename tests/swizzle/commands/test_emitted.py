"""`swizzle check --emitted`: what it says of a text that is right, of one that is not, and of what it cannot know."""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_out.printer import CudaSource
from cuda_out.toolchain import available_tools
from swizzle.commands import emitted
from swizzle.commands.check import CheckArguments, check
from symbolic.errors import SwizzleError
from tests.swizzle.commands.test_check_and_run import checked, kernel, one_array

pytestmark = pytest.mark.skipif(
    not available_tools() or not (shutil.which("g++") or shutil.which("clang++")),
    reason="needs a CUDA compiler (nvcc or NVRTC) and a C++ compiler",
)


@pytest.fixture(autouse=True)
def one_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for one architecture, to be quick."""
    monkeypatch.setattr("cuda_out.report.report.__defaults__", (("sm_80",),))


def printing(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Let the printer make a mistake."""
    right = emitted.cuda_source

    def wrong(*arguments: object) -> CudaSource:
        source = right(*arguments)  # type: ignore[arg-type]
        assert old in source.text
        return replace(source, text=source.text.replace(old, new))

    monkeypatch.setattr(emitted, "cuda_source", wrong)


def test_text_and_json_say_the_same(tmp_path: Path) -> None:
    """Resources, validation, the run, and mutants where asked for."""
    status, out = checked(kernel(tmp_path), emitted=True, mutate=True)
    assert status == 0
    assert "  sm_80: compiles without warnings, " in out and "stack frame 0 bytes, no local memory" in out
    assert "  PTX for sm_80: equal to the specification, validated for all inputs (64 outputs)\n" in out
    assert " seen by translation validation and by the emulation, 0 proved to change nothing, 0 unseen\n" in out
    status, out = checked(kernel(tmp_path), emitted=True, json_object=True)
    found = json.loads(out)
    assert (status, found["kernel"], found["status"], found["outputs"]) == (0, "add_neighbour", "equal", 64)
    (architecture,), details = found["emitted"]["architectures"], found["emitted"]
    assert (architecture["architecture"], architecture["local_memory"], architecture["stack_bytes"]) == (
        "sm_80", False, 0,
    )  # fmt: skip
    assert architecture["instructions"] is None or architecture["instructions"]["SHFL"] == 1
    assert details["translation_validation"][0]["status"] == details["run"]["status"] == "equal"
    assert "mutation" not in details


def test_json_of_a_wrong_kernel(tmp_path: Path) -> None:
    """The findings, and no `emitted`: the text of a wrong kernel is not looked at."""
    status, out = checked(kernel(tmp_path, step=2), emitted=True, json_object=True)
    found = json.loads(out)
    assert (status, found["status"], "emitted" in found) == (1, "different", False)
    assert found["findings"][0].startswith("y[0] is ")


def test_a_mistake_of_the_printer_is_found_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms differ, and so do the numbers: status 1, with the instruction that stored the wrong element."""
    printing(monkeypatch, "+ 1", "+ 2")
    status, out = checked(kernel(tmp_path), emitted=True)
    assert status == 1
    assert "PTX for sm_80: not equal to the specification: whole numbers: 64 of 64 outputs are wrong" in out
    assert "y[0] is x[0] + x[2], the specification says x[0] + x[1] (stored by block (0, 0, 0)" in out


def test_undefined_behaviour_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no numbers."""
    printing(monkeypatch, "y[", "y[1 + ")
    status, out = checked(kernel(tmp_path), emitted=True)
    assert (status, "PTX for sm_80: not equal to the specification\n" in out) == (1, True)
    assert "writes y[64], out of bounds: y has 64 elements" in out


def test_what_is_not_interpreted_is_undecided(tmp_path: Path) -> None:
    """A quotient of long integers branches on data: status 3, as nothing is shown; numbers are tried all the same."""
    path = one_array(tmp_path, "x[t] // (x[0] | 1)", "x[i] // (x[0] | 1)", "i64")
    status, out = checked(path, emitted=True)
    assert status == 3
    assert "not shown equal: the numbers agree on random inputs, but not everything in it is interpreted" in out
    assert "depends on data" in out


def test_terms_that_differ_are_undecided(tmp_path: Path) -> None:
    """A signed quotient is another term in PTX; numbers agree: status 3."""
    status, out = checked(one_array(tmp_path, "x[t] // 7", "x[i] // 7"), emitted=True)
    assert (status, "the numbers agree on random inputs, but terms differ:" in out) == (3, True)


def test_without_a_cpp_compiler_the_ptx_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so; what it finds counts."""
    from cuda_out import emulate

    def none() -> str:
        raise SwizzleError("no C++ compiler found, which running a kernel on the CPU needs")

    monkeypatch.setattr(emulate, "_compiler", none)
    status, out = checked(kernel(tmp_path), emitted=True)
    assert status == 0
    assert "running its PTX for sm_80 instead of the text: no C++ compiler found" in out
    assert "whole numbers: 64 of 64 outputs are the specification's, exactly" in out


def test_without_a_cuda_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so; the emulation still runs."""
    monkeypatch.setattr(emitted, "available_tools", lambda: [])
    status, out = checked(kernel(tmp_path), emitted=True)
    assert (status, emitted.NO_COMPILER in out, "whole numbers: 64 of 64" in out) == (0, True, True)


def test_mutate_needs_emitted(tmp_path: Path) -> None:
    """The error says what to add."""
    with pytest.raises(SwizzleError, match="--mutate without --emitted"):
        check(CheckArguments(str(kernel(tmp_path)), mutate=True), io.StringIO(), io.StringIO())


def test_a_mutant_that_nobody_sees_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blind emulation is a defect of the checks: status 1, with the mutant and what each check said."""
    monkeypatch.setattr("swizzle.commands.mutation.first_difference", lambda *_: "")
    status, out = checked(kernel(tmp_path), emitted=True, mutate=True)
    assert status == 1
    assert re.search(r"([1-9]\d*) mutants .*, \1 unseen", out)
    assert "unseen: line " in out and "emulation: equal)" in out
