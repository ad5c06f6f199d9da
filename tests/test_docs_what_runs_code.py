"""docs/what-runs-code.md is true: its session prints what the page shows, and its figures are those of the code."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from cuda_out.compile import sandbox, toolchain
from swizzle.commands.process import execute
from tests.swizzle.solving.solution.test_strangers import PYTHON

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "what-runs-code.md").read_text(encoding="utf-8")
(SESSION,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a solution whose sketch was edited since."""
    monkeypatch.chdir(tmp_path)
    Path("turn.py").write_text(PYTHON)
    assert execute(["solve", "turn.py", "-o", "theirs", "-q"], io.StringIO(), io.StringIO()) == 0
    Path("turn.py").write_text(PYTHON + "\n")
    out = io.StringIO()
    status = execute(["check", "theirs/turn.json"], out, out)
    assert f"$ swizzle check theirs/turn.json; echo $?\n{out.getvalue()}{status}\n" == SESSION


def test_figures_are_those_of_the_code() -> None:
    """Limits of memory and time."""
    assert f"{sandbox.MEMORY >> 30} GiB of memory and {sandbox.SECONDS // 60} minutes" in PAGE
    assert f"Compilers have {toolchain.COMPILE_SECONDS // 60} minutes" in PAGE
