"""Places in messages: the line, and carets under just what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from symbolic.errors import Place

TEXT = "a = bcd + e"


@pytest.mark.parametrize("column", range(1, len(TEXT) + 1))
@pytest.mark.parametrize("length", [None, 1, 3, 99])
def test_carets_stand_under_the_span(column: int, length: int | None, tmp_path: Path) -> None:
    """One at least, and none behind the line's end; a place without an end is one character."""
    path = tmp_path / f"{column}_{length}.py"
    path.write_text(TEXT + "\n")
    end = {} if length is None else {"end_column": column + length}
    line, carets = Place(str(path), 1, column, **end).excerpt().splitlines()
    meant = TEXT[column - 1 : column - 1 + (length or 1)]
    assert line == "    " + TEXT
    assert carets == "    " + " " * (column - 1) + "^" * len(meant)
