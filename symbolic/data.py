"""Data under holes, asked backward: not 'what may this value be?' but 'when is it this term?'.

A specification's term is asked of the value stored; the question travels back through selects, shuffles, reads and
reductions to the cells that hold the term, and comes out as a guard over the holes' choices. Of everything that a
value may be, only what the specification mentions is ever built.

An accumulator under holes is one multiset of guarded entries (paper, section 4.2). It equals a term when each item
of the term is contributed by exactly one of the entries that could, and no entry contributes anything else:
cardinality over guards, no arithmetic.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from symbolic.errors import Place, SwizzleError
from symbolic.guard import FALSE, TRUE, Guard
from symbolic.terms import REDUCTIONS, UNWRITTEN, Term, Terms
from symbolic.vector import Deferred, Encoding, Lanes, Vector, at, guard_at

EXPANSION_LIMIT = 100_000  # combinations of operand values that are looked at one by one
Possible: TypeAlias = "frozenset[Term] | None"  # the terms a value may be, None for 'not enumerated'


class Data(ABC):
    """One data value per thread, each depending on holes."""

    def __init__(self) -> None:
        self._possible: dict[int, Possible] = {}

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

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        """Require, where `when` holds, that thread t's value is `term`."""
        encoding.guards.add((-when, self.equals(encoding, t, term)))

    def possible(self, t: int) -> Possible:
        """Return every term that thread t's value may be, whatever the holes are, or None if there are too many."""
        if t not in self._possible:
            self._possible[t] = self._find_possible(t)
        return self._possible[t]

    @abstractmethod
    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard: ...

    @abstractmethod
    def _find_possible(self, t: int) -> Possible: ...


DataVector: TypeAlias = "Lanes | Data"


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


def require(value: DataVector, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
    """Require, where `when` holds, that a data vector is `term` for thread t."""
    if isinstance(value, Data):
        value.require(encoding, t, term, when)
    elif value[t] != term:
        encoding.guards.add((-when,))


def union_of(parts: Sequence[Possible]) -> Possible:
    """Return all possibilities of several values together."""
    found: set[Term] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
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

    def _find_possible(self, t: int) -> Possible:
        if not isinstance(self.chosen, Deferred):
            return possible(self.yes if self.chosen[t] else self.no, t)
        return union_of([possible(self.yes, t), possible(self.no, t)])


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

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, base = encoding.guards, int(self.base[t])
        lanes = at(self.source, encoding, t).values
        holders = self.holders(base)
        if holders is not None:
            lanes = {lane: lanes[lane] for lane in holders.get(term, ()) if lane in lanes}
        return guards.any(guards.both(g, equals(self.value, encoding, base + lane, term)) for lane, g in lanes.items())

    def _find_possible(self, t: int) -> Possible:
        holders = self.holders(int(self.base[t]))
        return None if holders is None else frozenset(holders)


class Gathered(Data):
    """Another thread's value, the giver known for each thread."""

    def __init__(self, value: Data, giver: Lanes) -> None:
        super().__init__()
        self.value, self.giver = value, giver

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        return self.value.equals(encoding, int(self.giver[t]), term)

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        self.value.require(encoding, int(self.giver[t]), term, when)

    def _find_possible(self, t: int) -> Possible:
        return self.value.possible(int(self.giver[t]))


class Mapped(Data):
    """A function of canonical terms applied to values that can be enumerated (arithmetic, casts)."""

    def __init__(self, apply: Callable[..., Term], operands: Sequence[DataVector], place: Place) -> None:
        super().__init__()
        self.apply, self.operands, self.place = apply, tuple(operands), place

    def _combinations(self, t: int) -> Iterator[tuple[Term, ...]]:
        sets = [possible(o, t) for o in self.operands]
        if any(s is None for s in sets) or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        return itertools.product(*(sorted(s) for s in sets if s is not None))

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, found = encoding.guards, []
        for chosen in self._combinations(t):
            if self.apply(*chosen) == term:
                guard = TRUE
                for operand, value in zip(self.operands, chosen, strict=True):
                    guard = guards.both(guard, equals(operand, encoding, t, value)) if guard != FALSE else FALSE
                found.append(guard)
        return guards.any(found)

    def _find_possible(self, t: int) -> Possible:
        return frozenset(self.apply(*chosen) for chosen in self._combinations(t))


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
        f"a data value depends on holes in more than {EXPANSION_LIMIT:,} ways, or on an accumulator's value",
        place=place,
        expected="arithmetic on few values that depend on holes, reductions as accumulators",
        mend="accumulate the values instead of adding them up, and apply what follows in the accumulator's final=",
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One accumulate: under `mask`, `inner(operands)` joins the multiset. `tag` says which one it was."""

    mask: Vector
    operands: tuple[DataVector, ...]
    tag: Any = None


class Reduced(Data):
    """An accumulator: a reduction by `outer` of guarded entries, each a reduction by `inner`."""

    def __init__(
        self, terms: Terms, outer: str, inner: str | None, entries: Sequence[Entry], init: Term | None, place: Place
    ) -> None:
        super().__init__()
        self.terms, self.outer, self.inner, self.place = terms, outer, inner, place
        self.entries, self.init = tuple(entries), init

    def _find_possible(self, t: int) -> Possible:
        return None

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return a guard that implies equality; the solver may leave it false, which no one-way use minds."""
        if term == UNWRITTEN:
            return FALSE
        found = encoding.guards.fresh()
        self.require(encoding, t, term, found)
        return found

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        guards, terms = encoding.guards, self.terms
        wanted = terms.multiset(term, self.outer) if term != UNWRITTEN else Counter({UNWRITTEN: 1})
        uses: dict[Term, list[Guard]] = {item: [] for item in wanted}
        constants = [] if self.init is None else [self.init]
        for entry in self.entries:
            active = guard_at(entry.mask, encoding, t)
            encoding.active.append((entry.tag, t, active))
            if active == FALSE:
                continue
            constant = self._definite_constant(entry, t, active)
            if constant is not None:
                constants.append(constant)
                continue
            if self._pairs(entry, t):
                self._use_pairs(encoding, entry, t, active, when, uses)
                continue
            fits = []
            for guard, items in self._contributions(encoding, entry, t, wanted):
                fits.append(guard)
                for item, count in items.items():
                    uses[item] += [guards.both(active, guard)] * count
            guards.add([-when, -active, *fits])
        for item in terms.items(terms.apply(self.outer, constants), self.outer) if constants else ():
            if item in uses:
                uses[item].append(TRUE)
            else:
                guards.add((-when,))
        for item, count in wanted.items():
            if REDUCTIONS[self.outer].idempotent:
                guards.add([-when, *uses[item]])
            else:
                guards.exactly(count, uses[item], when)

    def _pairs(self, entry: Entry, t: int) -> bool:
        """Say whether an entry is a product of two values that do not fold, so that its items name its factors."""
        sets = [possible(o, t) for o in entry.operands]
        return len(sets) == 2 and all(s is None or self._plain(s) for s in sets)

    def _use_pairs(
        self, encoding: Encoding, entry: Entry, t: int, active: Guard, when: Guard, uses: dict[Term, list[Guard]]
    ) -> None:
        """Say what a product contributes: each wanted left factor calls for one of its wanted partners.

        With one partner, 'active and the left factor is a' is itself the use of the item, as it implies the partner.
        A factor that makes the product vanish frees the other one.
        """
        guards, (left, right) = encoding.guards, entry.operands
        zero = self._vanishing()
        vanishes = [FALSE if zero is None else equals(o, encoding, t, zero) for o in (left, right)]
        partners: dict[Term, list[tuple[Term, Term]]] = {}
        for item in uses:
            for a, b in self._factors(item):
                partners.setdefault(a, []).append((b, item))
        lefts = []
        for a, found in partners.items():
            is_left = equals(left, encoding, t, a)
            if is_left == FALSE:
                continue
            lefts.append(is_left)
            here = guards.both(active, is_left)
            rights = [(equals(right, encoding, t, b), item) for b, item in found]
            guards.add([-when, -here, *(g for g, _ in rights), vanishes[1]])
            implied = len(rights) == 1 and vanishes[1] == FALSE
            for g, item in rights:
                if g != FALSE:
                    uses[item].append(here if implied else guards.both(here, g))
        guards.add([-when, -active, *lefts, *vanishes])

    def _definite_constant(self, entry: Entry, t: int, active: Guard) -> Term | None:
        """Return the number that an entry always contributes, if it is one."""
        if active == TRUE and len(entry.operands) == 1:
            terms = possible(entry.operands[0], t)
            if terms is not None and len(terms) == 1 and self.terms.is_const(term := next(iter(terms))):
                return term
        return None

    def _contributions(
        self, encoding: Encoding, entry: Entry, t: int, wanted: Counter[Term]
    ) -> Iterator[tuple[Guard, Counter[Term]]]:
        """Yield what an entry may contribute without spoiling the wanted term: the guard and the items."""
        guards, operands = encoding.guards, entry.operands
        for chosen, term in self._fitting(entry, t, wanted):
            guard = TRUE
            for operand, value in zip(operands, chosen, strict=True):
                guard = guards.both(guard, equals(operand, encoding, t, value))
                if guard == FALSE:
                    break
            if guard != FALSE:
                yield guard, self.terms.multiset(term, self.outer)

    def _fitting(self, entry: Entry, t: int, wanted: Counter[Term]) -> Iterator[tuple[tuple[Term, ...], Term]]:
        """Yield the operand values whose product fits into the wanted multiset, with the product."""
        terms, operands = self.terms, entry.operands
        sets = [possible(o, t) for o in operands]
        if len(operands) == 1:
            (only,) = sets
            for term in wanted if only is None else only:
                self._refuse_constant(term)
                if self._fits(term, wanted):
                    yield (term,), term
            return
        assert self.inner is not None
        if any(s is None for s in sets) or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)):
            term = terms.apply(self.inner, chosen)
            self._refuse_constant(term)
            if self._fits(term, wanted):
                yield chosen, term

    def _fits(self, term: Term, wanted: Counter[Term]) -> bool:
        if term in wanted:
            return True
        if term == UNWRITTEN:
            return False
        items = self.terms.multiset(term, self.outer)
        if REDUCTIONS[self.outer].idempotent:
            return all(item in wanted for item in items)
        return all(wanted[item] >= count for item, count in items.items())

    def _factors(self, item: Term) -> set[tuple[Term, Term]]:
        """Return the ordered pairs whose product by `inner` is an item, for values that do not fold."""
        assert self.inner is not None
        op, args = self.terms.nodes[item]
        if op == self.inner:
            found = {(args[0], args[1]), (args[1], args[0])} if len(args) == 2 else set()
        else:
            found = {(item, item)} if REDUCTIONS[self.inner].idempotent else set()
        return found

    def _plain(self, some: frozenset[Term]) -> bool:
        """Say whether no value folds with another one under `inner`, but for one that makes the product vanish."""
        terms, zero = self.terms, self._vanishing()
        return not any((terms.is_const(v) and v != zero) or terms.nodes[v][0] == self.inner for v in some)

    def _vanishing(self) -> Term | None:
        """Return the factor that makes a product contribute nothing: 0 in a sum of products."""
        assert self.inner is not None
        zero = REDUCTIONS[self.inner].annihilator
        return self.terms.const(zero) if zero is not None and zero == REDUCTIONS[self.outer].identity else None

    def _refuse_constant(self, term: Term) -> None:
        if any(self.terms.is_const(i) for i in self.terms.items(term, self.outer)) and term != UNWRITTEN:
            raise SwizzleError(
                f"an accumulator may receive the constant {self.terms.show(term)} depending on a hole",
                place=self.place,
                expected="accumulated values that come from the input arrays",
                mend="pass the constant in as an element of a `const` array",
            )
