"""The values that holes may have at points, as guards and as numbers, and what follows from clauses over them.

Clauses speak of 'this hole has this value at this point' and know no templates. The points that they speak of are the
lines of a hole, in the order of their appearance; all values at all of them are numbered from 1.

What a demand requires of one hole alone, whatever the other holes are: projection.

The clauses of a demand are about several holes at once. If they need one of some values of one hole, and cannot be met
without any of these, the hole must have one of them. A function that has none is excluded before any other hole is
looked at. For a transposition, this says that lanes must be permuted, which leaves some thousands of a hole's million
functions; for a sum of what other lanes offer, that in each round some lane offers an item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from swizzle.solving.problem.open_holes import free_union
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.joined import HolePoint, Relation, relations
from symbolic.solve.propagate import ClauseMatrices, Propagation, Subproblem
from symbolic.values.guard import Guard, Guards
from symbolic.values.union import Union
from templates.chooser import Places
from templates.holes import Point, kind_of


class PointValue(Struct, frozen=True):
    """A value of a hole at one of its points, which are numbered line by line in the order of their appearance."""

    hole: int
    line: int
    value: int


class Projector:
    """Knows which guards stand for values of holes."""

    def __init__(self) -> None:
        self._spots: dict[Guard, PointValue] = {}
        self._domains: dict[tuple[int, int], Sequence[Guard]] = {}
        self._points: dict[tuple[int, int], Point] = {}

    def add(self, hole: int, line: int, point: Point, guards: Sequence[Guard]) -> None:
        """Add a point: its coordinates and the guards of its values."""
        self._domains[hole, line] = guards
        self._points[hole, line] = point
        self._spots |= {guard: PointValue(hole, line, value) for value, guard in enumerate(guards)}

    def projections(self, clauses: Sequence[Sequence[Guard]]) -> Iterator[list[PointValue]]:
        """Yield the spots of which one must be taken, for each hole that the clauses of a demand restrict by itself."""
        called_for: dict[int, dict[Guard, PointValue]] = {}
        domains: dict[tuple[int, int], Sequence[Guard]] = {}
        for clause in clauses:
            here: dict[tuple[int, int], dict[Guard, PointValue]] = {}
            for guard in clause:
                spot = self._spots.get(guard)
                if spot is not None:
                    here.setdefault((spot.hole, spot.line), {})[guard] = spot
                elif -guard in self._spots:
                    spot = self._spots[-guard]
                    domains[spot.hole, spot.line] = self._domains[spot.hole, spot.line]
            for (hole, line), found in here.items():
                domains[hole, line] = self._domains[hole, line]
                if len(found) < len(domains[hole, line]):  # else any value will do
                    called_for.setdefault(hole, {}).update(found)
        if called_for:
            with Subproblem([*clauses, *domains.values()]) as demand:
                for some in called_for.values():
                    if not demand.needed([list(some)]):
                        continue
                    groups: list[list[Guard]] = []
                    for alike in zip(*(self._alike(spot) for spot in some.values()), strict=True):
                        parts: dict[int, list[Guard]] = {}
                        for guard, key in zip(some, alike, strict=True):
                            parts.setdefault(key, []).append(guard)
                        if len(parts) > 1:
                            groups += (guards for guards in parts.values() if len(guards) > 1)  # else propagation tells
                    needed = demand.needed(groups)
                    yield from ([some[guard] for guard in each] for each in needed or [list(some)])

    def _alike(self, spot: PointValue) -> tuple[int, ...]:
        """Return by what values of a hole are put together: what they are, and each coordinate of their points."""
        return spot.value, *self._points[spot.hole, spot.line]


class AskedPoints:
    """The points of a hole that clauses speak of, a line each: of each value, its guard and its number."""

    def __init__(self, size: int) -> None:
        self.points: list[Point] = []
        self.places: Places = np.zeros(0, np.intp)  # of these points among all
        self.guards = np.zeros((0, size), np.int32)
        self.numbers: Places = np.zeros((0, size), np.intp)
        self.failures = np.zeros(0)  # of a search that tried values of these points

    def add(self, point: Point, place: int, guards: Sequence[Guard], first: int) -> None:
        """Add a point whose values are numbered from `first`."""
        self.points.append(point)
        self.places = np.append(self.places, place)
        self.guards = np.vstack([self.guards, np.array(guards, np.int32)])
        self.numbers = np.vstack([self.numbers, np.arange(first, first + len(guards))])
        self.failures = np.append(self.failures, 0)


class PointValues:
    """The values of all holes; a clause is added with the guards that it has.

    With `related`, what the values at one point exclude at others can be asked for, too (`relations_of`).
    """

    def __init__(self, problem: Problem, related: bool) -> None:
        self.holes = problem.program.holes
        self.sizes = [len(kind_of(hole).values(hole)) for hole in self.holes]
        self.asked = [AskedPoints(size) for size in self.sizes]
        self.count = 0
        self.guards = Guards()
        self.projector = Projector()
        self._place_of = [{p: place for place, p in enumerate(points)} for points in problem.points]
        self._number_of: dict[Guard, int] = {}
        self._line_of: list[HolePoint] = []  # of each number but 0
        self._by_guard = np.zeros(1, np.intp)
        self._unions: dict[tuple[int, Point], Union] = {}
        self._propagation = Propagation()
        self._untied = Propagation() if related else None  # without that a hole has one value at a point
        self._fresh: list[list[Guard]] = []  # clauses that it does not know yet
        self.told = ClauseMatrices()  # without those of one value at a point, and without what was learnt
        self._pending: list[list[Guard]] = []  # clauses that nobody knows yet
        self._domains: list[list[Guard]] = []  # of these, that a hole has one value at a point

    def close(self) -> None:
        """Free the engines that propagate; may be called more than once."""
        self._propagation.close()
        if self._untied is not None:
            self._untied.close()

    def union(self, hole: int, point: Point) -> Union:
        """Return the union of all values of a hole at a point: one guard each, tied by no template."""
        found = self._unions.get((hole, point))
        if found is None:
            self._pending += self.guards.take()
            found = self._unions[hole, point] = free_union(self.guards, self.holes[hole])
            self._domains += self.guards.take()
            place = self._place_of[hole].get(point)
            if place is None:  # a point of threads that do not run: what the hole is there makes no difference
                return found
            guards = [found.values[value] for value in range(self.sizes[hole])]
            self.projector.add(hole, len(self.asked[hole].points), point, guards)
            self.asked[hole].add(point, place, guards, self.count + 1)
            self._number_of |= {guard: self.count + 1 + value for value, guard in enumerate(guards)}
            self._line_of += [HolePoint(hole, len(self.asked[hole].points) - 1)] * len(guards)
            self.count += len(guards)
        return found

    def numbers(self) -> Places:
        """Return, by guard, negative ones from the end, the number of the value that it stands for; 0 for others."""
        size = 2 * self.guards.variables + 1
        if len(self._by_guard) != size:
            self._by_guard = np.zeros(size, np.intp)
            self._by_guard[list(self._number_of)] = list(self._number_of.values())
        return self._by_guard

    def flush(self) -> list[list[Guard]]:
        """Let what was asked for since the last time propagate, and return it."""
        clauses = self._pending + self.guards.take()
        if self._untied is not None:
            self._fresh += clauses
        else:
            self.told.add(clauses)
        clauses += self._domains
        self._pending, self._domains = [], []
        self._propagation.add(clauses)
        return clauses

    def exclude(self, clauses: Sequence[Sequence[Guard]]) -> None:
        """Add clauses that were learnt: they relate no values."""
        self._propagation.add(clauses)

    def implied(self, guards: Sequence[Guard]) -> list[Guard] | None:
        """Return the guards that hold if these do, these included, or None if they cannot all hold."""
        return self._propagation.implied(guards)

    # -- what values exclude --------------------------------------------------------------------------------

    def lines(self) -> list[HolePoint]:
        """Return all points that clauses speak of."""
        return [HolePoint(hole, line) for hole, asked in enumerate(self.asked) for line in range(len(asked.points))]

    def spoken_of(self) -> list[HolePoint]:
        """Return the points of which clauses speak that came since values were related."""
        self.flush()
        spoken = {self._number_of.get(abs(guard), 0) for clause in self._fresh for guard in clause}
        return [line for line in self.lines() if not spoken.isdisjoint(self._numbers_at(line).tolist())]

    def relate(self) -> None:
        """Take the clauses that came since the last time into what is asked of `relations_of`."""
        assert self._untied is not None
        self.flush()
        self._untied.add(self._fresh)
        self._fresh = []

    def relations_of(self, line: HolePoint) -> list[Relation]:
        """Return what the values at a point exclude at the others.

        That a hole has one value at a point is known, so that no clauses have to say it: what they imply is short.
        """
        assert self._untied is not None
        numbers = [(other, self._numbers_at(other)) for other in self.lines()]
        guards = self.asked[line.hole].guards[line.line].tolist()
        excluded = np.zeros((len(guards), self.count + 1), np.bool_)
        for row, guard in zip(excluded, guards, strict=True):
            implied = self._untied.implied([guard])
            if implied is None:
                row[:] = True
                continue
            for other in implied:
                number = self._number_of.get(abs(other), 0)
                if number and other > 0:
                    row[self._numbers_at(self._line_of[number - 1])] = True
                    row[number] = False
                elif number:
                    row[number] = True
        return list(relations(line, excluded, numbers))

    def _numbers_at(self, line: HolePoint) -> Places:
        found: Places = self.asked[line.hole].numbers[line.line]
        return found
