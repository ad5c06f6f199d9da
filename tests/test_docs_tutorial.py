"""docs/tutorial.md is true: its sketches and sessions, one after the other in one folder, and its CMake project."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools, compile_cuda
from tests.pages import blocks_of, files_of, run_again, text_of, untimed
from tests.patience import be_patient

PAGE = text_of("tutorial.md")
FILES = files_of(PAGE)
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
needs_compiler = pytest.mark.skipif(not available_tools(), reason="neither NVRTC nor nvcc on this machine")


@needs_gcc
@needs_compiler
def test_the_tutorial_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session prints what the page shows; then the project around the header is configured and compiles."""
    be_patient(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sessions = blocks_of(PAGE, "console")
    assert len(sessions) == 8
    for session in sessions:
        assert untimed(run_again(session)) == untimed(session)
    assert (tmp_path / "envelope.html").is_file()
    compile_cuda((tmp_path / "out" / "envelope.cu").read_text(), "sm_80")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None or shutil.which("cmake") is None, reason="no nvcc or no cmake here")
def test_the_project_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CMakeLists.txt and main.cu build beside the folder that `solve` wrote."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run_again("$ swizzle solve envelope.py -D rounds=2 -o out --emit header\n")
    for command in (("cmake", "-S", ".", "-B", "build"), ("cmake", "--build", "build")):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "build" / "envelope").is_file()
