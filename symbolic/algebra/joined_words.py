"""Terms of operators on several words: what is noted is the sequence of parts, and not how they were grouped, nor in
which order they came where the operator commutes, nor how often each is there where that does not count.

A *part* is some words. A sequence is a part, or a sequence and then a part: what begins alike is the same term. One
word of a sequence is a term over it; all words of one, in their places, are it again.

Laws may be proved only of words that elements make. Of other words it is noted, too, how the parts were grouped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from symbolic.ir.functions import Joined, joined_of
from symbolic.ir.program import DType, FunctionName, OperatorName

Term: TypeAlias = int


class _Table(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]

    def intern(self, op: str, args: tuple[Any, ...], /) -> Term: ...

    def const(self, value: Any, /) -> Term: ...


class JoinedWords:
    """The sequences in a table of terms."""

    def __init__(self, terms: _Table) -> None:
        self.terms = terms
        self.numbers: Callable[[DType, int | float], tuple[Term, ...]] = lambda dtype, value: (terms.const(value),)
        self._known: dict[OperatorName, dict[tuple[Term, Term], Term]] = {}
        self._of_elements: dict[OperatorName, dict[Term, bool]] = {}

    def apply(self, op: FunctionName, joined: Joined, args: Sequence[Term]) -> Term:
        """Return one word of what an operator makes of the words of two parts."""
        count = joined.words
        first, then = self._sequence(joined, args[:count]), self._sequence(joined, args[count:])
        known = self._known.setdefault(joined.operator, {})
        if (first, then) not in known:
            known[first, then] = self.joined(joined, first, then)
        return self.word(op, joined, known[first, then])

    def word(self, op: FunctionName, joined: Joined, whole: Term) -> Term:
        """Return one word of a sequence."""
        if self.terms.nodes[whole][0] not in (joined.link, joined.pair):  # one part, which was there twice
            return whole if joined.words == 1 else self.terms.nodes[whole][1][joined.word]
        return self.terms.intern(op, (whole,))

    def joined(self, joined: Joined, first: Term, then: Term) -> Term:
        """Return the sequence of two; where parts may change places they are put in the order of their terms."""
        empty = self._is_empty(joined, first), self._is_empty(joined, then)
        for here, other in zip(empty, (then, first), strict=True):
            if here and (all(empty) or joined.empty_of_any or self._made_of_elements(joined, other)):
                return other
        plain = joined.lifted is None or all(self._made_of_elements(joined, side) for side in (first, then))
        order = joined.operator.law.order if plain else joined.of_any
        if order is None:
            return self.terms.intern(joined.pair, (first, then))
        behind = self.parts(joined, then)
        if order != "sequence":
            before = self.parts(joined, first)
            if behind[0] <= before[-1]:
                whole = sorted({*before, *behind} if order == "set" else [*before, *behind])
                first, *behind = whole
        for part in behind:
            first = self.terms.intern(joined.link, (first, part))
        return first

    def parts(self, joined: Joined, sequence: Term) -> list[Term]:
        """Return the parts of a sequence in their order."""
        found, link = [], joined.link
        while self.terms.nodes[sequence][0] == link:
            sequence, part = self.terms.nodes[sequence][1]
            found.append(part)
        return [sequence, *reversed(found)]

    def _made_of_elements(self, joined: Joined, sequence: Term) -> bool:
        """Tell whether all words of a sequence are made of elements."""
        known = self._of_elements.setdefault(joined.operator, {})
        if sequence not in known:
            longer = [sequence]
            while longer[-1] not in known and self.terms.nodes[longer[-1]][0] == joined.link:
                longer.append(self.terms.nodes[longer[-1]][1][0])
            if longer[-1] not in known:
                known[longer[-1]] = self._is_lifted(joined, longer[-1])
            for inner, whole in zip(longer[::-1], longer[-2::-1], strict=False):
                known[whole] = known[inner] and self._is_lifted(joined, self.terms.nodes[whole][1][1])
        return known[sequence]

    def _is_lifted(self, joined: Joined, part: Term) -> bool:
        """Tell whether the words of a part are those of one element."""
        lifted, nodes = joined.lifted, self.terms.nodes
        if lifted is None or nodes[part][0] == joined.pair:
            return False
        found: dict[int, Term] = {}
        for word, made in zip(nodes[part][1] if joined.words > 1 else (part,), lifted.words, strict=True):
            match made:
                case FunctionName():
                    if nodes[word][0] != made or len(nodes[word][1]) != lifted.elements:
                        return False
                    elements = dict(enumerate(nodes[word][1]))
                case int():
                    elements = {made: word}
                case (dtype, value):
                    if word not in self.numbers(dtype, value):
                        return False
                    continue
            if any(found.setdefault(place, element) != element for place, element in elements.items()):
                return False
        return True

    def _is_empty(self, joined: Joined, sequence: Term) -> bool:
        """Tell whether the words of a sequence are those of no element."""
        made_by, args = self.terms.nodes[sequence]
        if joined.empty is None or made_by in (joined.link, joined.pair):
            return False
        words = args if joined.words > 1 else (sequence,)
        return all(word in self.numbers(*each) for word, each in zip(words, joined.empty, strict=True))

    def part(self, words: Sequence[Term]) -> Term:
        """Return the words of one part as an item of a sequence."""
        return words[0] if len(words) == 1 else self.terms.intern("words", tuple(words))

    def _sequence(self, joined: Joined, words: Sequence[Term]) -> Term:
        """Return the sequence of which these are the words, all of them and in their places; else a part by itself."""
        found: set[Term] = set()
        for place, word in enumerate(words):
            made_by, args = self.terms.nodes[word]
            own = joined_of(made_by)
            if own is None or own.word != place or own.operator != joined.operator:
                return self.part(words)
            found.add(args[0])
        return found.pop() if len(found) == 1 else self.part(words)
