"""docs/rewrite-rules.md is true: its Python prints what is shown, and its list of rules is what is proved now."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

from symbolic.patterns.terms import MAPS, MEMORIES
from symbolic.rewriting.rule import RULES
from tests.pages import DOCS, text_of


def test_python_on_the_page_prints_what_is_shown() -> None:
    """The examples are one session."""
    parser, name = doctest.DocTestParser(), "rewrite-rules.md"
    examples = parser.get_doctest(text_of(name), {}, name, name, 0)
    assert len(examples.examples) > 8
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert runner.run(examples).failed == 0


def test_rules_on_the_page_are_the_rules() -> None:
    """`make docs-rules` writes them again; each is proved."""
    found = importlib.util.spec_from_file_location("make_rules", Path(DOCS) / "make_rules.py")
    assert found is not None and found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    page = made.page()
    assert page == text_of("rewrite-rules.md")
    assert page.count("**Proved** at all lengths") == len(RULES)


def test_every_pattern_is_on_the_page() -> None:
    """Those that have several names among them."""
    page = text_of("rewrite-rules.md")
    assert [name for name in (*MAPS.values(), *MEMORIES.values()) if f"`{name}" not in page] == []
