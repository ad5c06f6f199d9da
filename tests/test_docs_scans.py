"""docs/scans.md is true: its sessions print what is shown, and so do its sketches."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

import pytest

from tests.pages import blocks_of, files_of, text_of


def test_the_sessions() -> None:
    """One after the other, in one namespace."""
    blocks = blocks_of(text_of("scans.md"), "pycon")
    assert len(blocks) >= 8
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "scans.md", "docs/scans.md", 0)
    printed: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(parsed, out=printed.append).failed == 0, "".join(printed)


def test_an_operator_on_words(tmp_path: Path) -> None:
    (tmp_path / "runs.py").write_text(files_of(text_of("scans.md"))["runs.py"], encoding="utf-8")
    runpy.run_path(str(tmp_path / "runs.py"))


def test_the_sketches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = text_of("scans.md")
    (tmp_path / "sketches.py").write_text(files_of(page)["sketches.py"], encoding="utf-8")
    runpy.run_path(str(tmp_path / "sketches.py"), run_name="__main__")
    assert capsys.readouterr().out == blocks_of(page, "text")[0]
