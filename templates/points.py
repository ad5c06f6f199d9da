"""The points at which a kernel asks a hole, as tuples and as an array, with what is often asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from templates.holes import Point

PointTable: TypeAlias = npt.NDArray[np.int64]


class HolePoints(tuple[Point, ...]):
    """Points in ascending order. They are a tuple, so that whoever wants tuples has them, and hashed once."""

    @staticmethod
    def of(points: Sequence[Point]) -> HolePoints:
        """Return points as such a tuple."""
        return points if isinstance(points, HolePoints) else HolePoints(points)

    @staticmethod
    def from_table(table: PointTable) -> HolePoints:
        """Return points that are given as an array, a line each."""
        found = HolePoints(zip(*table.T.tolist(), strict=True))
        found.table = table
        return found

    @cached_property
    def table(self) -> PointTable:
        """A line for each point; points without arguments, and no points, have no columns."""
        return np.array(self, np.int64).reshape(len(self), -1 if len(self) else 0)

    @cached_property
    def indices(self) -> list[int]:
        """The first arguments, each once and ascending."""
        found: list[int] = np.unique(self.table[:, 0]).tolist() if self.table.shape[1] else []
        return found

    @cached_property
    def shifts(self) -> list[int]:
        """The second arguments, each once and ascending; 0 where there is only one argument."""
        found: list[int] = np.unique(self.table[:, 1]).tolist() if self.table.shape[1] > 1 else [0] * bool(self)
        return found

    @cached_property
    def _hashed(self) -> int:
        return tuple.__hash__(self)

    def __hash__(self) -> int:
        return self._hashed
