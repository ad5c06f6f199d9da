"""What names are at a place of an expression, and what its shape says: lengths, elements, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from swizzle.derive.patterns.kernel_text import WARP, ThreadLevel
from swizzle.derive.patterns.views import PatternValue
from symbolic.patterns.terms import (
    Iterate,
    JoinChunks,
    Lambda,
    Let,
    Map,
    Reduce,
    Reorder,
    Split,
    Term,
    ToMemory,
    Transpose,
    Variable,
)
from symbolic.patterns.types import ArrayOf, ValueType

OWNED: Final = ("local", "warp", "lane")
"""Kinds of maps whose threads have registers."""
COMPONENTS: Final = "xyzw"


class PatternScope(Struct, frozen=True):
    """What names are here: their values, and their types."""

    values: Mapping[str, PatternValue]
    types: Mapping[str, ValueType]

    def bind(self, names: Sequence[str], values: Sequence[PatternValue], types: Sequence[ValueType]) -> PatternScope:
        return PatternScope(
            {**self.values, **dict(zip(names, values, strict=True))},
            {**self.types, **dict(zip(names, types, strict=True))},
        )


def level_of(term: Map) -> ThreadLevel:
    return term.kind if term.kind in ("warp", "lane") else f"{term.kind}.{term.axis}"


def extents(kind: ValueType) -> tuple[int, ...]:
    """Return the lengths of an array of numbers, tuples or vectors, the outermost first."""
    found = []
    while isinstance(kind, ArrayOf):
        found.append(int(kind.length.value))
        kind = kind.element
    return tuple(found)


def element_of(kind: ValueType) -> ValueType:
    while isinstance(kind, ArrayOf):
        kind = kind.element
    return kind


def kinds_of(term: Term) -> list[Map]:
    """Return the maps around each element of what a term makes, the outermost first."""
    while isinstance(term, Let | ToMemory):
        term = term.body if isinstance(term, Let) else term.array
    return [term, *kinds_of(term.function.body)] if isinstance(term, Map) else []


def halving(term: Iterate) -> Reduce | None:
    """Return the reduction of two lanes' elements that is iterated until one element is left, if it is that."""
    (around,) = term.function.parameters
    match term.function.body:
        case JoinChunks(
            Map(
                function=Lambda((chunk,), Reduce(kind="seq", array=Variable(name)) as inner),
                array=Split(size, Variable(of)),
                kind="lane",
            )
        ) if chunk == name and of == around and size.value == 2 and 1 << term.times == WARP:
            return inner
    return None


def only_moves(term: Map) -> bool:
    """Tell whether a map only moves the elements of its array."""
    return term.kind == "map" and _body_moves(term.function.body, term.function.parameters[0])


def _body_moves(body: Term, name: str) -> bool:
    match body:
        case Variable():
            return body.name == name
        case JoinChunks() | Split() | Transpose() | Reorder():
            return _body_moves(body.array, name)
        case Map():
            return only_moves(body) and _body_moves(body.array, name)
    return False
