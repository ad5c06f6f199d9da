"""How often does an item occur in a value? The question is passed backward to the values that this one is made of.

Values that came through several holes one after the other may be too many to be told apart: a sum after five shuffles
is one of billions. How often it holds one item has few answers, and each step of the way makes the answer of its
operands': a sum adds them up, a select or a shuffle chooses one. There is one class of such questions for each order
(`symbolic.algebra.operator_laws.Order`), in the order's own file, and one here for the question whether a value is one
term.
"""

from __future__ import annotations

import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

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
