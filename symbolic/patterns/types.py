"""Types of expressions of patterns, with symbolic lengths: `f32[n, 4]` is an array of n arrays of 4 numbers.

A type is found from the types of the inputs; on the way the facts are noted that lengths must meet (`256 divides n`).
What does not fit is one SwizzleError: at the place that `places` knows for the term, or where the term is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct
from typing_extensions import assert_never

from symbolic.elements import DType
from symbolic.errors import Place, SwizzleError
from symbolic.expressions.expression import ONE, Expression, add, multiply, subtract
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import (
    LengthFact,
    at_most,
    dividing,
    length,
    length_text,
    normal,
    quotient,
    same_length,
    whole,
)
from symbolic.patterns.terms import ELEMENTARY, Applying, Folding, Term, function_of, operands, pattern_name, sizes_of


class NumberOf(Struct, frozen=True):
    """One number."""

    dtype: DType

    def __str__(self) -> str:
        return self.dtype.value


class ArrayOf(Struct, frozen=True):
    """An array: `f32[n]`."""

    length: Expression
    element: ValueType

    def __str__(self) -> str:
        lengths, inner = [self.length], self.element
        while isinstance(inner, ArrayOf):
            lengths.append(inner.length)
            inner = inner.element
        return f"{inner}[{', '.join(map(length_text, lengths))}]"


class TupleOf(Struct, frozen=True):
    """Several values as one: `(f32, i32)`."""

    items: tuple[ValueType, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


class VectorOf(Struct, frozen=True):
    """A vector of so many numbers: `f32x4`."""

    width: int
    dtype: DType

    def __str__(self) -> str:
        return f"{self.dtype.value}x{self.width}"


ValueType: TypeAlias = NumberOf | ArrayOf | TupleOf | VectorOf
"""What a term's value may be."""
F32: Final = NumberOf(DType.F32)
I32: Final = NumberOf(DType.I32)


def array_of(element: ValueType | DType, *lengths: int | str | Expression) -> ValueType:
    """Return the type of an array of lengths, the outermost first.

    >>> str(array_of(DType.F32, "n", 4))
    'f32[n, 4]'
    """
    made = NumberOf(element) if isinstance(element, DType) else element
    for each in reversed(lengths):
        made = ArrayOf(length(each), made)
    return made


def length_names(given: ValueType) -> frozenset[str]:
    """Return the names of a type's lengths."""
    match given:
        case ArrayOf():
            return given.length.names | length_names(given.element)
        case TupleOf():
            return frozenset[str]().union(*map(length_names, given.items))
    return frozenset()


def same_type(a: ValueType, b: ValueType) -> bool:
    """Tell whether two types are the same for all values of the lengths' names."""
    match a, b:
        case ArrayOf(), ArrayOf():
            return same_length(a.length, b.length) and same_type(a.element, b.element)
        case TupleOf(), TupleOf():
            return len(a.items) == len(b.items) and all(map(same_type, a.items, b.items))
    return a == b


class Typing:
    """The types of the terms of an expression, given those of its names; `facts` are what its lengths must meet.

    Functions that are `opaque` take anything and return a number: rules are proved with such.
    """

    def __init__(self, places: Callable[[Term], Place | None] = lambda _: None, opaque: Collection[str] = ()) -> None:
        self.places = places
        self.opaque = opaque
        self.facts: dict[LengthFact, None] = {}
        self._known: dict[tuple[int, int], tuple[Term, Mapping[str, ValueType], ValueType]] = {}

    def type_of(self, term: Term, names: Mapping[str, ValueType]) -> ValueType:
        """Return the type of a term; it is found once for the same names, so that an expression takes linear time."""
        waiting = list(takewhile(lambda each: (id(each), id(names)) not in self._known, chain((term,), operands(term))))
        for each in reversed(waiting):
            self._known[id(each), id(names)] = each, names, self._type_of(each, names)
        return self._known[id(term), id(names)][2]

    def _type_of(self, term: Term, names: Mapping[str, ValueType]) -> ValueType:
        match term:
            case t.Variable():
                if term.name not in names:
                    self._refuse(term, f"an unknown name `{term.name}`", f"one of {', '.join(names) or 'none'}")
                return names[term.name]
            case t.Formula():
                return self._formula(term, [self.type_of(each, names) for each in term.arguments])
            case t.ElementaryCall():
                if term.function in self.opaque:
                    for each in term.arguments:
                        self.type_of(each, names)
                    return F32
                alone = [isinstance(each, t.Formula) and each.expression.constant for each in term.arguments]
                kinds = [self.type_of(each, names) for each in term.arguments]
                (first, *_) = [kind for kind, constant in zip(kinds, alone, strict=True) if not constant] or [F32]
                kinds = [first if constant else kind for kind, constant in zip(kinds, alone, strict=True)]
                row = ELEMENTARY.get(term.function)
                if row is None:
                    self._refuse(term, f"an unknown function `{term.function}`", ", ".join(ELEMENTARY))
                if len(kinds) != len(row.operands):
                    self._refuse(term, f"{term.function} of {len(kinds)} numbers", f"{len(row.operands)}")
                for kind in kinds:
                    chosen = term.function == "where_less" and kind == first
                    if not isinstance(kind, NumberOf) or not (kind.dtype.is_float or chosen):
                        self._refuse(term, f"{term.function} of {kind}", "a number with a fraction: f32, f64")
                return first
            case t.Tupled():
                return TupleOf(tuple(self.type_of(each, names) for each in term.items))
            case t.Item():
                kind = self.type_of(term.of, names)
                if not isinstance(kind, TupleOf) or not 0 <= term.place < len(kind.items):
                    self._refuse(term, f"item {term.place} of {kind}", "a tuple that has it")
                return kind.items[term.place]
            case t.Indexed():
                array, index = self._array(term, term.array, names, "an index into"), self.type_of(term.index, names)
                if not isinstance(index, NumberOf) or index.dtype.is_float:
                    self._refuse(term, f"an index of type {index}", "a whole number")
                if isinstance(term.index, t.Formula) and term.index.expression.constant:
                    place = term.index.expression
                    if place.value < 0 or (array.length.constant and place.value >= array.length.value):
                        self._refuse(term, f"element {place.value} of {array}", "an index that it has")
                    self._note(term, at_most(add(place, ONE), array.length), "an index beyond the end")
                return array.element
            case t.Let():
                return self.type_of(term.body, {**names, term.name: self.type_of(term.value, names)})
            case t.ToMemory():
                return self.type_of(term.array, names)
            case t.Zip():
                arrays = [self._array(term, each, names, "zip") for each in term.arrays]
                if not all(same_length(each.length, arrays[0].length) for each in arrays):
                    lengths = ", ".join(length_text(each.length) for each in arrays)
                    self._refuse(term, f"zip of lengths [{lengths}]", "arrays of one length")
                return ArrayOf(arrays[0].length, TupleOf(tuple(each.element for each in arrays)))
        return self._with_function(term, names) if isinstance(term, Applying) else self._shape(term, names)

    def applied(
        self, term: Term, called: t.Lambda, given: Sequence[ValueType], names: Mapping[str, ValueType]
    ) -> ValueType:
        """Return the type of what a function of a term makes of values of some types."""
        if len(given) != len(called.parameters):
            self._refuse(term, f"a function of {len(called.parameters)} values where {len(given)} are", f"{len(given)}")
        if called.width:
            given = [self._place(term, each, called.width) for each in given]
        found = self.type_of(called.body, {**names, **dict(zip(called.parameters, given, strict=True))})
        if not called.width:
            return found
        if not isinstance(found, NumberOf):
            self._refuse(term, f"a vectorised function that makes {found}", "a function that makes a number")
        return VectorOf(called.width, found.dtype)

    def given(self, term: Applying, names: Mapping[str, ValueType]) -> list[ValueType]:
        """Return the types of what a pattern's function is applied to; of vectors, those of their places."""
        if isinstance(term, t.Iterate):
            some = [self.type_of(term.array, names)]
        else:
            element = self._array(term, term.array, names, "map" if isinstance(term, t.Map) else "reduce").element
            some = [element] if isinstance(term, t.Map) else [self._started(term, names, element), element]
        width = function_of(term).width
        return [self._place(term, each, width) for each in some] if width else some

    def inner_names(self, term: Term, place: int, names: Mapping[str, ValueType]) -> Mapping[str, ValueType]:
        """Return the types of the names in the function, or in the body, that is child `place` of a term."""
        if isinstance(term, t.Let) and place == 1:
            return {**names, term.name: self.type_of(term.value, names)}
        if isinstance(term, Applying) and place == 0:
            return {**names, **dict(zip(function_of(term).parameters, self.given(term, names), strict=False))}
        return names

    def sizes(self, term: t.Split | t.Slide | t.ReorderStride | t.PartialReduce) -> None:
        """Note that the sizes of a term are whole, and at least 1."""
        for each in sizes_of(term).values():
            if each.constant and each.value < 1:
                self._refuse(term, f"a size of {length_text(each)}", "a whole number of at least 1")
            self._note(term, whole(each), "a size of {}", each)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _with_function(self, term: Applying, names: Mapping[str, ValueType]) -> ValueType:
        if isinstance(term, t.Map):
            array = self._array(term, term.array, names, "map")
            made = self.applied(term, term.function, [array.element], names)
            body = term.function.body
            if isinstance(body, t.Formula) and body.expression.constant and not body.expression.truth:
                made = _number_in(array.element) or made  # a number alone is one of the elements' type
            return ArrayOf(array.length, made)
        if isinstance(term, t.Iterate):
            kind = self.type_of(term.array, names)
            for _ in range(term.times):
                kind = self.applied(term, term.function, [kind], names)
            return kind
        what = "scan" if isinstance(term, t.PrefixScan) else "reduce"
        array = self._array(term, term.array, names, what)
        start = self._started(term, names, array.element)
        if not (isinstance(term, t.Reduce) and term.kind == "seq") and not same_type(start, array.element):
            self._refuse(term, f"a {what} of {array.element} that begins with {start}", "a start of the elements' type")
        made = self.applied(term, term.operator, [start, array.element], names)
        if not same_type(made, start):
            self._refuse(term, f"an operator that makes {made} where {start} is combined", f"{start}")
        if isinstance(term, t.PrefixScan):
            return ArrayOf(array.length, made)
        parts = term.parts if isinstance(term, t.PartialReduce) else ONE
        if isinstance(term, t.PartialReduce):
            self.sizes(term)
            self._note(term, dividing(parts, array.length), "{} elements in {} parts", array.length, parts)
        return ArrayOf(parts, made)

    def _shape(
        self,
        term: t.Split
        | t.JoinChunks
        | t.Transpose
        | t.Slide
        | t.PadEnds
        | t.Reorder
        | t.ReorderStride
        | t.AsVector
        | t.AsScalar,
        names: Mapping[str, ValueType],
    ) -> ValueType:
        what = pattern_name(term)
        array = self._array(term, term.array, names, what)
        n, element = array.length, array.element
        if isinstance(term, t.Split | t.Slide | t.ReorderStride):
            self.sizes(term)
        match term:
            case t.Split():
                self._note(term, dividing(term.size, n), "split of length {} by {}", n, term.size)
                return ArrayOf(quotient(n, term.size), ArrayOf(term.size, element))
            case t.JoinChunks() | t.Transpose():
                if not isinstance(element, ArrayOf):
                    self._refuse(term, f"{what} of {array}", "an array of arrays")
                if isinstance(term, t.Transpose):
                    return ArrayOf(element.length, ArrayOf(n, element.element))
                return ArrayOf(normal(multiply(n, element.length)), element.element)
            case t.Slide():
                beyond = normal(subtract(n, term.size))
                self._note(term, at_most(term.size, n), "windows of {} in length {}", term.size, n)
                said = "windows of {} every {} in length {}"
                self._note(term, dividing(term.step, beyond), said, term.size, term.step, n)
                return ArrayOf(normal(add(quotient(beyond, term.step), ONE)), ArrayOf(term.size, element))
            case t.PadEnds():
                if term.boundary == "zero" and not isinstance(element, NumberOf):
                    self._refuse(term, f"zeros beside {element}", "numbers, or another boundary")
                needed = max(term.left, term.right) + (term.boundary == "mirror")
                if term.boundary != "zero":
                    self._note(
                        term, at_most(length(1 if term.boundary == "clamp" else needed), n), "pad of too few elements"
                    )
                return ArrayOf(normal(add(n, length(term.left + term.right))), element)
            case t.Reorder():
                return array
            case t.ReorderStride():
                self._note(term, dividing(term.stride, n), "a stride of {} in length {}", term.stride, n)
                return array
            case t.AsVector():
                if not isinstance(element, NumberOf):
                    self._refuse(term, f"asVector of {array}", "an array of numbers")
                self._note(term, dividing(length(term.width), n), "vectors of {} of length {}", term.width, n)
                return ArrayOf(quotient(n, length(term.width)), VectorOf(term.width, element.dtype))
            case t.AsScalar():
                if not isinstance(element, VectorOf):
                    self._refuse(term, f"asScalar of {array}", "an array of vectors")
                return ArrayOf(normal(multiply(n, length(element.width))), NumberOf(element.dtype))
            case _:
                assert_never(term)

    def _formula(self, term: t.Formula, kinds: Sequence[ValueType]) -> ValueType:
        for kind in kinds:
            if not isinstance(kind, NumberOf):
                self._refuse(term, f"arithmetic of {kind}", "numbers")
        if term.expression.truth:
            return NumberOf(DType.BOOL)
        found = {kind.dtype for kind in kinds if isinstance(kind, NumberOf)}
        if len(found) > 1:
            names = ", ".join(sorted(kind.value for kind in found))
            self._refuse(term, f"arithmetic of {names} in one formula", "numbers of one type")
        if not found:
            whole = isinstance(term.expression.value, int)
            return I32 if whole and not isinstance(term.expression.value, bool) else F32
        return NumberOf(found.pop())

    def _started(self, term: Folding, names: Mapping[str, ValueType], element: ValueType) -> ValueType:
        """Return the type of what a reduction begins with; numbers alone have the type that the operator makes."""
        start = self.type_of(term.start, names)
        if isinstance(element, VectorOf) and isinstance(start, NumberOf):
            return element
        several = set(_numbers(element))
        for dtype in dict.fromkeys(_numbers(element)):
            kind = _with_numbers(term.start, start, dtype)
            if len(several) == 1:
                return kind
            facts = dict(self.facts)
            try:
                if kind == start or same_type(self.applied(term, term.operator, [kind, element], names), kind):
                    return kind
            except SwizzleError:
                self.facts = facts
        return start

    def _place(self, term: Term, kind: ValueType, width: int) -> ValueType:
        if isinstance(kind, NumberOf):
            return kind
        if not isinstance(kind, VectorOf) or kind.width != width:
            self._refuse(term, f"a function of vectors of {width} of {kind}", f"vectors of {width}, or numbers")
        return NumberOf(kind.dtype)

    def _array(self, term: Term, inner: Term, names: Mapping[str, ValueType], what: str) -> ArrayOf:
        kind = self.type_of(inner, names)
        if not isinstance(kind, ArrayOf):
            self._refuse(term, f"{what} of {kind}", "an array")
        return kind

    def _note(self, term: Term, fact: LengthFact | bool, otherwise: str, *about: Expression | int) -> None:
        if fact is False:
            shown = (length_text(each) if isinstance(each, Expression) else each for each in about)
            self._refuse(term, otherwise.format(*shown), "lengths that fit")
        if isinstance(fact, LengthFact):
            self.facts[fact] = None

    def _refuse(self, term: Term, found: str, expected: str) -> NoReturn:
        raise SwizzleError(found, place=self.places(term), expected=expected, fix="mend the expression, or its inputs")


def _numbers(kind: ValueType) -> Iterator[DType]:
    """Yield the types of the numbers in a type."""
    match kind:
        case NumberOf() | VectorOf():
            yield kind.dtype
        case ArrayOf():
            yield from _numbers(kind.element)
        case TupleOf():
            for each in kind.items:
                yield from _numbers(each)


def _with_numbers(term: Term, kind: ValueType, dtype: DType) -> ValueType:
    """Return the type of a term where the numbers that stand alone in it are of a type."""
    if isinstance(term, t.Formula) and term.expression.constant and isinstance(kind, NumberOf):
        return NumberOf(dtype)
    if isinstance(term, t.Map) and isinstance(kind, ArrayOf):
        return ArrayOf(kind.length, _with_numbers(term.function.body, kind.element, dtype))
    if isinstance(term, t.Tupled) and isinstance(kind, TupleOf):
        return TupleOf(tuple(_with_numbers(each, own, dtype) for each, own in zip(term.items, kind.items, strict=True)))
    return kind


def _number_in(kind: ValueType) -> NumberOf | None:
    """Return the type of the first numbers in a value."""
    while isinstance(kind, ArrayOf | TupleOf):
        kind = kind.element if isinstance(kind, ArrayOf) else kind.items[0]
    return kind if isinstance(kind, NumberOf) else None


def type_of(term: Term, names: Mapping[str, ValueType]) -> ValueType:
    """Return the type of a term, given those of its names."""
    return Typing().type_of(term, names)
