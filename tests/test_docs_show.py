"""docs/show.md is true: the command, the Python, the words and the pictures on the page."""

from __future__ import annotations

import io
import itertools
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from tests.templates.test_words import one_step

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "show.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "case_studies", tmp_path / "case_studies", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)


def test_the_command_prints_what_the_page_says() -> None:
    """What follows `$` is what the command prints."""
    (console,) = re.findall(r"^```console\n\$ swizzle (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    out, err = io.StringIO(), io.StringIO()
    assert execute(console[0].split(), out, err) == 0
    assert out.getvalue() == console[1]


def test_the_python_runs(tmp_path: Path) -> None:
    """The snippet's assertions hold, and its figure is there."""
    (text,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(text, {})
    assert ET.parse(tmp_path / "conv1d.svg").getroot().tag.endswith("svg")


def test_the_table_of_words() -> None:
    """Each row's formula is what the words mean, by the evaluator that the templates' words are tested with."""
    rows = re.findall(r"^\| ([a-z].*?) \| `(.*?)` \|$", PAGE, re.MULTILINE)
    assert len(rows) == 7
    n = 8
    for words, formula in rows:
        for big_r, c, (p, q) in itertools.product((0, 3, 9), (3, 5), ((4, 2), (2, 4))):
            spelled = words.replace("R", str(big_r)).replace("by c", f"by {c}").replace("every d", f"every {p}")
            spelled = spelled.replace("p x q", f"{p} x {q}")
            step = one_step(spelled, n, {})
            names = {"R": big_r, "c": c, "d": p, "p": p, "q": q, "n": n}
            for i in range(n):
                assert step(i) == eval(formula.replace("mod", "%"), {"__builtins__": {}}, {**names, "i": i}), spelled


def test_the_pictures_are_there() -> None:
    """Every picture that the page shows exists, with a text that stands for it, and is small."""
    shown = re.findall(r"^!\[(.+)\]\((.+)\)$", PAGE, re.MULTILINE)
    assert len(shown) >= 2
    for _, path in shown:
        assert 1000 < (ROOT / "docs" / path).stat().st_size < 300_000
