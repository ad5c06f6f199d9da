"""Row-major arithmetic: from the indices of an array's element to its place in memory, and back.

>>> flat_index((2, 3), (1, 2)), flat_index((2, 3), (1, 3)), unflattened((2, 3), 5), cell_name("y", (2, 3), 5)
(5, -1, (1, 2), 'y[1, 2]')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

OUTSIDE = -1
"""The flat index of what lies outside of an array."""


def flat_index(shape: Sequence[int], indices: Sequence[Any]) -> Any:
    """Return the row-major index, OUTSIDE where any index is out of bounds: of ints, or of lanes of them."""
    total: Any = 0
    for extent, index in zip(shape, indices, strict=True):
        lanes = isinstance(total, np.ndarray) or isinstance(index, np.ndarray)
        total = (extend_lanes if lanes else extend)(total, index, extent)
    return total


def extend(flat: int, index: int, extent: int) -> int:
    """Return the flat index with one more dimension; what is OUTSIDE stays there."""
    return flat * extent + index if flat >= 0 and 0 <= index < extent else OUTSIDE


def extend_lanes(flat: Any, index: Any, extent: int) -> Any:
    """Return `extend` for each lane."""
    found = flat * extent + index
    if _least(flat) >= 0 and _least(index) >= 0 and np.maximum.reduce(index, axis=None, initial=0) < extent:
        return found
    return np.where((flat < 0) | (index < 0) | (index >= extent), OUTSIDE, found)


def _least(lanes: Any) -> Any:
    return np.minimum.reduce(lanes, axis=None, initial=0)


def unflattened(shape: Sequence[int], flat: int) -> tuple[int, ...]:
    """Return the indices of a flat index."""
    found: list[int] = []
    for extent in reversed(shape):
        flat, last = divmod(flat, extent)
        found.append(last)
    return tuple(reversed(found))


def cell_name(name: str, shape: Sequence[int], flat: int) -> str:
    """Return `y[3]` or `y[1, 2]`; a scalar is `y`."""
    return f"{name}[{', '.join(map(str, unflattened(shape, flat)))}]" if shape else name
