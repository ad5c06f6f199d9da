"""docs/layouts.md is true: its sessions print what is shown."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.pages import blocks_of, run_again, text_of


def test_the_sessions() -> None:
    """One after the other, in one namespace."""
    blocks = blocks_of(text_of("layouts.md"), "pycon")
    assert len(blocks) >= 7
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "layouts.md", "docs/layouts.md", 0)
    printed: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(parsed, out=printed.append)
    assert results.failed == 0, "".join(printed)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints what is shown, and draws the tile."""
    monkeypatch.chdir(tmp_path)
    (console,) = (block for block in blocks_of(text_of("layouts.md"), "console") if "swizzle layouts" in block)
    assert run_again(console) == console
    assert (tmp_path / "tile.svg").read_text().startswith("<svg")
