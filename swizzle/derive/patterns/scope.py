"""What names are at a place of an expression, and what its shape says: lengths, elements, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from swizzle.derive.patterns.kernel_text import WARP, ThreadLevel
from swizzle.derive.patterns.views import PatternValue
from symbolic.patterns import terms as t
from symbolic.patterns.terms import Term
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


def level_of(term: t.Map) -> ThreadLevel:
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


def kinds_of(term: Term) -> list[t.Map]:
    """Return the maps around each element of what a term makes, the outermost first."""
    while isinstance(term, t.Let | t.ToMemory):
        term = term.body if isinstance(term, t.Let) else term.array
    return [term, *kinds_of(term.function.body)] if isinstance(term, t.Map) else []


def halving(term: t.Iterate) -> t.Reduce | None:
    """Return the reduction of two lanes' elements that is iterated until one element is left, if it is that."""
    (around,) = term.function.parameters
    match term.function.body:
        case t.JoinChunks(
            t.Map(
                function=t.Lambda((chunk,), t.Reduce(kind="seq", array=t.Variable(name)) as inner),
                array=t.Split(size, t.Variable(of)),
                kind="lane",
            )
        ) if chunk == name and of == around and size.value == 2 and 1 << term.times == WARP:
            return inner
    return None


def only_moves(term: t.Map) -> bool:
    """Tell whether a map only moves the elements of its array."""
    return term.kind == "map" and _body_moves(term.function.body, term.function.parameters[0])


def _body_moves(body: Term, name: str) -> bool:
    match body:
        case t.Variable():
            return body.name == name
        case t.JoinChunks() | t.Split() | t.Transpose() | t.Reorder():
            return _body_moves(body.array, name)
        case t.Map():
            return only_moves(body) and _body_moves(body.array, name)
    return False
