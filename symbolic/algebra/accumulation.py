"""What is in a reduction, item by item: the questions that a machine asks of an operator's order.

A reduction is a bag, a set, ... of items (`symbolic.algebra.law.Order`). There is one class for each order; it says
what counts as an item and how often, when guarded contributions make up a wanted term, and how one operand is taken
off a term. Guards are literals of clauses, as ints; what they mean is somebody else's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

from symbolic.algebra.law import law_of
from symbolic.algebra.tally import Tally
from symbolic.algebra.terms import Term, Terms


class Clauses(Protocol):
    """Where requirements over guards go."""

    def add(self, clause: Iterable[int], /) -> None: ...
    def exactly(self, count: int, guards: Sequence[int], when: int, /) -> None: ...
    def sums(self, uses: Sequence[Use], /) -> Mapping[Any, int]: ...
    def odd(self, guards: Sequence[int], when: int, is_odd: bool, /) -> None: ...


Use: TypeAlias = tuple[int, Any]
"""A contribution: the guard under which an item is brought, and how often, or with which coefficient."""
Offer: TypeAlias = Sequence[Counter[Term]]
"""Everything that one entry may contribute: the items of each possible value."""


class Entries(Protocol):
    """What is known of the entries of an accumulator without looking at each."""

    def capacity(self) -> int:
        """Return how many items are contributed at most."""

    def signs(self) -> frozenset[bool]:
        """Return whether there are positive coefficients, and whether there are others."""


class Accumulation(ABC):
    """The items of reductions by one operator; `cancels`: one contribution may take off what another one brings."""

    cancels: ClassVar[bool] = False

    def __init__(self, terms: Terms, op: str) -> None:
        self.terms, self.op, self.law = terms, op, law_of(op)

    def items(self, term: Term) -> Counter[Term]:
        """Return what is in a term, and how often."""
        return self.terms.multiset(term, self.op)

    def number(self, items: Counter[Term]) -> Any:
        """Return the number among some items, the identity where there is none."""
        numbers = [self.terms.nodes[t][1][0] for t in items if self.terms.is_number(t, self.op)]
        return numbers[0] if numbers else self.law.identity

    def absorbs(self, term: Term) -> bool:
        """Say whether nothing else counts beside this term."""
        return self.terms.is_const(term) and self.terms.nodes[term][1][0] == self.law.absorber

    def total(self, items: Sequence[Term]) -> Term | None:
        """Return the reduction of some terms; None where there are none and the operator has no identity."""
        return None if not items and self.law.identity is None else self.terms.apply(self.op, items)

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        """Say whether a contribution of these items spoils nothing; `free` may be taken off again."""
        return all(wanted[item] >= count for item, count in items.items())

    def opposed(self, offers: Sequence[Offer]) -> frozenset[Term]:
        """Return the items that may come in although nobody wants them, as other entries may take them off again."""
        return frozenset()

    def spare(self, entries: Entries, wanted: Counter[Term]) -> bool:
        """Say whether something may cancel."""
        return False

    def strict(self) -> Accumulation:
        """Return the same without cancelling: what it finds equal is equal, and there may be more."""
        return self

    @abstractmethod
    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        """Return how many contributions of one item each these take at least; None where that is not clear.

        `scaled` says that a contribution may have a coefficient."""

    @abstractmethod
    def require(self, clauses: Clauses, count: Any, uses: Sequence[Use], when: int) -> bool:
        """Require, where `when` holds, that an item is there as often as it should be.

        Return False where that is too much to be said, and something stronger is required.
        """

    @abstractmethod
    def tally(self, item: Term, most: Any, natural: bool, single: bool = False) -> Tally:
        """Return the question how often an item is in a value; more than `most` times need not be told apart.

        `natural` says that no contribution brings a part of an item, or takes one off; `single`, that in every right
        value exactly one brings it.
        """

    @abstractmethod
    def take_off(self, wanted: Term, known: Term) -> tuple[Term, ...] | None:
        """Return every operand that gives `wanted` with a known one, or None if they are not finitely many."""
