"""Data under holes, asked backward: not 'what may this value be?' but 'when is it this term?'.

A specification's term is asked of the value stored; the question travels back through selects, shuffles, reads and
reductions to the cells that hold the term, and comes out as a guard over the holes' choices. Of everything that a
value may be, only what the specification mentions is ever built.
(The kinds of such values: `symbolic.values.moved`, `symbolic.values.mapped`, `symbolic.machine.accumulators`, and
reads in `symbolic.machine.memory`.)

The questions are asked item by item (`symbolic.algebra.tally`), and so are exact, for each is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct

from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import Constant, Held, Is, Others, Size, Tally
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place, SwizzleError
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Encoding, Lanes

EXPANSION_LIMIT = 100_000  # combinations of operand values that are looked at one by one
MANY = 1_000_000_000  # items of a value of which it is not known how many there are
SCALED = "scaled"  # of the kinds of values: a product with a number
CASES_DEEP = 3  # nested cases that a requirement tells apart; below them it asks for equality, which is built once
PossibleTerms: TypeAlias = "frozenset[Term] | None"  # the terms a value may be, None for 'not enumerated'


class Data(ABC):
    """One data value per thread, each depending on holes."""

    def __init__(self) -> None:
        self._possible: dict[int, PossibleTerms] = {}
        self.known_kinds: dict[int, Kinds] = {}
        self._by_items: dict[int, bool] = {}
        self._natural: dict[int, bool] = {}
        self._reduced_by: dict[int, frozenset[str]] = {}
        self._sizes: dict[tuple[int, str, bool], tuple[int, int]] = {}
        self._brings: dict[tuple[int, str], frozenset[Term] | None] = {}

    def equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return the guard under which thread t's value is `term`, built once per encoding."""
        if self.by_items(t):
            return is_term(self, encoding, t, term)
        memo = encoding.equal.get(self)
        if memo is None:
            memo = encoding.equal[self] = {}
        found = memo.get((t, term))
        if found is None:
            possible = self.possible(t)
            known = possible is not None and term not in possible
            found = memo[t, term] = FALSE if known else self._equals(encoding, t, term)
        return found

    def require(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...] = ()) -> None:
        """Require, unless one of these guards holds, that thread t's value is `term`."""
        if self.by_items(t) or len(unless) >= CASES_DEEP or not self._require_cases(encoding, t, term, unless):
            encoding.guards.add((*unless, self.equals(encoding, t, term)))

    def possible(self, t: int) -> PossibleTerms:
        """Return every term that thread t's value may be, whatever the holes are, or None if there are too many."""
        if t not in self._possible:
            self._possible[t] = self._find_possible(t)
        return self._possible[t]

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """Return the kinds of thread t's value if it may be too many terms to be listed (see the function `kinds`)."""
        return None

    def need(self, t: int, term: Term) -> Need | None:
        """Return what accumulates must bring for thread t's value to be `term`; None where that is not clear."""
        return None

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        """Require it case by case, in clauses that let a solver rule out one choice by another; False if there is
        no such way."""
        return False

    def require_among(  # noqa: B027 - nothing is the right default
        self, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]
    ) -> None:
        """Require, unless one of these guards holds, one of some terms, as far as that is said in few clauses.

        It follows from what else is required; said aloud, it lets a choice be ruled out before others are made.
        """

    def held(self, encoding: Encoding, t: int, tally: Tally) -> Held:
        """Return what thread t's value holds, in guards that hold exactly then; worked out once per encoding."""
        memo = encoding.held.get(self)
        if memo is None:
            memo = encoding.held[self] = {}
        found = memo.get((t, tally))
        if found is None:
            found = memo[t, tally] = self._held(encoding, t, tally)
        return found

    def by_items(self, t: int) -> bool:
        """Say whether thread t's value has to be asked item by item, as it may be too many terms."""
        if t not in self._by_items:
            self._by_items[t] = self.combines and self._is_by_items(t)
        return self._by_items[t]

    @cached_property
    @abstractmethod
    def combines(self) -> bool:
        """Whether an operator combines values that depend on holes anywhere; else no value has to be asked by items."""

    def natural(self, terms: Terms, t: int) -> bool:
        """Say whether every coefficient in thread t's value is a natural number, whatever the holes are."""
        if t not in self._natural:
            self._natural[t] = self._is_natural(terms, t)
        return self._natural[t]

    def brings(self, terms: Terms, op: str, t: int) -> frozenset[Term] | None:
        """Return all items that thread t's value may be made of by an operator; None where they are too many."""
        if (t, op) not in self._brings:
            self._brings[t, op] = self._find_brings(terms, op, t)
        return self._brings[t, op]

    @abstractmethod
    def sources(self, t: int) -> Iterable[tuple[DataVector, int]]:
        """Return the values that thread t's value may be, or is made of, each with its thread."""

    def sizes(self, terms: Terms, t: int, size: Size) -> tuple[int, int]:
        """Return how many items thread t's value has at least and at most, whatever the holes are."""
        key = t, size.op, size.by_coefficients
        if key not in self._sizes:
            self._sizes[key] = self._find_sizes(terms, t, size)
        return self._sizes[key]

    def sized(self, encoding: Encoding, t: int, size: Size) -> Guard:
        """Return a guard that implies that thread t's value has so many items; a solver may leave it false."""
        least, most = self.sizes(encoding.terms, t, size)
        if size.fits(least) and size.fits(most):
            return TRUE
        if not size.fits(least) and not size.fits(most):
            return FALSE
        memo = encoding.sized.setdefault(self, {})
        found = memo.get((t, size))
        if found is None:
            found = memo[t, size] = encoding.guards.fresh()
            for guards in self._needs(encoding, t, size):
                encoding.guards.add((-found, *guards))
        return found

    def _find_sizes(self, terms: Terms, t: int, size: Size) -> tuple[int, int]:
        return 0, MANY

    def _needs(self, encoding: Encoding, t: int, size: Size) -> Iterable[tuple[Guard, ...]]:
        """Yield clauses without which the value has not so many items."""
        return ()

    def reduced_by(self, t: int) -> frozenset[str]:
        """Return the operators by which thread t's value may be reduced last."""
        if t not in self._reduced_by:
            parts = [(value, u) for value, u in self.sources(t) if isinstance(value, Data)]
            self._reduced_by[t] = frozenset[str]().union(*(value.reduced_by(u) for value, u in parts))
        return self._reduced_by[t]

    def _is_by_items(self, t: int) -> bool:
        return any(by_items(value, u) for value, u in self.sources(t))

    def _find_brings(self, terms: Terms, op: str, t: int) -> frozenset[Term] | None:
        values = self.possible(t)
        return None if values is None else united(frozenset(terms.multiset(v, op)) for v in values)

    def _is_natural(self, terms: Terms, t: int) -> bool:
        return all(natural(terms, value, u) for value, u in self.sources(t))

    @abstractmethod
    def _held(self, encoding: Encoding, t: int, tally: Tally) -> Held: ...

    @abstractmethod
    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard: ...

    @abstractmethod
    def _find_possible(self, t: int) -> PossibleTerms: ...


class Picked(Data):
    """Data that is one of several values, as they are."""

    @abstractmethod
    def cases(self, encoding: Encoding, t: int) -> Sequence[tuple[Guard, DataVector, int]]:
        """Return the values that thread t's may be: when it is which, and for which thread."""

    def _held(self, encoding: Encoding, t: int, tally: Tally) -> Held:
        cases = [(when, held(value, encoding, u, tally)) for when, value, u in self.cases(encoding, t)]
        return tally.chosen(encoding.guards, cases)

    def _find_sizes(self, terms: Terms, t: int, size: Size) -> tuple[int, int]:
        some = [sizes(terms, value, u, size) for value, u in self.sources(t)]
        return min((least for least, _ in some), default=0), max((most for _, most in some), default=0)

    def _needs(self, encoding: Encoding, t: int, size: Size) -> Iterable[tuple[Guard, ...]]:
        for when, value, u in self.cases(encoding, t):
            yield -when, sized(value, encoding, u, size)


class Need(Struct, frozen=True):
    """An accumulator needs at least `items` active entries, of those that may be active: their tags."""

    items: int
    offers: tuple[Any, ...]


DataVector: TypeAlias = "Lanes | Data"
Kinds: TypeAlias = "frozenset[str] | None"


def equals(value: DataVector, encoding: Encoding, t: int, term: Term) -> Guard:
    """Return the guard under which a data vector is `term` for thread t."""
    if isinstance(value, Data):
        return value.equals(encoding, t, term)
    return TRUE if value[t] == term else FALSE


def possible(value: DataVector, t: int) -> PossibleTerms:
    """Return every term that a data vector may be for thread t."""
    if isinstance(value, Data):
        return value.possible(t)
    return frozenset((int(value[t]),))


def held(value: DataVector, encoding: Encoding, t: int, tally: Tally) -> Held:
    """Return what a data vector holds for thread t."""
    if isinstance(value, Data):
        return value.held(encoding, t, tally)
    return tally.of(encoding.terms, int(value[t]))


def sizes(terms: Terms, value: DataVector, t: int, size: Size) -> tuple[int, int]:
    """Return how many items a data vector has at least and at most for thread t."""
    if isinstance(value, Data):
        return value.sizes(terms, t, size)
    found = size.of(terms, int(value[t]))
    return found, found


def sized(value: DataVector, encoding: Encoding, t: int, size: Size) -> Guard:
    """Return a guard that implies that a data vector has so many items for thread t."""
    if isinstance(value, Data):
        return value.sized(encoding, t, size)
    return TRUE if size.fits(size.of(encoding.terms, int(value[t]))) else FALSE


def combines(value: DataVector) -> bool:
    """Say whether an operator combines values that depend on holes in a data vector."""
    return isinstance(value, Data) and value.combines


def is_term(value: DataVector, encoding: Encoding, t: int, term: Term) -> Guard:
    """Return the guard that a data vector is `term` for thread t. It holds exactly then, unlike that of `equals`,
    which a solver may leave false."""
    return held(value, encoding, t, Is(term)).get(1, FALSE)


def by_items(value: DataVector, t: int) -> bool:
    """Say whether a data vector has to be asked item by item for thread t."""
    return isinstance(value, Data) and value.by_items(t)


def natural(terms: Terms, value: DataVector, t: int) -> bool:
    """Say whether every coefficient in a data vector is a natural number for thread t."""
    return value.natural(terms, t) if isinstance(value, Data) else is_natural(terms, int(value[t]))


def brings(terms: Terms, value: DataVector, op: str, t: int) -> frozenset[Term] | None:
    """Return all items that a data vector may be made of by an operator for thread t; None where they are too many."""
    return value.brings(terms, op, t) if isinstance(value, Data) else frozenset(terms.multiset(int(value[t]), op))


def united(sets: Iterable[frozenset[Term] | None]) -> frozenset[Term] | None:
    """Return what is in any of some sets; None where one of them is not known."""
    found = list(sets)
    return None if None in found else frozenset[Term]().union(*(s for s in found if s is not None))


def is_natural(terms: Terms, term: Term) -> bool:
    """Say whether every coefficient in a term, taken as a sum, is a natural number, as is a number that it holds."""
    if term == UNWRITTEN:
        return True
    found = [terms.nodes[i][1][0] if terms.is_const(i) else n for i, n in terms.multiset(term, "+").items()]
    return all(isinstance(n, int) and n >= 0 for n in found)


def kinds(terms: Terms, value: DataVector, t: int) -> Kinds:
    """Return the operators that a data vector may be made by for thread t ('atom', 'const' too), None for any."""
    if not isinstance(value, Data):
        return kinds_of_term(terms, int(value[t]))
    if t not in value.known_kinds:
        values = value.possible(t)
        value.known_kinds[t] = value.kinds(terms, t) if values is None else _kinds_of_terms(terms, values)
    return value.known_kinds[t]


def _kinds_of_terms(terms: Terms, values: frozenset[Term]) -> frozenset[str]:
    key = "kinds", values
    found: frozenset[str] | None = terms.of_sets.get(key)
    if found is None:
        found = terms.of_sets[key] = frozenset[str]().union(*(kinds_of_term(terms, v) for v in values))
    return found


def kinds_of_term(terms: Terms, term: Term) -> frozenset[str]:
    """Return what a term is made by; of a multiple of another one, and of a sum, what those are made by too, as a
    number that is multiplied or added may leave just that."""
    made_by, arguments = terms.nodes[term]
    whole, number = terms.scale(term)
    if number != 1:
        return frozenset((made_by, SCALED)) | kinds_of_term(terms, whole)
    parts = [t for t in arguments if not terms.is_const(t)] if made_by == "+" else []
    return frozenset((made_by,)).union(*(kinds_of_term(terms, part) for part in parts))


def require(value: DataVector, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...] = ()) -> None:
    """Require, unless one of these guards holds, that a data vector is `term` for thread t."""
    if isinstance(value, Data):
        value.require(encoding, t, term, unless)
    elif value[t] != term:
        encoding.guards.add(unless)


def require_among(
    value: DataVector, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]
) -> None:
    """Require, unless one of these guards holds, that a data vector is one of some terms, as far as few clauses go."""
    found = possible(value, t)
    if by_items(value, t):
        return
    if found is not None and not found & terms:
        encoding.guards.add(unless)
    elif (found is None or not found <= terms) and isinstance(value, Data) and len(unless) < CASES_DEEP:
        value.require_among(encoding, t, terms, unless)


def require_one(
    encoding: Encoding, cases: Mapping[Guard, Callable[[tuple[Guard, ...]], None]], unless: tuple[Guard, ...]
) -> None:
    """Require that one of some exclusive cases holds, together with what that case asks for."""
    encoding.guards.add((*unless, *cases))
    for guard, ask in cases.items():
        ask(unless if len(cases) == 1 else (*unless, -guard))


def union_of(parts: Sequence[PossibleTerms]) -> PossibleTerms:
    """Return all possibilities of several values together."""
    found: set[Term] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return frozenset(found)


def kinds_of(terms: Terms, values: Sequence[tuple[DataVector, int]]) -> Kinds:
    """Return the kinds of several values (each with its thread) together."""
    found: set[str] = set()
    for value, t in values:
        some = kinds(terms, value, t)
        if some is None:
            return None
        found |= some
    return frozenset(found)


class TooManyWays(SwizzleError):
    """A data value depends on holes in too many ways."""


def too_many(place: Place | None) -> TooManyWays:
    return TooManyWays(
        f"a data value depends on holes in more than {EXPANSION_LIMIT:,} ways, and is no reduction by one operator",
        place=place,
        expected="a sum of products with numbers, or one operator (max, ^, ...) on values that depend on holes",
        fix="put other operators behind the reduction or before it, or write out some of the holes",
    )


OTHERS_LIMIT = 64  # items of which it is asked one by one whether they cancel


def is_reduction(value: Data, op: str, encoding: Encoding, t: int, term: Term) -> Guard:
    """Return the guard that what an operator makes of other values is a term: each item as often, and no other.

    Others may come in and be taken off again. Where those are too many to be asked one by one, such fillings are left
    out, and the encoding is narrowed.
    """
    guards, terms = encoding.guards, encoding.terms
    order, plain = accumulation(terms, op), natural(terms, value, t)
    constant = Constant(op)
    found = constant.says(guards, held(value, encoding, t, constant), order.number(order.items(term)))
    if order.absorbs(term) or found == FALSE:
        return found
    size = Size(op, 0, at_least=True, by_coefficients=False)
    most, wanted = value.sizes(terms, t, size)[1], size.of(terms, term)
    if most < wanted:
        return FALSE
    for question, answer in order.questions(term).items():
        tally = order.tally(question, (answer,), plain, single=most == wanted)  # no item may come twice, or cancel
        found = guards.both(found, tally.says(guards, held(value, encoding, t, tally), answer))
        if found == FALSE:
            return FALSE
        if (open_for_few := guards.left_open(found)) is not None:
            return open_for_few
    items = frozenset(item for item in order.items(term) if not terms.is_number(item, op))
    signed = encoding.signed and order.law.order == "linear" and not plain
    taken_off = [terms.times(-1, item) for item in items] if signed else []
    others = held(value, encoding, t, Others(op, items.union(taken_off)))
    if not others or not order.may_cancel(plain) or most <= wanted + 1:  # what cancels comes in twice
        return guards.both(found, -others.get(1, FALSE))
    brought = brings(terms, value, op, t)
    if brought is None or UNWRITTEN in brought or len(brought) > OTHERS_LIMIT:
        encoding.narrowed = True
        return guards.both(found, -others.get(1, FALSE))
    for item in sorted(brought - items):
        if not terms.is_number(item, op):
            tally = order.tally(item, (0,), plain)
            found = guards.both(found, tally.says(guards, held(value, encoding, t, tally), 0))
    return found


def held_whole(value: Data, encoding: Encoding, t: int, tally: Tally) -> Held:
    """Return what a value holds that is one item of `tally.op`, made by another operator.

    Where it may be something else, such as a multiple of an item, that is left out, and the encoding is narrowed. An
    item that is taken off is looked at in a `signed` encoding only.
    """
    terms, some = encoding.terms, kinds(encoding.terms, value, t)
    assert tally.op is not None
    encoding.narrowed |= some is None or bool(some & {tally.op, "const", SCALED})

    def is_it(item: Term, number: int = 1) -> Guard:
        if number != 1 and not encoding.signed:
            encoding.unsigned = True
            return FALSE
        return is_term(value, encoding, t, terms.times(number, item))

    return tally.whole(encoding.guards, is_it)
