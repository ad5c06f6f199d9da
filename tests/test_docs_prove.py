"""docs/prove.md is true: its sessions print what is shown, and its test passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from tests.pages import blocks_of, files_of, run_again, text_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


def test_the_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal, different with files, and two kernels."""
    monkeypatch.chdir(tmp_path)
    page = text_of("prove.md")
    for name, text in files_of(page).items():
        Path(name).write_text(text)
    sessions = blocks_of(page, "console")
    assert len(sessions) == 3 and [run_again(each) for each in sessions] == sessions


def test_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page gives pytest passes, and fails for a mutant with the verdict and why."""
    monkeypatch.chdir(tmp_path)
    files = files_of(text_of("prove.md"))
    names: dict[str, object] = {}
    exec(files["test_kernels.py"], names)
    Path("rms.cu").write_text(files["rms.cu"])
    names["test_rms"](), names["test_other_rows"]()  # type: ignore[operator]
    Path("rms.cu").write_text(files["rms.cu"].replace("offset = 16", "offset = 8"))
    with pytest.raises(AssertionError):
        names["test_rms"]()  # type: ignore[operator]
