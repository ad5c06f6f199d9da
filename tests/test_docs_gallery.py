"""docs/gallery.md and its figures are what `make gallery` makes now, and leave no case study out."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from tests.pages import DOCS, text_of

FIGURES = DOCS / "images" / "gallery"


def maker() -> ModuleType:
    """Return the script that makes the page."""
    found = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["conv1d", "gemv", "softmax"])
def test_a_section_and_its_figures_are_fresh(name: str) -> None:
    """Of a few case studies; the slow test below makes all."""
    figures: dict[str, str] = {}
    section = "\n".join(maker().section(DOCS.parent / "case_studies" / f"{name}.py", figures))
    assert section in text_of("gallery.md"), "run `make gallery`"
    assert all((FIGURES / file).read_text(encoding="utf-8") == text for file, text in figures.items()), "make gallery"


@pytest.mark.slow
def test_the_page_and_its_figures_are_fresh() -> None:
    """Which of several equal solutions is found depends on the solver, so the usual one must be there."""
    page, figures = maker().gallery()
    stale = [name for name, text in figures.items() if (FIGURES / name).read_text(encoding="utf-8") != text]
    assert not stale, "run `make gallery`"
    assert text_of("gallery.md") == page, "run `make gallery`"
    assert {path.name for path in FIGURES.iterdir()} == set(figures)


def test_every_case_study_is_there() -> None:
    """With a figure that is well-formed and small, and its section of the paper where it has one."""
    page = text_of("gallery.md")
    studies = sorted(path.stem for path in Path(DOCS.parent / "case_studies").glob("*.py"))
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == studies
    shown = re.findall(r"^!\[.+\]\(images/gallery/(.+\.svg)\)$", page, re.MULTILINE)
    assert len(shown) + page.count("The figure is too large for this page") == page.count("swizzle show case_studies/")
    assert len(shown) >= len(studies)
    for name in shown:
        assert ET.parse(FIGURES / name).getroot().tag.endswith("svg")
        assert (FIGURES / name).stat().st_size < 200_000
