"""The items of a reduction: how often one occurs in a value, asked backward of the values that this one is made of, and
the questions that the machine asks about them, for every order of an operator.

Values that came through several holes one after the other may be too many to be told apart: a sum after five shuffles
is one of billions. How often it holds one item has few answers, and each step of the way makes the answer of its
operands': a sum adds them up, a select or a shuffle chooses one. There is one class of such questions for each order
(`symbolic.algebra.operator_laws.Order`), in the order's own file, and one here for the question whether a value is one
term.

A reduction is a bag, a set, ... of items (`symbolic.algebra.operator_laws.Order`). There is one class for each
order; it says what counts as an item and how often, when guarded contributions make up a wanted term, and how one
operand is taken off a term. Guards are literals of clauses, as ints; their meaning is not needed here.
"""

from __future__ import annotations

import itertools
import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias

from symbolic.algebra.exact import folded
from symbolic.algebra.operator_laws import law_of
from symbolic.algebra.terms import UNWRITTEN, Term, Terms

TRUE, FALSE = 1, -1
Held: TypeAlias = "Mapping[Any, int]"
"""What a value holds of an item: guards by amounts, FALSE for those that are not there."""
NOTHING: Held = {}
NUMBERS_LIMIT = 256  # coefficients of one item that are told apart


class TooManyNumbers(Exception):
    """An item may be there with more coefficients than are told apart."""


class IsTerm(Protocol):
    """Says when a value is a term, or a number times it."""

    def __call__(self, term: Term, number: int = 1, /) -> int: ...


class GuardMaker(Protocol):
    """What makes guards of guards."""

    def both(self, a: int, b: int, /) -> int: ...
    def any(self, guards: Iterable[int], /) -> int: ...
    def chosen(self, cases: Iterable[tuple[int, int]], /) -> int: ...
    def odd_one(self, a: int, b: int, /) -> int: ...


class Tally(ABC):
    """A question of a value, equal to another one that asks the same; `op` is the operator by which items join."""

    op: str | None

    @property
    def about(self) -> Term | None:
        """The one term that is asked for: a known term that is not this, and has no such item, holds nothing."""
        return None

    @abstractmethod
    def of(self, terms: Terms, term: Term) -> Held:
        """Return what a known term holds."""

    @abstractmethod
    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        """Return what two values hold together."""

    def scaled(self, held: Held, number: Any) -> Held:
        """Return what a multiple of a value holds."""
        raise AssertionError(f"{self} is not asked of multiples")

    def once(self, guard: int) -> Held:
        """Return what a value holds that is the item where a guard holds, and has nothing of it elsewhere."""
        return NOTHING if guard == FALSE else {1: guard}

    @abstractmethod
    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        """Return what a value holds that is one item of the operator, or one taken off; `is_term` tells when it is
        which."""

    def chosen(self, clauses: GuardMaker, cases: Sequence[tuple[int, Held]]) -> Held:
        """Return what a value holds that is chosen: of each case, when it is chosen comes first."""
        if len(cases) == 1:
            return cases[0][1]
        amounts = dict.fromkeys(amount for _, held in cases for amount in held)
        found = {a: clauses.chosen((when, held.get(a, FALSE)) for when, held in cases) for a in amounts}
        return {amount: guard for amount, guard in found.items() if guard != FALSE}

    def says(self, clauses: GuardMaker, held: Held, amount: Any) -> int:
        """Return the guard that a value holds the item exactly so often; at most once, if nothing else is said."""
        here = held.get(1, FALSE)
        return here if amount else -here


class OfItem(Tally):
    """A question about one item."""

    item: Term

    @property
    def about(self) -> Term:
        return self.item

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        return self.once(is_term(self.item))


@dataclass(frozen=True, slots=True)
class Is(Tally):
    """Whether a value is one term."""

    term: Term
    op: None = None

    @property
    def about(self) -> Term:
        return self.term

    def of(self, terms: Terms, term: Term) -> Held:
        return _once(term == self.term)

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        raise AssertionError("a term has no parts")

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        return self.once(is_term(self.term))


@dataclass(frozen=True, slots=True)
class Unwritten(Tally):
    """Whether a value was made of a cell that was never written; then it has no meaning, whatever the operator."""

    op: None = None

    def of(self, terms: Terms, term: Term) -> Held:
        return _once(term == UNWRITTEN)

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        return _present(clauses, a, b)

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        raise AssertionError("what was never written has no items")


@dataclass(frozen=True, slots=True)
class Present(OfItem):
    """Whether an item is there, for operators to which it does not matter how often."""

    op: str
    item: Term

    def of(self, terms: Terms, term: Term) -> Held:
        return _once(amount(terms, self.op, term, self.item) != 0)

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        return _present(clauses, a, b)

    def scaled(self, held: Held, number: Any) -> Held:
        return held if number else NOTHING


@dataclass(frozen=True, slots=True)
class Others(Tally):
    """Whether anything is there but some items and numbers. (What cancels is there as well.)"""

    op: str
    items: frozenset[Term]

    def of(self, terms: Terms, term: Term) -> Held:
        others = terms.multiset(term, self.op).keys() - self.items
        return _once(any(not terms.is_number(item, self.op) for item in others))

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        return self.once(-clauses.any(map(is_term, sorted(self.items))))

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        return _present(clauses, a, b)

    def scaled(self, held: Held, number: Any) -> Held:
        return held if number else NOTHING


class Amounts(Tally):
    """A question whose answers are numbers: each has the guard that it is the answer, but for the usual one."""

    @property
    @abstractmethod
    def usual(self) -> Any:
        """Return the number that is not written down."""

    @abstractmethod
    def fold(self, a: Any, b: Any) -> Any:
        """Return the answer of two values together."""

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        if not a or not b:
            return a or b
        found: dict[Any, list[int]] = {}
        for (x, g), (y, h) in itertools.product(self._all(clauses, a), self._all(clauses, b)):
            both = clauses.both(g, h)
            if both != FALSE:
                found.setdefault(self.fold(x, y), []).append(both)
        found.pop(self.usual, None)
        if len(found) > NUMBERS_LIMIT:
            raise TooManyNumbers
        return {number: clauses.any(guards) for number, guards in found.items()}

    def _all(self, clauses: GuardMaker, held: Held) -> list[tuple[Any, int]]:
        return [(self.usual, -clauses.any(held.values())), *held.items()]

    def says(self, clauses: GuardMaker, held: Held, amount: Any) -> int:
        return held.get(amount, FALSE) if amount != self.usual else -clauses.any(held.values())


@dataclass(frozen=True, slots=True)
class Coefficient(OfItem, Amounts):
    """With which coefficient an item is in a linear form."""

    item: Term
    op: str = "+"
    usual: int = 0

    def of(self, terms: Terms, term: Term) -> Held:
        found = amount(terms, self.op, term, self.item)
        return {found: TRUE} if found else NOTHING

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        return {n: guard for n in (1, -1) if (guard := is_term(self.item, n)) != FALSE}

    def fold(self, a: Any, b: Any) -> Any:
        return folded(operator.add, a, b)

    def scaled(self, held: Held, number: Any) -> Held:
        return {folded(operator.mul, amount, number): guard for amount, guard in held.items()} if number else NOTHING


@dataclass(frozen=True, slots=True)
class Single(Coefficient):
    """The same where only one contribution can be right; None stands for several."""

    def fold(self, a: Any, b: Any) -> Any:
        return None if None in (a, b) or (a and b) else a or b

    def scaled(self, held: Held, number: Any) -> Held:
        several = {None: held[None]} if number and None in held else NOTHING
        return {**Coefficient.scaled(self, {n: g for n, g in held.items() if n is not None}, number), **several}


@dataclass(frozen=True, slots=True)
class Constant(Amounts):
    """The number among the items; None where there is none and the operator has no identity."""

    op: str

    @property
    def usual(self) -> Any:
        return law_of(self.op).identity

    def of(self, terms: Terms, term: Term) -> Held:
        found = [terms.nodes[item][1][0] for item in terms.items(term, self.op) if terms.is_number(item, self.op)]
        return {found[0]: TRUE} if found and found[0] != self.usual else NOTHING

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        return NOTHING

    def fold(self, a: Any, b: Any) -> Any:
        if None in (a, b):
            return b if a is None else a
        return folded(law_of(self.op).fold, a, b)

    def scaled(self, held: Held, number: Any) -> Held:
        return {folded(operator.mul, amount, number): guard for amount, guard in held.items()} if number else NOTHING


@dataclass(frozen=True, slots=True)
class Size:
    """How many items are in a value, at least or at most: what tells soonest that too little is added up.

    `by_coefficients`: an item counts as often as it is there, else once. Only the latter holds of every order: what
    has so many items was made of so many.
    """

    op: str
    number: int
    at_least: bool
    by_coefficients: bool

    def fits(self, size: int) -> bool:
        return size >= self.number if self.at_least else size <= self.number

    def of(self, terms: Terms, term: Term) -> int:
        """Return how many items a known term has; numbers do not count."""
        if term == UNWRITTEN:
            return 0
        found = {item: n for item, n in terms.multiset(term, self.op).items() if not terms.is_number(item, self.op)}
        return sum(found.values()) if self.by_coefficients else len(found)

    def less(self, number: int) -> Size:
        """Return the same of what is left where so many items are there already."""
        return replace(self, number=self.number - number)


def amount(terms: Terms, op: str, term: Term, item: Term) -> Any:
    """Return how often an item is in a known term, or with which coefficient."""
    made_by = terms.nodes[term][0]
    if made_by == op or (op == "*" and made_by == "+"):  # a sum may be a multiple of another one
        return terms.multiset(term, op)[item]
    if law_of(op).order == "linear":
        whole, number = terms.scale(term)
        return number if whole == item else 0
    return int(term == item)


def _once(holds: bool) -> Held:
    return {1: TRUE} if holds else NOTHING


def _present(clauses: GuardMaker, a: Held, b: Held) -> Held:
    if not a or not b:
        return a or b
    return {1: clauses.any((a[1], b[1]))}


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
