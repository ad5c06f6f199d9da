"""The costs of one search in order of importance: the first decides, the second decides among its best, and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.costs.cost import BoundedCost, Cost, Nothing

_NOTHING: Final = Nothing()


class Goal(Struct, frozen=True):
    """`lowered` is bounded inside the search; `counted` are counted on one solution after the other."""

    lowered: BoundedCost
    counted: tuple[Cost, ...] = ()

    @staticmethod
    def of(costs: Sequence[Cost], canonical: bool = True) -> Goal:
        """Return the goal of some costs; a search without canonical terms bounds accumulates only."""
        first = costs[0]
        if isinstance(first, BoundedCost) and (canonical or first is ACCUMULATES):
            return Goal(first, tuple(costs[1:]))
        return Goal(_NOTHING, tuple(costs))

    @property
    def lowers(self) -> bool:
        """Whether any cost is bounded inside the search."""
        return self.lowered is not _NOTHING

    @property
    def costs(self) -> tuple[Cost, ...]:
        """All costs, in their order."""
        return (self.lowered, *self.counted) if self.lowers else self.counted

    def by_name(self, values: Sequence[int]) -> Mapping[str, int]:
        """Return values by the names of the costs that were asked for; in `values`, that of `lowered` comes first."""
        values = values if self.lowers else values[1:]
        return {cost.name: value for cost, value in zip(self.costs, values, strict=True)}


DEFAULT: Final = Goal(ACCUMULATES)
