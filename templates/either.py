"""The template of a space that has several families: the hole becomes a function of one of them.

The first component says which family. The components of every family follow, of which only those of the chosen family
count.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import Allowed, Choice, Chooser, Functions, Places
from templates.template import Point, Points, Shifted, Template, ValuesThere

T = TypeVar("T")


class Either(Template):
    """A function of one of several templates; `names` are those of their families, that of the hole's own first."""

    tabled: ClassVar[bool] = True

    def __init__(self, names: Sequence[str], parts: Sequence[Template]) -> None:
        self.names, self._parts = tuple(names), tuple(parts)

    @cached_property
    def components(self) -> tuple[tuple[Any, ...], ...]:  # type: ignore[override]
        """Which part, and the components of all parts."""
        return (tuple(range(len(self.parts))), *(some for part in self.parts for some in part.components))

    @property
    def parts(self) -> Sequence[Template]:
        return self._parts

    def slices(self) -> list[slice]:
        """Return where each part's components stand among all."""
        return self._slices

    @cached_property
    def _slices(self) -> list[slice]:
        ends = list(itertools.accumulate((len(part.some) for part in self.parts), initial=1))
        return [slice(start, end) for start, end in itertools.pairwise(ends)]

    def of(self, choice: Choice) -> tuple[Template, Choice]:
        """Return the part that a choice is of, and its choice there."""
        return self.parts[choice[0]], choice[self.slices()[choice[0]]]

    def whole(self, part: int, choice: Choice) -> Choice:
        """Return the choice that is one of a part."""
        return (part, *itertools.chain(*(*self._some[:part], choice, *self._some[part + 1 :])))

    @cached_property
    def _some(self) -> tuple[Choice, ...]:
        return tuple(part.some for part in self.parts)

    def at(self, chooser: Chooser[T], point: Point) -> T:
        which = chooser.pick(0, lambda part: part)
        value: T | None = None
        for number, (part, where) in enumerate(zip(self.parts, self.slices(), strict=True)):
            here = part.at(Shifted(chooser, where.start), point)
            if value is None:
                value = here
            else:
                tagged = chooser.both(lambda w, own: (w, own), which, here)
                value = chooser.both(
                    lambda some, before, number=number: some[1] if some[0] == number else before,  # type: ignore[misc]
                    tagged,
                    value,
                )
        assert value is not None
        return value

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        part, own = self.of(choice)
        return part.apply(own, arguments)

    def tables(self, choices: Sequence[Choice], columns: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        found = np.empty((len(choices), len(columns[0])), np.int64)
        for number, (part, where) in enumerate(zip(self.parts, self.slices(), strict=True)):
            own = [row for row, choice in enumerate(choices) if choice[0] == number]
            if own:
                found[own] = part.tables([choices[row][where] for row in own], columns)
        return found

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        part, own = self.of(choice)
        return part.expression(own, arguments, place)

    def constants(self, choice: Choice) -> Mapping[str, int]:
        """Return the part's constants; those of another family than the hole's own are led by its name."""
        part, own = self.of(choice)
        name = {self.names[choice[0]]: 1} if choice[0] else {}
        return {**name, **part.constants(own)}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        number = next((n for n, name in enumerate(self.names) if n and name in constants), 0)
        return self.whole(number, self.parts[number].parse(constants))

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        part, own = self.of(choice)
        return part.words(own, names)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        part, own = self.of(choice)
        return (choice[0], *part.weight(own))

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        """Return the simplest choice of the first part that has one."""
        for number, part in enumerate(self.parts):
            found = part.simplest(points, values)
            if found is not None:
                return self.whole(number, found)
        return None

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        for number, part in enumerate(self.parts):
            found = part.recognised(points, values)
            if found is not None:
                return self.whole(number, found)
        return None

    def lightest(self) -> Iterator[Choice]:
        for number, part in enumerate(self.parts):
            for choice in part.lightest():
                yield self.whole(number, choice)

    def functions(self, points: Sequence[Point]) -> Functions | None:
        parts = [part.functions(points) for part in self.parts]
        return self.together(dict(enumerate(some for some in parts if some))) if all(parts) else None

    def together(self, some: Mapping[int, Functions]) -> Functions:
        return EitherOf(self, some)


class EitherOf:
    """Functions of the parts, those parts that have any by their numbers."""

    def __init__(self, of: Either, parts: Mapping[int, Functions]) -> None:
        self.of, self.parts = of, {number: some for number, some in parts.items() if some.count}

    @property
    def count(self) -> int:
        return sum(some.count for some in self.parts.values())

    def keep(self, places: Places, allowed: Allowed) -> EitherOf:
        return EitherOf(self.of, {number: some.keep(places, allowed) for number, some in self.parts.items()})

    def keep_any(self, places: Places, allowed: Allowed) -> EitherOf:
        return EitherOf(self.of, {number: some.keep_any(places, allowed) for number, some in self.parts.items()})

    def given(self, places: Places, allowed: Allowed) -> Allowed:
        found = np.zeros_like(allowed)
        for some in sorted(self.parts.values(), key=lambda some: some.count):
            lines = np.flatnonzero((allowed & ~found).any(axis=1))  # what another part gives need not be asked again
            if len(lines):
                found[lines] |= some.given(places[lines], (allowed & ~found)[lines])
        return found

    def choice(self) -> Choice:
        return next(self.choices())

    def choices(self) -> Iterator[Choice]:
        for number, some in self.parts.items():
            for choice in some.choices():
                yield self.of.whole(number, choice)

    def simplest(self) -> Choice:
        number, some = next(iter(self.parts.items()))
        return self.of.whole(number, some.simplest())
