"""A sequence: the items of an operator that does not commute form a word, whose order counts.

A word is known by its projections on pairs of letters: two words with the same projections are the same. The pairs of
neighbours are enough, as they say what comes before what all along the word.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from symbolic.algebra.accumulation import Accumulation, ClauseSink, Question, Use
from symbolic.algebra.tally import FALSE, TRUE, Amounts, GuardMaker, Held, IsTerm, Tally
from symbolic.algebra.terms import Term, Terms

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
