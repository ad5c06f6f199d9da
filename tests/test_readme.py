"""The sketch in the README is a sketch that solves, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from swizzle.sketches.loading import load
from swizzle.solving.search.metasketch import solve

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_sketch_solves(tmp_path: Path) -> None:
    """What a newcomer copies out of the README works."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "readme.py").write_text(code)
    (sketch,) = load(tmp_path / "readme.py")
    result = solve(sketch)
    assert (result.status, result.optimal, len(result.best.holes)) == ("sat", True, 3)


def test_the_links_lead_somewhere() -> None:
    """Every relative link of the README names a file or folder of the tree."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
