"""What the entries of an accumulator may contribute, and the clauses that they make up one term (paper, 4.2).

They do when the items of the term are contributed as the operator's order asks for (`symbolic.algebra.tally`):
by exactly one of the entries that could, by some, by an odd number; and no entry contributes anything else that stays.
Cardinality and parity over guards, no arithmetic on data.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

from msgspec import Struct

from symbolic.algebra.operator_laws import law_of
from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import Accumulation, Offer, Use
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place
from symbolic.values.data import (
    EXPANSION_LIMIT,
    SCALED,
    DataVector,
    equals,
    kinds,
    natural,
    possible,
    require_among,
    too_many,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.mapped import Mapped
from symbolic.values.vector import Encoding, Vector, guard_at, reach

OFFERS_LIMIT = 1_000  # values that entries may contribute, of which it is asked what cancels
POSSIBLE_LIMIT = 256  # values of an accumulator that are enumerated, so that arithmetic can go on with them


class Entry(Struct, frozen=True):
    """One accumulate: under `mask`, `inner(operands)` joins the multiset. `tag` says which one it was."""

    mask: Vector
    operands: tuple[DataVector, ...]
    tag: Any = None


class Wanted(Struct, frozen=True):
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
        kind = self.order.terms.nodes[term][0]
        if kind == "atom" and term not in self.wanted and term not in self.free:  # most of them
            return False
        if not self.order.cancels:
            if term in self.wanted:
                return True
            if kind not in (self.order.op, "const"):
                return False
        return self.order.may_hold(self.order.items(term), self.wanted, self.free)


class Contributions:
    """The entries of one accumulator, a reduction by `outer` of what `inner` makes of each one's operands."""

    def __init__(
        self, terms: Terms, outer: str, inner: str | None, entries: Sequence[Entry], init: Term | None, place: Place
    ) -> None:
        self.terms, self.outer, self.inner, self.init, self.place = terms, outer, inner, init, place
        self.entries, self.order = tuple(entries), accumulation(terms, outer)
        self._known_offers: dict[int, list[Offer] | None] = {}
        self._known_signs: dict[int, frozenset[bool]] = {}
        self._known_pairs: dict[tuple[int, int], bool] = {}
        self._products: dict[int, Mapped] = {}

    # -- what they may be -----------------------------------------------------------------------------------

    def offer(self, entry: Entry, t: int) -> frozenset[Term] | None:
        """Return the items that an entry may contribute, None where there are too many."""
        sets = [possible(o, t) for o in entry.operands]
        if any(s is None for s in sets) or prod(len(s) for s in sets if s is not None) > POSSIBLE_LIMIT:
            return None
        made = (self.made(chosen) for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)))
        return frozenset(item for value in made for item in self.order.items(value))

    def offers(self, t: int) -> list[Offer] | None:
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
                values = {self.made(c) for c in itertools.product(*(sorted(s) for s in sets if s is not None))}
                found.append([self.order.items(v) for v in sorted(values - {UNWRITTEN})])
        self._known_offers[t] = found
        return found

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
            if natural(terms, operand, t):
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
                    found += 1 if self.are_pairs(entry, t) else OFFERS_LIMIT
        return found

    def made(self, chosen: Sequence[Term]) -> Term:
        """Return what an entry contributes whose operands are these."""
        return self.terms.apply(self.inner, chosen) if self.inner and len(chosen) > 1 else chosen[0]

    def made_by(self, entry: Entry) -> DataVector:
        """Return what an entry contributes, as a value."""
        if len(entry.operands) == 1:
            return entry.operands[0]
        key = id(entry)  # the entries live as long as this
        if key not in self._products:
            assert self.inner is not None
            self._products[key] = Mapped(self.terms, self.inner, entry.operands, self.place)
        return self._products[key]

    def certain(self, entry: Entry, t: int, active: Guard) -> Term | None:
        """Return what an entry always contributes, if that is settled."""
        sets = [possible(o, t) for o in entry.operands]
        if active != TRUE or any(s is None or len(s) != 1 for s in sets):
            return None
        chosen = [term for s in sets if s is not None for term in s]
        return chosen[0] if len(chosen) == 1 else self.terms.apply(self.inner or "", chosen)

    def may_be_multiple(self, entry: Entry, t: int) -> bool:
        """Say whether a factor may be a multiple of another sum; the search does not look for it in that form."""
        if self.inner != "*":
            return False
        values = [(o, possible(o, t)) for o in entry.operands]
        return any(s is None and "+" in (kinds(self.terms, o, t) or ()) for o, s in values)

    def are_pairs(self, entry: Entry, t: int) -> bool:
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

    def _plain(self, operand: DataVector, t: int) -> bool:
        """Say whether a factor folds with no other one under `inner`, but for one that makes the product vanish."""
        terms, zero, values = self.terms, self.vanishing(), possible(operand, t)
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

    def vanishing(self) -> Term | None:
        """Return the factor that makes a product contribute nothing: 0 in a sum of products."""
        assert self.inner is not None
        zero = law_of(self.inner).absorber
        return self.terms.const(zero) if zero is not None and zero == self.order.law.identity else None

    def partners(self, wanted: Iterable[Term]) -> dict[Term, list[tuple[Term, Term]]]:
        """Return, for each left factor of a wanted item, its right factors, each with the item."""
        found: dict[Term, list[tuple[Term, Term]]] = {}
        for item in wanted:
            for a, b in self._factors(item):
                found.setdefault(a, []).append((b, item))
        return found

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

    def fitting(self, entry: Entry, t: int, goal: Wanted) -> Iterator[tuple[tuple[Term, ...], Term]]:
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

    def _refuse_constant(self, term: Term) -> None:
        """Refuse a number that would fold with others; under an operator of one's own only the absorber does."""
        if self.terms.nodes[term][0] == "atom" or term == UNWRITTEN:
            return
        items = self.terms.items(term, self.outer)
        if any(self.terms.is_number(item, self.outer) for item in items):
            raise too_many(self.place)

    # -- as one term ----------------------------------------------------------------------------------------

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard) -> None:
        """Require, where `when` holds, that the entries make up a term.

        Raises TooManyWays where that cannot be said; then nothing was required.
        """
        guards, terms = encoding.guards, self.terms
        if not self.order.counted:
            raise too_many(self.place)
        certain, open_entries = self._split(encoding, t)
        goal = self._goal(encoding, t, term)
        settled = terms.apply(self.outer, certain) if certain else None
        if settled is not None and goal.order.absorbs(settled):
            guards.add((-when, TRUE if settled == term else FALSE))
            return
        fitting = {id(e): list(self.fitting(e, t, goal)) for e, _ in open_entries if not self.are_pairs(e, t)}
        uses: dict[Term, list[Use]] = {item: [] for item in goal.items}
        for item, count in () if settled is None else goal.order.items(settled).items():
            if item in uses:
                uses[item].append((TRUE, count))
            else:
                guards.add((-when,))
        partners: dict[Term, list[tuple[Term, Term]]] | None = None
        for entry, active in open_entries:
            if self.are_pairs(entry, t):
                encoding.narrowed |= self.may_be_multiple(entry, t)
                partners = partners or self.partners(goal.items)
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

    def _goal(self, encoding: Encoding, t: int, term: Term) -> Wanted:
        """Return what is to be contributed; where too much may cancel to be looked at, nothing may."""
        order = self.order
        if term == UNWRITTEN:
            return Wanted(order.strict(), Counter({UNWRITTEN: 1}), frozenset())
        if (self, t) in encoding.exact:
            order = order.strict()
        wanted = order.items(term)
        if not order.cancels or (self, t) in encoding.exact or not order.spare(EntriesOf(self, t), wanted):
            return Wanted(order, wanted, frozenset())
        offers = self.offers(t)
        if offers is None:
            encoding.narrowed = True
            order = order.strict()
            return Wanted(order, order.items(term), frozenset())
        return Wanted(order, wanted, order.opposed(offers))

    def _split(self, encoding: Encoding, t: int) -> tuple[list[Term], list[tuple[Entry, Guard]]]:
        """Return the terms that are contributed for certain, and the other entries that may be active."""
        certain, open_entries = [] if self.init is None else [self.init], []
        for entry in self.entries:
            active = guard_at(entry.mask, encoding, t)
            encoding.active.append((entry.tag, t, active))
            if active != FALSE:
                only = self.certain(entry, t, active)
                if only is None:
                    open_entries.append((entry, active))
                else:
                    certain.append(only)
        return certain, open_entries

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
        zero = self.vanishing()
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

    def _contributions(
        self, encoding: Encoding, entry: Entry, t: int, goal: Wanted, fitting: Sequence[tuple[tuple[Term, ...], Term]]
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


def _coefficient(terms: Terms, term: Term) -> Any:
    """Return the smallest coefficient in a term, or the number that it is."""
    op, args = terms.nodes[term]
    if op == "const":
        return args[0]
    return min((_coefficient(terms, arg) for arg in args), default=1) if op == "+" else terms.scale(term)[1]


class EntriesOf(Struct, frozen=True):
    """What an accumulator's order may ask of one thread's entries."""

    contributions: Contributions
    thread: int

    def capacity(self) -> int:
        return self.contributions.capacity(self.thread)

    def signs(self) -> frozenset[bool]:
        return self.contributions.signs(self.thread)
