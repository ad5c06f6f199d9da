"""docs/core.md is true: every snippet runs and prints what the page says."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "core.md"


def test_every_snippet_prints_what_the_page_says():
    """Run the page from top to bottom as one session."""
    # The closing fence of a block is not expected output.
    text = re.sub(r"^```(python)?$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert outcome.attempted == text.count(">>> ") > 30
    assert not outcome.failed, "".join(report)


def test_every_python_block_is_a_session():
    """A block without a prompt would be text that nothing runs."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 8
    assert all(block.startswith(">>> ") for block in blocks)
