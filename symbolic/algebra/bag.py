"""A bag: each item counts as often as it is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from symbolic.algebra.accumulation import Accumulation, Clauses, Use
from symbolic.algebra.terms import Term


class Bag(Accumulation):
    """An item is right when exactly as many contributions bring it as are wanted."""

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return items.total()

    def require(self, clauses: Clauses, count: Any, uses: Sequence[Use], when: int) -> bool:
        clauses.exactly(count, [guard for guard, number in uses for _ in range(number)], when)
        return True

    def take_off(self, wanted: Term, known: Term) -> tuple[Term, ...] | None:
        terms, op, law = self.terms, self.op, self.law
        if self.absorbs(known):
            return None if wanted == known else ()
        if self.absorbs(wanted):
            return (wanted,)
        assert law.inverse
        items, others = self.items(wanted), self.items(known)
        rest = Counter({t: n for t, n in items.items() if not terms.is_const(t)})
        taken = Counter({t: n for t, n in others.items() if not terms.is_const(t)})
        number = law.inverse(self._number(items), self._number(others))
        found = terms.apply(op, (*(rest - taken).elements(), terms.const(number)))
        return (found,) if terms.apply(op, (found, known)) == wanted else ()

    def _number(self, items: Counter[Term]) -> Any:
        numbers = [self.terms.nodes[t][1][0] for t in items if self.terms.is_const(t)]
        return numbers[0] if numbers else self.law.identity
