"""docs/sweeps.md is true: its sessions print what is shown."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import msgspec
import pytest

from swizzle.sweeps.asking import JobLine
from tests.pages import blocks_of, files_of, run_again, text_of


def test_the_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command, and the function after it, which finds what the command kept."""
    monkeypatch.chdir(tmp_path)
    page = text_of("sweeps.md")
    for name, text in files_of(page).items():
        Path(name).write_text(text)
    (console,) = blocks_of(page, "console")
    assert run_again(console) == console
    (session,) = blocks_of(page, "pycon")
    parsed = doctest.DocTestParser().get_doctest(session, {}, "sweeps.md", "docs/sweeps.md", 0)
    printed: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(parsed, out=printed.append).failed == 0, "".join(printed)


def test_the_lines_are_jobs() -> None:
    """Every line of the page's file of jobs is one."""
    lines = [line for line in text_of("sweeps.md").splitlines() if line.startswith('  {"do"')]
    assert [msgspec.convert(json.loads(line), JobLine).do for line in lines] == ["solve", "prove", "check"]
