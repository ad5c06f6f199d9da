"""One wrong sketch a file: `tests/errors/NAME.swz` or `.py`, and the whole message it must give, in `NAME.txt`.

After a message was changed on purpose: `SWIZZLE_WRITE_ERRORS=1 pytest tests/test_errors.py`, read the difference, and
`make docs-errors`.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from swizzle import SwizzleError, load
from swizzle.commands.process import execute
from swizzle.language.specs.specification import Meaning
from swizzle.solving.problem.problem import Problem

ROOT = Path(__file__).resolve().parent.parent
ERRORS = ROOT / "tests" / "errors"
WRITE = os.environ.get("SWIZZLE_WRITE_ERRORS") == "1"
PARTS = re.compile(r"\A\S+:\d+:\d+: error: .+\n    .+\n +\^+\n(?:  called at .+\n)*  expected: .+\n  fix: .+\n\Z")


def maker() -> ModuleType:
    """Return the script that makes the page."""
    found = importlib.util.spec_from_file_location("make_errors", ROOT / "docs" / "make_errors.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


MAKER = maker()
SOURCES = MAKER.sources()


@pytest.fixture(autouse=True)
def _no_installed_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some messages list what installed packages add, which is another matter on each machine."""
    monkeypatch.setattr("symbolic.extensions._points", lambda group: ())


def shown(name: str) -> str:
    """Return what the user sees: raised while the file is read, by its specification, or by its kernel's run."""
    with pytest.raises(SwizzleError) as caught:
        for sketch in load(SOURCES[name].name):
            Problem.of(sketch.program, sketch.spec, meaning=Meaning.of(sketch.program, sketch.spec))
    return f"{caught.value}\n"


def comparable(text: str) -> str:
    """Leave out the columns of tracebacks where Python has none."""
    if sys.version_info >= (3, 11):
        return text
    return re.sub(r"^(\S+:\d+):\d+", r"\1", re.sub(r"^ +\^+\n", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", SOURCES)
def test_a_wrong_sketch_gives_its_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place with its line and a caret, what was found, what was expected, and how to fix it: all of them."""
    monkeypatch.chdir(ERRORS)
    message, pinned = shown(name), ERRORS / f"{name}.txt"
    if WRITE:
        pinned.write_text(message, encoding="utf-8")
    assert comparable(message) == comparable(pinned.read_text(encoding="utf-8"))
    assert PARTS.match(message)


def test_every_file_has_its_pair_and_its_subject() -> None:
    """No message lies there without a sketch, no sketch is left out of the page, and there are sketches."""
    messages = {path.stem for path in ERRORS.glob("*.txt")} - {"command_line"}
    assert messages == set(SOURCES)
    listed = [name for names in MAKER.SUBJECTS.values() for name in names]
    assert sorted(listed) == sorted(SOURCES)
    assert len(listed) >= 100


@pytest.mark.parametrize(("command", "message"), MAKER.transcript(), ids=[command for command, _ in MAKER.transcript()])
def test_a_wrong_command_line_gives_its_message(
    command: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Status 2, nothing on stdout, one message on stderr."""
    monkeypatch.chdir(ERRORS / "files")
    out, err = io.StringIO(), io.StringIO()
    status = execute(command.split()[1:], out, err)
    if WRITE:
        path = ERRORS / "command_line.txt"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"$ {command}\n{message}", f"$ {command}\n{err.getvalue()}"), encoding="utf-8")
    assert (status, out.getvalue()) == (2, "")
    assert err.getvalue() == message


def test_the_page_is_fresh() -> None:
    """docs/errors.md is what its script makes now, and has every mistake of the core with its message."""
    page = MAKER.PAGE.read_text(encoding="utf-8")
    assert page == MAKER.page(), "run `make docs-errors`"
    told = re.split(r"^## \w+\n", (ERRORS / "core" / "messages.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [text for text in told if text.strip() and MAKER.words(text) not in page] == []
    assert not re.search(r"^# ----", page, re.MULTILINE)
