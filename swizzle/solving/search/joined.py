"""Two holes that must agree: which functions of the one go with which functions of the other, by sorting.

Where a value is written to shared memory at one hole's index and read at another's, an output ties the two: what the
first gives for the writer is what the second gives for the reader. Trying values of one point after the other would try
n of them, n times. So all functions of both holes are listed with their values at the points that outputs tie, and
those that agree are found by sorting, as a database joins two tables. What excludes what is read off unit propagation,
value by value, so that nothing here knows how a kernel moves its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from templates.chooser import Functions, Places
from templates.template import SPREAD, mixed
from templates.xform_lists import ListedXforms

MOST: Final = 8_000_000  # functions of a hole
TIED: Final = 8  # outputs that are looked at before functions are compared
_Truths = npt.NDArray[np.bool_]


class HolePoint(Struct, frozen=True):
    """A point of a hole, by its number among those that clauses speak of."""

    hole: int
    line: int


class Relation(Struct, frozen=True):
    """Which values at two points go together: a line a value of the one, a column a value of the other."""

    one: HolePoint
    other: HolePoint
    allowed: _Truths

    @property
    def of_one_hole(self) -> bool:
        return self.one.hole == self.other.hole

    def tie(self) -> Places | None:
        """Return the value at `one` that each value at `other` goes with, -1 for none; None where there are several."""
        return (
            None
            if (self.allowed.sum(axis=0) > 1).any()
            else np.where(self.allowed.any(axis=0), self.allowed.argmax(axis=0), -1)
        )

    @property
    def is_permutation(self) -> bool:
        return bool((self.allowed.sum(axis=0) == 1).all() and (self.allowed.sum(axis=1) == 1).all())

    def turned(self) -> Relation:
        return Relation(self.other, self.one, self.allowed.T)


class ListedFunctions:
    """The functions of a hole one by one, with their values at the points that were asked for."""

    def __init__(self, functions: ListedXforms, places: Callable[[int], int]) -> None:
        self.functions, self._places = functions, places
        self._columns: dict[int, npt.NDArray[Any]] = {}

    @property
    def count(self) -> int:
        return self.functions.count

    def column(self, line: int) -> npt.NDArray[Any]:
        if line not in self._columns:
            self._columns[line] = self.functions.values(np.array([self._places(line)]))[:, 0]
        return self._columns[line]

    def keep(self, some: Any) -> None:
        self.functions = self.functions.only(some)
        self._columns = {line: column[some] for line, column in self._columns.items()}


def listed(functions: Functions, places: Callable[[int], int]) -> ListedFunctions | None:
    """Return the functions of a hole one by one, None where they are too many or of a kind that is not listed."""
    if not isinstance(functions, ListedXforms):
        return None
    some = functions.one_by_one(MOST)
    return None if some is None else ListedFunctions(some, places)


class Join:
    """The pairs of functions of two holes that agree with some relations; more of these leave fewer pairs."""

    def __init__(self, tables: tuple[ListedFunctions, ListedFunctions]) -> None:
        self.tables = tables
        self._relations: list[Relation] = []
        self._ties: list[tuple[Relation, Places]] = []

    def add(self, relation: Relation) -> None:
        """Leave out the functions, or later the pairs, of which two values do not go together."""
        if relation.of_one_hole:
            table = self.tables[relation.one.hole]
            fits = relation.allowed[table.column(relation.one.line), table.column(relation.other.line)]
            if not fits.all():
                table.keep(fits)
            return
        relation = relation if relation.one.hole == 0 else relation.turned()
        tie = relation.tie()
        if tie is None and (back := relation.turned().tie()) is not None:
            relation, tie = relation.turned(), back
        if tie is None:
            self._relations.append(relation)
        else:
            self._ties.append((relation, tie))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of functions by their numbers; none may be left out, and the relations decide."""
        keys = self._keys()
        for _ in range(2):
            for here, there in ((0, 1), (1, 0)):
                some = _known(keys[here], keys[there])
                if not some.all():
                    self.tables[here].keep(some)
                    keys[here] = keys[here][some]
        order = np.argsort(keys[1], kind="stable")
        in_order = keys[1][order]
        starts = np.searchsorted(in_order, keys[0])
        ends = np.searchsorted(in_order, keys[0], side="right")
        for one in np.flatnonzero(ends > starts).tolist():
            others = order[starts[one] : ends[one]]
            for other in others[self._fit(one, others)].tolist():
                yield one, other

    def _keys(self) -> list[npt.NDArray[np.uint64]]:
        """Return a number for each function of each hole; functions with different ones do not go together."""
        found = [np.zeros(table.count, np.uint64) for table in self.tables]
        fits = [np.ones(table.count, np.bool_) for table in self.tables]
        for relation, tie in self._ties:
            one, other = relation.one, relation.other
            there = tie[self.tables[other.hole].column(other.line)]
            fits[other.hole] &= there >= 0
            for hole, column in ((one.hole, self.tables[one.hole].column(one.line)), (other.hole, there)):
                found[hole] = mixed(found[hole]) + column.astype(np.uint64)
        for hole, table in enumerate(self.tables):
            if not fits[hole].all():
                table.keep(fits[hole])
                found[hole] = found[hole][fits[hole]]
        return found

    def _fit(self, one: int, others: Places) -> _Truths:
        """Say which functions of the second hole go with one of the first."""
        found = np.ones(len(others), np.bool_)
        for relation in (*self._relations, *(relation for relation, _ in self._ties)):
            turned = relation if relation.one.hole == 0 else relation.turned()
            value = int(self.tables[0].column(turned.one.line)[one])
            found &= turned.allowed[value, self.tables[1].column(turned.other.line)[others]]
        return found


def _known(some: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64]) -> _Truths:
    """Say which of some numbers may be among others: all that are, and a few that are not."""
    bits = np.uint64(64 - 24)
    table = np.zeros(1 << 24, np.bool_)
    table[((others * SPREAD) >> bits).astype(np.intp)] = True
    return table[((some * SPREAD) >> bits).astype(np.intp)]


def relations(line: HolePoint, excluded: _Truths, numbers: Sequence[tuple[HolePoint, Places]]) -> Iterator[Relation]:
    """Yield what a point's values exclude; `excluded` has a line a value, `numbers` say whose value each column is."""
    for other, columns in numbers:
        if other != line and (some := excluded[:, columns]).any():
            yield Relation(line, other, ~some)
