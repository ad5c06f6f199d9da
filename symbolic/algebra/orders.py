"""The items of a reduction, counted as the order of its operator asks: a class for each order, and the table of them.

A *bag* counts each item as often as it is there, a *set* once (min, max, `&`, `|`), a *parity* when it is there an odd
number of times, so that two of a kind cancel; a *linear form* counts an item with the sum of its coefficients.

A word is known by its projections on pairs of letters: two words with the same projections are the same. The pairs of
neighbours are enough, as they say what comes before what all along the word.

What follows an accumulator (`final=lambda s: s * 2 + 1`) is taken off the wanted term, and the rest is asked of the
accumulator, whose values are too many to be tried one by one.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar, Final

from symbolic.algebra.exact import folded, is_finite, over
from symbolic.algebra.operator_laws import Order, find_law, law_of
from symbolic.algebra.tally import (
    FALSE,
    NOTHING,
    TRUE,
    Accumulation,
    Amounts,
    ClauseSink,
    Coefficient,
    EntryBounds,
    GuardMaker,
    Held,
    IsTerm,
    Offer,
    OfItem,
    Present,
    Question,
    Single,
    Tally,
    Use,
    amount,
)
from symbolic.algebra.terms import UNWRITTEN, Term, Terms


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


class Parity(Accumulation):
    """An item is right when it is contributed an odd number of times exactly if it is wanted."""

    cancels = True

    def may_hold(self, items: Counter[Term], wanted: Counter[Term], free: frozenset[Term]) -> bool:
        return all(item in wanted or item in free for item in items)

    def opposed(self, offers: Sequence[Offer]) -> frozenset[Term]:
        several = Counter(item for offer in offers for item in {item for items in offer for item in items})
        return frozenset(item for item, number in several.items() if number > 1)

    def spare(self, entries: EntryBounds, wanted: Counter[Term]) -> bool:
        return entries.capacity() >= len(wanted) + 2

    def strict(self) -> Accumulation:
        return Bag(self.terms, self.op)

    def fewest(self, items: Counter[Term], scaled: bool) -> int | None:
        return len(items)

    def require(self, clauses: ClauseSink, count: Any, uses: Sequence[Use], when: int) -> bool:
        clauses.odd([guard for guard, _ in uses], when, count == 1)
        return True

    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        return Times(self.op, question, 1) if single else Odd(self.op, question)

    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        return (self.terms.apply(self.op, (wanted, known)),)


@dataclass(frozen=True, slots=True)
class Odd(OfItem):
    """Whether an item is there an odd number of times."""

    op: str
    item: Term

    def of(self, terms: Terms, term: Term) -> Held:
        return {1: TRUE} if amount(terms, self.op, term, self.item) % 2 else NOTHING

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        return self.once(clauses.odd_one(a[1], b[1])) if a and b else a or b


Word = tuple[Term, ...]


class Ordered(Accumulation):
    """Items are right when they come in the wanted order, each as often as it should."""

    counted: ClassVar[bool] = False

    def word(self, term: Term) -> Word:
        """Return the items of a term in their order.

        >>> from symbolic.algebra.operator_laws import Law
        >>> terms, first = Terms(), Law("first", lambda a, b: a, "sequence", own=True)
        >>> a, b = terms.atom("x", 0), terms.atom("x", 1)
        >>> ab = terms.apply(first.name, (a, b))
        >>> Ordered(terms, first.name).word(ab) == (a, b), terms.apply(first.name, (b, a)) == ab
        (True, False)
        """
        return self.terms.items(term, self.op)

    def questions(self, term: Term) -> Mapping[Question, Any]:
        word = [item for item in self.word(term) if not self.terms.is_number(item, self.op)]
        letters = tuple(dict.fromkeys(word))
        if len(letters) == 1:
            return {letters: tuple(word)}
        return {pair: _projected(word, pair) for pair in itertools.pairwise(word) if pair[0] != pair[1]}

    def answer(self, question: Question, term: Term) -> Any:
        return _projected(self.word(term), question)

    def different(self, got: Term, wanted: Term) -> list[Question]:
        return [q for q, right in self.questions(wanted).items() if self.answer(q, got) != right] or [
            (letter,) for letter in sorted(set(self.word(got)) - set(self.word(wanted)))
        ]

    def fewest(self, items: Any, scaled: bool) -> int | None:
        return int(items.total())

    def require(self, clauses: ClauseSink, count: Any, uses: Sequence[Use], when: int) -> bool:
        raise AssertionError("how often an item is there does not decide")

    def tally(self, question: Question, answers: Collection[Any], natural: bool, single: bool = False) -> Tally:
        if len(question) == 2 and all(
            answer in (question, *((letter,) for letter in question), ()) for answer in answers
        ):
            return Pair(self.op, *question)
        return Projection(self.op, question, frozenset(answers))

    def take_off(self, wanted: Term, known: Term, right: bool) -> tuple[Term, ...] | None:
        if self.absorbs(known):
            return None if wanted == known else ()
        if self.absorbs(wanted):
            return (wanted,)
        word, part = self.word(wanted), self.word(known)
        rest = word[len(part) :] if right else word[: len(word) - len(part)]
        found = self.total(rest) if len(part) <= len(word) else None
        whole = () if found is None else (known, found) if right else (found, known)
        return () if found is None or self.terms.apply(self.op, whole) != wanted else (found,)


FIRST, SECOND, WRONG = "first", "second", "wrong"


@dataclass(frozen=True, slots=True)
class Pair(Tally):
    """Two letters that are there once each, if at all, in this order: whether each is there, or something is wrong."""

    op: str
    first: Term
    second: Term

    def of(self, terms: Terms, term: Term) -> Held:
        found = _projected(terms.items(term, self.op), (self.first, self.second))
        here = {FIRST: self.first in found, SECOND: self.second in found}
        here[WRONG] = found not in ((), (self.first,), (self.second,), (self.first, self.second))
        return {what: TRUE for what, holds in here.items() if holds}

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        found = {FIRST: is_term(self.first), SECOND: is_term(self.second)}
        return {what: guard for what, guard in found.items() if guard != FALSE}

    def joined(self, clauses: GuardMaker, a: Held, b: Held) -> Held:
        if not a or not b:
            return a or b
        found = {what: clauses.any((a.get(what, FALSE), b.get(what, FALSE))) for what in (FIRST, SECOND)}
        meeting = ((FIRST, FIRST), (SECOND, SECOND), (SECOND, FIRST))
        clashes = [clauses.both(a[x], b[y]) for x, y in meeting if x in a and y in b]
        found[WRONG] = clauses.any((a.get(WRONG, FALSE), b.get(WRONG, FALSE), *clashes))
        return {what: guard for what, guard in found.items() if guard != FALSE}

    def says(self, clauses: GuardMaker, held: Held, amount: Any) -> int:
        here = {what: held.get(what, FALSE) for what in (FIRST, SECOND, WRONG)}
        found = -here[WRONG]
        for what, letter in ((FIRST, self.first), (SECOND, self.second)):
            found = clauses.both(found, here[what] if letter in amount else -here[what])
        return found


@dataclass(frozen=True, slots=True)
class Projection(Amounts):
    """Some letters of a word, in their order: those of the wanted words, or None where they are no part of any."""

    op: str
    letters: Word
    wanted: frozenset[Word]
    usual: Word = ()

    def of(self, terms: Terms, term: Term) -> Held:
        found = self._part(_projected(terms.items(term, self.op), self.letters))
        return {} if found == self.usual else {found: TRUE}

    def whole(self, clauses: GuardMaker, is_term: IsTerm) -> Held:
        return {self._part((letter,)): is_term(letter) for letter in self.letters}

    def fold(self, a: Any, b: Any) -> Any:
        return None if None in (a, b) else self._part(a + b)

    def _part(self, word: Word) -> Word | None:
        """Return a word that is a part of a wanted one, None for another."""
        ends = range(len(word), max(map(len, self.wanted), default=0) + 1)
        return word if any(whole[end - len(word) : end] == word for whole in self.wanted for end in ends) else None


def _projected(word: Sequence[Term], letters: Collection[Term]) -> Word:
    return tuple(letter for letter in word if letter in letters)


ORDERS: Final[Mapping[Order, type[Accumulation]]] = {
    "bag": Bag,
    "linear": Linear,
    "set": Distinct,
    "parity": Parity,
    "sequence": Ordered,
}


def accumulation(terms: Terms, op: str) -> Accumulation:
    """Return what knows the items of reductions by an operator."""
    return ORDERS[law_of(op).order](terms, op)


def undo(terms: Terms, op: str, known: Term | None, right: bool, wanted: Term) -> tuple[Term, ...] | None:
    """Return every operand that gives `wanted`, or None if they are not finitely many.

    `known` is the other operand, None for a unary operator; `right`: it is the right operand that is looked for.
    An idempotent operator gives operands that are neither numbers nor made by the operator itself.
    """
    if UNWRITTEN in (known, wanted):
        return ()
    if find_law(op) is not None:
        assert known is not None
        return accumulation(terms, op).take_off(wanted, known, right)
    if known is None:
        return tuple(operand for (operand,) in terms.spellings(op, wanted))
    if op == "/" and (found := _undo_by_factor(terms, known, right, wanted)) is not None:
        return found
    if op in ("<<", ">>"):
        return tuple(args[right] for args in terms.spellings(op, wanted) if args[not right] == known)
    made_by, arguments = terms.nodes[wanted]
    if made_by != op:
        return ()
    operand, other = arguments[::-1] if right else arguments
    return (operand,) if other == known else ()


def _undo_by_factor(terms: Terms, known: Term, right: bool, wanted: Term) -> tuple[Term, ...] | None:
    """Return the other operand of a division that is a multiplication; None where it can be none."""
    if terms.nodes[wanted][0] == "/":
        return None
    if not right:
        factor = terms.as_factor(known)
        return None if factor is None else (terms.apply("*", (wanted, terms.const(over(1, factor)))),)
    if terms.is_const(known) and terms.is_const(wanted):
        pairs = [(terms.nodes[known][1][0], terms.nodes[wanted][1][0])]
    else:
        summands = [
            dict(map(terms.scale, terms.nodes[each][1] if terms.nodes[each][0] == "+" else (each,)))
            for each in (known, wanted)
        ]
        pairs = [(own, summands[1][whole]) for whole, own in summands[0].items() if whole in summands[1]]
    for own, by in pairs[:1]:
        if by and own and is_finite(own) and is_finite(by):
            divisor = terms.const(over(own, by))
            if terms.as_factor(divisor) is not None and terms.apply("/", (known, divisor)) == wanted:
                return (divisor,)
    return None
