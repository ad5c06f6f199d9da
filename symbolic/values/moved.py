"""Data that moves as it is: chosen by a condition, brought by a shuffle, taken from a known thread."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from symbolic.algebra.terms import Term, Terms
from symbolic.values.data import (
    Data,
    DataVector,
    Kinds,
    Need,
    Picked,
    PossibleTerms,
    combines,
    equals,
    kinds,
    kinds_of,
    possible,
    require,
    require_among,
    require_one,
    union_of,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union, merge
from symbolic.values.vector import Deferred, Encoding, Lanes, Vector, at, guard_at, reach


class Selected(Picked):
    """`yes` where a BOOL vector holds, else `no`."""

    def __init__(self, chosen: Vector, yes: DataVector, no: DataVector) -> None:
        super().__init__()
        self.chosen, self.yes, self.no = chosen, yes, no

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, g = encoding.guards, guard_at(self.chosen, encoding, t)
        yes = guards.both(g, equals(self.yes, encoding, t, term)) if g != FALSE else FALSE
        no = guards.both(-g, equals(self.no, encoding, t, term)) if g != TRUE else FALSE
        return guards.any((yes, no))

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        g = guard_at(self.chosen, encoding, t)
        if g != FALSE:
            require(self.yes, encoding, t, term, (*unless, -g))
        if g != TRUE:
            require(self.no, encoding, t, term, (*unless, g))
        return True

    def require_among(self, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]) -> None:
        g = guard_at(self.chosen, encoding, t)
        if g != FALSE:
            require_among(self.yes, encoding, t, terms, (*unless, -g))
        if g != TRUE:
            require_among(self.no, encoding, t, terms, (*unless, g))

    def cases(self, encoding: Encoding, t: int) -> list[tuple[Guard, DataVector, int]]:
        g = guard_at(self.chosen, encoding, t)
        return [(when, side, t) for when, side in ((g, self.yes), (-g, self.no)) if when != FALSE]

    @cached_property
    def combines(self) -> bool:
        return combines(self.yes) or combines(self.no)

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        sides = reach(self.chosen, t)
        return [(side, t) for chosen, side in ((True, self.yes), (False, self.no)) if chosen in sides]

    def _find_possible(self, t: int) -> PossibleTerms:
        if not isinstance(self.chosen, Deferred):
            return possible(self.yes if self.chosen[t] else self.no, t)
        return union_of([possible(self.yes, t), possible(self.no, t)])

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [(self.yes, t), (self.no, t)])


class Shuffled(Picked):
    """What lane `source` of the warp that begins at thread `base` offers."""

    def __init__(self, value: DataVector, source: Vector, base: Lanes, width: int) -> None:
        super().__init__()
        self.value, self.source, self.base, self.width = value, source, base, width
        self._holders: dict[int, dict[Term, list[int]] | None] = {}

    def holders(self, base: int) -> dict[Term, list[int]] | None:
        """Return which lanes of a warp may offer each term, or None if some lane's terms are not enumerated."""
        if base not in self._holders:
            found: dict[Term, list[int]] | None = {}
            for lane in range(self.width):
                terms = possible(self.value, base + lane)
                if terms is None:
                    found = None
                    break
                assert found is not None
                for term in terms:
                    found.setdefault(term, []).append(lane)
            self._holders[base] = found
        return self._holders[base]

    def _givers(self, encoding: Encoding, t: int, term: Term) -> dict[int, Guard]:
        """Return the threads that may offer a term to thread t, with the guard under which it asks them."""
        base = int(self.base[t])
        lanes, holders = at(self.source, encoding, t).values, self.holders(base)
        able = lanes if holders is None else [lane for lane in holders.get(term, ()) if lane in lanes]
        return {base + lane: lanes[lane] for lane in able}

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, givers = encoding.guards, self._givers(encoding, t, term)
        return guards.any(guards.both(g, equals(self.value, encoding, u, term)) for u, g in givers.items())

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        givers = self._givers(encoding, t, term)
        require_one(encoding, {g: partial(require, self.value, encoding, u, term) for u, g in givers.items()}, unless)
        return True

    def require_among(self, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]) -> None:
        base = int(self.base[t])
        for lane, g in at(self.source, encoding, t).values.items():
            require_among(self.value, encoding, base + lane, terms, (*unless, -g))

    def cases(self, encoding: Encoding, t: int) -> list[tuple[Guard, DataVector, int]]:
        base, lanes = int(self.base[t]), at(self.source, encoding, t).values
        return [(g, self.value, base + lane) for lane, g in lanes.items()]

    @cached_property
    def combines(self) -> bool:
        return combines(self.value)

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        return [(self.value, int(self.base[t]) + lane) for lane in sorted(reach(self.source, t))]

    def _find_possible(self, t: int) -> PossibleTerms:
        holders = self.holders(int(self.base[t]))
        return None if holders is None else frozenset(holders)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [(self.value, int(self.base[t]) + lane) for lane in range(self.width)])


class Gathered(Picked):
    """The value of another thread; which one does not depend on holes."""

    def __init__(self, value: Data, giver: Lanes) -> None:
        super().__init__()
        self.value, self.giver = value, giver

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        return self.value.equals(encoding, int(self.giver[t]), term)

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        self.value.require(encoding, int(self.giver[t]), term, unless)
        return True

    def require_among(self, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]) -> None:
        self.value.require_among(encoding, int(self.giver[t]), terms, unless)

    def need(self, t: int, term: Term) -> Need | None:
        return self.value.need(int(self.giver[t]), term)

    def cases(self, encoding: Encoding, t: int) -> list[tuple[Guard, DataVector, int]]:
        return [(TRUE, self.value, int(self.giver[t]))]

    @cached_property
    def combines(self) -> bool:
        return self.value.combines

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        return [(self.value, int(self.giver[t]))]

    def _find_possible(self, t: int) -> PossibleTerms:
        return self.value.possible(int(self.giver[t]))

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds(terms, self.value, int(self.giver[t]))


def either(chosen: Vector, yes: Vector, no: Vector) -> Deferred:
    """Return a steering vector that is `yes` where a BOOL vector holds, else `no`."""

    def compute(encoding: Encoding, t: int) -> Union:
        g = guard_at(chosen, encoding, t)
        if g in (1, -1):
            return at(yes if g == 1 else no, encoding, t)
        return merge(encoding.guards, [(g, at(yes, encoding, t)), (-g, at(no, encoding, t))])

    def reachable(t: int) -> frozenset[Any]:
        sides = reach(chosen, t)
        return (reach(yes, t) if True in sides else frozenset()) | (reach(no, t) if False in sides else frozenset())

    return Deferred(compute, reachable)
