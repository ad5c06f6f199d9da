"""Terms of operators on several words: what is noted is the sequence of parts, and not how they were grouped, nor in
which order they came where the operator commutes, nor how often each is there where that does not count.

A *part* is some words. A sequence is a part, or a sequence and then a part: what begins alike is the same term. One
word of a sequence is a term over it; all words of one, in their places, are it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from symbolic.ir.program import FunctionName

Term: TypeAlias = int


class _Table(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]

    def intern(self, op: str, args: tuple[Any, ...], /) -> Term: ...


class JoinedWords:
    """The sequences in a table of terms."""

    def __init__(self, terms: _Table) -> None:
        self.terms = terms
        self._known: dict[str, dict[tuple[Term, Term], Term]] = {}

    def apply(self, op: FunctionName, args: Sequence[Term]) -> Term:
        """Return one word of what an operator makes of the words of two parts."""
        count, link = op.row.joined.words, op.row.joined.link
        first, then = self._sequence(op, args[:count]), self._sequence(op, args[count:])
        known = self._known.setdefault(link, {})
        if (first, then) not in known:
            known[first, then] = self.joined(op, first, then)
        whole = known[first, then]
        if self.terms.nodes[whole][0] != link:  # one part, which was there twice
            return whole if count == 1 else self.terms.nodes[whole][1][op.row.joined.word]
        return self.terms.intern(op, (whole,))

    def joined(self, op: FunctionName, first: Term, then: Term) -> Term:
        """Return the sequence of two; where parts may change places they are put in the order of their terms."""
        order, link = op.row.joined.operator.law.order, op.row.joined.link
        behind = self.parts(op, then)
        if order != "sequence":
            before = self.parts(op, first)
            if behind[0] <= before[-1]:
                whole = sorted({*before, *behind} if order == "set" else [*before, *behind])
                first, *behind = whole
        for part in behind:
            first = self.terms.intern(link, (first, part))
        return first

    def parts(self, op: FunctionName, sequence: Term) -> list[Term]:
        """Return the parts of a sequence in their order."""
        found, link = [], op.row.joined.link
        while self.terms.nodes[sequence][0] == link:
            sequence, part = self.terms.nodes[sequence][1]
            found.append(part)
        return [sequence, *reversed(found)]

    def part(self, words: Sequence[Term]) -> Term:
        """Return the words of one part as an item of a sequence."""
        return words[0] if len(words) == 1 else self.terms.intern("words", tuple(words))

    def _sequence(self, op: FunctionName, words: Sequence[Term]) -> Term:
        """Return the sequence of which these are the words, all of them and in their places; else a part by itself."""
        found: set[Term] = set()
        for place, word in enumerate(words):
            made_by, args = self.terms.nodes[word]
            own = made_by.row.joined if isinstance(made_by, FunctionName) else None
            if own is None or own.word != place or own.operator != op.row.joined.operator:
                return self.part(words)
            found.add(args[0])
        return found.pop() if len(found) == 1 else self.part(words)
