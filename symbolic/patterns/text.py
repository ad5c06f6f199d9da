"""Expressions of patterns as text, in the paper's notation: what is applied last stands first, `o` is composition.

    add = lambda a, b: a + b
    reduce(add, 0) o join o map(reduce(add, 0) o map(abs)) o split(s) o xs

A function that the user has named, and that uses inputs and nothing else from outside, is written once, before the
expression. The text is Python's syntax but for `o`; `symbolic/patterns/reading.py` reads it back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from symbolic.expressions.expression import Expression
from symbolic.expressions.text import text_of
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length_text
from symbolic.patterns.terms import PatternNode, Term, canonical, children, free, operands, pattern_name, told, walk

_FUNCTION, _SUM, _CHAIN, _ATOM = range(4)


def pattern_text(term: Term, outside: Collection[str], marked: Term | None = None, kept: Collection[Term] = ()) -> str:
    """Return an expression as text, with the definitions of its named functions; `outside` are the inputs' names.

    With a part that is `marked`, that stands between brackets, down to what it is applied to that is `kept`; labels are
    left out, and the text is not to be read back.
    """
    writer = _Writer(outside, marked, kept)
    last = writer.text(term, _FUNCTION)
    return "\n".join([*writer.definitions.values(), last])


class _Writer:
    def __init__(self, outside: Collection[str], marked: Term | None, kept: Collection[Term]) -> None:
        self.outside, self.marked, self.kept = frozenset(outside), marked, kept
        self.shown = marked is not None
        self.definitions: dict[str, str] = {}
        self.meanings: dict[str, PatternNode] = {}

    def text(self, term: Term, least: int) -> str:
        """Return a term's text, in parentheses where it binds less than needed."""
        if term is self.marked:
            return self._brackets(term)
        text, level = self._text(term)
        return text if level >= least else f"({text})"

    def _brackets(self, term: Term) -> str:
        """Return the part that is marked, and what it is applied to."""
        self.marked = None
        chain = [term, *operands(term)]
        last = self._end(chain)
        if last:
            text = f"[[ {' o '.join(map(self.head, chain[:last]))} ]] o {self.text(chain[last], _CHAIN)}"
        else:
            text = f"[[ {self.text(term, _FUNCTION)} ]]"
        self.marked = term
        return text

    def _text(self, term: Term) -> tuple[str, int]:
        match term:
            case t.Variable():
                return term.name, _ATOM
            case t.Formula():
                given = {f"x{place}": self.text(each, _ATOM) for place, each in enumerate(term.arguments)}
                text = text_of(term.expression, given.__getitem__)
                return text, _ATOM if term.expression.constant and not text.startswith("-") else _SUM
            case t.ElementaryCall():
                return f"{term.function}({self._several(term.arguments)})", _ATOM
            case t.Tupled():
                return f"({self._several(term.items)}{',' * (len(term.items) == 1)})", _ATOM
            case t.Item():
                return f"{self.text(term.of, _ATOM)}[{term.place}]", _ATOM
            case t.Indexed():
                return f"at({self._several((term.array, term.index))})", _ATOM
            case t.Zip():
                return f"zip({self._several(term.arrays)})", _ATOM
            case t.Let():
                value, body = self.text(term.value, _FUNCTION), self.text(term.body, _FUNCTION)
                return f"let({value}, lambda {term.name}: {body})", _ATOM
        return f"{self.head(term)} o {self.text(next(operands(term)), _CHAIN)}", _CHAIN

    def _several(self, terms: tuple[Term, ...]) -> str:
        return ", ".join(self.text(each, _FUNCTION) for each in terms)

    def head(self, term: Any) -> str:
        """Return the text of a pattern without the array that it is applied to."""
        name = pattern_name(term)
        texts = {own: self._told(getattr(term, own)) for own in told(name)}
        if isinstance(term, t.Map) and term.axis != "x":
            texts["axis"] = f'axis="{term.axis}"'
        for own in texts.keys() & {"function", "operator"}:
            if label := self._label(getattr(term, own), texts[own], term.label):
                texts["label"] = f'label="{label}"'
        return f"{name}({', '.join(texts.values())})" if texts else name

    def _told(self, value: t.Lambda | Expression | int | str | Term) -> str:
        """Return what a pattern is told as text: a function, a length, a number, a word, or a start."""
        match value:
            case t.Lambda():
                return self.function(value)
            case Expression():
                return length_text(value)
            case int():
                return str(value)
            case str():
                return f'"{value}"'
        return self.text(value, _FUNCTION)

    def _label(self, called: t.Lambda, text: str, label: str) -> str:
        """Return the label that is written behind a function's text: its name, where its text has none."""
        if self.shown or label:
            return "" if self.shown else label
        return "" if called.name in (text, text.partition(", ")[2].removesuffix(")")) else called.name

    def function(self, called: t.Lambda) -> str:
        """Return the text of a function: its name, a composition of patterns, or parameters and a body."""
        if called.width:
            return f"vect({called.width}, {self.function(t.Lambda(called.parameters, called.body, called.name))})"
        inside = self.marked is not None and any(part is self.marked for part in walk(called))
        if called.name and free(called) <= self.outside and not inside:
            meaning = canonical(called)
            if called.name not in self.meanings:
                self.meanings[called.name] = meaning
                self.definitions[called.name] = f"{called.name} = {self._lambda(called)}"
            if self.meanings[called.name] == meaning:
                return called.name
        return self._composition(called) or self._lambda(called)

    def _lambda(self, called: t.Lambda) -> str:
        hidden, self.outside = self.outside, self.outside - {*called.parameters}
        text = f"lambda {', '.join(called.parameters)}: {self.text(called.body, _FUNCTION)}"
        self.outside = hidden
        return text

    def _composition(self, called: t.Lambda) -> str:
        """Return what a function of one array is a composition of, or ''."""
        chain, (name, *others) = [called.body, *operands(called.body)], called.parameters
        if others or len(chain) == 1 or chain[-1] != t.Variable(name):
            return ""
        for each, inner in pairwise(chain):
            if any(name in free(part) for part in children(each) if part is not inner):
                return ""
        heads = list(map(self.head, chain[:-1]))
        if self.marked is not None and any(each is self.marked for each in chain):
            first = next(at for at, each in enumerate(chain) if each is self.marked)
            last = self._end(chain[first:]) or len(heads) - first
            heads[first] = f"[[ {heads[first]}"
            heads[first + last - 1] += " ]]"
        return " o ".join(heads)

    def _end(self, chain: Sequence[Term]) -> int:
        """Return how many of some patterns stand before what is kept; 0 where nothing is."""
        return next((at for at, each in enumerate(chain) if any(each is kept for kept in self.kept)), 0)
