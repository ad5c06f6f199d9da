"""The points at which a kernel asks a hole, as tuples and as an array; and the columns of its values there, each of
which has a number of 64 bits for its key, which few others have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from templates.holes import Point

SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits; products with it differ in their upper bits (Knuth's multiplicative hashing)."""
_SHIFT: Final = np.uint64(29)


def mixed(keys: Any) -> Any:
    """Return keys so mixed that the next number of each column can be added."""
    return (keys ^ (keys >> _SHIFT)) * SPREAD


@lru_cache(maxsize=64)
def factors(count: int) -> npt.NDArray[np.int64]:
    """Return a factor for each of so many numbers; a column's key is the sum of the products, which wraps."""
    return np.array([pow(int(SPREAD), power, 1 << 64) for power in range(1, count + 1)], np.uint64).view(np.int64)


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
