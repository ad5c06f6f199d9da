"""One description of the functions that a hole may become, read in three ways.

A template has *components*: finite lists of constants, one of which is chosen from each. How the hole's value at a
point comes from the chosen constants is written once, over the three operations of a `Chooser`:

- `OneChoice`: the constants are chosen; values are plain.
- `ColumnChooser`: all candidate choices side by side; a value is one NumPy column, one row a candidate.
- `OpenChooser`: nothing is chosen; values are unions guarded by the choice (what the solver sees).

Sets of functions of a template: all of them at first, fewer as values are ruled out.

This is the reading of a template in which propagation works: which functions have an allowed value at these points, and
which values do the functions that are left have? `Rows` does it for any template, function by function; a template may
know better (`templates/xform_functions.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from symbolic.values.guard import FALSE, TRUE, Guard, Guards
from symbolic.values.union import Union, combine
from templates.holes import Point

T = TypeVar("T")
Choice: TypeAlias = tuple[Any, ...]


class Chooser(Protocol[T]):
    """Values that depend on which constant each component takes."""

    def pick(self, component: int, table: Callable[[Any], Hashable]) -> T:
        """Return `table(constant)` for the constant that the component takes."""

    def both(self, function: Callable[[Any, Any], Hashable], a: T, b: T) -> T:
        """Apply a binary function."""

    def compare(self, a: T, component: int) -> T:
        """Return -1, 0 or 1: how an integer stands to the constant of a component of integers, in rising order."""

    def shared(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return a value that several points have in common, built once."""


def sign(a: int, b: int) -> int:
    return (a > b) - (a < b)


class OneChoice(Struct, frozen=True):
    """A chooser whose choice is made."""

    choice: Choice

    def pick(self, component: int, table: Callable[[Any], Hashable]) -> Hashable:
        return table(self.choice[component])

    def both(self, function: Callable[[Any, Any], Hashable], a: Hashable, b: Hashable) -> Hashable:
        return function(a, b)

    def compare(self, a: Any, component: int) -> Hashable:
        return sign(a, self.choice[component])

    def shared(self, key: Hashable, build: Callable[[], Any]) -> Any:
        return build()


class CodedColumn(Struct, frozen=True):
    """Values of many candidates: `values[codes[row]]`."""

    codes: npt.NDArray[np.int64]
    values: list[Any]


class ColumnChooser(Struct, frozen=True):
    """A chooser for many candidates: `rows[component]` are indices into the component's constants."""

    components: Sequence[Sequence[Any]]
    rows: Sequence[npt.NDArray[np.int32]]

    @staticmethod
    def everything(components: Sequence[Sequence[Any]]) -> ColumnChooser:
        """Return all choices there are."""
        grids = np.meshgrid(*[np.arange(len(c), dtype=np.int32) for c in components], indexing="ij")
        return ColumnChooser(components, [g.reshape(-1) for g in grids])

    def where(self, keep: npt.NDArray[np.bool_]) -> ColumnChooser:
        return ColumnChooser(self.components, [r[keep] for r in self.rows])

    def __len__(self) -> int:
        return len(self.rows[0])

    def choice(self, row: int) -> Choice:
        return tuple(c[r[row]] for c, r in zip(self.components, self.rows, strict=True))

    def pick(self, component: int, table: Callable[[Any], Hashable]) -> CodedColumn:
        return _column([table(c) for c in self.components[component]], self.rows[component])

    def both(self, function: Callable[[Any, Any], Hashable], a: CodedColumn, b: CodedColumn) -> CodedColumn:
        products = [function(x, y) for x in a.values for y in b.values]
        return _column(products, a.codes * len(b.values) + b.codes)

    def compare(self, a: CodedColumn, component: int) -> CodedColumn:
        every, rows = self.components[component], self.rows[component]
        few = len(rows) < len(every)
        constants = np.array([every[row] for row in rows.tolist()] if few else every, np.int64)
        constants = constants if few else constants[rows]
        return CodedColumn(np.sign(np.array(a.values, np.int64)[a.codes] - constants) + 1, [-1, 0, 1])

    def shared(self, key: Hashable, build: Callable[[], CodedColumn]) -> CodedColumn:
        return build()


def _column(values: list[Any], codes: npt.NDArray[Any]) -> CodedColumn:
    numbers: dict[Any, int] = {}
    renumber = np.array([numbers.setdefault(v, len(numbers)) for v in values], np.int64)
    return CodedColumn(renumber[codes], list(numbers))


class OpenChooser(Generic[T]):
    """A chooser whose choice is open: one guard for each constant of each component."""

    def __init__(self, guards: Guards, components: Sequence[Sequence[Any]]) -> None:
        self.guards, self.components = guards, components
        self.choices: list[list[Guard]] = []
        self._from: dict[tuple[int, int], Guard] = {}
        self._shared: dict[Hashable, Union] = {}
        for constants in components:
            if len(constants) == 1:
                self.choices.append([TRUE])
            elif len(constants) == 2:
                first = guards.fresh()
                self.choices.append([first, -first])
            else:
                some = [guards.fresh() for _ in constants]
                guards.exactly_one(some)
                self.choices.append(some)

    def pick(self, component: int, table: Callable[[Any], Hashable]) -> Union:
        constants = Union(dict(zip(range(len(self.components[component])), self.choices[component], strict=True)))
        return constants.map(self.guards, lambda c: table(self.components[component][c]))

    def both(self, function: Callable[[Any, Any], Hashable], a: Union, b: Union) -> Union:
        return combine(self.guards, function, a, b)

    def shared(self, key: Hashable, build: Callable[[], Union]) -> Union:
        if key not in self._shared:
            self._shared[key] = build()
        return self._shared[key]

    def compare(self, a: Union, component: int) -> Union:
        guards, constants = self.guards, self.components[component]
        parts = []
        for value, guard in a.values.items():
            after = bisect_right(constants, value)
            equal = self.choices[component][after - 1] if after and constants[after - 1] == value else FALSE
            parts.append((guard, self._at_least(component, after), equal))
        if len(parts) == 1:
            ((_, above, equal),) = parts
            signs = {-1: above, 0: equal, 1: -guards.any((above, equal))}
            return Union({s: g for s, g in signs.items() if g != FALSE})
        below, same, more = guards.fresh(), guards.fresh(), guards.fresh()
        guards.exactly_one((below, same, more))
        for guard, above, equal in parts:
            guards.add((-guard, -above, below))
            guards.add((-guard, above, -below))
            guards.add((-guard, -equal, same))
            guards.add((-guard, equal, -same))
        return Union({-1: below, 0: same, 1: more})

    def _at_least(self, component: int, index: int) -> Guard:
        """Return 'the constant chosen is number `index` or a later one', by a chain shared by all indices."""
        choices = self.choices[component]
        if index <= 0:
            return TRUE
        if index >= len(choices):
            return FALSE
        found = self._from.get((component, index))
        if found is None:
            found = FALSE
            for i in range(len(choices) - 1, index - 1, -1):
                known = self._from.get((component, i))
                found = self._from[component, i] = known if known is not None else self.guards.any((choices[i], found))
        return found

    def among(self, rows: ColumnChooser) -> Guard:
        """Return the guard 'the choice is one of these rows'."""
        guards, found = self.guards, []
        for row in zip(*(r.tolist() for r in rows.rows), strict=True):
            guard = TRUE
            for some, c in zip(self.choices, row, strict=True):
                guard = guards.both(guard, some[c])
            found.append(guard)
        return guards.any(found)

    def chosen(self, holds: Callable[[Guard], bool]) -> Choice:
        """Read the choice from a model."""
        return tuple(
            next(c for c, g in zip(constants, some, strict=True) if holds(g))
            for constants, some in zip(self.components, self.choices, strict=True)
        )


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
