"""docs/schedules.md is true: its session prints what is shown, of the kernel that is shown."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.pages import blocks_of, files_of, text_of


def test_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block after the other, in one namespace."""
    monkeypatch.chdir(tmp_path)
    page = text_of("schedules.md")
    for name, text in files_of(page).items():
        Path(name).write_text(text)
    blocks = blocks_of(page, "pycon")
    assert len(blocks) == 4
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "schedules.md", "docs/schedules.md", 0)
    printed: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(parsed, out=printed.append)
    assert results.failed == 0, "".join(printed)
