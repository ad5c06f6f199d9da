"""The second description of `i + by * (i // every)`: every stretch and every number of free elements, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
