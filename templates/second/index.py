"""The second description of `?sw_index`: free elements after every stretch, and tables, whose entries are any numbers
below n.

An entry is found by an argument or by both, and says the value, or how far it is from the index: by a sum modulo n, or,
for n a power of two, by exclusive or. A table has up to 64 bytes, in words that have 1, 2, 4, ... entries, which have
up to 8192 values all together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases
from templates.second.groups import OneOf, Point


class PadHole:
    """All stretches that divide the number of cells, or are powers of two, as far as all places are below n."""

    def __init__(self, n: int, points: Sequence[Point]) -> None:
        cells = 1 + max(point[0] for point in points)
        powers = {1 << bit for bit in range(cells.bit_length())}
        rows = [(1, 0)]
        for every in range(1, cells):
            if every in powers or cells % every == 0:
                rows += [(every, by) for by in range(1, 33) if (cells - 1) // every * by + cells <= n]
        self.groups = [OneOf(rows)]

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([point[0] + by * (point[0] // every) for every, by in self.groups[0].rows])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        every, by = self.groups[0].chosen(model)
        return lambda arguments: arguments[0] + by * (arguments[0] // every)


BYTES = 64
CHOICES = 8192


class TableHole:
    """A table that is looked up by some of the arguments; `moved(entry, i)` is what an entry says."""

    def __init__(self, n: int, points: Sequence[Point], by: Sequence[int], moved: Callable[[int, int], int]) -> None:
        self.by, self.moved = by, moved
        self.entries = {key: OneOf(range(n)) for key in sorted({self._key(point) for point in points})}
        self.groups = list(self.entries.values())

    def _key(self, point: Sequence[Any]) -> tuple[int, ...]:
        return tuple(int(point[number]) for number in self.by)

    def at(self, point: Point) -> Cases:
        group = self.entries[self._key(point)]
        return group.cases([self.moved(entry, point[0]) for entry in group.rows])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        chosen = {key: group.chosen(model) for key, group in self.entries.items()}

        def value(*point: Any) -> int:
            return self.moved(chosen.get(self._key(point), 0), int(point[0]))

        return lambda arguments: np.vectorize(value, otypes=[np.int64])(*arguments)


def tables_of(n: int, points: Sequence[Point]) -> Iterator[TableHole]:
    """Yield the tables of each sort that is small enough."""
    if n < 2 or not points:
        return
    spans = [max(some) - min(some) + 1 for some in zip(*points, strict=True)]
    varied = [number for number, span in enumerate(spans) if span > 1]
    for by in [*([number] for number in varied), *([varied] if len(varied) > 1 else [])]:
        in_word, size = 1, 1
        while 2 * in_word * len(bin(n - 1)[2:]) <= 32:
            in_word *= 2
        for number in by:
            size *= spans[number]
        if (size + in_word - 1) // in_word * 4 > BYTES or size * n > CHOICES:
            continue
        yield TableHole(n, points, by, lambda entry, i: entry)
        if by == [1]:
            yield TableHole(n, points, by, lambda entry, i: (i + entry) % n)
            if bin(n).count("1") == 1:
                yield TableHole(n, points, by, lambda entry, i: i ^ entry)
