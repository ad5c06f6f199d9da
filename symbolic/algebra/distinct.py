"""A set: an item that is there twice counts once, as for min, max, `&` and `|`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from symbolic.algebra.accumulation import Accumulation, ClauseSink, Question, Use
from symbolic.algebra.bag import Times
from symbolic.algebra.tally import Present, Tally
from symbolic.algebra.terms import Term


class Distinct(Accumulation):
    """An item is right when some contribution brings it."""

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        return all(item in wanted for item in items)

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return None

    def require(self, clauses: ClauseSink, count: Any, uses: Sequence[Use], when: int) -> bool:
        clauses.add([-when, *(guard for guard, _ in uses)])
        return True

    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        return Times(self.op, question, 1) if single else Present(self.op, question)

    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        """Operands that are numbers, or made by the operator itself, are left out."""
        if self.absorbs(known):
            return None if wanted == known else ()
        candidates = {t for t in self.items(wanted) if not self.terms.is_const(t)}
        return tuple(sorted(t for t in candidates if self.terms.apply(self.op, (t, known)) == wanted))
