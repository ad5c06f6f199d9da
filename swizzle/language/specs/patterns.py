"""Patterns as functions of Python: `map(f, x)`, `reduce(f, x, start)`, `split(n, x)`, ...

One function written with them is three things: plain Python on lists and NumPy's arrays, the specification of a sketch,
and, called on names, the expression that a derivation starts from.

    >>> def dot(u, v):
    ...     return reduce(add, map(mul, u, v), 0)
    >>> dot([1, 2, 3], [4, 5, 6])
    32
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, get_args

from swizzle.language.specs.traced import TracedValue, lifted, tracer, user_line
from symbolic.errors import SwizzleError
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length
from symbolic.patterns.terms import Boundary, Term, fresh_name, number, substitute, term
from symbolic.patterns.types import ArrayOf, ValueType, same_type

BOUNDARIES: Final = get_args(Boundary)


def add(a: Any, b: Any) -> Any:
    """Return the sum of two numbers."""
    return a + b


def mul(a: Any, b: Any) -> Any:
    """Return the product of two numbers."""
    return a * b


def map(function: Callable[..., Any], *arrays: Any) -> Any:
    """Return what a function makes of each element, or of the elements of several arrays side by side."""
    if not _traced(*arrays):
        _same_lengths("map", arrays)
        return [function(*values) for values in builtins.zip(*arrays, strict=True)]
    made, array = _mapped(function, arrays)
    return tracer().value(t.Map(made, array, label="" if made.name else tracer().label))


def reduce(function: Callable[..., Any], array: Any, start: Any) -> Any:
    """Return all elements combined from the left, beginning with `start`, which may be of another type than they."""
    if not _traced(array):
        _same_lengths("reduce", [array])
        return functools.reduce(function, array, start)
    in_order = isinstance(start, TracedValue) and not same_type(start.kind, _element(array))
    operator = _operator(function, array, start)
    ours = getattr(function, "__module__", "").startswith("swizzle.")
    label = "" if operator.name and not ours else tracer().label
    made = t.Reduce(operator, lifted(start), array.term, "seq" if in_order else "reduce", label)
    return tracer().value(t.Indexed(tracer().value(made).term, number(0)))


def scan(function: Callable[..., Any], array: Any, start: Any) -> Any:
    """Return the reductions of elements 0 to i, for each i."""
    if not _traced(array):
        _same_lengths("scan", [array])
        found, value = [], start
        for each in array:
            value = function(value, each)
            found.append(value)
        return found
    made = t.PrefixScan(_operator(function, array, start), lifted(start), array.term, label=tracer().label)
    return tracer().value(made)


def zip(*arrays: Any) -> Any:
    """Return an array of tuples of the elements of several arrays."""
    if not _traced(*arrays):
        _same_lengths("zip", arrays)
        return list(builtins.zip(*arrays, strict=True))
    return tracer().value(t.Zip(tuple(lifted(each) for each in arrays)))


def split(size: int | str, array: Any) -> Any:
    """Return the chunks of so many elements; the size divides the length."""
    if not _traced(array):
        _same_lengths("split", [array])
        if not isinstance(size, int) or size < 1 or len(array) % size:
            _refuse(f"split of length {len(array)} by {size}", "a size that divides the length")
        return [array[at : at + size] for at in range(0, len(array), size)]
    return tracer().value(t.Split(length(size), array.term))


def join(array: Any) -> Any:
    """Return the elements of all arrays, one after the other."""
    if _traced(array):
        return tracer().value(t.JoinChunks(array.term))
    _same_lengths("join", [array])
    for row in array:
        _same_lengths("join of rows", [row])
    return [each for row in array for each in row]


def transpose(array: Any) -> Any:
    """Return columns as rows."""
    if _traced(array):
        return tracer().value(t.Transpose(array.term))
    _same_lengths("transpose", [array])
    _same_lengths("transpose of rows", array)
    return [list(row) for row in builtins.zip(*array, strict=True)]


def slide(size: int | str, step: int | str, array: Any) -> Any:
    """Return windows of so many elements that begin every `step` elements."""
    if not _traced(array):
        _same_lengths("slide", [array])
        if not isinstance(size, int) or not isinstance(step, int) or min(size, step) < 1:
            _refuse(f"windows of {size!r} every {step!r}", "whole numbers that are at least 1")
        if len(array) < size or (len(array) - size) % step:
            _refuse(f"windows of {size} every {step} in length {len(array)}", "windows that end with the array")
        return [array[at : at + size] for at in range(0, len(array) - size + 1, step)]
    return tracer().value(t.Slide(length(size), length(step), array.term))


def pad(left: int, right: int, boundary: Boundary, array: Any) -> Any:
    """Return an array with elements before and behind: 'clamp', 'mirror', 'wrap' or 'zero'."""
    if boundary not in BOUNDARIES:
        _refuse(f"pad with {boundary!r}", f"one of {', '.join(BOUNDARIES)}")
    if _traced(array):
        return tracer().value(t.PadEnds(left, right, boundary, array.term))
    _same_lengths("pad", [array])
    n = len(array)
    places = range(-left, n + right)
    if boundary == "zero":
        return [array[at] if 0 <= at < n else 0 for at in places]
    folded: Callable[[int], int] = {
        "clamp": lambda at: min(max(at, 0), n - 1), "wrap": lambda at: at % n,
        "mirror": lambda at: -at - 1 if at < 0 else 2 * n - 1 - at if at >= n else at,
    }[boundary]  # fmt: skip
    return [array[folded(at)] for at in places]


def iterate(times: int, function: Callable[[Any], Any], array: Any) -> Any:
    """Return an array to which a function was applied so many times."""
    if not _traced(array):
        return functools.reduce(lambda value, _: function(value), range(times), array)
    return tracer().value(t.Iterate(times, tracer().function(function, [array.kind]), array.term, label=tracer().label))


def reorder(array: Any) -> Any:
    """Return the elements in any order: a derivation may choose it."""
    return tracer().value(t.Reorder(array.term)) if _traced(array) else array


def let(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return a function of a value, which is computed once."""
    if not isinstance(value, TracedValue):
        return function(value)
    made = tracer().function(function, [value.kind])
    return tracer().value(t.Let(made.parameters[0], value.term, made.body))


PATTERN_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (add, iterate, join, let, map, mul, pad, reduce, reorder, scan, slide, split, transpose, zip)
}
"""What a `.swz` file has by these names."""

# ---- of traced values --------------------------------------------------------------------------------------------


def _traced(*values: Any) -> bool:
    return any(isinstance(value, TracedValue) for value in values)


def _element(array: Any) -> ValueType:
    kind = array.kind if isinstance(array, TracedValue) else None
    if not isinstance(kind, ArrayOf):
        _refuse(
            f"a pattern of {'a list' if kind is None else kind}", "an array", "give it an input, or a pattern of one"
        )
    return kind.element


def _mapped(function: Callable[..., Any], arrays: Sequence[Any]) -> tuple[t.Lambda, Term]:
    """Return a function of one element, and the array of what it is applied to."""
    made = tracer().function(function, [_element(each) for each in arrays])
    if len(arrays) == 1:
        return made, arrays[0].term
    zipped = tracer().value(t.Zip(tuple(each.term for each in arrays)))
    name = fresh_name("p", frozenset(tracer().names))
    tracer().names[name] = _element(zipped)
    items = {own: t.Item(t.Variable(name), place) for place, own in enumerate(made.parameters)}
    return t.Lambda((name,), term(substitute(made.body, items)), made.name), zipped.term


def _operator(function: Callable[..., Any], array: Any, start: Any) -> t.Lambda:
    element = _element(array)
    return tracer().function(function, [start.kind if isinstance(start, TracedValue) else element, element])


def _same_lengths(what: str, arrays: Sequence[Any]) -> None:
    for each in arrays:
        if not hasattr(each, "__len__"):
            _refuse(f"{what} of {each!r:.60}", "a list or an array")
    if not len(arrays):
        _refuse(f"{what} without an array", "a list or an array")
    lengths = [len(each) for each in arrays]
    if len(set(lengths)) > 1:
        _refuse(f"{what} of lengths {lengths}", "arrays of one length")


def _refuse(found: str, expected: str, fix: str = "mend the expression, or its inputs") -> NoReturn:
    raise SwizzleError(found, place=user_line()[0], expected=expected, fix=fix)
