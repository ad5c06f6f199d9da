"""A bag: each item counts as often as it is there."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from symbolic.algebra.accumulation import Accumulation, ClauseSink, Question, Use
from symbolic.algebra.tally import FALSE, NOTHING, TRUE, GuardMaker, Held, OfItem, Tally, amount
from symbolic.algebra.terms import Term, Terms


class Bag(Accumulation):
    """An item is right when exactly as many contributions bring it as are wanted."""

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return items.total()

    def require(self, clauses: ClauseSink, count: Any, uses: Sequence[Use], when: int) -> bool:
        clauses.exactly(count, [guard for guard, number in uses for _ in range(number)], when)
        return True

    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        return Times(self.op, question, max(answers))

    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        terms, op, law = self.terms, self.op, self.law
        if self.absorbs(known):
            return None if wanted == known else ()
        if self.absorbs(wanted):
            return (wanted,)
        items, others = self.items(wanted), self.items(known)
        if law.inverse is None:  # numbers are items like others
            found = self.total(tuple((items - others).elements()))
            return () if found is None or terms.apply(op, (found, known)) != wanted else (found,)
        rest = Counter({t: n for t, n in items.items() if not terms.is_const(t)})
        taken = Counter({t: n for t, n in others.items() if not terms.is_const(t)})
        number = law.inverse(self.number(items), self.number(others))
        found = terms.apply(op, (*(rest - taken).elements(), terms.const(number)))
        return (found,) if terms.apply(op, (found, known)) == wanted else ()


@dataclass(frozen=True, slots=True)
class Times(OfItem):
    """How often an item is there: once at least, twice at least, up to once more than `most`."""

    op: str
    item: Term
    most: int

    def of(self, terms: Terms, term: Term) -> Held:
        return self._levels(amount(terms, self.op, term, self.item))

    def _levels(self, times: int) -> Held:
        return dict.fromkeys(range(1, min(times, self.most + 1) + 1), TRUE)

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        if not a or not b:
            return a or b
        found: dict[int, list[int]] = {}
        for x, y in itertools.product((0, *a), (0, *b)):
            if x + y > 0:
                both = clauses.both(a.get(x, TRUE), b.get(y, TRUE))
                found.setdefault(min(x + y, self.most + 1), []).append(both)
        return {level: guard for level in sorted(found) if (guard := clauses.any(found[level])) != FALSE}

    def scaled(self, held: Held, number: Any) -> Held:
        if not number:
            return NOTHING
        levels = range(1, min(max(held, default=0) * number, self.most + 1) + 1)
        return {level: held[-(-level // number)] for level in levels if -(-level // number) in held}

    def says(self, clauses: GuardMaker, held: Held, amount: Any) -> int:
        assert amount <= self.most
        return clauses.both(held.get(amount, TRUE if amount == 0 else FALSE), -held.get(amount + 1, FALSE))
