"""Comprehensions of a specification for all values of their variables at once, by arrays of integers and of terms.

`[[sum(a[r, k] * b[k, c] for k in range(N)) for c in range(C)] for r in range(R)]` is four operations on arrays instead
of as many on values as there are products. What has no array here, or would raise an error, is `LeftToPython`: Python
runs that comprehension, as it does all others; it is the oracle, too.

Every combination of variables is a *lane*. A value is a Python value that all lanes share, or one of the arrays below.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.language.specs.data_array import DataArray, cells
from swizzle.language.specs.rewriting import ASK, Comprehension, Rewritten, is_sum
from symbolic.algebra.canonical import Ids, apply_pairs, apply_rows, distinct_terms
from symbolic.algebra.datum import Datum, SymbolicArray
from symbolic.algebra.terms import Term, Terms
from symbolic.errors import SwizzleError

MOST_LANES: Final = 1 << 22
"""So many take 32 MB an array."""
_LARGE: Final = 1 << 31
_ARRAYS: Final = (SymbolicArray, DataArray)
Bools: TypeAlias = npt.NDArray[np.bool_]
Variables: TypeAlias = dict[str, Any]


class LeftToPython(Exception):
    """Python is to run the comprehension."""


class _Data(Struct, frozen=True):
    """A term a lane; where `ints`, Python has the number and not a datum: where `floats` too, a float, which rounds."""

    ids: Ids
    ints: Bools | None = None
    floats: Bools | None = None


class _Rows(Struct, frozen=True):
    """A part of an array of data a lane, all of one shape."""

    array: SymbolicArray | DataArray
    shape: tuple[int, ...]
    offsets: Ids


class _Lists(Struct, frozen=True):
    """A list a lane: how long each is, and the elements of all."""

    sizes: Ids
    elements: Any


def run(function: Rewritten, terms: Terms, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Run a specification with its comprehensions on arrays; raises what it raises."""
    refused = set[int]()

    def ask(number: int, values: Callable[[], tuple[Any, ...]], python: Callable[[], Any]) -> Any:
        if number not in refused:
            asked = function.comprehensions[number]
            try:
                return _Reader(terms, asked, function.environment, values()).result()
            except (LeftToPython, NameError, ArithmeticError, SwizzleError):  # what is a mistake, Python says
                refused.add(number)
        return python()

    return function.call(*arrays, **named, **{ASK: ask})


class _Reader:
    """Reads one comprehension."""

    def __init__(
        self, terms: Terms, asked: Comprehension, environment: Mapping[str, Any], values: tuple[Any, ...]
    ) -> None:
        self.terms, self.asked, self.environment = terms, asked, environment
        self.known = dict(zip(asked.names, values, strict=True))

    def result(self) -> Any:
        """Return what Python would."""
        (found,) = self.plain(self.value(self.asked.node, {}, 1), 1)
        return found

    def plain(self, value: Any, lanes: int) -> list[Any]:
        """Return a Python value a lane."""
        match value:
            case _Data(ids, ints, floats):
                made: list[Any] = [Datum(self.terms, term) for term in ids.tolist()]
                for lane in () if ints is None else np.flatnonzero(ints).tolist():
                    number = self.terms.nodes[made[lane].term][1][0]  # a term has one number for 2 and 2.0
                    made[lane] = float(number) if floats is not None and floats[lane] else int(number)
                return made
            case _Lists(sizes, elements):
                flat, ends = self.plain(elements, int(sizes.sum())), np.cumsum(sizes).tolist()
                return [flat[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]
            case np.ndarray():
                return value.tolist()  # type: ignore[no-any-return]
            case _Rows():
                raise LeftToPython
        return [value] * lanes

    def value(self, node: ast.expr, variables: Variables, lanes: int) -> Any:
        """Return an expression's value for some lanes."""

        def of(part: ast.expr) -> Any:
            return self.value(part, variables, lanes)

        match node:
            case ast.Constant(value) if type(value) in (int, float):
                return value
            case ast.Name(name):
                return self.name(name, variables)
            case ast.Attribute(part, "shape") if type(array := of(part)) in _ARRAYS:
                return array.shape
            case ast.Subscript(part, index):
                if not isinstance(index, ast.Tuple):
                    return self.element(of(part), [of(index)], lanes)
                if type(array := of(part)) not in (*_ARRAYS, _Rows):
                    raise LeftToPython
                return self.element(array, list(map(of, index.elts)), lanes)
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return self.binary(_OPERATORS[type(op)], of(left), of(right), lanes)
            case ast.UnaryOp(ast.USub(), part):
                return self.binary("*", -1, of(part), lanes)
            case ast.UnaryOp(ast.Not(), part):
                return ~_truth(of(part), lanes)
            case ast.BoolOp(op, parts):
                combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return reduce(combine, (_only_bools(of(part)) for part in parts))
            case ast.Compare(left, ops, rights) if all(type(op) in _COMPARISONS for op in ops):
                sides = [_ints(of(part), lanes) for part in (left, *rights)]
                each = (_COMPARISONS[type(op)](*sides[i : i + 2]) for i, op in enumerate(ops))
                return reduce(np.logical_and, each)
            case ast.IfExp(test, then, otherwise):
                return self.chosen(_truth(of(test), lanes), then, otherwise, variables, lanes)
            case ast.Call(ast.Name(name), [argument], []) if is_sum(node) and self.name(name, variables) is sum:
                return self.sum(self.lists(argument, variables, lanes), lanes)
            case ast.Call(ast.Name(name), arguments, []):
                return _called(self.name(name, variables), list(map(of, arguments)), lanes)
            case ast.ListComp():
                return self.lists(node, variables, lanes)
        raise LeftToPython

    def name(self, name: str, variables: Variables) -> Any:
        if name in variables:
            return variables[name]
        if name not in self.asked.bound:
            for names in (self.known, self.environment, vars(builtins)):
                if name in names:  # the first that has it, whatever it is there
                    if isinstance(names[name], np.ndarray) and not isinstance(names[name], DataArray):
                        break
                    return names[name]
        raise LeftToPython

    # -- comprehensions -------------------------------------------------------------------------------------

    def lists(self, node: ast.expr, variables: Variables, lanes: int) -> _Lists:
        """Return the list that each lane makes."""
        assert isinstance(node, ast.ListComp | ast.GeneratorExp)
        parents, inside = np.arange(lanes), lanes
        targets = (part for generator in node.generators for part in ast.walk(generator.target))
        own = {part.id for part in targets if isinstance(part, ast.Name)}  # of an outer variable, the first `for` only
        for generator in node.generators:
            variables, origin = self.over(generator, variables, inside, own)
            own = set()
            parents, inside = parents[origin], len(origin)
            for test in generator.ifs:
                kept = np.flatnonzero(_truth(self.value(test, variables, inside), inside))
                variables, parents, inside = _all_taken(variables, kept), parents[kept], len(kept)
        element = _spread(self.value(node.elt, variables, inside), inside)
        return _Lists(np.bincount(parents, minlength=lanes), element)

    def over(
        self, generator: ast.comprehension, variables: Variables, lanes: int, hidden: set[str]
    ) -> tuple[Variables, Ids]:
        """Return the variables of the lanes that one `for` makes, and the lane that each of them comes from.

        Those that are `hidden` are seen by what it goes over only.
        """
        sizes, elements = self.iterated(generator.iter, variables, lanes)
        total = int(sizes.sum())
        if total > MOST_LANES or generator.is_async:
            raise LeftToPython
        origin = np.repeat(np.arange(lanes), sizes)
        places = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        variables = _all_taken({name: value for name, value in variables.items() if name not in hidden}, origin)
        self.bind(generator.target, elements(origin, places), variables)
        return variables, origin

    def bind(self, target: ast.expr, value: Any, variables: Variables) -> None:
        match target:
            case ast.Name(name) if type(value) is not tuple:
                variables[name] = value
            case ast.Tuple(parts) if type(value) is tuple and len(value) == len(parts):
                for part, each in zip(parts, value, strict=True):
                    self.bind(part, each, variables)
            case _:
                raise LeftToPython

    def iterated(self, node: ast.expr, variables: Variables, lanes: int) -> tuple[Ids, Callable[[Ids, Ids], Any]]:
        """Return how many elements an iterable has in each lane, and a function from lanes and places to elements."""
        match node:
            case ast.Call(ast.Name(name), arguments, []) if arguments:
                function = self.name(name, variables)
                if function is range and len(arguments) <= 3:
                    return _ranges([_ints(self.value(a, variables, lanes), lanes) for a in arguments])
                if function is zip or (function is enumerate and len(arguments) == 1):
                    parts = [self.iterated(argument, variables, lanes) for argument in arguments]
                    sizes = reduce(np.minimum, (size for size, _ in parts))
                    if function is zip:
                        return sizes, lambda origin, places: tuple(each(origin, places) for _, each in parts)
                    return sizes, lambda origin, places: (places, parts[0][1](origin, places))
                raise LeftToPython
        array = self.value(node, variables, lanes)
        if type(array) not in (*_ARRAYS, _Rows, list):
            raise LeftToPython
        size = len(array) if isinstance(array, list) else array.shape[0]
        return np.full(lanes, size), lambda origin, places: self.element(_taken(array, origin), [places], len(origin))

    def sum(self, lists: _Lists, lanes: int) -> Any:
        """Return the sum of each list; that of an empty one is the number 0."""
        sizes, elements = lists.sizes, lists.elements
        ends = np.cumsum(sizes)
        if not isinstance(elements, _Data):
            sums = np.concatenate([[0], np.cumsum(_ints(elements, int(sizes.sum())))])
            return _checked(sums[ends] - sums[ends - sizes])
        ids = np.full(lanes, self.terms.const(0))
        numbers, floats = sizes == 0, np.zeros(lanes, bool)
        for size in set(sizes.tolist()) - {0}:
            those = np.flatnonzero(sizes == size)
            cells = (ends[those] - size)[:, None] + np.arange(size)
            ids[those] = apply_rows(self.terms, "+", elements.ids[cells])
            if elements.ints is not None:
                numbers[those] = elements.ints[cells].all(axis=1)
            if elements.floats is not None:
                floats[those] = elements.floats[cells].any(axis=1)
        return _of_numbers(ids, numbers, floats & numbers)

    # -- elements and operators -----------------------------------------------------------------------------

    def element(self, value: Any, indices: Sequence[Any], lanes: int) -> Any:
        if type(value) is tuple and len(indices) == 1 and type(indices[0]) is int:
            return value[_wrapped(indices[0], len(value))]
        if type(value) in (list, tuple):
            return self.listed(value, indices, lanes)
        if type(value) in _ARRAYS and value.shape:
            value = _Rows(value, value.shape, np.full(lanes, getattr(value, "offset", 0)))
        if type(value) is not _Rows or len(indices) > len(value.shape):
            raise LeftToPython
        shape, offsets = value.shape, value.offsets
        for index in indices:
            size, *rest = shape
            shape = tuple(rest)
            offsets = offsets + _wrapped(_ints(index, lanes), size) * int(np.prod(shape, dtype=object))
        if shape:
            return _Rows(value.array, shape, offsets)
        return _Data(self.terms_at(value.array, offsets))

    def terms_at(self, array: SymbolicArray | DataArray, offsets: Ids) -> Ids:
        """Return the terms of some elements; those of an array of data must all be data."""
        count = int(offsets.max(initial=-1)) + 1
        there = np.zeros(count, bool)
        there[offsets] = True
        used = np.flatnonzero(there)
        of = np.zeros(count, np.int64)
        if isinstance(array, DataArray):
            values = cells(array).reshape(-1)[used].tolist()
            if not all(type(value) is Datum for value in values):
                raise LeftToPython
            of[used] = [_term(value) for value in values]
        elif len(used) * 2 > count:
            of = np.array(self.terms.atoms(array.name, count), np.int64)
        else:
            of[used] = [self.terms.atom(array.name, place) for place in used.tolist()]
        return of[offsets]

    def listed(self, values: Sequence[Any], indices: Sequence[Any], lanes: int) -> Any:
        """Return elements of a list or tuple of ints, or of data and numbers."""
        if len(indices) != 1:
            raise LeftToPython
        at = _wrapped(_ints(indices[0], lanes), len(values))
        kinds = set(map(type, values))
        if kinds == {int}:
            return _checked(_ints(np.array(values), len(values)))[at]
        if not values or not kinds <= {int, Datum}:
            raise LeftToPython
        ids = [_term(value) if type(value) is Datum else self.terms.const(value) for value in values]
        return _Data(
            np.array(ids)[at], np.array([type(value) is int for value in values])[at] if int in kinds else None
        )

    def data(self, value: Any, lanes: int) -> _Data:
        """Return data, or the numbers that it is computed with, as data."""
        const = self.terms.const
        if type(value) is _Data:
            return value
        if type(value) is Datum:
            return _Data(np.full(lanes, _term(value)))
        if type(value) in (int, float):
            return _of_numbers(np.full(lanes, const(value)), np.full(lanes, True), np.full(lanes, type(value) is float))
        numbers, inverse = np.unique(_ints(value, lanes), return_inverse=True)
        return _Data(np.array([const(number) for number in numbers.tolist()], np.int64)[inverse], np.full(lanes, True))

    def binary(self, op: str, left: Any, right: Any, lanes: int) -> Any:
        if type(left) in (_Data, Datum) or type(right) in (_Data, Datum):
            return self.of_data(op, self.data(left, lanes), self.data(right, lanes))
        if op not in _ON_INTS:
            raise LeftToPython
        if type(left) is int and type(right) is int:
            if op in ("//", "%") and right == 0:
                raise LeftToPython
            return _ON_INTS[op](left, right)
        x, y = _ints(left, lanes), _ints(right, lanes)
        if op in ("//", "%") and not y.all():
            raise LeftToPython
        return _checked(_ON_INTS[op](x, y))

    def of_data(self, op: str, a: _Data, b: _Data) -> _Data:
        numbers = None if a.ints is None or b.ints is None else a.ints & b.ints
        if numbers is not None and not numbers.any():
            numbers = None
        if numbers is not None and (op not in ("+", "-", "*") or a.floats is not None or b.floats is not None):
            raise LeftToPython  # Python rounds
        second = b.ids
        if op == "-":
            op, second = "+", apply_pairs(self.terms, "*", np.full_like(second, self.terms.const(-1)), second)
        return _Data(apply_pairs(self.terms, op, a.ids, second), numbers)

    def chosen(self, test: Bools, then: ast.expr, otherwise: ast.expr, variables: Variables, lanes: int) -> Any:
        """Return one of two values a lane; each is computed where it is chosen only."""
        parts = [(np.flatnonzero(test), then), (np.flatnonzero(~test), otherwise)]
        parts = [part for part in parts if len(part[0])]
        if not parts:
            raise LeftToPython
        values = [self.value(node, _all_taken(variables, at), len(at)) for at, node in parts]
        if len(parts) == 1:
            return values[0]
        if all(type(value) is int or isinstance(value, np.ndarray) for value in values):
            found = np.zeros(lanes, np.int64)
            for (at, _), value in zip(parts, values, strict=True):
                found[at] = _ints(value, len(at))
            return found
        ids, numbers, floats = np.zeros(lanes, np.int64), np.zeros(lanes, bool), np.zeros(lanes, bool)
        for (at, _), value in zip(parts, values, strict=True):
            if type(value) is float and not (value.is_integer() and str(value) != "-0.0"):
                raise LeftToPython  # numbers that are not whole are Python's to add up
            data = self.data(value, len(at))
            ids[at] = data.ids
            numbers[at] = False if data.ints is None else data.ints
            floats[at] = False if data.floats is None else data.floats
        if floats.any():
            used = distinct_terms(self.terms, ids[numbers])
            if any(abs(self.terms.nodes[term][1][0]) >= _LARGE for term in used):
                raise LeftToPython  # a sum of so many may round
        return _of_numbers(ids, numbers, floats)


_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_ON_INTS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def _of_numbers(ids: Ids, numbers: Bools, floats: Bools) -> _Data:
    """Return terms, with the lanes that have numbers and floats, if any do."""
    return _Data(ids, numbers if numbers.any() else None, floats if floats.any() else None)


def _checked(ints: Ids) -> Ids:
    """Return integers if all are so small that no product of two of them wraps."""
    if np.abs(ints).max(initial=0) >= _LARGE:
        raise LeftToPython
    return ints


def _ints(value: Any, lanes: int) -> Ids:
    """Return an integer a lane."""
    if type(value) is int and abs(value) < _LARGE:
        return np.full(lanes, value)
    if isinstance(value, np.ndarray) and value.dtype == np.int64:
        return value
    raise LeftToPython


def _only_bools(value: Any) -> Bools:
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return value
    raise LeftToPython


def _truth(value: Any, lanes: int) -> Bools:
    """Return whether each lane's bool or int is true."""
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return value
    return np.not_equal(_ints(value, lanes), 0)


def _wrapped(index: Any, size: int) -> Any:
    """Return indices counted from the start."""
    if np.any(index < -size) or np.any(index >= size):
        raise LeftToPython
    return index + size * (index < 0)


def _ranges(bounds: Sequence[Ids]) -> tuple[Ids, Callable[[Ids, Ids], Any]]:
    """Return how long ranges are, and a function from lanes and places to elements."""
    start = np.zeros_like(bounds[0]) if len(bounds) == 1 else bounds[0]
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    step = bounds[2] if len(bounds) == 3 else np.ones_like(start)
    if not step.all():
        raise LeftToPython
    sizes = np.maximum((stop - start + step - np.sign(step)) // step, 0)
    return sizes, lambda origin, places: _checked(start[origin] + step[origin] * places)


def _called(function: Any, values: list[Any], lanes: int) -> Any:
    """Return a function of Python's that ints or arrays are given."""
    if function is len and len(values) == 1:
        if type(values[0]) in (*_ARRAYS, _Rows):
            return values[0].shape[0]
        if type(values[0]) in (list, tuple):
            return len(values[0])
    if function in (min, max) and len(values) > 1:
        return reduce(np.minimum if function is min else np.maximum, (_ints(value, lanes) for value in values))
    if function is abs and len(values) == 1:
        return np.abs(_ints(values[0], lanes))
    raise LeftToPython


def _term(value: Datum) -> Term:
    """Return the term of data that is of the type of its elements."""
    if value.kind is not None:
        raise LeftToPython
    return value.term


def _spread(value: Any, lanes: int) -> Any:
    """Return what all lanes share as one int a lane, if it is an int."""
    return _ints(value, lanes) if type(value) is int else value


def _taken(value: Any, lanes: Ids) -> Any:
    """Return a value for some of its lanes."""
    match value:
        case np.ndarray():
            return value[lanes]
        case _Data(ids, ints, floats):
            return _Data(ids[lanes], None if ints is None else ints[lanes], None if floats is None else floats[lanes])
        case _Rows(array, shape, offsets):
            return _Rows(array, shape, offsets[lanes])
    return value


def _all_taken(variables: Variables, lanes: Ids) -> Variables:
    return {name: _taken(value, lanes) for name, value in variables.items()}
