"""The functions that holes became, as NumPy arrays: their values wherever the kernel asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from swizzle.search.verify import run_canonical
from swizzle.solution import Solution
from symbolic.errors import SwizzleError
from symbolic.terms import Terms
from symbolic.vector import Vector
from templates.words import Filling


@dataclass(frozen=True, slots=True, eq=False)
class HoleValues:
    """One hole's function at its points.

    `arguments` are the hole's arguments as the sketch spells them. `points[i]` holds what they were at the i-th
    point, one column an argument, in ascending order without repetition; `values[i]` is the function's value there:
    an int for a `sw_xform` and a `sw_part`, a bool for a `sw_cond`.
    """

    arguments: tuple[str, ...]
    points: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

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


def fillings_of(solution: Solution) -> list[Filling]:
    """Return what each hole of a solved sketch became, ready to be applied.

    Raises SwizzleError for a naive template's solution, which keeps no constants.
    """
    if solution.sketch is None:
        return []
    for chosen in solution.holes:
        if chosen.kind == "xform" and not chosen.constants:
            raise SwizzleError(
                f"the function of {chosen.name} has no constants",
                place=chosen.place,
                expected="a solution by the paper's templates",
                mend='solve it with template="paper"',
            )
    holes = zip(solution.sketch.holes, solution.holes, strict=True)
    return [Filling(hole, chosen.constants) for hole, chosen in holes]


def hole_values(solution: Solution) -> dict[str, HoleValues]:
    """Run the sketch with its holes answered, and keep what each was asked and what it said.

    Raises SwizzleError as `fillings_of` does.
    """
    program, fillings = solution.sketch, fillings_of(solution)
    if program is None or not fillings:
        return {}
    asked: list[list[npt.NDArray[np.int64]]] = [[] for _ in fillings]

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        lanes = [a for a in args if isinstance(a, np.ndarray)]
        assert len(lanes) == len(args) and isinstance(mask, np.ndarray), "an answered hole is asked with numbers"
        asked[number].append(np.unique(np.stack(lanes, axis=1)[mask], axis=0))
        return np.broadcast_to(np.asarray(fillings[number].apply(lanes)), mask.shape)

    run_canonical(program, Terms(), hole)
    found = {}
    for filling, some in zip(fillings, asked, strict=True):
        arity = len(filling.hole.arguments)
        points = np.unique(np.concatenate([np.empty((0, arity), np.int64), *some]), axis=0)
        kind = np.bool_ if filling.hole.kind == "cond" else np.int64
        applied = np.asarray(filling.apply(list(points.T)))
        values: npt.NDArray[Any] = np.broadcast_to(applied, len(points)).astype(kind)
        found[filling.hole.name] = HoleValues(filling.hole.arguments, points, values)
    return found
