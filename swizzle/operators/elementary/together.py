"""Many expressions on samples at once: what they share is computed once, and what is alike in one call of NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbolic.expressions.columns import ON_COLUMNS

Array = Any


class Together:
    """Expressions as nested lists (`entries.as_lists`), evaluated side by side: conditions are 0 and 1."""

    def __init__(self, expressions: Sequence[Sequence[Any]]) -> None:
        self._places: dict[Any, int] = {}
        self._depths: list[int] = []
        self._calls: dict[tuple[int, str], list[tuple[int, ...]]] = {}
        self.roots = np.array([[self._place(each) for each in some] for some in expressions], np.intp)
        steps = sorted(self._calls.items(), key=lambda call: call[0][0])
        self._steps = [(operator, np.array(rows, np.intp).T) for (_, operator), rows in steps]

    def _place(self, node: Any) -> int:
        """Return the row of an expression; of sums and the like, two arguments at a time."""
        if not isinstance(node, list):
            return self._new(node, 0)
        operator, *arguments = node
        places = [self._place(each) for each in arguments]
        while len(places) > 2 and operator != "select":
            places[:2] = [self._called(operator, places[:2])]
        return self._called(operator, places)

    def _called(self, operator: str, places: Sequence[int]) -> int:
        key = (operator, *places)
        if key not in self._places:
            depth = 1 + max(self._depths[place] for place in places)
            self._calls.setdefault((depth, operator), []).append((self._new(key, depth), *places))
        return self._places[key]

    def _new(self, key: Any, depth: int) -> int:
        if key not in self._places:
            self._places[key] = len(self._depths)
            self._depths.append(depth)
        return self._places[key]

    def values(self, columns: Mapping[str, Array]) -> Array:
        """Return what all expressions are, (expression, its place among several, sample), of columns of numbers."""
        (count,) = {len(column) for column in columns.values()}
        found = np.empty((len(self._depths), count))
        for key, place in self._places.items():
            if not self._depths[place]:
                found[place] = columns[key] if isinstance(key, str) else key
        with np.errstate(all="ignore"):
            for operator, (into, *arguments) in self._steps:
                found[into] = ON_COLUMNS[operator](*(found[each] for each in arguments))
        return found[self.roots]
