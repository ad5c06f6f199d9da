"""The second description of `?sw_part(n, v, ...)`: the first condition that holds decides (section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases, both, no
from templates.second.cond import CondHole
from templates.second.groups import Point


class PartHole:
    """`?sw_part(n, v, ...)`: the first condition that holds decides (section 5.2)."""

    def __init__(self, n: int, arity: int, points: Sequence[Point], space: str) -> None:
        self.n = n
        self._conditions = [CondHole(arity, points, space) for _ in range(self.n - 1)]
        self.groups = [g for c in self._conditions for g in c.groups]

    def at(self, point: Point) -> Cases:
        found: Cases = {}
        before: list[Any] = []
        for j, condition in enumerate(self._conditions):
            holds = condition.at(point).get(True)
            if holds is not None:
                found[j] = both(*before, holds)
                before.append(no(holds))
        found[self.n - 1] = both(*before)
        return {value: f for value, f in found.items() if not f.is_false()}

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        conditions = [c.filled(model) for c in self._conditions]

        def function(arguments: Sequence[Any]) -> Any:
            value: Any = self.n - 1
            for j in range(self.n - 2, -1, -1):
                value = np.where(conditions[j](arguments), j, value)
            return value

        return function
