"""The how-to pages are true: their sessions print what is shown, and their Python runs."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.pages import DOCS, blocks_of, files_of, run_again, text_of, untimed


@pytest.mark.parametrize("name", ["write-a-sketch.md", "device-functions.md", "read-a-certificate.md"])
def test_the_session_prints_what_the_page_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sketch, one command; times are blanked, those of `--certify` too."""
    monkeypatch.chdir(tmp_path)
    page = text_of(name)
    for file, text in files_of(page).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    (session,) = blocks_of(page, "console")
    seconds = re.compile(r"\d+\.\d+ s\b")
    assert seconds.sub("_ s", untimed(run_again(session))) == seconds.sub("_ s", untimed(session))


@pytest.mark.parametrize("name", ["template.py", "cost.py", "algebra.py"])
def test_the_extensions_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The assertions of each snippet hold."""
    (tmp_path / f"page_{name}").write_text(files_of(text_of("extend.md"))[name], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(f"page_{name.removesuffix('.py')}")


def test_the_places_to_change_are_there() -> None:
    """Each file that the table of extend.md names exists."""
    named = re.findall(r"`((?:symbolic|swizzle|templates|tests|cuda_out|docs|editors)/[\w./-]*)`", text_of("extend.md"))
    assert len(named) >= 12
    assert [path for path in named if not (DOCS.parent / path).exists()] == []
