"""Data that is computed from data, or from a steering value that depends on holes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import prod

from symbolic.algebra.law import LAWS
from symbolic.algebra.terms import Term, Terms
from symbolic.algebra.undo import undo
from symbolic.errors import Place
from symbolic.values.data import (
    EXPANSION_LIMIT,
    SCALED,
    Data,
    DataVector,
    Kinds,
    Need,
    Possible,
    equals,
    kinds,
    kinds_of_term,
    possible,
    require,
    too_many,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Deferred, Encoding


class Mapped(Data):
    """An operator on data values: arithmetic, a conversion, an accumulator's final function.

    Where all operands can be enumerated, every combination is looked at. Where one cannot (an accumulator's value),
    the operator is undone: what must that operand be, given each value of the other?
    """

    def __init__(self, terms: Terms, op: str, operands: Sequence[DataVector], place: Place) -> None:
        super().__init__()
        self.terms, self.op, self.operands, self.place = terms, op, tuple(operands), place

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, found = encoding.guards, []
        for chosen in self._combinations(t, term):
            guard = TRUE
            for operand, value in zip(self.operands, chosen, strict=True):
                guard = guards.both(guard, equals(operand, encoding, t, value)) if guard != FALSE else FALSE
            found.append(guard)
        return guards.any(found)

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        ways = list(self._combinations(t, term))
        if len(ways) != 1:
            return False
        for operand, value in zip(self.operands, ways[0], strict=True):
            require(operand, encoding, t, value, unless)
        return True

    def need(self, t: int, term: Term) -> Need | None:
        ways, (_, positions) = list(self._combinations(t, term)), self._sets(t)
        if len(ways) != 1 or not positions:
            return None
        operand = self.operands[positions[0]]
        return operand.need(t, ways[0][positions[0]]) if isinstance(operand, Data) else None

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """What an operator makes of a value that cannot fold with the other operand is made by that operator."""
        sets, (position,) = self._sets(t)
        law = LAWS.get(self.op)
        if law is None:
            return frozenset((self.op,))
        known = {v for s in sets if s is not None for v in s}
        known_kinds = frozenset[str]().union(*(kinds_of_term(terms, v) for v in known))
        folds = {law.identity, law.absorber} & {terms.nodes[v][1][0] for v in known if terms.is_const(v)}
        some = kinds(terms, self.operands[position], t)
        if self.op in ("+", "*") and known_kinds == {"const"} and not folds:  # what is no number stays none
            return None if some is None or "const" in some else some | {self.op, SCALED}
        if law.order == "set" or folds or some is None or some & {"const", self.op}:
            return None
        match law.order:
            case "parity" if some & known_kinds:
                return None  # the operands may be one term, and cancel
            case "linear" if SCALED in some or self.op in known_kinds or any(terms.scale(v)[1] <= 0 for v in known):
                return None
            case "linear" if some & known_kinds or SCALED in known_kinds:
                return frozenset((self.op, "*", SCALED))  # a multiple of one term
            case "bag" if "+" in some | known_kinds or "const" in known_kinds or SCALED in known_kinds:
                return frozenset((self.op, SCALED, *(["+"] if "+" in some else ())))
            case _:
                return frozenset((self.op,))

    def _find_possible(self, t: int) -> Possible:
        sets, positions = self._sets(t)
        if positions:
            return None
        return frozenset(self.terms.apply(self.op, c) for c in itertools.product(*(s for s in sets if s is not None)))

    def _sets(self, t: int) -> tuple[list[Possible], list[int]]:
        """Return what the operands may be, and which one of them cannot be enumerated, if any."""
        sets = [possible(o, t) for o in self.operands]
        positions = [i for i, s in enumerate(sets) if s is None]
        if len(positions) > 1 or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        return sets, positions

    def _combinations(self, t: int, term: Term) -> Iterator[tuple[Term, ...]]:
        """Yield the operands' values that give a term."""
        sets, positions = self._sets(t)
        for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)):
            if positions:
                (i,) = positions
                yield from ((*chosen[:i], value, *chosen[i:]) for value in self._undo(t, i, chosen, term))
            elif self.terms.apply(self.op, chosen) == term:
                yield chosen

    def _undo(self, t: int, position: int, others: tuple[Term, ...], term: Term) -> tuple[Term, ...]:
        terms, op = self.terms, self.op
        found = undo(terms, op, others[0] if others else None, position == 1, term)
        if op in LAWS and LAWS[op].idempotent:
            some = kinds(terms, self.operands[position], t)
            found = None if some is None or some & {"const", op} else found
        if found is None:
            raise too_many(self.place)
        return found


class Number(Data):
    """A steering value that depends on holes, cast to data."""

    def __init__(self, index: Deferred, cast: Callable[[int], Term]) -> None:
        super().__init__()
        self.index, self.cast = index, cast

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        values = self.index.at(encoding, t).values
        return encoding.guards.any(g for value, g in values.items() if self.cast(value) == term)

    def _find_possible(self, t: int) -> Possible:
        return frozenset(self.cast(value) for value in self.index.reach(t))
