"""docs/core.md and its gallery are true: every snippet runs and prints what the page says."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {"core.md": 60, "core-gallery.md": 80}
"""The pages, and how many snippets each has at least."""


@pytest.mark.parametrize("page", PAGES)
def test_every_snippet_prints_what_the_page_says(page: str) -> None:
    """Run the page from top to bottom as one session."""
    # The closing fence of a block is not expected output.
    text = re.sub(r"^```(python)?$", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page, str(DOCS / page), 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert outcome.attempted == text.count(">>> ") > PAGES[page]
    assert not outcome.failed, "".join(report)


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_is_a_session(page: str) -> None:
    """A block without a prompt would be text that nothing runs."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 15
    assert all(block.startswith(">>> ") for block in blocks)


def test_the_gallery_has_twenty_five_programs() -> None:
    """Each with a heading and a number."""
    text = (DOCS / "core-gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d+)\. ", text, re.MULTILINE) == [str(i) for i in range(1, 26)]
