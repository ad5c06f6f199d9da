"""A parity: an item counts when it is there an odd number of times, so that two of a kind cancel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from symbolic.algebra.accumulation import Accumulation, Clauses, Entries, Offer, Use
from symbolic.algebra.bag import Bag
from symbolic.algebra.terms import Term


class Parity(Accumulation):
    """An item is right when it is contributed an odd number of times exactly if it is wanted."""

    cancels = True

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        return all(item in wanted or item in free for item in items)

    def opposed(self, offers: Sequence[Offer]) -> frozenset[Term]:
        several = Counter(item for offer in offers for item in {item for items in offer for item in items})
        return frozenset(item for item, number in several.items() if number > 1)

    def spare(self, entries: Entries, wanted: Counter[Term]) -> bool:
        return entries.capacity() >= len(wanted) + 2

    def strict(self) -> Accumulation:
        return Bag(self.terms, self.op)

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return len(items)

    def require(self, clauses: Clauses, count: Any, uses: Sequence[Use], when: int) -> bool:
        clauses.odd([guard for guard, _ in uses], when, count == 1)
        return True

    def take_off(self, wanted: Term, known: Term) -> tuple[Term, ...] | None:
        return (self.terms.apply(self.op, (wanted, known)),)
