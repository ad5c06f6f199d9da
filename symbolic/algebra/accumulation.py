"""The items of a reduction: the questions that the machine asks about them, for every order of an operator.

A reduction is a bag, a set, ... of items (`symbolic.algebra.operator_laws.Order`). There is one class for each
order; it says what counts as an item and how often, when guarded contributions make up a wanted term, and how one
operand is taken off a term. Guards are literals of clauses, as ints; their meaning is not needed here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

from symbolic.algebra.operator_laws import law_of
from symbolic.algebra.tally import Tally
from symbolic.algebra.terms import Term, Terms


class ClauseSink(Protocol):
    """Where requirements over guards go."""

    def add(self, clause: Iterable[int], /) -> None: ...
    def exactly(self, count: int, guards: Sequence[int], when: int, /) -> None: ...
    def sums(self, uses: Sequence[Use], /) -> Mapping[Any, int]: ...
    def odd(self, guards: Sequence[int], when: int, is_odd: bool, /) -> None: ...


Use: TypeAlias = tuple[int, Any]
"""A contribution: the guard under which an item is brought, and how often, or with which coefficient."""
Offer: TypeAlias = Sequence[Counter[Term]]
"""Everything that one entry may contribute: the items of each possible value."""
Question: TypeAlias = Any
"""What is asked of a value: an item, or for a sequence the letters whose order is asked for."""


class EntryBounds(Protocol):
    """What is known of the entries of an accumulator without looking at each."""

    def capacity(self) -> int:
        """Return how many items are contributed at most."""

    def signs(self) -> frozenset[bool]:
        """Return whether there are positive coefficients, and whether there are others."""


class Accumulation(ABC):
    """The items of reductions by one operator.

    `cancels`: one contribution may take off what another one brings. `counted`: it is enough to know who brings which
    items, whatever their order.
    """

    cancels: ClassVar[bool] = False
    counted: ClassVar[bool] = True

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
        return self.terms.apply(self.op, items) if items else self.terms.empty(self.op)

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        """Say whether a contribution of these items spoils nothing; `free` may be taken off again."""
        return all(wanted[item] >= count for item, count in items.items())

    def opposed(self, offers: Sequence[Offer]) -> frozenset[Term]:
        """Return the items that may come in although nobody wants them, as other entries may take them off again."""
        return frozenset()

    def spare(self, entries: EntryBounds, wanted: Counter[Term]) -> bool:
        """Say whether something may cancel."""
        return False

    def may_cancel(self, natural: bool) -> bool:
        """Say whether contributions may take off one another's; `natural`: every coefficient is a natural number."""
        return self.cancels

    def strict(self) -> Accumulation:
        """Return the same without cancelling: what it finds equal is equal, and there may be more."""
        return self

    @abstractmethod
    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        """Return how many contributions of one item each these take at least; None where that is not clear.

        `scaled` says that a contribution may have a coefficient."""

    @abstractmethod
    def require(self, clauses: ClauseSink, count: Any, uses: Sequence[Use], when: int) -> bool:
        """Require, where `when` holds, that an item is there as often as it should be.

        Return False where that is too much to be said, and something stronger is required.
        """

    def questions(self, term: Term) -> Mapping[Question, Any]:
        """Return what has to be asked of a value that should be a term, numbers apart, with the right answers."""
        return {i: n for i, n in self.items(term).items() if not self.terms.is_number(i, self.op)}

    def answer(self, question: Question, term: Term) -> Any:
        """Return what a term answers."""
        return self.items(term)[question]

    def different(self, got: Term, wanted: Term) -> list[Question]:
        """Return the questions that tell two terms apart; None is the number among the items."""
        a, b = self.items(got), self.items(wanted)
        different = sorted(i for i in a.keys() | b.keys() if a[i] != b[i])
        return list(dict.fromkeys(None if self.terms.is_number(i, self.op) else i for i in different))

    @abstractmethod
    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        """Return a question; what is none of the right answers, nor on the way to one, need not be told apart.

        `natural` says that no contribution brings a part of an item, or takes one off; `single`, that in every right
        value exactly one brings it.
        """

    @abstractmethod
    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        """Return every operand that gives `wanted` with a known one, or None if they are not finitely many.

        `right`: it is the right operand that is looked for."""
