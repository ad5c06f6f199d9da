"""The open holes of a search: what each of them may be at a point, by its template in a space.

A search that may continue in a wider space is built once for both. A hole with the same functions in both spaces is its
template. A hole with more functions in the wider space is *free* at each point. Under an assumption, 'the choice is one
of this space', it equals its template, until the search leaves the space.
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
        self, guards: Guards, holes: Sequence[Hole], templates: Sequence[Template], wider: Sequence[Template] = ()
    ) -> None:
        """`wider` are the templates of the space in which the search may continue; None if it ends with this one."""
        self.guards, self.holes, self.templates, self.wider = guards, holes, list(templates), list(wider)
        self.open = [OpenChooser[Union](guards, t.components) for t in self.templates]
        self._differ = {
            number
            for number, (now, later) in enumerate(zip(self.templates, self.wider, strict=False))
            if now.components != later.components
        }
        self._points: dict[tuple[int, Point], Union] = {}
        self._free: dict[tuple[int, Point], Union] = {}
        self._here: Guard | None = guards.fresh() if self._differ else None

    @property
    def assumptions(self) -> list[Guard]:
        """The assumption that the choice is one of the space that is searched."""
        return [] if self._here is None else [self._here]

    def at(self, number: int, point: Point) -> Union:
        """Return what a hole may be at a point."""
        found = self._points.get((number, point))
        if found is None:
            found = self.templates[number].at(self.open[number], point)
            if self._here is not None and number in self._differ:
                free = self._free[number, point] = free_union(self.guards, self.holes[number])
                equate(self.guards, self._here, found, free)
                found = free
            self._points[number, point] = found
        return found

    def widen(self) -> None:
        """Leave this space for the wider one; what was built so far is kept."""
        assert self.wider, "there is no wider space"
        if self._here is not None:
            self.guards.add((-self._here,))
            self._here = None
        for number in self._differ:
            self.open[number] = OpenChooser[Union](self.guards, self.wider[number].components)
        self.templates, self.wider = self.wider, []
        for (number, point), free in self._free.items():
            equate(self.guards, None, self.templates[number].at(self.open[number], point), free)

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
