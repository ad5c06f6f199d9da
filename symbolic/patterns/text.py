"""Expressions of patterns as text, in the paper's notation: what is applied last stands first, `o` is composition.

    add = lambda a, b: a + b
    reduce(add, 0) o join o map(reduce(add, 0) o map(abs)) o split(s) o xs

A function that the user has named, and that uses inputs and nothing else from outside, is written once, before the
expression. The text is Python's syntax but for `o`; `symbolic/patterns/reading.py` reads it back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final

from symbolic.expressions.text import text_of
from symbolic.patterns.lengths import length_text
from symbolic.patterns.terms import (
    AsScalar,
    AsVector,
    ElementaryCall,
    Formula,
    Indexed,
    Item,
    Iterate,
    JoinChunks,
    Lambda,
    Let,
    Map,
    MapKind,
    MemorySpace,
    PadEnds,
    PartialReduce,
    PatternNode,
    PrefixScan,
    Reduce,
    Reorder,
    ReorderStride,
    Slide,
    Split,
    Term,
    ToMemory,
    Transpose,
    Tupled,
    Variable,
    Zip,
    canonical,
    children,
    free,
    operands,
)

MAPS: Final[Mapping[MapKind, str]] = {
    "map": "map", "seq": "map_seq", "global": "map_global", "block": "map_block", "local": "map_local",
    "warp": "map_warp", "lane": "map_lane",
}  # fmt: skip
MEMORIES: Final[Mapping[MemorySpace, str]] = {"shared": "toShared", "global": "toGlobal", "registers": "toRegisters"}
"""How kinds of maps and memories are written."""

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
            case Variable():
                return term.name, _ATOM
            case Formula():
                given = {f"x{place}": self.text(each, _ATOM) for place, each in enumerate(term.arguments)}
                text = text_of(term.expression, given.__getitem__)
                return text, _ATOM if term.expression.constant and not text.startswith("-") else _SUM
            case ElementaryCall():
                return f"{term.function}({self._several(term.arguments)})", _ATOM
            case Tupled():
                return f"({self._several(term.items)}{',' * (len(term.items) == 1)})", _ATOM
            case Item():
                return f"{self.text(term.of, _ATOM)}[{term.place}]", _ATOM
            case Indexed():
                return f"at({self._several((term.array, term.index))})", _ATOM
            case Zip():
                return f"zip({self._several(term.arrays)})", _ATOM
            case Let():
                value, body = self.text(term.value, _FUNCTION), self.text(term.body, _FUNCTION)
                return f"let({value}, lambda {term.name}: {body})", _ATOM
        return f"{self.head(term)} o {self.text(next(operands(term)), _CHAIN)}", _CHAIN

    def _several(self, terms: tuple[Term, ...]) -> str:
        return ", ".join(self.text(each, _FUNCTION) for each in terms)

    def head(self, term: Term) -> str:
        """Return the text of a pattern without the array that it is applied to."""
        match term:
            case Map():
                axis = f', axis="{term.axis}"' if term.axis != "x" else ""
                return f"{MAPS[term.kind]}({self.labelled(term.function, term.label, axis)})"
            case Reduce() | PartialReduce() | PrefixScan():
                name = (
                    "part_red"
                    if isinstance(term, PartialReduce)
                    else "scan"
                    if isinstance(term, PrefixScan)
                    else "reduce"
                )
                name += "_seq" * (isinstance(term, Reduce) and term.kind == "seq")
                parts = f", {length_text(term.parts)}" if isinstance(term, PartialReduce) else ""
                start = self.text(term.start, _FUNCTION)
                return f"{name}({self.labelled(term.operator, term.label, f', {start}{parts}')})"
            case Iterate():
                return f"iterate({term.times}, {self.labelled(term.function, term.label, '')})"
            case Split():
                return f"split({length_text(term.size)})"
            case Slide():
                return f"slide({length_text(term.size)}, {length_text(term.step)})"
            case PadEnds():
                return f'pad({term.left}, {term.right}, "{term.boundary}")'
            case ReorderStride():
                return f"reorder_stride({length_text(term.stride)})"
            case ToMemory():
                return MEMORIES[term.memory]
            case AsVector():
                return f"asVector({term.width})"
            case JoinChunks() | Transpose() | Reorder() | AsScalar():
                return {JoinChunks: "join", Transpose: "transpose", Reorder: "reorder", AsScalar: "asScalar"}[
                    type(term)
                ]
        raise AssertionError(term)

    def labelled(self, called: Lambda, label: str, behind: str) -> str:
        """Return a function, what stands behind it, and the label; the function's name, where its text has none."""
        text = self.function(called)
        if self.shown:
            return f"{text}{behind}"
        if not label and called.name not in (text, text.partition(", ")[2].removesuffix(")")):
            label = called.name
        return f'{text}{behind}, label="{label}"' if label else f"{text}{behind}"

    def function(self, called: Lambda) -> str:
        """Return the text of a function: its name, a composition of patterns, or parameters and a body."""
        if called.width:
            return f"vect({called.width}, {self.function(Lambda(called.parameters, called.body, called.name))})"
        inside = self.marked is not None and any(part is self.marked for part in _parts(called))
        if called.name and free(called) <= self.outside and not inside:
            meaning = canonical(called)
            if called.name not in self.meanings:
                self.meanings[called.name] = meaning
                self.definitions[called.name] = f"{called.name} = {self._lambda(called)}"
            if self.meanings[called.name] == meaning:
                return called.name
        return self._composition(called) or self._lambda(called)

    def _lambda(self, called: Lambda) -> str:
        hidden, self.outside = self.outside, self.outside - {*called.parameters}
        text = f"lambda {', '.join(called.parameters)}: {self.text(called.body, _FUNCTION)}"
        self.outside = hidden
        return text

    def _composition(self, called: Lambda) -> str:
        """Return what a function of one array is a composition of, or ''."""
        chain, (name, *others) = [called.body, *operands(called.body)], called.parameters
        if others or len(chain) == 1 or chain[-1] != Variable(name):
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


def _parts(node: PatternNode) -> list[PatternNode]:
    return [node, *(part for each in children(node) for part in _parts(each))]
