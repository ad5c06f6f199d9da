"""What an expression of patterns is on NumPy's arrays: the definition that rules, lowered kernels and tests agree with.

Elements of arrays lie along axes: the array of n arrays of m numbers is an array of n by m. A tuple, and an array of
tuples, is a Python tuple of arrays, and vectors have an axis of their own, the last one. What a function does to each
element is computed for all elements at once: its parameters have one axis more in front (a *lane* axis), along which
every operation goes by itself. Reductions combine from the left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.expressions.columns import ON_COLUMNS
from symbolic.expressions.expression import Expression
from symbolic.expressions.meaning import NumberDomain, evaluate
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length_at
from symbolic.patterns.terms import ELEMENTARY, Folding, Term
from symbolic.patterns.types import ArrayOf, TupleOf, ValueType

Values: TypeAlias = Any
"""An array, or a tuple of such."""


class Laned(Struct, frozen=True):
    """A value in `lanes` lane axes, of length 1 where it is the same in all lanes."""

    lanes: int
    data: Values


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int) else float(value)


_COLUMNS: Final = NumberDomain(ON_COLUMNS, _plain)
"""Columns of any type; a constant is a number of Python's, which takes the type of what it meets."""


def value_of_term(
    term: Term, inputs: Mapping[str, Any], lengths: Mapping[str, int], order: Callable[[int], Any] = np.arange
) -> Values:
    """Return the value of an expression, given its inputs (numbers, arrays, tuples of arrays) and its lengths' names.

    `order` says where an order that is left open (`Reorder`) takes the elements of so many from.

    >>> from symbolic.patterns.terms import number, total
    >>> from symbolic.expressions.expression import add, number_name
    >>> plus = Lambda(("a", "b"), Formula(add(number_name("x0"), number_name("x1")), (Variable("a"), Variable("b"))))
    >>> print(value_of_term(total(plus, number(0), Variable("xs")), {"xs": np.arange(5)}, {}))
    10
    """
    names = {name: Laned(0, _arrays(value)) for name, value in inputs.items()}
    return _Machine(lengths, order).value(term, names, 0).data


def lengths_of(kinds: Mapping[str, ValueType], inputs: Mapping[str, Any]) -> dict[str, int]:
    """Return the lengths that inputs of some types have; raises SwizzleError where they do not fit."""
    found: dict[str, int] = {}
    rest: list[tuple[str, Expression, int]] = []

    def look(name: str, kind: ValueType, data: Values) -> None:
        if isinstance(kind, TupleOf):
            for each, inner in zip(kind.items, data, strict=True):
                look(name, each, inner)
        depth = 0
        while isinstance(kind, ArrayOf):
            first = data
            while isinstance(first, tuple):
                first = first[0]
            rest.append((name, kind.length, np.shape(first)[depth]))
            kind, depth = kind.element, depth + 1

    for name, kind in kinds.items():
        look(name, kind, _arrays(inputs[name]))
    for name, length, size in sorted(rest, key=lambda one: len(one[1].arguments)):
        if length.operator == "name":
            found.setdefault(length.value, size)
        if not length.names <= found.keys() or length_at(length, found) != size:
            raise SwizzleError(
                f"{name} has {size} elements where {length} are",
                expected=f"inputs of {kinds[name]}",
                fix="other inputs",
            )
    return found


def _arrays(value: Any) -> Values:
    return tuple(map(_arrays, value)) if isinstance(value, tuple) else np.asarray(value)


def _each(function: Any, *data: Values) -> Values:
    """Apply a function to arrays, or to each of tuples of them."""
    if isinstance(data[0], tuple):
        return tuple(_each(function, *some) for some in zip(*data, strict=True))
    return function(*data)


def _in_lanes(value: Laned, lanes: int) -> Values:
    """Return the data with so many lane axes."""
    missing = lanes - value.lanes
    if not missing:
        return value.data
    where = tuple(range(value.lanes, lanes))
    return _each(lambda data: np.expand_dims(data, where), value.data)


def _first(data: Values) -> Any:
    while isinstance(data, tuple):
        data = data[0]
    return data


class _Machine:
    def __init__(self, lengths: Mapping[str, int], order: Callable[[int], Any]) -> None:
        self.lengths, self.order = lengths, order

    def number(self, length: Expression) -> int:
        return int(length_at(length, self.lengths))

    def value(self, term: Term, names: Mapping[str, Laned], lanes: int) -> Laned:
        """Return a term's value in so many lanes."""
        return Laned(lanes, self.data(term, names, lanes))

    def data(self, term: Term, names: Mapping[str, Laned], lanes: int) -> Values:
        match term:
            case t.Variable():
                return _in_lanes(names[term.name], lanes)
            case t.Formula():
                columns = {f"x{place}": self.data(each, names, lanes) for place, each in enumerate(term.arguments)}
                with np.errstate(all="ignore"):
                    found = np.asarray(evaluate(term.expression, columns, _COLUMNS))
                return found.reshape((1,) * (lanes - found.ndim) + found.shape)
            case t.ElementaryCall():
                columns_ = [self.data(each, names, lanes) for each in term.arguments]
                return np.asarray(ELEMENTARY[term.function].on_numbers(columns_))
            case t.Tupled():
                return tuple(self.data(each, names, lanes) for each in term.items)
            case t.Item():
                return self.data(term.of, names, lanes)[term.place]
            case t.Indexed():
                array, index = self.data(term.array, names, lanes), self.data(term.index, names, lanes)
                return _each(lambda data: _gathered(data, index, lanes), array)
            case t.Let():
                return self.data(term.body, {**names, term.name: self.value(term.value, names, lanes)}, lanes)
            case t.ToMemory():
                return self.data(term.array, names, lanes)
            case t.Zip():
                return tuple(self.data(each, names, lanes) for each in term.arrays)
            case t.Map():
                array = self.data(term.array, names, lanes)
                inner = self.call(term.function, [Laned(lanes + 1, array)], names, lanes + 1)
                count = _first(array).shape[lanes]
                return _each(lambda data: _spread(data, lanes, count), inner)
            case t.Iterate():
                made = self.data(term.array, names, lanes)
                for _ in range(term.times):
                    made = self.call(term.function, [Laned(lanes, made)], names, lanes)
                return made
        if isinstance(term, Folding):
            return self.reduced(term, names, lanes)
        return _each(lambda data: self.moved(term, data, lanes), self.data(term.array, names, lanes))

    def call(self, called: t.Lambda, given: list[Laned], names: Mapping[str, Laned], lanes: int) -> Values:
        """Return what a function makes of values; a vectorised one takes each place of a vector as a lane."""
        if not called.width:
            inside = {**names, **dict(zip(called.parameters, given, strict=True))}
            return self.data(called.body, inside, lanes)
        places = [Laned(lanes + 1, _vector(each, lanes)) for each in given]
        found = self.data(called.body, {**names, **dict(zip(called.parameters, places, strict=True))}, lanes + 1)
        return _spread(found, lanes, called.width)

    def reduced(self, term: Folding, names: Mapping[str, Laned], lanes: int) -> Values:
        array, found = self.data(term.array, names, lanes), self.value(term.start, names, lanes)
        if isinstance(term, t.PartialReduce):
            parts = self.number(term.parts)
            size = _first(array).shape[lanes] // _whole(_first(array).shape[lanes], parts)
            array = _each(lambda data: _cut(data, lanes, size), array)
            inside = self.folded(term.operator, found, array, names, lanes + 1)[-1]
            return _each(lambda data: _spread(data, lanes, parts), inside)
        every = self.folded(term.operator, found, array, names, lanes)
        if isinstance(term, t.Reduce):
            return _each(lambda data: np.expand_dims(data, lanes), every[-1])
        every = every[1:] if term.kind == "scan" else every[:-1]
        return (
            _each(lambda *data: np.stack(np.broadcast_arrays(*data), lanes), *every)
            if every
            else _each(_no_elements(lanes), array)
        )

    def folded(
        self, called: t.Lambda, start: Laned, array: Values, names: Mapping[str, Laned], lanes: int
    ) -> list[Values]:
        """Return what is combined of no element, of one, of two, ..."""
        every = [_in_lanes(start, lanes)]
        for place in range(_first(array).shape[lanes]):
            element = _each(lambda data, place=place: np.take(data, place, lanes), array)
            every.append(self.call(called, [Laned(lanes, every[-1]), Laned(lanes, element)], names, lanes))
        return every

    def moved(self, term: Term, data: Any, lanes: int) -> Any:
        """Return an array with its elements elsewhere; the array's first axis is behind the lanes."""
        n = data.shape[lanes]
        match term:
            case t.Split():
                return _cut(data, lanes, _whole(n, self.number(term.size)))
            case t.AsVector():
                return _cut(data, lanes, _whole(n, term.width))
            case t.JoinChunks() | t.AsScalar():
                return data.reshape(*data.shape[:lanes], n * data.shape[lanes + 1], *data.shape[lanes + 2 :])
            case t.Transpose():
                return np.swapaxes(data, lanes, lanes + 1)
            case t.Reorder():
                return np.take(data, self.order(n), lanes)
            case t.ReorderStride():
                stride, i = _whole(n, self.number(term.stride)), np.arange(n)
                chunk = max(1, n // stride)
                return np.take(data, i // chunk + stride * (i % chunk), lanes)
            case t.Slide():
                size, step = self.number(term.size), self.number(term.step)
                if size > n or (n - size) % step:
                    raise SwizzleError(
                        f"windows of {size} every {step} in {n} elements", expected="windows that end with the array",
                        fix="other lengths",
                    )  # fmt: skip
                starts = np.arange((n - size) // step + 1)[:, None] * step
                return np.take(data, starts + np.arange(size), lanes)
            case t.PadEnds():
                widths = [(0, 0)] * data.ndim
                widths[lanes] = (term.left, term.right)
                mode: Any = {"clamp": "edge", "mirror": "reflect", "wrap": "wrap", "zero": "constant"}[term.boundary]
                return np.pad(data, widths, mode)
            case _:
                raise AssertionError(term)


def _no_elements(lanes: int) -> Any:
    return lambda data: data[(slice(None),) * lanes + (slice(0, 0),)]


def _whole(count: int, size: int) -> int:
    """Return a size that divides a number of elements."""
    if size < 1 or count % size:
        raise SwizzleError(f"{count} elements by {size}", expected="a size that divides them", fix="other lengths")
    return size


def _cut(data: Any, lanes: int, size: int) -> Any:
    shape = data.shape
    return data.reshape(*shape[:lanes], shape[lanes] // size, size, *shape[lanes + 1 :])


def _spread(data: Any, lanes: int, count: int) -> Any:
    """Return data whose axis `lanes` is that of an array of so many elements, each its own."""
    return np.broadcast_to(data, (*data.shape[:lanes], count, *data.shape[lanes + 1 :]))


def _vector(value: Laned, lanes: int) -> Any:
    """Return a vector, or a number that is the same in all places, with its places as lanes."""
    data = _in_lanes(value, lanes)
    return data if data.ndim > lanes else np.expand_dims(data, lanes)


def _gathered(data: Any, index: Any, lanes: int) -> Any:
    """Return the element of each lane's own index."""
    if not index.size or index.min() < 0 or index.max() >= data.shape[lanes]:
        raise SwizzleError(
            f"an index of {index.min() if index.size else 'nothing'} to {index.max() if index.size else 'nothing'}"
            f" into {data.shape[lanes]} elements",
            expected="indices of elements", fix="other inputs",
        )  # fmt: skip
    shape = np.broadcast_shapes(index.shape, data.shape[:lanes])
    where = np.broadcast_to(index, shape)
    data = np.broadcast_to(data, shape + data.shape[lanes:])
    return data[(*np.indices(shape, sparse=True), where)]
