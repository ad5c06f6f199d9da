"""`?sw_part(n, v, ...)`: if ?sw_cond then 0 elif ?sw_cond then 1 ... else n - 1 (paper, section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np

from symbolic.errors import Place
from symbolic.ir.program import Const, DType, Expr, Select
from templates.chooser import Choice, Chooser
from templates.cond import CONSTANTS, Cond
from templates.formula import number
from templates.template import Point, Shifted, Template, TemplateFamily

T = TypeVar("T")


class Part(Template):
    """`?sw_part(n, v, ...)`: n - 1 conditions, of which the first that holds decides."""

    def __init__(self, n: int, arity: int, points: Sequence[Point], space: str) -> None:
        self.n = n
        self._set(Cond(arity, points, space))

    def _set(self, condition: Cond) -> None:
        self.conditions = [condition] * (self.n - 1)
        self.components = condition.components * (self.n - 1) or ((None,),)

    def restricted(self, strides: bool = False) -> Template:
        if not self.conditions:
            return self
        found = copy(self)
        found._set(self.conditions[0].restricted(strides))
        return found

    def slices(self) -> list[slice]:
        """Return where each condition's components stand among all."""
        width = len(self.conditions[0].components) if self.conditions else 0
        return [slice(j * width, (j + 1) * width) for j in range(len(self.conditions))]

    def at(self, chooser: Chooser[T], point: Point) -> T:
        if not self.conditions:
            return chooser.pick(0, lambda _: 0)
        value: T | None = None
        for j, (condition, part) in reversed(list(enumerate(zip(self.conditions, self.slices(), strict=True)))):
            chosen = condition.at(Shifted(chooser, part.start), point)
            if value is None:
                value = chooser.both(lambda c, _, j=j: j if c else j + 1, chosen, chosen)  # type: ignore[misc]
            else:
                value = chooser.both(lambda c, rest, j=j: j if c else rest, chosen, value)  # type: ignore[misc]
        assert value is not None
        return value

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        value: Any = self.n - 1
        for j, part in reversed(list(enumerate(self.slices()))):
            value = np.where(self.conditions[j].apply(choice[part], arguments), j, value)
        return value

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        if not self.conditions:
            return (None,)
        choice: Choice = ()
        for j, condition in enumerate(self.conditions):
            wanted = [None if v is None or v < j else v == j for v in values]
            found = condition.simplest(points, wanted)
            if found is None:
                return None
            choice += found
        return choice

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        return {
            f"{name}_{j}": value
            for j, (condition, part) in enumerate(zip(self.conditions, self.slices(), strict=True))
            for name, value in condition.constants(choice[part]).items()
        }

    def parse(self, constants: Mapping[str, object]) -> Choice:
        choice: Choice = ()
        for j, condition in enumerate(self.conditions):
            choice += condition.parsed(constants, [f"{name}_{j}" for name in CONSTANTS])
        return choice

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        value: Expr = number(self.n - 1, place)
        for j, part in reversed(list(enumerate(self.slices()))):
            condition = self.conditions[j].expression(choice[part], arguments, place)
            if isinstance(condition, Const):
                value = number(j, place) if condition.value else value
            elif not (isinstance(value, Const) and value.value == j):
                value = Select(condition, number(j, place), value, DType.INDEX, place)
        return value

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        """Return `0 when lane >= k, else 1`, or `always 1`."""
        parts: list[str] = []
        last = len(self.conditions)
        for j, (condition, part) in enumerate(zip(self.conditions, self.slices(), strict=True)):
            when = condition.when(choice[part], names)
            if when == "always":
                last = j
                break
            if when != "never":
                parts.append(f"{j} when {when}")
        return ", else ".join([*parts, str(last)]) if parts else f"always {last}"


FAMILY = TemplateFamily(
    "part",
    "part",
    lambda size, arity, points, space: Part(size, arity, points, space),
    saved=lambda size, arity, points: Part(size, arity, (), "3"),
)
