"""`swizzle prove`: exit statuses, the JSON object, files, and one clear error for each mistake."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.commands.process import execute

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
KERNEL = """__global__ void scale(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""
SPEC = """
def scale(x, a):
    return [a * x[i] for i in range(40)]
def twice(x, a):
    return [2 * a * x[i] for i in range(40)]
"""
GIVEN = ("--launch", "2,32", "--args", "f32[40],f32.out[40],f32,i32=40")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "scale.cu").write_text(KERNEL)
    (tmp_path / "spec.py").write_text(SPEC)
    return tmp_path


def call(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(["prove", *map(str, arguments)], out, err), out.getvalue(), err.getvalue()


def test_equal(files: Path) -> None:
    """The keys are those of the contract; of several specifications the one with the kernel's name is taken."""
    status, out, err = call(files / "scale.cu", files / "spec.py", *GIVEN, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    contract = {
        "kernel",
        "against",
        "verdict",
        "outputs",
        "launch",
        "covers",
        "findings",
        "numbers",
        "assumed",
        "seconds",
    }
    assert found.keys() >= contract
    assert (found["kernel"], found["against"], found["verdict"], found["outputs"]) == ("scale", "scale", "equal", 40)
    assert (found["launch"], found["findings"], found["numbers"]) == ("2,32", [], None)
    assert [each["scale"] for each in found["errors"]] == [1, 30, 1000, 0.001, 1000, 1]
    assert any(each.startswith("floats are real numbers") for each in found["assumed"])
    status, out, _ = call(files / "scale.cu", files / "spec.py", *GIVEN)
    assert status == 0 and out.startswith(
        "scale: equal to scale, proved for all inputs at the launch 2,32 (40 outputs)\n"
    )


def test_different_with_numbers_and_files(files: Path, tmp_path: Path) -> None:
    """Inputs that show it are as small as can be, and are written for NumPy and for a GPU."""
    out_folder = tmp_path / "shown"
    status, out, _ = call(files / "scale.cu", f"{files / 'spec.py'}:twice", *GIVEN, "--json", "-o", out_folder)
    found = json.loads(out)
    assert (status, found["verdict"]) == (1, "different")
    (first, *_) = found["findings"]
    assert (first["where"], first["line"], first["found"], first["wanted"]) == ("y[0]", 3, "a*x[0]", "2*a*x[0]")
    assert first["thread"] == "block (0, 0, 0), thread (0, 0, 0), lane 0"
    numbers = found["numbers"]
    assert numbers["wanted"] == 2 * numbers["found"] != 0
    assert sum(number != 0 for number in numbers["inputs"]["x"]) == 1
    assert [Path(each).name for each in found["files"]] == ["scale.npz", "scale_reproduce.cu", "scale.cu"]
    with np.load(found["files"][0]) as arrays:
        assert (arrays["wanted_y"] == 2 * arrays["found_y"]).all() and arrays["x"].dtype == np.float32
    program = Path(found["files"][1]).read_text()
    assert "scale<<<dim3(2, 1, 1), dim3(32, 1, 1)>>>((const float*)x, (float*)y, (float)" in program
    assert '#include "scale.cu"' in program


def test_undefined_and_undecided(files: Path) -> None:
    """What is undefined has a line, and is no mistake; what is not interpreted is undecided."""
    (files / "scale.cu").write_text(KERNEL.replace("i < n", "i <= n"))
    status, out, _ = call(files / "scale.cu", files / "spec.py", *GIVEN, "--json")
    found = json.loads(out)
    assert (status, found["verdict"], found["findings"][0]["line"]) == (1, "undefined", 3)
    assert found["findings"][0]["where"] == "x[40]"
    (files / "scale.cu").write_text(KERNEL.replace("a * x[i]", "a * x[(int)x[i]]"))
    status, out, _ = call(files / "scale.cu", files / "spec.py", *GIVEN, "--json")
    assert json.loads(out)["verdict"] in ("undecided", "undefined", "different") and status in (1, 3)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["nowhere.cu", "spec.py"], "nowhere.cu cannot be read: No such file or directory"),
        (["scale.cu"], "nothing to compare with"),
        (["scale.cu", "spec.py", "--against", "scale.cu"], "a specification, and --against as well"),
        (["scale.cu", "spec.py:thrice", *GIVEN], "spec.py has no specification thrice"),
        (["scale.cu", "spec.py"], "nothing says what scale is given"),
        (["scale.cu", "spec.py", *GIVEN[:2], "--args", "f32[40]"], "--args has 1 words, and scale takes 4 arguments"),
        (["scale.cu", "spec.py", *GIVEN, "--launch", "1,32"], "--launch is given 2 times for 1 kernel"),
        (["scale.cu", "spec.py", *GIVEN[:2], "--args", "f32[40],f32[40],f32,i32=40"], "scale has no output"),
        (
            ["scale.cu", "spec.py", *GIVEN[:2], "--args", "f32[40],f32.out[40],f32=2,i32=40"],
            None,
        ),
        (["scale.cu", "spec.py", *GIVEN, "-D", "1x=2"], "-D 1x=2 is no macro"),
    ],
)
def test_mistakes(files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], found: str | None) -> None:
    """Each is one error with exit status 2; a number of the launch that a specification names is none."""
    monkeypatch.chdir(files)
    status, _, err = call(*arguments)
    if found is None:
        assert (status, err) == (0, "")
    else:
        assert status == 2 and found in err and err.count("error:") == 1


def test_a_specification_that_does_not_fit(files: Path) -> None:
    """It is told what the kernel gives, with types and shapes."""
    (files / "spec.py").write_text("def scale(x):\n    return x\n")
    status, _, err = call(files / "scale.cu", files / "spec.py", *GIVEN)
    assert status == 2
    assert "spec.py:1:5: error: the specification scale takes x" in err
    assert "a parameter for each of: x f32[40], a f32" in err


def test_macros(files: Path) -> None:
    """-D defines one before the file's first line, whose numbers stay."""
    (files / "scale.cu").write_text(KERNEL.replace("a * x[i]", "FACTOR * a * x[i + OFF]"))
    given = (files / "scale.cu", f"{files / 'spec.py'}:twice", *GIVEN)
    assert call(*given, "-D", "FACTOR=2", "-D", "OFF=0")[0] == 0
    status, out, _ = call(*given, "-D", "FACTOR=2", "-D", "OFF")
    assert status == 1 and "line 3: " in out
