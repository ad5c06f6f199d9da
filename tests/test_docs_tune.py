"""docs/tune.md is true: its sessions print what is shown, its Python runs, and its space has what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle.derive.tuning import static_cost
from tests.pages import blocks_of, files_of, run_again, text_of


def test_the_sessions_and_the_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many, why not, nothing left; four candidates by Python, counted without a compiler."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(static_cost, "_compiled", lambda program, sizes, arch: None)
    page = text_of("tune.md")
    for name, text in files_of(page).items():
        Path(name).write_text(text)
    sessions = blocks_of(page, "console")
    assert len(sessions) == 2 and [run_again(each) for each in sessions] == sessions
    (python,) = blocks_of(page, "python")
    exec(python, {})
    assert {path.name for path in Path("out").iterdir()} >= {"average3.cu", "average.tune.jsonl"}
