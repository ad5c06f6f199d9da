"""Sets of functions of a template: all of them at first, fewer as values are ruled out.

This is the reading of a template in which propagation works: which functions have an allowed value at these points,
and which values do the functions that are left have? `Rows` does it for any template, function by function; a template
may know better (`templates/xform_functions.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from templates.chooser import Choice, ColumnChooser
from templates.holes import Point

Places: TypeAlias = npt.NDArray[np.intp]  # numbers of points
Allowed: TypeAlias = npt.NDArray[np.bool_]  # of values, one line a point
# Each of these is varied by an experiment: python bench/tuned.py functions.LARGE 2_000 8_000 32_000
MOST_ROWS = 4_000_000
FEW_ROWS = 4  # functions for each point, up to which a function's values at all points are worked out together
FIRST_PLACES = 16  # of many, at which a function is looked for


class Functions(Protocol):
    """A set of functions of a template on some points, which are spoken of by their numbers."""

    @property
    def count(self) -> int:
        """How many there are, as rows or constants."""

    def keep(self, places: Places, allowed: Allowed) -> Functions:
        """Return those that have an allowed value at each of these points."""

    def keep_any(self, places: Places, allowed: Allowed) -> Functions:
        """Return those that have an allowed value at one of these points at least."""

    def given(self, places: Places, allowed: Allowed) -> Allowed:
        """Say which of the allowed values they have at some points; a condition is 0 or 1."""

    def choice(self) -> Choice:
        """Return the constants of one of them."""

    def choices(self) -> Iterator[Choice]:
        """Yield the constants of each of them."""

    def simplest(self) -> Choice:
        """Return the constants of the one with the simplest formula, where all are one function."""


class Readable(Protocol):
    """What is asked of a template here; `Template` has it."""

    @property
    def components(self) -> Sequence[Sequence[Any]]: ...
    @property
    def tabled(self) -> bool: ...
    def at(self, chooser: Any, point: Point) -> Any: ...
    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any: ...
    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None: ...
    def functions(self, points: Sequence[Point]) -> Functions | None: ...


class Simplest:
    """The simplest choices of functions of one template; quicker for many of them than `Template.simplest`."""

    def __init__(self, template: Readable, points: Sequence[Point]) -> None:
        self.template, self.points = template, points
        self._every = template.functions(points) if template.tabled else None
        self._known: dict[bytes, Choice | None] = {}

    def of(self, values: Sequence[Any]) -> Choice | None:
        """Return the choice with the simplest formula that has these values at the points, or None.

        A value None is free.
        """
        numbers = np.array([-1 if value is None else int(value) for value in values])
        key = numbers.tobytes()
        if key not in self._known:
            found = self.template.simplest(self.points, values) if self._every is None else self._found(numbers)
            self._known[key] = found
        return self._known[key]

    def _found(self, numbers: npt.NDArray[Any]) -> Choice | None:
        assert self._every is not None
        asked = np.flatnonzero(numbers >= 0)
        only = numbers[asked, None] == np.arange(numbers.max(initial=0) + 1)
        step = max(1, len(asked) // FIRST_PLACES)  # a few points leave little for the others to be compared with
        some = self._every.keep(asked[::step], only[::step])
        if some.count:
            some = some.keep(asked, only)
        return some.simplest() if some.count else None


# -- any template -----------------------------------------------------------------------------------------------


class Rows(Struct, frozen=True):
    """Functions one by one: rows of constants."""

    template: Readable
    points: Sequence[Point]
    rows: ColumnChooser

    @staticmethod
    def everything(template: Readable, points: Sequence[Point]) -> Rows:
        return Rows(template, points, ColumnChooser.everything(template.components))

    @property
    def count(self) -> int:
        return len(self.rows)

    def keep(self, places: Places, allowed: Allowed) -> Rows:
        rows = self.rows
        for place, line in zip(places.tolist(), allowed, strict=True):
            fits = self._fits(rows, place, line)
            if not fits.all():
                rows = rows.where(fits)
        return replace(self, rows=rows)

    def keep_any(self, places: Places, allowed: Allowed) -> Rows:
        fits = np.zeros(len(self.rows), np.bool_)
        for place, line in zip(places.tolist(), allowed, strict=True):
            fits |= self._fits(self.rows, place, line)
        return replace(self, rows=self.rows.where(fits))

    def _fits(self, rows: ColumnChooser, place: int, line: Allowed) -> Allowed:
        """Say which rows have an allowed value at a point."""
        column = self.template.at(rows, self.points[place])
        found: Allowed = np.array([v < len(line) and line[int(v)] for v in column.values], np.bool_)[column.codes]
        return found

    def given(self, places: Places, allowed: Allowed) -> Allowed:
        found = np.zeros_like(allowed)
        if self.points[0] and self.count < FEW_ROWS * len(places):
            columns = list(np.array([self.points[place] for place in places.tolist()], np.int64).T)
            lines = np.arange(len(places))
            for choice in self.choices():
                values = np.asarray(self.template.apply(choice, columns)).astype(np.intp)
                found[lines, np.broadcast_to(values, len(places))] = True
            return found & allowed
        for line, place in zip(found, places.tolist(), strict=True):
            column = self.template.at(self.rows, self.points[place])
            line[[int(column.values[code]) for code in np.flatnonzero(np.bincount(column.codes))]] = True
        return found & allowed

    def choice(self) -> Choice:
        return self.rows.choice(0)

    def choices(self) -> Iterator[Choice]:
        return map(self.rows.choice, range(self.count))

    def simplest(self) -> Choice:
        if not self.points:
            return self.choice()
        columns = [np.array(column, np.int64) for column in zip(*self.points, strict=True)]
        values = np.broadcast_to(np.asarray(self.template.apply(self.choice(), columns)), len(self.points))
        found = self.template.simplest(self.points, values.tolist())
        assert found is not None, "a function is in its own template"
        return found
