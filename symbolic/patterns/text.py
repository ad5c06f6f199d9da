"""Expressions of patterns as text, in the paper's notation: what is applied last stands first, `o` is composition.

    add = lambda a, b: a + b
    reduce(add, 0) o join o map(reduce(add, 0) o map(abs)) o split(s) o xs

A function that the user has named, and that uses inputs and nothing else from outside, is written once, before the
expression. The text is Python's syntax but for `o`; `symbolic/patterns/reading.py` reads it back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
)

MAPS: Final[Mapping[MapKind, str]] = {
    "map": "map", "seq": "map_seq", "global": "map_global", "block": "map_block", "local": "map_local",
    "warp": "map_warp", "lane": "map_lane",
}  # fmt: skip
MEMORIES: Final[Mapping[MemorySpace, str]] = {"shared": "toShared", "global": "toGlobal", "registers": "toRegisters"}
"""How kinds of maps and memories are written."""

_FUNCTION, _SUM, _CHAIN, _ATOM = range(4)


def pattern_text(term: Term, outside: Collection[str], marked: tuple[PatternNode, ...] = ()) -> str:
    """Return an expression as text, with the definitions of its named functions; `outside` are the inputs' names.

    What is in `marked` stands between brackets: the part that a step has changed. Such a text is not to be read back.
    """
    writer = _Writer(outside, marked)
    last = writer.text(term, _FUNCTION)
    return "\n".join([*writer.definitions.values(), last])


class _Writer:
    def __init__(self, outside: Collection[str], marked: tuple[PatternNode, ...]) -> None:
        self.outside, self.marked = frozenset(outside), marked
        self.definitions: dict[str, str] = {}
        self.meanings: dict[str, PatternNode] = {}

    def text(self, term: Term, least: int) -> str:
        """Return a term's text, in parentheses where it binds less than needed."""
        if any(each is term for each in self.marked):
            unmarked, self.marked = self.marked, ()
            text = f"[[ {self.text(term, _FUNCTION)} ]]"
            self.marked = unmarked
            return text
        text, level = self._text(term)
        return text if level >= least else f"({text})"

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
        return f"{self.head(term)} o {self.text(term.array, _CHAIN)}", _CHAIN

    def _several(self, terms: tuple[Term, ...]) -> str:
        return ", ".join(self.text(each, _FUNCTION) for each in terms)

    def head(self, term: Term) -> str:
        """Return the text of a pattern without the array that it is applied to."""
        match term:
            case Map():
                axis = f', axis="{term.axis}"' if term.axis != "x" else ""
                return f"{MAPS[term.kind]}({self.function(term.function)}{axis}{_label(term.label)})"
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
                return f"{name}({self.function(term.operator)}, {start}{parts}{_label(term.label)})"
            case Iterate():
                return f"iterate({term.times}, {self.function(term.function)}{_label(term.label)})"
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

    def function(self, called: Lambda) -> str:
        """Return the text of a function: its name, a composition of patterns, or parameters and a body."""
        if called.width:
            return f"vect({called.width}, {self.function(Lambda(called.parameters, called.body, called.name))})"
        inside = any(each is part for each in self.marked for part in _parts(called))
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
        heads, inner, (name, *others) = [], called.body, called.parameters
        while not others and not isinstance(inner, Variable | Zip | Let) and hasattr(inner, "array"):
            if isinstance(inner, Indexed) or any(
                name in free(each) for each in children(inner) if each is not inner.array
            ):
                return ""
            if any(each is inner for each in self.marked):
                return ""
            heads.append(self.head(inner))
            inner = inner.array
        return " o ".join(heads) if heads and inner == Variable(name) else ""


def _parts(node: PatternNode) -> list[PatternNode]:
    return [node, *(part for each in children(node) for part in _parts(each))]


def _label(label: str) -> str:
    return f', label="{label}"' if label else ""
