"""The open holes of a search: what each of them may be at a point, by its template in a space.

A search that may continue in wider spaces is built once for all of them. A hole with the same functions in all is its
template. A hole with more functions in a wider space is *free* at each point. Under an assumption, 'the choice is one
of this space', it equals its template, until the search comes to a space in which it has more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symbolic.ir.program import DType, Hole
from symbolic.values.guard import Guard, Guards
from symbolic.values.union import Union
from templates.chooser import Choice, OpenChooser
from templates.holes import Point, kind_of
from templates.template import Template


class OpenHoles:
    """What each hole may be at each point, by open templates."""

    def __init__(
        self,
        guards: Guards,
        holes: Sequence[Hole],
        templates: Sequence[Template],
        wider: Sequence[Sequence[Template]] = (),
    ) -> None:
        """`wider` are the templates of the spaces in which the search may continue, one after the other."""
        self.guards, self.holes, self.templates = guards, holes, list(templates)
        self.wider = [list(each) for each in wider]
        self.open = [OpenChooser[Union](guards, t.components) for t in self.templates]
        self._points: dict[tuple[int, Point], Union] = {}
        self._free: dict[tuple[int, Point], Union] = {}
        self._here: dict[int, Guard] = {}  # by how many spaces are left when it ends
        for number in range(len(self.templates)):
            self._until(number)

    def _left(self, number: int) -> int:
        """Return how many wider spaces are left when a hole has other functions than now, 0 if it never has."""
        now = self.templates[number].components
        differ = (at for at, space in enumerate(self.wider) if space[number].components != now)
        return len(self.wider) - next(differ, len(self.wider))

    def _until(self, number: int) -> Guard | None:
        """Return the assumption that a hole has one of its functions of now, None if it keeps them."""
        left = self._left(number)
        if left and left not in self._here:
            self._here[left] = self.guards.fresh()
        return self._here.get(left)

    @property
    def assumptions(self) -> list[Guard]:
        """The assumptions that the choice is one of the space that is searched."""
        return list(self._here.values())

    def at(self, number: int, point: Point) -> Union:
        """Return what a hole may be at a point."""
        found = self._points.get((number, point))
        if found is None:
            found = self.templates[number].at(self.open[number], point)
            until = self._until(number)
            if until is not None:
                free = self._free[number, point] = free_union(self.guards, self.holes[number])
                equate(self.guards, until, found, free)
                found = free
            self._points[number, point] = found
        return found

    def widen(self) -> None:
        """Leave this space for the next one; what was built so far is kept."""
        assert self.wider, "there is no wider space"
        left = len(self.wider)
        changed = {number for number in range(len(self.templates)) if self._left(number) == left}
        if changed:
            self.guards.add((-self._here.pop(left),))
        self.templates = self.wider.pop(0)
        for number in changed:
            self.open[number] = OpenChooser[Union](self.guards, self.templates[number].components)
        for (number, point), free in self._free.items():
            if number in changed:
                now = self.templates[number].at(self.open[number], point)
                equate(self.guards, self._until(number), now, free)

    def chosen(self, holds: Callable[[Guard], bool]) -> tuple[Choice, ...]:
        """Read every hole's choice from a model."""
        return tuple(o.chosen(holds) for o in self.open)


def free_union(guards: Guards, hole: Hole) -> Union:
    """Return a new union of everything in a hole's range, without any template."""
    if kind_of(hole).gives is DType.BOOL:
        yes = guards.fresh()
        return Union({True: yes, False: -yes})
    if hole.size == 1:
        return Union.single(0)
    found = Union({value: guards.fresh() for value in range(hole.size)})
    each = list(found.values.values())
    guards.add(each)
    guards.at_most_one_by_rectangle(each)
    return found


class FreeTables(dict[tuple[int, Point], Union]):
    """Holes as free tables: by a hole's number and a point, a new union of its range where none was asked for yet."""

    def __init__(self, guards: Guards, holes: Sequence[Hole]) -> None:
        super().__init__()
        self._guards, self._holes = guards, holes

    def __missing__(self, key: tuple[int, Point]) -> Union:
        found = self[key] = free_union(self._guards, self._holes[key[0]])
        return found

    def at(self, number: int, point: Point) -> Union:
        """Return what a hole may be at a point."""
        return self[number, point]


def equate(guards: Guards, when: Guard | None, one: Union, other: Union) -> None:
    """Require, if `when` holds (None: always), that `one` is `other`, which has all its values and perhaps more."""
    unless = () if when is None else (-when,)
    for value, guard in one.values.items():
        guards.add((*unless, -guard, other.is_(value)))
    for value, guard in other.values.items():
        if value not in one.values:
            guards.add((*unless, -guard))
