"""The functions that holes became, as NumPy arrays: their values wherever the kernel asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct


class HoleValues(Struct, frozen=True, eq=False):
    """One hole's function at its points.

    `arguments` are the hole's arguments as the sketch spells them. `points[i]` holds what they were at the i-th
    point, one column an argument, in ascending order without repetition; `values[i]` is the function's value there:
    an int for a `sw_xform` and a `sw_part`, a bool for a `sw_cond`.
    """

    arguments: tuple[str, ...]
    points: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

    def __repr__(self) -> str:
        return f"<a function of {', '.join(self.arguments)} at {len(self.values)} points>"

    @property
    def axes(self) -> tuple[npt.NDArray[np.int64], ...]:
        """The values that each argument takes, ascending: what stands along the axes of `grid`."""
        return tuple(np.unique(column) for column in self.points.T)

    @property
    def grid(self) -> np.ma.MaskedArray[Any, Any]:
        """The values with one axis for each argument; masked where the kernel does not ask.

        `grid[i, j]` belongs to the arguments `axes[0][i]` and `axes[1][j]`.
        """
        axes = self.axes
        shape = tuple(map(len, axes))
        found: np.ma.MaskedArray[Any, Any] = np.ma.MaskedArray(np.zeros(shape, self.values.dtype), np.ones(shape, bool))
        at = tuple(np.searchsorted(axis, column) for axis, column in zip(axes, self.points.T, strict=True))
        found[at] = self.values
        return found
