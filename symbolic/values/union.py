"""Unions: what a value may be, by the choices that fill the holes (Rosette's symbolic unions).

A union maps each possible value to the guard under which it is that value.

Invariant: guards are pairwise exclusive and together always true; values are distinct; no guard is FALSE. A union
of one value has the guard TRUE and is as good as the plain value.

>>> guards = Guards(); g = guards.fresh()
>>> u = Union({1: g, 2: -g})
>>> u.map(guards, lambda v: v % 1).values
{0: 1}
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from msgspec import Struct

from symbolic.values.guard import FALSE, TRUE, Guard, Guards


class GuardAlgebra(Protocol):
    """What merging needs of guards: those of holes (`Guards`), those of paths (`symbolic.lifting.conditions`)."""

    def both(self, a: Guard, b: Guard) -> Guard:
        """Return the guard `a and b`."""

    def any(self, guards: Iterable[Guard]) -> Guard:
        """Return the guard 'one of these holds'."""


class Union(Struct, frozen=True):
    """Guarded alternatives of a hashable value."""

    values: dict[Any, Guard]

    @staticmethod
    def single(value: Hashable) -> Union:
        """Return the union that is always `value`."""
        return Union({value: TRUE})

    def is_(self, value: Hashable) -> Guard:
        """Return the guard under which the union is `value`."""
        return self.values.get(value, FALSE)

    @property
    def constant(self) -> bool:
        return len(self.values) == 1

    def map(self, guards: GuardAlgebra, function: Callable[[Any], Hashable]) -> Union:
        """Apply a function to every alternative."""
        results = list(map(function, self.values))
        return gathered(guards, results, list(self.values.values()))


def combine(guards: Guards, function: Callable[[Any, Any], Hashable], a: Union, b: Union) -> Union:
    """Apply a binary function to every pair of alternatives.

    Where each pair has a result of its own, that one's guard is the conjunction of the pair's. Else the results' guards
    are fresh and tied by one clause per pair; being exclusive and exhaustive they are thereby defined in both
    directions.
    """
    if a.constant:
        left = next(iter(a.values))
        return b.map(guards, lambda right: function(left, right))
    if b.constant:
        right = next(iter(b.values))
        return a.map(guards, lambda left: function(left, right))
    results = [function(left, right) for left in a.values for right in b.values]
    pairs = itertools.product(a.values.values(), b.values.values())
    distinct = dict.fromkeys(results)
    if len(distinct) == 1:
        return Union({results[0]: TRUE})
    if len(distinct) == len(results):
        each = {value: guards.both(g, h) for value, (g, h) in zip(results, pairs, strict=True)}
        return Union({value: guard for value, guard in each.items() if guard != FALSE})
    groups: dict[Hashable, list[tuple[Guard, Guard]]] = {value: [] for value in distinct}
    for value, pair in zip(results, pairs, strict=True):
        groups[value].append(pair)
    named = dict(zip(distinct, guards.tied(list(groups.values())), strict=True))
    return Union({value: guard for value, guard in named.items() if guard != FALSE})


def merge(guards: GuardAlgebra, parts: Iterable[tuple[Guard, Union]]) -> Union:
    """Return the union that is the part whose guard holds; the parts' guards are exclusive and exhaustive."""
    results, found = list[Hashable](), list[Guard]()
    for guard, part in parts:
        if guard == FALSE:
            continue
        for value, inner in part.values.items():
            both = guards.both(guard, inner)
            if both != FALSE:
                results.append(value)
                found.append(both)
    return gathered(guards, results, found)


def gathered(guards: GuardAlgebra, results: list[Any], found: list[Guard]) -> Union:
    """Return the union of results under exclusive and exhaustive guards; equal ones become one."""
    distinct = dict(zip(results, found, strict=True))
    if len(distinct) == 1:
        return Union({results[0]: TRUE})
    if len(distinct) == len(results):
        return Union(distinct)
    groups: dict[Hashable, list[Guard]] = {value: [] for value in distinct}
    for value, guard in zip(results, found, strict=True):
        groups[value].append(guard)
    return Union({value: guards.any(group) for value, group in groups.items()})
