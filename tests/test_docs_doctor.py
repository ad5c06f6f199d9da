"""docs/doctor.md is true: its sessions print what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from tests.pages import blocks_of, files_of, run_again, text_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


def test_the_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one looks at what the first one wrote."""
    monkeypatch.chdir(tmp_path)
    page = text_of("doctor.md")
    for name, text in files_of(page).items():
        Path(name).write_text(text)
    sessions = blocks_of(page, "console")
    assert len(sessions) == 2 and [run_again(each) for each in sessions] == sessions
