"""What a demand requires of one hole alone, whatever the other holes are: projection.

The clauses of a demand are about several holes at once. If they need one of some values of one hole, and cannot be met
without any of these, the hole must have one of them. A function that has none is excluded before any other hole is
looked at. For a transposition, this says that lanes must be permuted, which leaves some thousands of a hole's million
functions; for a sum of what other lanes offer, that in each round some lane offers an item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from symbolic.solve.propagate import Subproblem
from symbolic.values.guard import Guard
from templates.holes import Point


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
