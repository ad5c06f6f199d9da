"""A linear form: an item counts with the sum of the coefficients that it is contributed with."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from symbolic.algebra.accumulation import Accumulation, ClauseSink, EntryBounds, Offer, Question, Use
from symbolic.algebra.bag import Times
from symbolic.algebra.exact import folded
from symbolic.algebra.tally import Coefficient, Single, Tally
from symbolic.algebra.terms import Term

SUMS_LIMIT = 20_000  # partial sums of one item that are told apart


class Linear(Accumulation):
    """An item is right when the coefficients of its contributions add up to the wanted one."""

    cancels = True

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        return all(item in free or _within(number, wanted[item]) for item, number in items.items())

    def opposed(self, offers: Sequence[Offer]) -> frozenset[Term]:
        signs = {(item, number > 0) for offer in offers for items in offer for item, number in items.items()}
        return frozenset(item for item, positive in signs if positive and (item, False) in signs)

    def spare(self, entries: EntryBounds, wanted: Counter[Term]) -> bool:
        return entries.signs() == {True, False}

    def may_cancel(self, natural: bool) -> bool:
        return not natural

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return len(items) if scaled else sum(ceil(abs(Fraction(number))) for number in items.values())

    def require(self, clauses: ClauseSink, count: int, uses: Sequence[Use], when: int) -> bool:
        coefficients = {number for _, number in uses}
        if len(coefficients) < 2:
            (one,) = coefficients or {1}
            times = Fraction(count) / Fraction(one)
            if times.denominator == 1 and times >= 0:
                clauses.exactly(int(times), [guard for guard, _ in uses], when)
            else:
                clauses.add([-when])
            return True
        if self._sums(uses) <= SUMS_LIMIT:
            clauses.add([-when, clauses.sums(uses).get(count, -1)])
            return True
        for guard, number in uses:
            if number != count:
                clauses.add([-when, -guard])
        clauses.exactly(0 if count == 0 else 1, [guard for guard, number in uses if number == count], when)
        return False

    def _sums(self, uses: Sequence[Use]) -> int:
        """Return how many partial sums there are, or the limit."""
        found, total = {0}, 0
        for _, number in uses:
            found |= {folded(operator.add, some, number) for some in found}
            total += len(found)
            if total > SUMS_LIMIT:
                break
        return total

    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        if natural and all(isinstance(each, int) and each >= 0 for each in answers):
            return Times(self.op, question, max(answers))
        return Single(question) if single else Coefficient(question)

    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        return (self.terms.apply(self.op, (wanted, self.terms.times(-1, known))),)


def _within(number: int, wanted: int) -> bool:
    """Say whether a coefficient is a part of the wanted one, if nothing is taken off again."""
    return 0 < number <= wanted or wanted <= number < 0
