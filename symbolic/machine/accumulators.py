"""Accumulators under holes: one multiset of guarded entries (paper, section 4.2).

An accumulator equals a term when the items of the term are contributed as its operator's order asks for
(`symbolic.algebra.accumulation`): by exactly one of the entries that could, by some, by an odd number; and no entry
contributes anything else that stays. Cardinality and parity over guards, no arithmetic on data.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from symbolic.algebra.accumulation import Accumulation, Offer, Use
from symbolic.algebra.law import law_of
from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import NOTHING, Held, Is, Size, Tally, Unwritten
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place
from symbolic.values.contents import held_whole, is_reduction
from symbolic.values.data import (
    EXPANSION_LIMIT,
    MANY,
    SCALED,
    Data,
    DataVector,
    Kinds,
    Need,
    Possible,
    TooManyWays,
    combines,
    equals,
    held,
    is_natural,
    is_term,
    kinds,
    kinds_of,
    possible,
    require_among,
    sized,
    sizes,
    too_many,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.mapped import Mapped
from symbolic.values.vector import Encoding, Vector, conjunction, guard_at, reach

OFFERS_LIMIT = 1_000  # values that entries may contribute, of which it is asked what cancels
POSSIBLE_LIMIT = 256  # values of an accumulator that are enumerated, so that arithmetic can go on with them


@dataclass(frozen=True, slots=True)
class Entry:
    """One accumulate: under `mask`, `inner(operands)` joins the multiset. `tag` says which one it was."""

    mask: Vector
    operands: tuple[DataVector, ...]
    tag: Any = None


@dataclass(frozen=True, slots=True)
class Goal:
    """The items that are wanted, and those that may come in all the same because they may be taken off again."""

    order: Accumulation
    wanted: Counter[Term]
    free: frozenset[Term]

    @property
    def items(self) -> tuple[Term, ...]:
        """Every item that may be contributed."""
        return (*self.wanted, *sorted(self.free - self.wanted.keys()))

    def fits(self, term: Term) -> bool:
        """Say whether an entry may contribute a term."""
        if not self.order.cancels:
            if term in self.wanted:
                return True
            if self.order.terms.nodes[term][0] not in (self.order.op, "const"):
                return False
        return self.order.may_hold(self.order.items(term), self.wanted, self.free)


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
        self._known_offers: dict[int, list[Offer] | None] = {}
        self._known_signs: dict[int, frozenset[bool]] = {}
        self._known_pairs: dict[tuple[int, int], bool] = {}
        self._products: dict[int, Mapped] = {}
        self.dissolved: tuple[Entry, ...] = ()
        for entry in entries:
            self._add(entry)

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

    def _find_possible(self, t: int) -> Possible:
        """Enumerate what few entries may give."""
        parts, total = [], 1
        for entry in self.entries:
            sets = [possible(o, t) for o in entry.operands]
            total *= 1 + prod(len(s) if s is not None else POSSIBLE_LIMIT for s in sets)
            if total > POSSIBLE_LIMIT:
                return None
            on = reach(entry.mask, t)
            values: set[Term | None] = {None} if False in on else set()
            if True in on:
                values |= {self._made(c) for c in itertools.product(*(s for s in sets if s is not None))}
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
            self._offer(entry, t)
            for entry in self.entries
            if reach(entry.mask, t) == {True}
            and (some := kinds_of(terms, [(o, t) for o in entry.operands])) is not None
            and not some & {"const", self.inner if self.inner in ("&", "|") else "const"}
        ]
        if len(certain) < 2:
            return None
        offers = self._offers(t)
        if self.outer == "+" and self.signs(t) == {True}:
            apart = any(a is not None and b is not None and not a & b for a, b in itertools.combinations(certain, 2))
            if apart:
                return frozenset((self.outer,))
            brought = kinds_of(terms, [(o, t) for entry in self.entries for o in entry.operands])
            return None if brought is None else brought | {self.outer, "*", SCALED, self.inner or "*"}
        return frozenset((self.outer,)) if offers is not None and not self.order.opposed(offers) else None

    def _offer(self, entry: Entry, t: int) -> frozenset[Term] | None:
        """Return the items that an entry may contribute, None where there are too many."""
        sets = [possible(o, t) for o in entry.operands]
        if any(s is None for s in sets) or prod(len(s) for s in sets if s is not None) > POSSIBLE_LIMIT:
            return None
        made = (self._made(chosen) for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)))
        return frozenset(item for value in made for item in self.order.items(value))

    def _made(self, chosen: Sequence[Term]) -> Term:
        """Return what an entry contributes whose operands are these."""
        return self.terms.apply(self.inner, chosen) if self.inner and len(chosen) > 1 else chosen[0]

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
        """Return a guard that implies equality; the solver may leave it false, which no one-way use minds."""
        if term == UNWRITTEN:
            return FALSE
        found = encoding.guards.fresh()
        return found if self._require_cases(encoding, t, term, (-found,)) else is_term(self, encoding, t, term)

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        if len(unless) > 1:
            return False
        try:
            self._require(encoding, t, term, -unless[0] if unless else TRUE)
        except TooManyWays:
            self._by_items[t] = True
            return False
        return True

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
                here = held(self._made_by(entry), encoding, t, tally)
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

    def _made_by(self, entry: Entry) -> DataVector:
        """Return what an entry contributes, as a value."""
        if len(entry.operands) == 1:
            return entry.operands[0]
        key = id(entry)  # the entries live as long as this
        if key not in self._products:
            assert self.inner is not None
            self._products[key] = Mapped(self.terms, self.inner, entry.operands, self.place)
        return self._products[key]

    @cached_property
    def combines(self) -> bool:
        return any(combines(operand) for entry in self.entries for operand in entry.operands)

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
        least, most = sizes(self.terms, self._made_by(entry), t, size) if True in on else (0, 0)
        return 0 if False in on else least, most

    def _needs(self, encoding: Encoding, t: int, size: Size) -> Iterator[tuple[Guard, ...]]:
        if self.outer != size.op:
            return
        own = 0 if self.init is None else size.of(self.terms, self.init)
        limits = [self._entry_sizes(entry, t, size)[size.at_least] for entry in self.entries]
        for (entry, active), limit in zip(self._noted(encoding, t), limits, strict=True):
            needed = size.less(own + sum(limits) - limit)
            if active != FALSE:
                yield -active, sized(self._made_by(entry), encoding, t, needed)
            if not needed.fits(0):
                yield (active,)

    def reduced_by(self, t: int) -> frozenset[str]:
        return frozenset((self.outer,))

    def _is_natural(self, terms: Terms, t: int) -> bool:
        return super()._is_natural(terms, t) and (self.init is None or is_natural(terms, self.init))

    # -- as one term ----------------------------------------------------------------------------------------

    def _require(self, encoding: Encoding, t: int, term: Term, when: Guard) -> None:
        guards, terms = encoding.guards, self.terms
        for entry in self.dissolved:
            self._require_some(encoding, entry, t, when)
        certain, open_entries = self._split(encoding, t)
        goal = self._goal(encoding, t, term)
        settled = terms.apply(self.outer, certain) if certain else None
        if settled is not None and goal.order.absorbs(settled):
            guards.add((-when, TRUE if settled == term else FALSE))
            return
        fitting = {id(e): list(self._fitting(e, t, goal)) for e, _ in open_entries if not self._pairs(e, t)}
        uses: dict[Term, list[Use]] = {item: [] for item in goal.items}
        for item, count in () if settled is None else goal.order.items(settled).items():
            if item in uses:
                uses[item].append((TRUE, count))
            else:
                guards.add((-when,))
        partners: dict[Term, list[tuple[Term, Term]]] | None = None
        for entry, active in open_entries:
            if self._pairs(entry, t):
                encoding.narrowed |= self._may_be_multiple(entry, t)
                partners = partners or self._partners(goal.items)
                self._use_pairs(encoding, entry, t, active, when, partners, uses)
                continue
            fits = []
            if len(entry.operands) == 1:
                able = frozenset(term for _, term in fitting[id(entry)])
                require_among(entry.operands[0], encoding, t, able, (-when, -active))
            for guard, items in self._contributions(encoding, entry, t, goal, fitting[id(entry)]):
                fits.append(guard)
                for item, count in items.items():
                    uses[item].append((guards.both(active, guard), count))
            guards.add([-when, -active, *fits])
        for item, found in uses.items():
            encoding.narrowed |= not goal.order.require(guards, goal.wanted[item], found, when)

    def _goal(self, encoding: Encoding, t: int, term: Term) -> Goal:
        """Return what is to be contributed; where too much may cancel to be looked at, nothing may."""
        order = self.order
        if term == UNWRITTEN:
            return Goal(order.strict(), Counter({UNWRITTEN: 1}), frozenset())
        wanted = order.items(term)
        if not order.cancels or not order.spare(self.entries_of(t), wanted):
            return Goal(order, wanted, frozenset())
        offers = self._offers(t)
        if offers is None:
            encoding.narrowed = True
            order = order.strict()
            return Goal(order, order.items(term), frozenset())
        return Goal(order, wanted, order.opposed(offers))

    def entries_of(self, t: int) -> EntriesOf:
        """Return what the operator's order may ask of one thread's entries."""
        return EntriesOf(self, t)

    def signs(self, t: int) -> frozenset[bool]:
        """Return whether anything may be contributed with a positive coefficient, and whether with another one."""
        if t not in self._known_signs:
            found = {True}
            for entry in self.entries:
                if True in reach(entry.mask, t) and not all(self._positive(o, t) for o in entry.operands):
                    found.add(False)
            if not any(True in reach(e.mask, t) and self._may_be_positive(e, t) for e in self.entries):
                found.discard(True)
            self._known_signs[t] = frozenset(found)
        return self._known_signs[t]

    def _positive(self, operand: DataVector, t: int) -> bool:
        """Say whether all that a value may be has positive coefficients, or is a number that is not negative."""
        terms, values = self.terms, possible(operand, t)
        if values is None:
            if isinstance(operand, Reduced) and operand.outer == "+" and operand.signs(t) == {True}:
                return True
            some = kinds(terms, operand, t)
            return some is not None and not some & {"const", "+", SCALED}
        return all(_coefficient(terms, v) >= 0 for v in values if v != UNWRITTEN)

    def _may_be_positive(self, entry: Entry, t: int) -> bool:
        values = possible(entry.operands[0], t) if len(entry.operands) == 1 else None
        return values is None or any(n > 0 for v in values for n in self.order.items(v).values())

    def capacity(self, t: int) -> int:
        """Return how many items are contributed at most, or a large number where that is not clear."""
        found = 0 if self.init is None else len(self.order.items(self.init))
        for entry in self.entries:
            if True in reach(entry.mask, t):
                values = possible(entry.operands[0], t) if len(entry.operands) == 1 else None
                if values is not None:
                    found += max(len(self.order.items(v)) for v in values)
                else:
                    found += 1 if self._pairs(entry, t) else OFFERS_LIMIT
        return found

    def _offers(self, t: int) -> list[Offer] | None:
        """Return what each entry may contribute; None where that is too much to be looked at."""
        if t in self._known_offers:
            return self._known_offers[t]
        found: list[Offer] | None = [] if self.init is None else [[self.order.items(self.init)]]
        total = 0
        for entry in self.entries:
            if found is not None and True in reach(entry.mask, t):
                sets = [possible(o, t) for o in entry.operands]
                total += prod(OFFERS_LIMIT if s is None else len(s) for s in sets)
                if total >= OFFERS_LIMIT:
                    found = None
                    continue
                values = {self._made(c) for c in itertools.product(*(sorted(s) for s in sets if s is not None))}
                found.append([self.order.items(v) for v in sorted(values - {UNWRITTEN})])
        self._known_offers[t] = found
        return found

    def _split(self, encoding: Encoding, t: int) -> tuple[list[Term], list[tuple[Entry, Guard]]]:
        """Return the terms that are contributed for certain, and the other entries that may be active."""
        certain, open_entries = [] if self.init is None else [self.init], []
        for entry in self.entries:
            active = guard_at(entry.mask, encoding, t)
            encoding.active.append((entry.tag, t, active))
            if active != FALSE:
                only = self._certain(entry, t, active)
                if only is None:
                    open_entries.append((entry, active))
                else:
                    certain.append(only)
        return certain, open_entries

    def _require_some(self, encoding: Encoding, entry: Entry, t: int, when: Guard) -> None:
        """A reduction without an identity that joins another one is not empty."""
        active = guard_at(entry.mask, encoding, t)
        encoding.active.append((entry.tag, t, active))
        if self.order.law.identity is None and active != FALSE:
            (inner,) = entry.operands
            assert isinstance(inner, Reduced)
            some = [guard_at(e.mask, encoding, t) for e in inner.entries]
            encoding.guards.add((-when, -active, *some))

    def _may_be_multiple(self, entry: Entry, t: int) -> bool:
        """Say whether a factor may be a multiple of another sum, as which it is not looked for."""
        if self.inner != "*":
            return False
        values = [(o, possible(o, t)) for o in entry.operands]
        return any(s is None and "+" in (kinds(self.terms, o, t) or ()) for o, s in values)

    def _pairs(self, entry: Entry, t: int) -> bool:
        key = id(entry), t  # the entries live as long as this
        if key not in self._known_pairs:
            self._known_pairs[key] = self._find_pairs(entry, t)
        return self._known_pairs[key]

    def _find_pairs(self, entry: Entry, t: int) -> bool:
        """Say whether an entry is a product of two values that do not fold, so that its items name its factors."""
        if len(entry.operands) != 2 or self.inner == self.outer:
            return False
        if (self.outer, self.inner) == ("*", "+") or self.inner == "^":  # two of a kind are no pair
            a, b = (possible(operand, t) for operand in entry.operands)
            if a is None or b is None or a & b:
                return False
        return all(self._plain(operand, t) for operand in entry.operands)

    def _partners(self, wanted: Iterable[Term]) -> dict[Term, list[tuple[Term, Term]]]:
        """Return, for each left factor of a wanted item, its right factors, each with the item."""
        found: dict[Term, list[tuple[Term, Term]]] = {}
        for item in wanted:
            for a, b in self._factors(item):
                found.setdefault(a, []).append((b, item))
        return found

    def _use_pairs(
        self,
        encoding: Encoding,
        entry: Entry,
        t: int,
        active: Guard,
        when: Guard,
        partners: dict[Term, list[tuple[Term, Term]]],
        uses: dict[Term, list[Use]],
    ) -> None:
        """Say what a product contributes: each wanted left factor calls for one of its wanted partners.

        With one partner, 'active and the left factor is a' is itself the use of the item, as it implies the partner.
        A factor that makes the product vanish frees the other one.
        """
        guards, (left, right) = encoding.guards, entry.operands
        zero = self._vanishing()
        vanishes = [FALSE if zero is None else equals(o, encoding, t, zero) for o in (left, right)]
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
                    uses[item].append((here if implied else guards.both(here, g), 1))
        guards.add([-when, -active, *lefts, *vanishes])

    def _certain(self, entry: Entry, t: int, active: Guard) -> Term | None:
        """Return what an entry always contributes, if that is settled."""
        sets = [possible(o, t) for o in entry.operands]
        if active != TRUE or any(s is None or len(s) != 1 for s in sets):
            return None
        chosen = [term for s in sets if s is not None for term in s]
        return chosen[0] if len(chosen) == 1 else self.terms.apply(self.inner or "", chosen)

    def _contributions(
        self, encoding: Encoding, entry: Entry, t: int, goal: Goal, fitting: Sequence[tuple[tuple[Term, ...], Term]]
    ) -> Iterator[tuple[Guard, Counter[Term]]]:
        """Yield what an entry may contribute without spoiling the wanted term: the guard and the items."""
        guards, operands = encoding.guards, entry.operands
        for chosen, term in fitting:
            guard = TRUE
            for operand, value in zip(operands, chosen, strict=True):
                guard = guards.both(guard, equals(operand, encoding, t, value))
                if guard == FALSE:
                    break
            if guard != FALSE:
                yield guard, goal.order.items(term)

    def _fitting(self, entry: Entry, t: int, goal: Goal) -> Iterator[tuple[tuple[Term, ...], Term]]:
        """Yield the operand values whose product fits into what is wanted, with the product."""
        terms, operands = self.terms, entry.operands
        sets = [possible(o, t) for o in operands]
        if len(operands) == 1:
            (only,) = sets
            if only is None:
                some = kinds(terms, operands[0], t)
                if some is None or some & {"const", self.outer}:
                    raise too_many(self.place)
            for term in goal.items if only is None else only:
                self._refuse_constant(term)
                if goal.fits(term):
                    yield (term,), term
            return
        assert self.inner is not None
        if any(s is None for s in sets) or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)):
            term = terms.apply(self.inner, chosen)
            self._refuse_constant(term)
            if goal.fits(term):
                yield chosen, term

    def _factors(self, item: Term) -> set[tuple[Term, Term]]:
        """Return the ordered pairs whose product by `inner` is an item, for values that do not fold."""
        assert self.inner is not None
        op, args = self.terms.nodes[item]
        if op == self.inner:
            found = {(args[0], args[1]), (args[1], args[0])} if len(args) == 2 else set()
        elif self.inner == "+" and self.terms.scale(item)[1] == 2:
            found = {(self.terms.scale(item)[0],) * 2}
        else:
            found = {(item, item)} if law_of(self.inner).idempotent else set()
        return found

    def _plain(self, operand: DataVector, t: int) -> bool:
        """Say whether a factor folds with no other one under `inner`, but for one that makes the product vanish."""
        terms, zero, values = self.terms, self._vanishing(), possible(operand, t)
        if values is None:
            some = kinds(terms, operand, t)
            if some is not None and self.inner == "*" and SCALED in some:
                return "const" not in some  # it is looked for as no multiple: see _may_be_multiple
            return some is not None and not some & {"const", self.inner, SCALED if self.inner == "+" else self.inner}
        if self.inner == "+" and any(terms.scale(v)[1] != 1 for v in values):
            return False
        if self.inner == "*" and any(terms.nodes[v][0] == "+" and terms.primitive(v)[1] != 1 for v in values):
            return False
        return not any((terms.is_const(v) and v != zero) or terms.nodes[v][0] == self.inner for v in values)

    def _vanishing(self) -> Term | None:
        """Return the factor that makes a product contribute nothing: 0 in a sum of products."""
        assert self.inner is not None
        zero = law_of(self.inner).absorber
        return self.terms.const(zero) if zero is not None and zero == self.order.law.identity else None

    def _refuse_constant(self, term: Term) -> None:
        """Refuse a number that would fold with others; under an operator of one's own only the absorber does."""
        items = self.terms.items(term, self.outer)
        if term != UNWRITTEN and any(self.terms.is_number(item, self.outer) for item in items):
            raise too_many(self.place)


def _coefficient(terms: Terms, term: Term) -> Any:
    """Return the smallest coefficient in a term, or the number that it is."""
    op, args = terms.nodes[term]
    if op == "const":
        return args[0]
    return min((_coefficient(terms, arg) for arg in args), default=1) if op == "+" else terms.scale(term)[1]


@dataclass(frozen=True, slots=True)
class EntriesOf:
    """What an accumulator's order may ask of one thread's entries."""

    reduced: Reduced
    thread: int

    def capacity(self) -> int:
        return self.reduced.capacity(self.thread)

    def signs(self) -> frozenset[bool]:
        return self.reduced.signs(self.thread)
