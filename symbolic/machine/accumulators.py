"""Accumulators under holes: one multiset of guarded entries (paper, section 4.2), as data.

Where what the entries contribute can be told apart, they are asked for one term (`symbolic.machine.contributions`);
else item by item, as any value that is put together (`symbolic.algebra.tally`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import prod

from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import NOTHING, Held, Is, Size, Tally, Unwritten
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place
from symbolic.machine.contributions import POSSIBLE_LIMIT, Contributions, Entry
from symbolic.values.data import (
    MANY,
    SCALED,
    Data,
    DataVector,
    Kinds,
    Need,
    PossibleTerms,
    TooManyWays,
    combines,
    held,
    held_whole,
    is_natural,
    is_reduction,
    is_term,
    kinds_of,
    possible,
    sized,
    sizes,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Encoding, conjunction, guard_at, reach


class Reduced(Data):
    """An accumulator: a reduction by `outer` of guarded entries, each a reduction by `inner`.

    An entry that is itself a reduction by `outer` is dissolved into that one's entries.
    """

    def __init__(
        self, terms: Terms, outer: str, inner: str | None, entries: Sequence[Entry], init: Term | None, place: Place
    ) -> None:
        super().__init__()
        self.terms, self.outer, self.place, self.init = terms, outer, place, init
        self.order = accumulation(terms, outer)
        self.inner = inner if any(len(e.operands) > 1 for e in entries) else None
        self.entries: tuple[Entry, ...] = ()
        self.dissolved: tuple[Entry, ...] = ()
        for entry in entries:
            self._add(entry)
        self.contributions = Contributions(terms, outer, self.inner, self.entries, init, place)

    def _add(self, entry: Entry) -> None:
        only = entry.operands[0] if len(entry.operands) == 1 else None
        if not isinstance(only, Reduced) or only.outer != self.outer or only.init is not None:
            self.entries += (entry,)
            return
        if self.inner and only.inner and self.inner != only.inner:
            self.entries += (entry,)
            return
        self.inner = self.inner or only.inner

        def within(e: Entry) -> Entry:
            return Entry(conjunction(entry.mask, e.mask), e.operands, e.tag)

        self.dissolved += (entry, *map(within, only.dissolved))
        self.entries += tuple(map(within, only.entries))

    def _find_possible(self, t: int) -> PossibleTerms:
        """Enumerate the values that an accumulator of few entries may have."""
        parts, total = [], 1
        for entry in self.entries:
            sets = [possible(o, t) for o in entry.operands]
            total *= 1 + prod(len(s) if s is not None else POSSIBLE_LIMIT for s in sets)
            if total > POSSIBLE_LIMIT:
                return None
            on = reach(entry.mask, t)
            values: set[Term | None] = {None} if False in on else set()
            if True in on:
                values |= {self.contributions.made(c) for c in itertools.product(*(s for s in sets if s is not None))}
            parts.append(values)
        init = () if self.init is None else (self.init,)
        found = set()
        for chosen in itertools.product(*parts):
            value = self.order.total((*init, *(c for c in chosen if c is not None)))
            found.add(UNWRITTEN if value is None else value)
        if self.dissolved and self.order.law.identity is None:
            found.add(UNWRITTEN)
        return frozenset(found)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """A sum to which two entries always contribute, neither of them a number, is a sum if nothing cancels.

        It may be a multiple of one item all the same, unless two of them have nothing in common.
        """
        if not self.order.cancels:
            return None
        certain = [
            self.contributions.offer(entry, t)
            for entry in self.entries
            if reach(entry.mask, t) == {True}
            and (some := kinds_of(terms, [(o, t) for o in entry.operands])) is not None
            and not some & {"const", self.inner if self.inner in ("&", "|") else "const"}
        ]
        if len(certain) < 2:
            return None
        offers = self.contributions.offers(t)
        if self.outer == "+" and self.contributions.signs(t) == {True}:
            apart = any(a is not None and b is not None and not a & b for a, b in itertools.combinations(certain, 2))
            if apart:
                return frozenset((self.outer,))
            brought = kinds_of(terms, [(o, t) for entry in self.entries for o in entry.operands])
            return None if brought is None else brought | {self.outer, "*", SCALED, self.inner or "*"}
        return frozenset((self.outer,)) if offers is not None and not self.order.opposed(offers) else None

    def need(self, t: int, term: Term) -> Need | None:
        """An entry whose value is no reduction by `outer` itself brings one item at most."""
        if term == UNWRITTEN or self.inner == self.outer:
            return None
        offers, scaled = [], False
        for entry in self.entries:
            if True in reach(entry.mask, t):
                some = kinds_of(self.terms, [(operand, t) for operand in entry.operands])
                if some is None or self.outer in some:
                    return None
                scaled |= bool(some & {"const", SCALED}) or (self.inner == "*" and "+" in some)
                offers.append(entry.tag)
        fewest = self.order.fewest(self.order.items(term), scaled)
        if fewest is None:
            return None
        return Need(fewest - (0 if self.init is None else 1), tuple(offers))

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return a guard that implies equality. The solver may make it false where they are equal, which does no harm
        where only that implication is used."""
        if term == UNWRITTEN:
            return FALSE
        found = encoding.guards.fresh()
        return found if self._require_cases(encoding, t, term, (-found,)) else is_term(self, encoding, t, term)

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        if len(unless) > 1:
            return False
        try:
            when = -unless[0] if unless else TRUE
            for entry in self.dissolved:
                self._require_some(encoding, entry, t, when)
            self.contributions.require(encoding, t, term, when)
        except TooManyWays:
            self._by_items[t] = True
            return False
        return True

    def _require_some(self, encoding: Encoding, entry: Entry, t: int, when: Guard) -> None:
        """A reduction without an identity that joins another one is not empty."""
        active = guard_at(entry.mask, encoding, t)
        encoding.active.append((entry.tag, t, active))
        if self.order.law.identity is None and active != FALSE:
            (inner,) = entry.operands
            assert isinstance(inner, Reduced)
            some = [guard_at(e.mask, encoding, t) for e in inner.entries]
            encoding.guards.add((-when, -active, *some))

    # -- item by item ---------------------------------------------------------------------------------------

    def _held(self, encoding: Encoding, t: int, tally: Tally) -> Held:
        guards = encoding.guards
        if isinstance(tally, Is):
            return tally.once(is_reduction(self, self.outer, encoding, t, tally.term))
        if tally.op != self.outer and not isinstance(tally, Unwritten):
            return held_whole(self, encoding, t, tally)
        found = NOTHING if self.init is None else tally.of(self.terms, self.init)
        for entry, active in self._noted(encoding, t):
            if active != FALSE:
                here = held(self.contributions.made_by(entry), encoding, t, tally)
                found = tally.joined(guards, found, tally.chosen(guards, [(active, here), (-active, NOTHING)]))
        if isinstance(tally, Unwritten):
            found = tally.joined(guards, found, tally.once(self._empty(encoding, t)))
        return found

    def _noted(self, encoding: Encoding, t: int) -> list[tuple[Entry, Guard]]:
        """Return each entry with the guard that it is active, and note it as looked at."""
        found = [(entry, guard_at(entry.mask, encoding, t)) for entry in self.entries]
        if (self, t) not in encoding.noted:
            encoding.noted.add((self, t))
            dissolved = [(entry, guard_at(entry.mask, encoding, t)) for entry in self.dissolved]
            encoding.active += [(entry.tag, t, active) for entry, active in (*found, *dissolved)]
        return found

    def _empty(self, encoding: Encoding, t: int) -> Guard:
        """Return the guard that nothing is reduced, here or in an accumulator that joins, and there is no identity."""
        if self.order.law.identity is not None:
            return FALSE
        guards = encoding.guards
        found = [] if self.init is not None else [-guards.any(guard_at(e.mask, encoding, t) for e in self.entries)]
        for entry in self.dissolved:
            (inner,) = entry.operands
            assert isinstance(inner, Reduced)
            some = guards.any(guard_at(e.mask, encoding, t) for e in inner.entries)
            found.append(guards.both(guard_at(entry.mask, encoding, t), -some))
        return guards.any(found)

    @cached_property
    def combines(self) -> bool:
        operands = [operand for entry in self.entries for operand in entry.operands if isinstance(operand, Data)]
        return any(map(combines, operands)) or (len(self.entries) > 1 and _hold_reductions(operands))

    def _is_by_items(self, t: int) -> bool:
        """A reduction joined with another one that holes move is asked item by item, unless each may be little."""
        if super()._is_by_items(t):
            return True
        parts = self.sources(t)
        return len(parts) > 1 and any(possible(value, u) is None for value, u in parts)

    def _find_brings(self, terms: Terms, op: str, t: int) -> frozenset[Term] | None:
        if self.outer != op:
            return super()._find_brings(terms, op, t)
        offers = self.contributions.offers(t)
        return None if offers is None else frozenset(item for offer in offers for items in offer for item in items)

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        return [(o, t) for entry in self.entries if True in reach(entry.mask, t) for o in entry.operands]

    def _find_sizes(self, terms: Terms, t: int, size: Size) -> tuple[int, int]:
        if self.outer != size.op:
            return 0, MANY
        own = 0 if self.init is None else size.of(terms, self.init)
        limits = [self._entry_sizes(entry, t, size) for entry in self.entries]
        return own + sum(least for least, _ in limits), min(MANY, own + sum(most for _, most in limits))

    def _entry_sizes(self, entry: Entry, t: int, size: Size) -> tuple[int, int]:
        on = reach(entry.mask, t)
        least, most = sizes(self.terms, self.contributions.made_by(entry), t, size) if True in on else (0, 0)
        return 0 if False in on else least, most

    def _needs(self, encoding: Encoding, t: int, size: Size) -> Iterator[tuple[Guard, ...]]:
        if self.outer != size.op:
            return
        own = 0 if self.init is None else size.of(self.terms, self.init)
        limits = [self._entry_sizes(entry, t, size)[size.at_least] for entry in self.entries]
        for (entry, active), limit in zip(self._noted(encoding, t), limits, strict=True):
            needed = size.less(own + sum(limits) - limit)
            if active != FALSE:
                yield -active, sized(self.contributions.made_by(entry), encoding, t, needed)
            if not needed.fits(0):
                yield (active,)

    def reduced_by(self, t: int) -> frozenset[str]:
        return frozenset((self.outer,))

    def _is_natural(self, terms: Terms, t: int) -> bool:
        return super()._is_natural(terms, t) and (self.init is None or is_natural(terms, self.init))


def _hold_reductions(values: Iterable[Data]) -> bool:
    """Say whether one of some values may be a reduction, as it stands, moved, or as a part."""
    waiting = list(values)
    seen = set(map(id, waiting))
    while waiting:
        value = waiting.pop()
        if isinstance(value, Reduced):
            return True
        for part, _ in value.sources(0):
            if isinstance(part, Data) and id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)
    return False
