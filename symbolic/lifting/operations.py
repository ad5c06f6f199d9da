"""Python's operators on what a variable may hold: numbers, unions, lists, tuples, records, alternatives, and objects
whose classes say themselves what an operator is.

Each operation gets the path on which it runs (`PathSite`). Where Python would raise an exception, an obligation is
noted. Values are not computed for alternatives that the path excludes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, total_ordering
from math import prod
from numbers import Number as AnyNumber
from types import FunctionType
from typing import Any, Final

from symbolic.core.obligations import on_path
from symbolic.core.structures import fields_of, has_fields
from symbolic.core.value_types import BitVector, Boolean, Integer, Real, describe
from symbolic.errors import SwizzleError
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import Part, gathered, guard_of, merge, same, truth_value
from symbolic.lifting.states import Dead, PathSite
from symbolic.lifting.values import (
    DIRECT,
    FOREIGN,
    Alternatives,
    Items,
    SymbolicRange,
    as_bits,
    as_integer,
    bounds_of,
    inward,
    is_data,
    is_plain,
    kind_of,
    note_bounds,
    outward,
    parts_inside,
    shape_of,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "/": operator.truediv, "@": operator.matmul,
}  # fmt: skip
MOST_PAIRS: Final = 20_000
"""Of more pairs of alternatives, formulas are made."""
FAILURES: Final = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""What Python raises where a value does not fit: on a path, the condition of which must not hold then."""

THEIRS: Final = frozenset({FOREIGN})
_FUNCTOOLS: Final = total_ordering.__code__.co_filename

Number = int | Boolean | Integer | BitVector | Real | Fraction | Union
Symbolic = Integer | BitVector | Real | Union
"""Numbers that Python does not know."""


def spread(site: PathSite, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `function(site, *arguments)` gives for each alternative of the arguments, merged."""
    for position, argument in enumerate(arguments):
        if isinstance(argument, Alternatives):

            def with_part(at: PathSite, part: Any, position: int = position) -> Any:
                return spread(at, function, *arguments[:position], part, *arguments[position + 1 :])

            return for_all(site, argument.parts, with_part)
    return function(site, *arguments)


def for_all(site: PathSite, parts: Sequence[Part], function: Callable[[PathSite, Any], Any]) -> Any:
    """Return the function of each part, merged; a part that fails leaves its path. Parts exclude each other: of a path
    that says which one it is, as behind an `isinstance`, the others are not asked."""
    results: list[Part] = []
    narrowed = [(guard, part, site.narrowed(guard)) for guard, part in parts]
    for _, part, inner in narrowed:
        if inner.path == site.path:
            return function(inner, part)
    for guard, part, inner in narrowed:
        if inner.path != FALSE:
            try:
                results.append((guard, function(inner, part)))
            except Dead:
                continue
    if not results:
        raise Dead
    return merge(results)


def parts_of(value: Any) -> list[Part]:
    """Return the ints of a union with their guards; of any other value, itself."""
    return [(guard, number) for number, guard in value.values.items()] if isinstance(value, Union) else [(TRUE, value)]


def attempt(site: PathSite, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what Python computes of plain values; what it would raise must not happen on this path."""
    for argument in arguments:
        site.budget.measure(argument, parts_inside, site.where)
        if isinstance(argument, SymbolicRange):
            raise SwizzleError(
                "a range whose length depends on a condition", place=site.where(), expected="one of a known length",
                fix="loop over it, `for i in range(n)`; its length is max(n, 0)",
            )  # fmt: skip
    try:
        return inward(function(*map(outward, arguments)), THEIRS)
    except FAILURES as error:
        if isinstance(error, TypeError | AttributeError) and not all(map(is_plain, arguments)):
            raise SwizzleError(
                str(error), place=site.where(), expected="values that Python computes with", fix="write it with numbers"
            ) from error  # fmt: skip
        site.fail(f"{type(error).__name__}: {error}")


def native(site: PathSite, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a function that is not lifted, from this path."""
    given = [outward(argument) for argument in arguments]
    named = {name: outward(argument) for name, argument in keywords.items()}
    before = [_inside(argument) for argument in given]
    called = getattr(function, "__name__", type(function).__name__)
    try:
        with on_path(site.here):
            result = function(*given, **named)
    except SwizzleError as error:
        if error.place is not None:
            raise
        fix = ""
        if "truth value" in error.found or "cannot index" in error.found:
            code = function.__code__ if isinstance(function, FunctionType) else None
            if code is not None and code.co_filename == _FUNCTOOLS:
                fix = f"define {called} in the class: what functools.total_ordering makes of it is not lifted"
            else:
                fix = f"put @lifted above {called}" if code else f"write what {called} does in the lifted function"
        raise SwizzleError(
            f"in {called}: {error.found}", place=site.where(), expected=error.expected, fix=fix or error.fix
        ) from None
    except FAILURES as error:
        if isinstance(error, TypeError | AttributeError) and not all(map(is_plain, [*given, *named.values()])):
            shown = ", ".join(describe(each) for each in [*given, *named.values()] if not is_plain(each))
            raise SwizzleError(
                f"in {called}: {error}", place=site.where(), expected=f"a function that takes {shown}",
                fix=f"put @lifted above {called}, or write it with the values' own operators",
            ) from error  # fmt: skip
        site.fail(f"{type(error).__name__}: {error}")
    except Exception as error:  # a user's own, or a failed `assert`
        if site.path == TRUE or site.budget.limited or type(error).__module__.startswith(("symbolic.", "swizzle.")):
            raise
        if not all(map(is_plain, [*given, *named.values()])):
            raise SwizzleError(
                f"in {called}: {type(error).__name__}: {error}", place=site.where(), expected="a function that returns",
                fix=f"put @lifted above {called}",
            ) from error  # fmt: skip
        site.fail(f"{type(error).__name__}: {error}")
    if isinstance(result, Iterator):
        raise SwizzleError(
            f"{called} gives an iterator, which is used up by the first who reads it", place=site.where(),
            expected="a list", fix="a comprehension, with as many `for` as there are sequences",
        )  # fmt: skip
    for old, new in zip(before, given, strict=True):
        now = _inside(new)
        if len(old) != len(now) or any(a is not b for a, b in zip(old, now, strict=True)):
            kind = "list" if isinstance(new, list) else "record"
            raise SwizzleError(
                f"{called} changes the {kind} that it is given", place=site.where(),
                expected="a function that returns", fix=f"put @lifted above {called}, and return the new {kind}",
            )  # fmt: skip
    return inward(result, THEIRS)


def _inside(argument: Any) -> list[Any]:
    """Return what a function that is not lifted might change of an argument."""
    if isinstance(argument, list):
        return [*argument]
    return [*fields_of(argument).values()] if has_fields(argument) else []


# ---- arithmetic ------------------------------------------------------------------------------------------------


def binary(site: PathSite, symbol: str, a: Any, b: Any) -> Any:
    """Return `a symbol b`."""
    return spread(site, partial(_binary, symbol), a, b)


def _binary(symbol: str, site: PathSite, a: Any, b: Any) -> Any:
    if symbol in "&|^" and isinstance(a, bool | Boolean) and isinstance(b, bool | Boolean):
        return _logical(symbol, a, b)
    a, b = as_number(a), as_number(b)
    if site.budget.limited:
        _check_sizes(site, symbol, a, b)
    if type(a) in (int, Union) and type(b) in (int, Union):
        found = _pairwise(site, ARITHMETIC[symbol], a, b)
        if found is not None:
            return found
    sequences = _sequence_operation(site, symbol, a, b)
    if sequences is not None:
        return sequences
    if isinstance(a, Symbolic) or isinstance(b, Symbolic):
        return _symbolic(site, symbol, a, b)
    if is_plain(outward(a)) and is_plain(outward(b)):
        return attempt(site, ARITHMETIC[symbol], a, b)
    return native(site, ARITHMETIC[symbol], [a, b], {})


def _check_sizes(site: PathSite, symbol: str, a: Any, b: Any) -> None:
    """Refuse what a stranger's text must not make: ints and lists that are too large, arrays of two shapes in one."""
    budget = site.budget
    if type(a) in (int, Union) and type(b) in (int, Union):
        (low, high), (least, most) = bounds_of(a), bounds_of(b)
        budget.check_operation(symbol, int(max(abs(low), abs(high))), int(max(abs(least), abs(most))), site.where)
        return
    if symbol in ("<<", "**") and type(b) is int:  # of what is symbolic
        budget.check_operation("<<", 1, b, site.where)
    sequences = [each for each in (a, b) if isinstance(each, Items | tuple)]
    numbers = [each for each in (a, b) if type(each) in (int, Union)]
    if len(sequences) == 2 and symbol == "+" and isinstance(a, Items) == isinstance(b, Items):
        budget.check_length(len(a) + len(b), site.where)
    elif len(sequences) == 1 and len(numbers) == 1 and symbol == "*":
        budget.check_length(len(sequences[0]) * int(bounds_of(numbers[0])[1]), site.where)
    elif sequences or any(isinstance(each, range | str) for each in (a, b)):
        raise SwizzleError(
            "arithmetic on a list", place=site.where(), expected="list + list, or list * int",
            fix="write a comprehension",
        )  # fmt: skip
    shapes = [shape for shape in (shape_of(a), shape_of(b)) if shape]
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        raise SwizzleError(
            f"arithmetic on arrays of shapes {shapes[0]} and {shapes[1]}", place=site.where(), expected="equal shapes",
            fix="write a loop over their elements",
        )  # fmt: skip
    for shape in shapes:
        budget.spend(prod(shape), site.where)


def as_number(value: Any) -> Any:
    """Return a condition as the 0 or 1 that it is in Python's arithmetic, a whole number of NumPy's as an int."""
    if isinstance(value, Boolean):
        guard = conditions().guard(value.formula)
        return gathered([(guard, 1), (-guard, 0)])
    if DIRECT[type(value)] and getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u"):
        return int(value)  # NumPy's
    return int(value) if isinstance(value, bool) else value


def _logical(symbol: str, a: Any, b: Any) -> bool | Boolean:
    table = conditions()
    p, q = guard_of(a), guard_of(b)
    match symbol:
        case "&":
            found = table.both(p, q)
        case "|":
            found = table.either(p, q)
        case _:
            found = -same(p, q)
    return truth_value(table, found)


def _pairwise(site: PathSite, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return the function of two ints, or of each pair of alternatives; None where there are too many pairs."""
    if type(a) is int and type(b) is int:
        return attempt(site, function, a, b)
    left, right = parts_of(a), parts_of(b)
    if len(left) * len(right) > MOST_PAIRS:
        return None
    results: list[Part] = []
    for guard, x, y in pairs(site, left, right):
        try:
            results.append((guard, attempt(site.narrowed(guard), function, x, y)))
        except Dead:
            continue
    if not results:
        raise Dead
    if all(type(value) is int for _, value in results):
        return gathered(results)
    return merge(results)


def pairs(site: PathSite, left: list[Part], right: list[Part]) -> Iterator[tuple[Guard, Any, Any]]:
    table = conditions()
    for g, x in left:
        for h, y in right:
            guard = table.both(g, h)
            if guard != FALSE and table.both(site.path, guard) != FALSE:
                yield guard, x, y


def _sequence_operation(site: PathSite, symbol: str, a: Any, b: Any) -> Any:
    if symbol == "+" and isinstance(a, Items) and isinstance(b, Items):
        return Items.new(a.items + b.items)
    if symbol == "+" and type(a) is tuple and type(b) is tuple:
        return a + b
    if symbol == "*" and isinstance(b, Items | tuple) and isinstance(a, int | Union):
        a, b = b, a
    if symbol == "*" and isinstance(a, Items | tuple) and isinstance(b, int | Union):
        items = a.items if isinstance(a, Items) else a
        make = Items.new if isinstance(a, Items) else tuple
        return for_all(site, parts_of(b), lambda _, times: make(items * times))
    return None


def _symbolic(site: PathSite, symbol: str, a: Any, b: Any) -> Any:
    if symbol in ("<<", ">>", "**") and isinstance(b, Union) and not isinstance(a, BitVector):
        return for_all(site, parts_of(b), lambda at, count: binary(at, symbol, a, count))
    a, b = one_kind(a, b)
    exact = symbol == "/" and (isinstance(a, Real | Fraction) or isinstance(b, Real | Fraction))
    if (exact or symbol in ("//", "%")) and isinstance(b, Integer | BitVector | Real):
        site.require(-conditions().guard((b == 0).formula), f"division by zero: `{symbol}`")
    if (exact or symbol in ("//", "%")) and isinstance(b, int | Fraction) and b == 0:
        site.fail(f"division by zero: `{symbol}`")
    if symbol in ("<<", ">>") and isinstance(b, BitVector) and b.signed:
        site.require(-conditions().guard((b < 0).formula), "a shift by a negative count")
    try:
        found = ARITHMETIC[symbol](a, b)
        if symbol == "%" and isinstance(found, Integer) and type(b) is int:
            note_bounds(found, (0, b - 1) if b > 0 else (b + 1, 0))
        return found
    except TypeError:
        raise SwizzleError(
            f"`{symbol}` between {describe(a)} and {describe(b)}", place=site.where(),
            expected="operands that have it: `&` `|` `^` are for bit-vectors and conditions",
            fix="sum(a * b for a, b in zip(xs, ys))" if symbol == "@" else "bitvector(name, width)",
        ) from None  # fmt: skip


def one_kind(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two numbers with a union among them as what the other one is."""
    if isinstance(a, Union):
        a = as_bits(a, b) if isinstance(b, BitVector) else as_integer(a)
    if isinstance(b, Union):
        b = as_bits(b, a) if isinstance(a, BitVector) else as_integer(b)
    return a, b


def unary(site: PathSite, symbol: str, value: Any) -> Any:
    """Return `symbol value`."""
    return spread(site, partial(_unary, symbol), value)


def _unary(symbol: str, site: PathSite, value: Any) -> Any:
    if symbol == "~" and isinstance(value, bool | Boolean):
        raise SwizzleError(
            "`~` of a condition, which Python takes for a number", place=site.where(), expected="`not`", fix="not ..."
        )
    table: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
    function = table[symbol]
    value = value if DIRECT[type(value)] else as_number(value)  # words of NumPy wrap
    if isinstance(value, Union):
        return gathered([(guard, function(number)) for guard, number in parts_of(value)])
    if isinstance(value, Symbolic):
        return function(value)
    if site.budget.limited and parts_inside(value) is not None:
        raise SwizzleError(f"{kind_of(value)} where a number is needed", expected="a number", fix="a loop")
    return attempt(site, function, value) if is_plain(outward(value)) else native(site, function, [value], {})


UNSAID: Final = object()
"""What no class says."""


def own_method(value: Any, name: str) -> Callable[..., Any] | None:
    """Return a method that a user wrote in the class of a value, not one that Python or `dataclass` made."""
    kind = type(value)
    if DIRECT[kind] or isinstance(value, Number) or kind.__module__.startswith("symbolic."):
        return None
    method = getattr(kind, name, None)
    if not isinstance(method, FunctionType):
        return method if hasattr(method, "closure") else None
    return None if method.__code__.co_filename == "<string>" else method


def asked(site: PathSite, name: str, value: Any, *others: Any) -> Any:
    """Return what a value's own method says, run as Python does; `UNSAID` where there is none."""
    method = None if site.budget.limited else own_method(value, name)
    if method is None:
        return UNSAID
    found = native(site, method, [value, *others], {})
    return UNSAID if found is NotImplemented else found


def is_foreign_number(value: Any) -> bool:
    """Tell whether a value is a number for Python, but none that solvers know: a float, a decimal, NumPy's."""
    return not isinstance(value, Number) and (isinstance(value, AnyNumber) or is_data(type(value)))


def has_elements(value: Any) -> bool:
    """Tell whether Python runs over a value."""
    return not isinstance(value, Number) and hasattr(type(value), "__iter__")


def elements_of(site: PathSite, value: Any) -> Any:
    """Return the elements of a set, of bytes, of a view of a dict, of a user's object: whatever Python runs over."""
    if isinstance(value, Iterator):
        raise SwizzleError(
            f"a loop over {type(value).__name__}, which is used up by the first who reads it", place=site.where(),
            expected="a list", fix="list(...), outside of the function",
        )  # fmt: skip
    method = own_method(value, "__iter__")
    return native(site, lambda each: list(each if method is None else method(each)), [value], {})


def stores_only(kind: type) -> bool:
    """Tell whether making an instance does nothing but keep the fields."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    code = getattr(getattr(kind, "__init__", None), "__code__", None)
    generated = code is not None and code.co_filename == "<string>"
    return parameters is not None and generated and not hasattr(kind, "__post_init__")
