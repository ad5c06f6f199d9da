"""Data under holes, asked backward: not 'what may this value be?' but 'when is it this term?'.

A specification's term is asked of the value stored; the question travels back through selects, shuffles, reads and
reductions to the cells that hold the term, and comes out as a guard over the holes' choices. Of everything that a
value may be, only what the specification mentions is ever built.
(Accumulators are `symbolic.reduced`.)
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, TypeAlias

from symbolic.errors import Place, SwizzleError
from symbolic.guard import FALSE, TRUE, Guard
from symbolic.terms import REDUCTIONS, Term, Terms
from symbolic.undo import undo
from symbolic.vector import Deferred, Encoding, Lanes, Vector, at, guard_at

EXPANSION_LIMIT = 100_000  # combinations of operand values that are looked at one by one
CASES_DEEP = 3  # nested cases that a requirement tells apart; below them it asks for equality, which is built once
Possible: TypeAlias = "frozenset[Term] | None"  # the terms a value may be, None for 'not enumerated'


class Data(ABC):
    """One data value per thread, each depending on holes."""

    def __init__(self) -> None:
        self._possible: dict[int, Possible] = {}
        self.known_kinds: dict[int, Kinds] = {}

    def equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return the guard under which thread t's value is `term`, built once per encoding."""
        memo = encoding.equal.get(self)
        if memo is None:
            memo = encoding.equal[self] = {}
        found = memo.get((t, term))
        if found is None:
            possible = self.possible(t)
            known = possible is not None and term not in possible
            found = memo[t, term] = FALSE if known else self._equals(encoding, t, term)
        return found

    def require(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...] = ()) -> None:
        """Require, unless one of these guards holds, that thread t's value is `term`."""
        if len(unless) >= CASES_DEEP or not self._require_cases(encoding, t, term, unless):
            encoding.guards.add((*unless, self.equals(encoding, t, term)))

    def possible(self, t: int) -> Possible:
        """Return every term that thread t's value may be, whatever the holes are, or None if there are too many."""
        if t not in self._possible:
            self._possible[t] = self._find_possible(t)
        return self._possible[t]

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """Say as much of thread t's value as `kinds` wants to know where it is not enumerated."""
        return None

    def need(self, t: int, term: Term) -> Need | None:
        """Return what accumulates must bring for thread t's value to be `term`; None where that is not clear."""
        return None

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        """Require it case by case, in clauses that let a solver rule out one choice by another; False if there is
        no such way."""
        return False

    def require_among(  # noqa: B027 - nothing is the right default
        self, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]
    ) -> None:
        """Require, unless one of these guards holds, one of some terms, as far as that is said in few clauses.

        It follows from what else is required; said aloud, it lets a choice be ruled out before others are made.
        """

    @abstractmethod
    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard: ...

    @abstractmethod
    def _find_possible(self, t: int) -> Possible: ...


@dataclass(frozen=True, slots=True)
class Need:
    """An accumulator needs at least `items` active entries, of those that may be active: their tags."""

    items: int
    offers: tuple[Any, ...]


DataVector: TypeAlias = "Lanes | Data"
Kinds: TypeAlias = "frozenset[str] | None"


def equals(value: DataVector, encoding: Encoding, t: int, term: Term) -> Guard:
    """Return the guard under which a data vector is `term` for thread t."""
    if isinstance(value, Data):
        return value.equals(encoding, t, term)
    return TRUE if value[t] == term else FALSE


def possible(value: DataVector, t: int) -> Possible:
    """Return every term that a data vector may be for thread t."""
    if isinstance(value, Data):
        return value.possible(t)
    return frozenset((int(value[t]),))


def kinds(terms: Terms, value: DataVector, t: int) -> Kinds:
    """Return the operators that a data vector may be made by for thread t ('atom', 'const' too), None for any."""
    if not isinstance(value, Data):
        return frozenset((terms.nodes[value[t]][0],))
    if t not in value.known_kinds:
        values = value.possible(t)
        value.known_kinds[t] = value.kinds(terms, t) if values is None else frozenset(terms.nodes[v][0] for v in values)
    return value.known_kinds[t]


def require(value: DataVector, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...] = ()) -> None:
    """Require, unless one of these guards holds, that a data vector is `term` for thread t."""
    if isinstance(value, Data):
        value.require(encoding, t, term, unless)
    elif value[t] != term:
        encoding.guards.add(unless)


def require_among(
    value: DataVector, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]
) -> None:
    """Require, unless one of these guards holds, that a data vector is one of some terms, as far as few clauses go."""
    found = possible(value, t)
    if found is not None and not found & terms:
        encoding.guards.add(unless)
    elif (found is None or not found <= terms) and isinstance(value, Data) and len(unless) < CASES_DEEP:
        value.require_among(encoding, t, terms, unless)


def require_one(
    encoding: Encoding, cases: Mapping[Guard, Callable[[tuple[Guard, ...]], None]], unless: tuple[Guard, ...]
) -> None:
    """Require that one of some exclusive cases holds, and of the one that does what it asks for."""
    encoding.guards.add((*unless, *cases))
    for guard, ask in cases.items():
        ask(unless if len(cases) == 1 else (*unless, -guard))


def union_of(parts: Sequence[Possible]) -> Possible:
    """Return all possibilities of several values together."""
    found: set[Term] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return frozenset(found)


def kinds_of(terms: Terms, values: Sequence[tuple[DataVector, int]]) -> Kinds:
    """Return the kinds of several values (each with its thread) together."""
    found: set[str] = set()
    for value, t in values:
        some = kinds(terms, value, t)
        if some is None:
            return None
        found |= some
    return frozenset(found)


class Selected(Data):
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

    def _find_possible(self, t: int) -> Possible:
        if not isinstance(self.chosen, Deferred):
            return possible(self.yes if self.chosen[t] else self.no, t)
        return union_of([possible(self.yes, t), possible(self.no, t)])

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [(self.yes, t), (self.no, t)])


class Shuffled(Data):
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

    def _find_possible(self, t: int) -> Possible:
        holders = self.holders(int(self.base[t]))
        return None if holders is None else frozenset(holders)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [(self.value, int(self.base[t]) + lane) for lane in range(self.width)])


class Gathered(Data):
    """Another thread's value, the giver known for each thread."""

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

    def _find_possible(self, t: int) -> Possible:
        return self.value.possible(int(self.giver[t]))

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds(terms, self.value, int(self.giver[t]))


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
        reduction = REDUCTIONS.get(self.op)
        if reduction is None:
            return frozenset((self.op,))
        known = [terms.nodes[v] for s in sets if s is not None for v in s]
        folds = {reduction.identity, reduction.annihilator} & {args[0] for op, args in known if op == "const"}
        some = kinds(terms, self.operands[position], t)
        if self.op not in ("+", "*", "^") or folds or some is None or some & {"const", self.op}:
            return None
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
        if op in REDUCTIONS and REDUCTIONS[op].idempotent:
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


def too_many(place: Place | None) -> SwizzleError:
    return SwizzleError(
        f"a data value depends on holes in more than {EXPANSION_LIMIT:,} ways, or on accumulators' values",
        place=place,
        expected="arithmetic on few values that depend on holes, reductions as accumulators",
        mend="accumulate the values instead of adding them up, and apply what follows in the accumulator's final=",
    )
