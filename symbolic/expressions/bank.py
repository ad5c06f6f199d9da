"""All that rules make of lighter things, the lightest first, told apart by columns: the values at some points.

Of what has one column the first is kept, so a bank has each function of the points once, at its least weight. What is
kept is up to the rules: expressions, terms that become expressions when they are asked for, derivations of a grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Made = TypeVar("Made")
_Rows: TypeAlias = npt.NDArray[Any]
Block: TypeAlias = tuple[_Rows, Callable[[int], Made | None]]
"""What a rule makes at once: columns, one a row, and what is in each row; None is not kept."""


def exactly(rows: _Rows) -> Iterable[Hashable]:
    """Return keys that are the same for equal rows only."""
    if rows.dtype == object or not rows.shape[1]:
        return map(tuple, rows.tolist())
    keys: list[bytes] = np.ascontiguousarray(rows).view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
    return keys


class Bank(Generic[Made]):
    """What is made so far, by weight; `keys` are what rows are told apart by."""

    def __init__(self, keys: Callable[[_Rows], Iterable[Hashable]] = exactly) -> None:
        self.made: list[Made] = []
        self._keys = keys
        self._seen: dict[Hashable, int] = {}
        self._rows: list[_Rows] = []
        self.levels: dict[int, range] = {}
        """The places of what has a weight; what is equal to something lighter is not there."""

    def __len__(self) -> int:
        return len(self.made)

    @property
    def rows(self) -> _Rows:
        """The columns of all, one a row."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def grow(self, weight: int, rules: Iterable[Block[Made]]) -> range:
        """Add what rules make of a weight, block by block, and return its places."""
        before = len(self.made)
        for rows, make in rules:
            self.add(rows, make)
        self.levels[weight] = range(before, len(self.made))
        return self.levels[weight]

    def add(self, rows: _Rows, make: Callable[[int], Made | None]) -> None:
        """Add the rows of a block that are not there yet."""
        fresh = []
        for place, key in enumerate(self._keys(rows)):
            if key not in self._seen and (made := make(place)) is not None:
                self._seen[key] = len(self.made)
                self.made.append(made)
                fresh.append(place)
        if fresh:
            self._rows.append(rows[fresh])

    def find(self, row: _Rows) -> Made | None:
        """Return what has a column; None where nothing has."""
        (key,) = self._keys(row[None])
        place = self._seen.get(key)
        return None if place is None else self.made[place]
