"""The site builds without a warning and without a network, and every page is in its navigation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import swizzle
from tests.pages import DOCS, text_of


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    """As `make docs` does, with every reference checked; a page that no other leads to is a warning, too."""
    pytest.importorskip("sphinx", reason="needs Sphinx (extra `docs`)")
    pytest.importorskip("myst_parser", reason="needs MyST-Parser (extra `docs`)")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **nowhere})
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    tutorial = (tmp_path / "tutorial.html").read_text(encoding="utf-8")
    assert 'href="gallery.html"' in tutorial and "sw_xform" in tutorial
    pages = list(tmp_path.glob("*.html"))
    assert not [
        path.name for path in pages if re.search(r'(?:src|href)="https?://[^"]*\.(?:js|css)"', path.read_text())
    ]


def test_every_page_is_in_the_navigation() -> None:
    """The table of contents has each page once, but for those that are about the inside."""
    inside = ["benchmarks", "contributing", "dependencies", "design", "not-done-yet"]
    listed = re.findall(r"^([a-z][a-z-]*)$", text_of("index.md"), re.MULTILINE)
    assert sorted([*listed, *inside]) == sorted(
        path.stem for path in DOCS.iterdir() if path.suffix in (".md", ".ipynb") and path.stem != "index"
    )


def test_the_reference_has_every_public_name() -> None:
    """Those of `swizzle` are listed in groups; layouts, scans and the solver core are listed by their modules."""
    listed = re.findall(r"^\.\. (?:auto\w+|py:data):: (.+)$", text_of("api.md"), re.MULTILINE)
    names = {name for line in listed for name in line.split(", ")}
    assert names == {*swizzle.__all__, "swizzle.layouts", "swizzle.scans", "symbolic"} - {"layouts", "scans"}


def test_the_changelog_links_to_nothing_in_the_tree() -> None:
    """It is a page of the site and a file in another folder: what is a link in one is none in the other."""
    assert not re.findall(r"\]\((?!https?://)", (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_links_between_pages_lead_somewhere() -> None:
    """In the tree as it stands, where a forge shows the pages; links into the tree included."""
    for path in DOCS.glob("*.md"):
        for link in re.findall(
            r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        ):
            if "://" not in link and not link.startswith("#"):
                assert (DOCS / link.partition("#")[0]).exists(), f"{path.name}: {link}"
