"""docs/explain.md is true: every sketch and command on the page gives what the page shows, but for numbers."""

import io
import re
import shutil
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from tests.patience import be_patient

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
SKETCHES = dict(re.findall(r"^```swz (\w+\.swz)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
CONSOLES = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def shape(text: str) -> str:
    """Blank out numbers: which of several smallest conflicts is told depends on the solver."""
    return re.sub(r"\d+", "#", text)


@pytest.mark.parametrize("console", CONSOLES)
def test_each_command_prints_what_the_page_says(console: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows each `$` is what the command prints; `; echo $?` shows its exit status."""
    be_patient(monkeypatch)
    for name, text in SKETCHES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "case_studies", tmp_path / "case_studies", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    printed = ""
    for command in re.findall(r"^\$ (.*)$", console, re.MULTILINE):
        out = io.StringIO()
        status = execute([*command.removesuffix("; echo $?").split()[1:], "-q"], out, io.StringIO())
        printed += f"$ {command}\n{out.getvalue()}" + (f"{status}\n" if command.endswith("$?") else "")
    assert shape(printed) == shape(console)
