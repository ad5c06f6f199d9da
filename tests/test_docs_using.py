"""docs/using-the-kernel.md is true: its commands, its CMake project, and what its recipes name."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_cuda
from cuda_out.emulate.emulate import emulate
from swizzle.commands.process import execute
from tests.cuda_out.numba_stand_in import module

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "using-the-kernel.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```python (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
CONSOLES = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
needs_compiler = pytest.mark.skipif(not available_tools(), reason="neither NVRTC nor nvcc on this machine")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")


def untimed(text: str) -> str:
    return re.sub(r"^  time .*$", "  time", text, flags=re.MULTILINE)


def swizzle(*arguments: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    assert execute(arguments, out, err) == 0, err.getvalue()
    return out.getvalue()


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's sketch and the case studies in it."""
    for name in ("backwards.py", "clamped.py", "rowmean.py"):
        (tmp_path / name).write_text(BLOCKS[name], encoding="utf-8")
    shutil.copytree(ROOT / "case_studies", tmp_path / "case_studies", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_gcc
@needs_compiler
@pytest.mark.parametrize("console", CONSOLES)
def test_each_command_prints_what_the_page_says(console: str, workplace: Path) -> None:
    """What follows each `$` is what the command prints, but for the times."""
    command, _, said = console.partition("\n")
    program, *arguments = command.removeprefix("$ ").split()
    assert program == "swizzle"
    assert untimed(swizzle(*arguments)) == untimed(said)
    for written in re.findall(r"^  wrote   (.*)$", said, re.MULTILINE):
        assert (workplace / written).is_file()


@needs_nvcc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
@pytest.mark.slow  # the tutorial's project is built by default
def test_the_cmake_project_builds(tmp_path: Path) -> None:
    """It solves its sketch, and two translation units include the header; warnings are errors."""
    launcher = tmp_path / "swizzle"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m swizzle "$@"\n')
    launcher.chmod(0o755)
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", str(ROOT / "docs" / "examples" / "cmake"), "-B", str(build), f"-DSWIZZLE={launcher}"],
        ["cmake", "--build", str(build)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (build / "smooth").is_file()


class FakeModule:
    """What CuPy's RawModule does, on the emulation: compiles the text, finds a kernel by its exported name."""

    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        assert "--std=c++17" in options
        self.code = code

    def get_function(self, name: str) -> Any:
        def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            emulate(self.code, name, (*grid, 1, 1)[:3], (*block, 1, 1)[:3], arguments)

        return launch


@needs_gcc
def test_the_recipe_for_cupy(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with NumPy in the place of CuPy and the emulation in the place of its modules: the numbers are right."""
    swizzle("solve", "case_studies/conv1d.py", "-q", "-o", "out")
    cupy = types.ModuleType("cupy")
    for name in ("arange", "asarray", "empty", "float32"):
        setattr(cupy, name, getattr(np, name))
    cupy.RawModule = FakeModule  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    scope: dict[str, Any] = {}
    exec(compile(BLOCKS["cupy"], "docs/using-the-kernel.md", "exec"), scope)
    x = np.arange(1002, dtype=np.float32)
    assert np.array_equal(scope["y"], x[:-2] + 2 * x[1:-1] + 4 * x[2:])


def test_the_recipe_for_numba(workplace: Path) -> None:
    """The module is what the page shows, and its launch function is called as it says, on the stand-in."""
    swizzle("solve", "case_studies/conv1d.py", "-q", "-o", "out", "--emit", "numba")
    text = (workplace / "out" / "conv1d_numba.py").read_text()
    assert BLOCKS["numba_kernel"] in text
    scope = module(text)
    x, y = np.arange(1002, dtype=np.float32), np.zeros(1000, np.float32)
    scope["launch_conv1d"](x, np.array([1, 2, 4], np.float32), y)
    assert np.array_equal(y, x[:-2] + 2 * x[1:-1] + 4 * x[2:])
    compile(BLOCKS["numba_call"], "numba_call", "exec")
    assert "from conv1d_numba import launch_conv1d\n" in BLOCKS["numba_call"]


@needs_gcc
def test_a_call_from_python(workplace: Path) -> None:
    """The recipe runs as it stands, on the emulation."""
    scope: dict[str, Any] = {}
    exec(compile(BLOCKS["call"], "docs/using-the-kernel.md", "exec"), scope)
    x = scope["x"]
    assert np.array_equal(scope["y"], x[:-2] + 2 * x[1:-1] + 4 * x[2:])


@needs_compiler
def test_what_the_other_recipes_name_is_there(workplace: Path) -> None:
    """The recipes are Python; the kernel is exported by its bare name, with three pointers and a 64-bit length."""
    swizzle("solve", "case_studies/conv1d.py", "-q", "-o", "out", "--emit", "cuda,header")
    for recipe in ("cupy", "torch", "core"):
        compile(BLOCKS[recipe], recipe, "exec")
    header, text = (workplace / "out" / f"conv1d{suffix}" for suffix in (".cuh", ".cu"))
    namespace, launcher = re.findall(r"(\w+)::(launch_\w+)\(", BLOCKS["torch"])[0]
    assert f"namespace {namespace} {{" in header.read_text()
    assert f"inline cudaError_t {launcher}(" in header.read_text()
    for source in (text.read_text(), header.read_text()):
        assert "namespace swizzle_conv1d {" in source
    compiled = compile_cuda(text.read_text(), "sm_80")
    entry = compiled.ptx.partition(".visible .entry conv1d(")[2].partition(")")[0]
    assert re.findall(r"\.param \.(\w+)", entry) == ["u64"] * 4
    assert "conv1d" in compiled.kernels
