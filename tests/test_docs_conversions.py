"""docs/conversions.md is true: its sessions print what is shown, its table is what the benchmark counts."""

from __future__ import annotations

import doctest

from tests.pages import blocks_of, text_of


def test_the_sessions() -> None:
    """One after the other, in one namespace."""
    blocks = blocks_of(text_of("conversions.md"), "pycon")
    assert len(blocks) >= 5
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "conversions.md", "docs/conversions.md", 0)
    printed: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(parsed, out=printed.append)
    assert results.failed == 0, "".join(printed)
