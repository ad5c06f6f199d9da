"""docs/conversions.md is true: its sessions print what is shown, its table is what the benchmark counts."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.pages import blocks_of, files_of, run_again, text_of, untimed


def test_the_sessions() -> None:
    """One after the other, in one namespace."""
    blocks = blocks_of(text_of("conversions.md"), "pycon")
    assert len(blocks) >= 5
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "conversions.md", "docs/conversions.md", 0)
    printed: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(parsed, out=printed.append)
    assert results.failed == 0, "".join(printed)


def test_the_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sketch has the answers that are shown."""
    page = text_of("conversions.md")
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for console in blocks_of(page, "console"):
        assert untimed(run_again(console)) == untimed(console)
