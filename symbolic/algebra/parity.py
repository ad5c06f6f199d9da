"""A parity: an item counts when it is there an odd number of times, so that two of a kind cancel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from symbolic.algebra.accumulation import Accumulation, ClauseSink, EntryBounds, Offer, Question, Use
from symbolic.algebra.bag import Bag, Times
from symbolic.algebra.tally import NOTHING, TRUE, GuardMaker, Held, OfItem, Tally, amount
from symbolic.algebra.terms import Term, Terms


class Parity(Accumulation):
    """An item is right when it is contributed an odd number of times exactly if it is wanted."""

    cancels = True

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        return all(item in wanted or item in free for item in items)

    def opposed(self, offers: Sequence[Offer]) -> frozenset[Term]:
        several = Counter(item for offer in offers for item in {item for items in offer for item in items})
        return frozenset(item for item, number in several.items() if number > 1)

    def spare(self, entries: EntryBounds, wanted: Counter[Term]) -> bool:
        return entries.capacity() >= len(wanted) + 2

    def strict(self) -> Accumulation:
        return Bag(self.terms, self.op)

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return len(items)

    def require(self, clauses: ClauseSink, count: Any, uses: Sequence[Use], when: int) -> bool:
        clauses.odd([guard for guard, _ in uses], when, count == 1)
        return True

    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        return Times(self.op, question, 1) if single else Odd(self.op, question)

    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        return (self.terms.apply(self.op, (wanted, known)),)


@dataclass(frozen=True, slots=True)
class Odd(OfItem):
    """Whether an item is there an odd number of times."""

    op: str
    item: Term

    def of(self, terms: Terms, term: Term) -> Held:
        return {1: TRUE} if amount(terms, self.op, term, self.item) % 2 else NOTHING

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        return self.once(clauses.odd_one(a[1], b[1])) if a and b else a or b
