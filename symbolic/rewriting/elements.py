"""What an expression of patterns is, element by element, at symbolic lengths: what the proofs of rules compare.

An array is its length and a function from an index to the element there; lengths and indices are expressions of the
house over integers. An element of an input is known by its array and its indices, and what is computed of elements by
what computes it: nothing is assumed of a function but that it is one. A reduction is kept whole, as a `Fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec import field as by_default

from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import is_whole, normal, quotient
from symbolic.patterns.terms import Folding, Term, canonical, free


class ElementArray(Struct, frozen=True, eq=False):
    """An array: its length, and its element at an index."""

    length: Expression
    at: Callable[[Expression], Any]


class DataElement(Struct, frozen=True):
    """An element of an input, or an input that is a number, where there are no indices."""

    name: str
    indices: tuple[Expression, ...] = ()


class Made(Struct, frozen=True):
    """What a function, or the formula of a sum, makes of values; `what` tells functions apart."""

    what: Any
    arguments: tuple[Any, ...]


class Fold(Struct, frozen=True, eq=False):
    """A reduction of all elements of an array from the left; `key` tells operators apart, None where nothing does.

    The start is combined with them once, and `starts` times more.
    """

    step: Callable[[Any, Any], Any]
    start: Any
    array: ElementArray
    key: Any
    starts: Expression = e.ZERO


class NotPointwise(Exception):
    """A reduction of arrays uses other elements of what it has reduced than the one that it makes."""


class Ranges(Struct):
    """What is known of indices: each name lies between 0 and a length, which it does not reach.

    `opaque` are names of whole numbers of which little else is known: where an order that is left open takes an element
    from, which is one permutation for each length, and an element that is used as an index.
    """

    below: dict[str, Expression] = by_default(default_factory=dict)
    opaque: dict[Any, Expression] = by_default(default_factory=dict)
    serial: Any = by_default(default_factory=count)
    lemmas: set[str] = by_default(default_factory=set)
    """The lemmas that were used on the way."""

    def index(self, length: Expression, like: str = "i") -> Expression:
        """Return a new index below a length."""
        name = f"{like}'{next(self.serial)}"
        self.below[name] = length
        return e.number_name(name)

    def split(self, index: Expression, size: Expression) -> tuple[Expression, Expression]:
        """Return quotient and remainder of an index by a size, simplified by what is known of names."""
        whole: list[Expression] = []
        rest: list[Expression] = []
        for coefficient, what in e.terms(rejoined(index)):
            part = e.multiply(e.constant(coefficient), what)
            by = quotient(part, size)
            (whole if is_whole(by) else rest).append(part)
        over, left = quotient(e.add(*whole), size), e.add(*rest)
        if left is e.ZERO or self._is_below(left, size):
            return over, left
        return e.add(over, e.floor_divide(left, size)), e.modulo(left, size)

    def _is_below(self, index: Expression, size: Expression) -> bool:
        """Tell whether an index is surely at least 0 and less than a size."""
        if index.constant and size.constant:
            return bool(0 <= index.value < size.value)
        if index.operator == e.NAME and index.value in self.below:
            rest = normal(e.subtract(size, self.below[index.value]))
            last = e.subtract(self.below[index.value], e.ONE)
            known = all(coefficient >= 0 for coefficient, _ in e.terms(rest))
            return known or (last.operator == e.NAME and self._is_below(last, size))
        if index.operator == "+":  # i * a + j below m * a, where i is below m and j below a
            for coefficient, what in e.terms(index):
                part = e.multiply(e.constant(coefficient), what)
                for factor in what.arguments if what.operator == "*" else (what,):
                    if factor.operator == e.NAME and factor.value in self.below:
                        stride, most = quotient(part, factor), self.below[factor.value]
                        rest = e.subtract(index, part)
                        if (
                            is_whole(stride)
                            and factor.value not in rest.names
                            and self._is_below(rest, stride)
                            and normal(e.subtract(size, e.multiply(stride, most))) is e.ZERO
                        ):
                            return True
        return False

    def recovered(self, index: Expression) -> set[str]:
        """Return the names that an index determines, its digits where it is written to mixed bases.

        Of `i * s + j`, where j is below s, those are i and j: they are its quotient and its remainder by s.
        """
        if index.operator == e.NAME:
            return {index.value} & self.below.keys()
        for coefficient, what in e.terms(index):
            part = e.multiply(e.constant(coefficient), what)
            rest = e.subtract(index, part)
            for factor in what.arguments if what.operator == "*" else (what,):
                if factor.operator == e.NAME and factor.value in self.below and factor.value not in rest.names:
                    stride = quotient(part, factor)
                    if factor.value not in stride.names and is_whole(stride) and self._is_below(rest, stride):
                        return {factor.value} | self.recovered(rest)
        return set()

    def order(self, place: Any, length: Expression, index: Expression) -> Expression:
        """Return where an order that is left open takes the element with an index from: below the length again."""
        key = ("order", place, length, rejoined(index))
        if key not in self.opaque:
            self.opaque[key] = self.index(length, "order")
        return self.opaque[key]

    def data(self, value: Any) -> Expression:
        """Return an element that is an index."""
        if value not in self.opaque:
            self.opaque[value] = e.number_name(f"data'{next(self.serial)}")
        return self.opaque[value]


def rejoined(index: Expression) -> Expression:
    """Return an index in which `e // s * s + e % s` is e."""
    for coefficient, what in e.terms(index):
        if what.operator == "%":
            given, size = what.arguments
            whole = e.multiply(e.constant(coefficient), e.floor_divide(given, size), size)
            rest = e.subtract(index, e.add(whole, e.multiply(e.constant(coefficient), what)))
            if len(e.terms(rest)) < len(e.terms(index)) - 1 or rest is e.ZERO:
                return rejoined(e.add(rest, e.multiply(e.constant(coefficient), given)))
    return index


Bindings: TypeAlias = Mapping[str, Any]


class Elementwise:
    """Expressions, element by element."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    def value(self, term: Term, names: Bindings) -> Any:
        """Return a term's value: an element, a tuple, or an array."""
        match term:
            case t.Variable():
                return names[term.name]
            case t.Formula():
                values = [self.value(each, names) for each in term.arguments]
                if all(isinstance(each, Expression) for each in values):
                    return e.substituted(term.expression, {f"x{place}": each for place, each in enumerate(values)})
                return Made(term.expression, tuple(values))
            case t.ElementaryCall():
                return Made(term.function, tuple(self.value(each, names) for each in term.arguments))
            case t.Tupled():
                return tuple(self.value(each, names) for each in term.items)
            case t.Item():
                of = self.value(term.of, names)
                return of[term.place] if isinstance(of, tuple) else Made(("item", term.place), (of,))
            case t.Indexed():
                index = self.value(term.index, names)
                index = index if isinstance(index, Expression) else self.ranges.data(index)
                return self.array(term.array, names).at(index)
            case t.Let():
                return self.value(term.body, {**names, term.name: self.value(term.value, names)})
            case t.ToMemory():
                return self.value(term.array, names)
            case t.Zip():
                arrays = [self.array(each, names) for each in term.arrays]
                return ElementArray(arrays[0].length, lambda i: tuple(each.at(i) for each in arrays))
            case t.Map():
                array = self.array(term.array, names)
                return ElementArray(array.length, lambda i: self.call(term.function, [array.at(i)], names))
            case t.Iterate():
                value = self.value(term.array, names)
                for _ in range(term.times):
                    value = self.call(term.function, [value], names)
                return value
        if isinstance(term, Folding):
            return self.reduced(term, names)
        return self.moved(term, self.array(term.array, names))

    def array(self, term: Term, names: Bindings) -> ElementArray:
        """Return a term's value that is an array."""
        found = self.value(term, names)
        assert isinstance(found, ElementArray), term
        return found

    def call(self, called: t.Lambda, given: Sequence[Any], names: Bindings) -> Any:
        """Return what a function makes of values; of vectors, place by place."""
        width = called.width
        if width:
            return ElementArray(
                e.constant(width),
                lambda i: self.call(
                    t.Lambda(called.parameters, called.body),
                    [each.at(i) if isinstance(each, ElementArray) else each for each in given],
                    names,
                ),
            )
        return self.value(called.body, {**names, **dict(zip(called.parameters, given, strict=True))})

    def reduced(self, term: Folding, names: Bindings) -> ElementArray:
        array, start = self.array(term.array, names), self.value(term.start, names)
        closed = not free(term.operator)

        def fold(some: ElementArray) -> Any:
            if not term.operator.width:
                key = canonical(term.operator) if closed else None
                return self.pointwise(Fold(lambda a, x: self.call(term.operator, [a, x], names), start, some, key))
            single = t.Lambda(term.operator.parameters, term.operator.body)
            key = canonical(single) if closed else None

            def place(i: Expression) -> Fold:
                here = start.at(i) if isinstance(start, ElementArray) else start
                inside = ElementArray(some.length, lambda j: some.at(j).at(i))
                return Fold(lambda a, x: self.call(single, [a, x], names), here, inside, key)

            return ElementArray(e.constant(term.operator.width), place)

        if isinstance(term, t.Reduce):
            return ElementArray(e.ONE, lambda _: fold(array))
        if isinstance(term, t.PrefixScan):
            more = e.ONE if term.kind == "scan" else e.ZERO
            return ElementArray(array.length, lambda i: fold(ElementArray(e.add(i, more), array.at)))
        size = quotient(array.length, term.parts)
        return ElementArray(
            term.parts, lambda i: fold(ElementArray(size, lambda j: array.at(e.add(e.multiply(i, size), j))))
        )

    def pointwise(self, fold: Fold) -> Any:
        """Return a reduction; of arrays, the array of the reductions of their elements, each by itself."""
        start = fold.start
        if not isinstance(start, ElementArray):
            return fold

        def at(i: Expression) -> Any:
            def own(value: Any, j: Expression) -> Any:
                if normal(e.subtract(i, j)) is not e.ZERO:
                    raise NotPointwise("a reduction of arrays that uses other elements than the one that it makes")
                return value

            def step(value: Any, element: Any) -> Any:
                made = fold.step(ElementArray(start.length, lambda j: own(value, j)), element)
                return made.at(i)

            return self.pointwise(Fold(step, start.at(i), fold.array, None))

        self.ranges.lemmas.add("pointwise")
        return ElementArray(start.length, at)

    def inner(self, array: ElementArray) -> Expression:
        """Return the length that all elements of an array have."""
        index = self.ranges.index(array.length)
        found: Expression = array.at(index).length
        assert index.value not in found.names
        return found

    def moved(self, term: Any, array: ElementArray) -> ElementArray:
        """Return an array whose elements are those of another one."""
        n, at, ranges = array.length, array.at, self.ranges
        match term:
            case t.Split() | t.AsVector():
                size = term.size if isinstance(term, t.Split) else e.constant(term.width)
                return ElementArray(
                    quotient(n, size), lambda i: ElementArray(size, lambda j: at(e.add(e.multiply(i, size), j)))
                )
            case t.JoinChunks() | t.AsScalar():
                size = self.inner(array)

                def joined(k: Expression) -> Any:
                    i, j = ranges.split(k, size)
                    return at(i).at(j)

                return ElementArray(normal(e.multiply(n, size)), joined)
            case t.Transpose():
                size = self.inner(array)
                return ElementArray(size, lambda i: ElementArray(n, lambda j: at(j).at(i)))
            case t.Slide():
                windows = normal(e.add(quotient(e.subtract(n, term.size), term.step), e.ONE))
                return ElementArray(
                    windows, lambda i: ElementArray(term.size, lambda j: at(e.add(e.multiply(i, term.step), j)))
                )
            case t.Reorder():
                return ElementArray(n, lambda i: at(ranges.order("any", n, i)))
            case t.ReorderStride():

                def strided(i: Expression) -> Any:
                    over, left = ranges.split(i, quotient(n, term.stride))
                    return at(e.add(over, e.multiply(term.stride, left)))

                return ElementArray(n, strided)
            case t.PadEnds():
                last = e.subtract(n, e.ONE)

                def padded(i: Expression) -> Any:
                    k = e.subtract(i, e.constant(term.left))
                    if term.boundary == "clamp":
                        return at(e.minimum(e.maximum(k, e.ZERO), last))
                    if term.boundary == "wrap":
                        return at(e.modulo(k, n))
                    return Made(("pad", term.boundary, term.left, term.right), (at(k), k, n))

                return ElementArray(normal(e.add(n, e.constant(term.left + term.right))), padded)
        raise AssertionError(term)
