"""The functions of a template side by side, one row each, and what they are at some points.

This is the reading of a template in which propagation works: which functions have an allowed value at a point, and
which values do the functions that are left have? Values are computed when they are asked for, of the rows that are
left: Space 3 of a `?sw_xform` has a million rows at warp size 32. A row is a choice; two rows may be the same
function, if they came from different shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from templates.chooser import Choice, Columns
from templates.holes import Point, Template, Xform

Rows: TypeAlias = npt.NDArray[np.int32]
Values: TypeAlias = npt.NDArray[np.int16]
MOST_ROWS = 4_000_000
FEW_ROWS = 500  # of which all values are gathered in one step, rather than point by point


class Functions(Protocol):
    """Rows of functions."""

    count: int

    def values(self, points: Sequence[Point], rows: Rows) -> Values:
        """Return what some rows are at some points, one line a point; a condition is 0 or 1."""

    def choice(self, row: int) -> Choice:
        """Return the constants of a row."""


def functions(template: Template, points: Sequence[Point]) -> Functions | None:
    """Return all functions of a template on these points, or None if there are too many rows."""
    if not isinstance(template, Xform):
        return Product(template) if template.size() <= MOST_ROWS else None
    shapes, rates, offsets = template.components
    if max(len(shapes) * template.n, len(rates) * len(offsets)) * len(points) > 100 * MOST_ROWS:
        return None
    found = XformFunctions(template, points)
    return found if found.count <= MOST_ROWS else None


class Product:
    """Every combination of a template's constants."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._all = Columns.everything(template.components)
        self.count = len(self._all)

    def values(self, points: Sequence[Point], rows: Rows) -> Values:
        some = Columns(self._all.components, [r[rows] for r in self._all.rows])
        lines = [self._template.at(some, point) for point in points]
        return np.stack([np.array([int(v) for v in line.values], np.int16)[line.codes] for line in lines])

    def choice(self, row: int) -> Choice:
        return self._all.choice(row)


class XformFunctions:
    """`?sw_xform`: a shape (how i is spread) and an amount for each k, amounts alike modulo the shape's kept once."""

    def __init__(self, template: Xform, points: Sequence[Point]) -> None:
        n, (shapes, rates, offsets) = template.n, template.components
        indices = sorted({p[0] for p in points}) or [0]
        shifts = sorted({_shift(p) for p in points}) or [0]
        spread = np.array([[template.behaviour(s, i) for s in shapes] for i in indices], np.int32)
        base, modulus, start = (part[:, :, None] for part in np.moveaxis(spread, 2, 0))
        given = (base + (start + np.arange(n)) % modulus).astype(np.int16)
        apart = _first_of_each(given.swapaxes(0, 1).reshape(len(shapes), -1))
        given = given[:, apart]
        self._given = given.reshape(len(indices), -1)  # of an index, at shape * n + amount
        self._index = {i: line for line, i in enumerate(indices)}
        turns = np.array([[template.turn(r, k) for r in rates] for k in shifts], np.int32)
        amounts = (turns[:, :, None] + np.array(offsets)).reshape(len(shifts), -1) % n
        self._amounts = amounts.astype(np.int16)
        self._turn = {k: line for line, k in enumerate(shifts)}
        self._shapes, self._amount_choices = [shapes[s] for s in apart], [(r, c) for r in rates for c in offsets]
        moduli = modulus[0, apart, 0].tolist()
        kept = {m: _first_of_each(amounts.T % m) for m in set(moduli)}
        each = [kept[m] for m in moduli]
        self._shape = np.repeat(np.arange(len(each), dtype=np.int32) * n, [len(e) for e in each])
        self._amount = np.concatenate(each).astype(np.int32)
        self._n = n
        self.count = len(self._shape)

    def values(self, points: Sequence[Point], rows: Rows) -> Values:
        shape, amount = self._shape.take(rows), self._amount.take(rows)
        lines = [(self._index[p[0]], self._turn[_shift(p)]) for p in points]
        if len(rows) > FEW_ROWS:
            return np.stack([self._given[i].take(shape + self._amounts[k].take(amount)) for i, k in lines])
        i, k = np.array(lines, np.intp).reshape(-1, 2).T[:, :, None]
        found: Values = self._given[i, shape + self._amounts[k, amount]]
        return found

    def choice(self, row: int) -> Choice:
        rate, offset = self._amount_choices[self._amount[row]]
        return self._shapes[self._shape[row] // self._n], rate, offset


def _shift(point: Point) -> int:
    return point[1] if len(point) > 1 else 0


def _first_of_each(rows: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return where each distinct row stands first."""
    _, where = np.unique(rows, axis=0, return_index=True)
    return np.sort(where)
