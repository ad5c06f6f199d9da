"""What the column of terms beside a register's or a cell's bits holds: five kinds of numbers, told apart by their size.

The predicates take one such number, or a column of them.
"""

from __future__ import annotations

from typing import Any, Final

NEVER: Final = -1
"""Nothing was ever put there; smaller numbers are reads of such cells, of which there is an account each."""
FIRST: Final = 1 << 40
"""The first note, a term that is written out when it is asked for; smaller ones are written out."""
INDEX: Final = 1 << 50
"""The first number of a polynomial that is an index value."""


def is_known(terms: Any) -> Any:
    """Tell where the bits are known."""
    return terms == 0


def is_unwritten(terms: Any) -> Any:
    """Tell where nothing was ever put."""
    return terms < 0


def is_data(terms: Any) -> Any:
    """Tell where there is a term of data, written out or a note."""
    return (terms > 0) & (terms < INDEX)


def is_note(terms: Any) -> Any:
    """Tell where there is a note, in columns without index values."""
    return terms >= FIRST


def is_index(terms: Any) -> Any:
    """Tell where there is an index value that depends on a variable."""
    return terms >= INDEX
