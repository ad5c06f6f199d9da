"""docs/cheat-sheet.md: what stands on the right of its table of statements is in the language."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from tests.test_language_page import CONTEXT

PAGE = (Path(__file__).parents[1] / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
ROWS = [
    line for line in PAGE[PAGE.index("## Statements") : PAGE.index("## What")].splitlines() if line.startswith("| ")
]
STATEMENTS = [row[row.rindex("| `") + 3 : -3] for row in ROWS[1:]]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_each_statement_is_in_the_language(statement: str) -> None:
    used = "" if statement.startswith(("if", "for", "cuda")) else "    y[0] = x[0]\n"
    (sketch,) = read_swz(f"{CONTEXT}    {statement}\n{used}", "page.swz", Parameters())
    assert sketch.program.parameters
