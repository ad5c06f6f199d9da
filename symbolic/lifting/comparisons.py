"""Python's tests of what a variable may hold: what counts as true, comparisons, `in` and `is`, each as a guard.

Each gets the path on which it runs (`PathSite`). Where Python would raise an exception, an obligation is noted.
"""

from __future__ import annotations

import ast
import linecache
import math
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from symbolic.core.structures import has_fields
from symbolic.core.value_types import BitVector, Boolean, Integer, Real
from symbolic.errors import Place, SwizzleError
from symbolic.lifting.aliases import only_name
from symbolic.lifting.budget import COMPARISON
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import guard_of, same, truth_value
from symbolic.lifting.operations import (
    MOST_PAIRS,
    UNSAID,
    Number,
    Symbolic,
    as_number,
    asked,
    attempt,
    binary,
    elements_of,
    for_all,
    is_foreign_number,
    one_kind,
    own_method,
    pairs,
    parts_of,
    spread,
)
from symbolic.lifting.states import Dead, PathSite
from symbolic.lifting.values import (
    DIRECT,
    FOREIGN,
    Alternatives,
    Fields,
    IntegerBounds,
    Items,
    SymbolicRange,
    bounds_of,
    inward,
    is_data,
    kind_of,
    said,
    shape_of,
)
from symbolic.solve.floor_division import manager
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

if TYPE_CHECKING:
    from pysmt.fnode import FNode

ORDER: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_METHODS: Final = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
_MIRRORED: Final = {"<": "__gt__", "<=": "__ge__", ">": "__lt__", ">=": "__le__"}


class Noted(Struct, frozen=True):
    """Where a text compares real numbers, and how it says that."""

    place: Place
    text: str


NotedComparisons: TypeAlias = "dict[FNode, Noted]"

_noted: ContextVar[dict[FNode, Noted] | None] = ContextVar("noted comparisons", default=None)
_in_text: ContextVar[ast.expr | None] = ContextVar("the comparison in the text", default=None)


@contextmanager
def noted_comparisons() -> Iterator[NotedComparisons]:
    """Collect the comparisons of real numbers that texts make; no infinity may be among them."""
    noted: dict[FNode, Noted] = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def _note(site: PathSite, formula: FNode, text: str) -> None:
    noted = _noted.get()
    if noted is not None:
        noted.setdefault(formula, Noted(site.where(), text))


def _source(site: PathSite, node: ast.expr) -> str:
    """Return an expression as its text has it, where that is at hand."""
    place = site.where()
    line = linecache.getline(place.file, place.line)
    return line[place.column - 1 : place.end_column - 1] or ast.unparse(node)


def compared_in_text(site: PathSite, node: ast.expr, symbol: str, a: Any, b: Any) -> Guard:
    """Return the guard of a comparison that a text makes, which is noted where somebody collects these."""
    if _noted.get() is None:
        return compare(site, symbol, a, b)
    token = _in_text.set(node)
    try:
        return compare(site, symbol, a, b)
    finally:
        _in_text.reset(token)


def note_inside(site: PathSite, value: Any, text: str) -> None:
    """Note the comparisons of real numbers in what a function gave that ran as it is, with the place of its call."""
    if _noted.get() is None:
        return
    pending = [
        each.formula for each in (value if isinstance(value, tuple | list) else [value]) if hasattr(each, "formula")
    ]
    seen: set[FNode] = set()
    kind = manager().env.stc.get_type
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            if (node.is_equals() or node.is_le() or node.is_lt()) and kind(node.arg(0)).is_real_type():
                _note(site, node, text)
            pending.extend(node.args())


def truth(site: PathSite, value: Any) -> Guard:
    """Return the guard that a value counts as true."""
    table = conditions()
    match value:
        case bool() | Boolean():
            return guard_of(value)
        case Integer() | BitVector() | Real():
            formula = (value == 0).formula
            if isinstance(value, Real):
                _note(site, formula, "whether this number is 0")
            return -table.guard(formula)
        case Union():
            return table.any(guard for guard, number in parts_of(value) if number)
        case Alternatives():
            return guard_of(for_all(site, value.parts, lambda at, part: truth_value(table, truth(at, part))))
        case Items():
            return TRUE if len(value) else FALSE
        case tuple() if type(value) is tuple:
            return TRUE if value else FALSE
        case SymbolicRange(start=start, stop=stop, step=step):
            return compare(site, "<" if step > 0 else ">", start, stop)
    if site.budget.limited and (is_data(type(value)) or shape_of(value)):
        raise SwizzleError(
            f"data-dependent control: this condition is {kind_of(value)}", place=site.where(),
            expected="a condition on ints: sizes, loop variables and constants",
            fix="a specification does not branch on data: choose between two values with where(a < b, x, y); "
            "a < b < c of data is a < b and b < c",
        )  # fmt: skip
    for name in ("__bool__", "__len__"):
        found = asked(site, name, value)
        if found is not UNSAID:
            return truth(site, found)
    return TRUE if attempt(site, bool, value) else FALSE


def compare(site: PathSite, symbol: str, a: Any, b: Any) -> Guard:
    """Return the guard that `a symbol b` holds."""
    match symbol:
        case "==":
            return equal(site, a, b)
        case "!=":
            found = asked(site, "__ne__", a, b)
            return -equal(site, a, b) if found is UNSAID else truth(site, found)
        case "in":
            return _contains(site, b, a)
        case "not in":
            return -_contains(site, b, a)
        case "is" | "is not":
            found = _identical(site, a, b)
            return found if symbol == "is" else -found
    return guard_of(spread(site, partial(_ordered, symbol), a, b))


def equal(site: PathSite, a: Any, b: Any) -> Guard:
    """Return the guard that two values are equal, as Python compares them."""
    table = conditions()
    if site.budget.limited and ((DIRECT[type(a)] and DIRECT[type(b)]) or shape_of(a) or shape_of(b)):
        return truth(site, attempt(site, operator.eq, a, b))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Alternatives):
            return table.any(
                table.both(guard, equal(site.narrowed(guard), part, other)) for guard, part in one.parts
            )  # fmt: skip
    if isinstance(a, bool | Boolean) and isinstance(b, bool | Boolean):
        return same(guard_of(a), guard_of(b))
    a, b = as_number(a), as_number(b)
    if isinstance(a, Number) and isinstance(b, Number):
        return _numbers(site, operator.eq, a, b)
    for one, other in ((a, b), (b, a)):
        found = asked(site, "__eq__", one, other)
        if found is not UNSAID:
            return truth(site, found)
    x, y = (each.items if isinstance(each, Items) else each for each in (a, b))
    if isinstance(x, tuple) and isinstance(y, tuple):
        if isinstance(a, Items) != isinstance(b, Items) or len(x) != len(y):
            return FALSE
        site.budget.spend(COMPARISON * len(x), site.where)
        return table.all(equal(site, p, q) for p, q in zip(x, y, strict=True))
    if isinstance(a, Fields) and isinstance(b, Fields):
        if not a.kind.__dataclass_params__.eq and a.kind.__eq__ is object.__eq__:
            return _identical(site, a, b)
        if own_method(a.record, "__eq__") or own_method(b.record, "__eq__"):
            raise SwizzleError(
                f"records {a.kind.__name__} that change, and compare by an `__eq__` of their own", place=site.where(),
                expected="records that are equal where their fields are", fix="@dataclass without `__eq__`",
            )  # fmt: skip
        a, b = a.record, b.record
    if has_fields(a) and type(a) is type(b):
        if not type(a).__dataclass_params__.eq:
            raise SwizzleError(
                f"two records {type(a).__name__}, which Python compares by identity, and they have none here",
                place=site.where(), expected="records that are equal where their fields are", fix="eq=True",
            )  # fmt: skip
        return table.all(equal(site, p, q) for p, q in zip(_compared(a), _compared(b), strict=True))
    if any(isinstance(each, Symbolic) for each in (a, b)) and any(map(is_foreign_number, (a, b))):
        return _numbers(site, operator.eq, a, b)
    if isinstance(a, Number) or isinstance(b, Number):
        return FALSE if isinstance(a, Symbolic) or isinstance(b, Symbolic) else (
            TRUE if a == b else FALSE
        )  # fmt: skip
    return TRUE if attempt(site, operator.eq, a, b) else FALSE


def _compared(value: Any) -> tuple[Any, ...]:
    """Return the fields by which Python compares a record."""
    return tuple(getattr(value, each.name) for each in fields(value) if each.compare)


def _ordered(symbol: str, site: PathSite, a: Any, b: Any) -> bool | Boolean:
    table = conditions()
    a, b = as_number(a), as_number(b)
    x, y = (each.items if isinstance(each, Items) else each for each in (a, b))
    if isinstance(x, tuple) and isinstance(y, tuple) and isinstance(a, Items) == isinstance(b, Items):
        return truth_value(table, _lexicographic(site, symbol, x, y))
    if isinstance(a, Number) and isinstance(b, Number):
        return truth_value(table, _numbers(site, ORDER[symbol], a, b))
    if any(isinstance(each, Symbolic) for each in (a, b)) and any(map(is_foreign_number, (a, b))):
        return truth_value(table, _numbers(site, ORDER[symbol], a, b))
    for name, one, other in ((_METHODS[symbol], a, b), (_MIRRORED[symbol], b, a)):
        said_so = asked(site, name, one, other)
        if said_so is not UNSAID:
            return truth_value(table, truth(site, said_so))
    a, b = (each.record if isinstance(each, Fields) else each for each in (a, b))
    if has_fields(a) and type(a) is type(b) and type(a).__dataclass_params__.order:
        return truth_value(table, _lexicographic(site, symbol, _compared(a), _compared(b)))
    if isinstance(a, Symbolic) or isinstance(b, Symbolic):
        kinds = [said(each) for each in (a, b)]
        site.fail(f"TypeError: `{symbol}` between {kinds[0]} and {kinds[1]}")
    found = attempt(site, ORDER[symbol], a, b)
    return truth_value(table, truth(site, found)) if site.budget.limited else found


def _numbers(site: PathSite, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Guard:
    if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
        return TRUE if function(a, b) else FALSE
    if type(a) in (int, Union) and type(b) in (int, Union):
        left, right = parts_of(a), parts_of(b)
        if len(left) * len(right) <= MOST_PAIRS:
            holds = [guard for guard, x, y in pairs(site, left, right) if function(x, y)]
            fails = [guard for guard, x, y in pairs(site, left, right) if not function(x, y)]
            return TRUE if not fails else FALSE if not holds else conditions().any(holds)
    text = _in_text.get() if isinstance(a, Real) or isinstance(b, Real) else None
    no_real = [each for each in (a, b) if isinstance(each, float) and not math.isfinite(each)]
    if text is not None and no_real:
        raise SwizzleError(
            f"{_source(site, text)} asks for {'NaN' if math.isnan(no_real[0]) else 'an infinity'}, "
            "and floating-point numbers are taken as real numbers here",
            place=site.where(), expected="a comparison of numbers",
            fix="a bool beside it: some = False before the loop, some = True in it",
        )  # fmt: skip
    decided = _by_bounds(function, bounds_of(a), bounds_of(b))
    if decided is not None:
        return decided
    a, b = one_kind(a, b)
    found = function(a, b)
    if text is not None and isinstance(found, Boolean):
        _note(site, found.formula, _source(site, text))
    if not isinstance(found, Boolean):
        raise SwizzleError(
            f"{said(a)} is compared with {said(b)}", place=site.where(), expected="an int or a Fraction", fix="int(...)"
        )
    return conditions().guard(found.formula)


def _by_bounds(function: Callable[[Any, Any], Any], a: IntegerBounds, b: IntegerBounds) -> Guard | None:
    """Return what a comparison is where the numbers' bounds decide it."""
    (low, high), (least, most) = a, b
    apart = high < least or most < low
    if function is operator.eq:
        return FALSE if apart else None
    found = {function(x, y) for x in (low, high) for y in (least, most)}
    return None if len(found) > 1 else TRUE if found.pop() else FALSE


def _lexicographic(site: PathSite, symbol: str, x: tuple[Any, ...], y: tuple[Any, ...]) -> Guard:
    table = conditions()
    site.budget.spend(COMPARISON + len(x), site.where)
    if not x or not y:
        return TRUE if ORDER[symbol](len(x), len(y)) else FALSE
    alike = equal(site, x[0], y[0])
    rest = FALSE if alike == FALSE else _lexicographic(site, symbol, x[1:], y[1:])
    if alike == TRUE:
        return rest
    strict = symbol.rstrip("=")
    try:
        first = compare(site.narrowed(-alike), strict, x[0], y[0])
    except Dead:
        if alike == FALSE:
            raise
        first = FALSE
    return table.either(table.both(-alike, first), table.both(alike, rest))


def _contains(site: PathSite, sequence: Any, value: Any) -> Guard:
    def found(at: PathSite, sequence: Any) -> bool | Boolean:
        items = sequence.items if isinstance(sequence, Items) else sequence
        if isinstance(items, SymbolicRange):
            return truth_value(conditions(), _within(at, items, value))
        said_so = asked(at, "__contains__", items, value)
        if said_so is not UNSAID:
            return truth_value(conditions(), truth(at, said_so))
        if not at.budget.limited and own_method(items, "__iter__") is not None:
            items = inward(elements_of(at, items)).items
        if isinstance(items, range) and type(value) is int:
            return value in items
        if isinstance(items, range) and max(map(abs, (items.start, items.stop))) > sys.maxsize:  # it has no `len`
            return truth_value(conditions(), _within(at, SymbolicRange(items.start, items.stop, items.step), value))
        if isinstance(items, tuple | range):
            site.budget.spend(COMPARISON * len(items), site.where)
            return truth_value(conditions(), conditions().any(equal(at, value, item) for item in items))
        if isinstance(value, Union | Integer | BitVector) and isinstance(sequence, dict | set | frozenset):
            return truth_value(conditions(), conditions().any(equal(at, value, key) for key in sequence))
        if isinstance(value, Alternatives):
            return spread(at, lambda here, each: truth_value(conditions(), _contains(here, sequence, each)), value)  # type: ignore[no-any-return]
        return attempt(at, lambda: value in sequence)  # type: ignore[no-any-return]

    return guard_of(spread(site, found, sequence))


def _within(site: PathSite, items: SymbolicRange, value: Any) -> Guard:
    """Return the guard that a number is in a range."""
    if not isinstance(as_number(value), int | Union | Integer):
        raise SwizzleError(
            f"{said(value)} is looked for in a range", place=site.where(), expected="an integer", fix="low <= x < high"
        )
    forward = items.step > 0
    first = compare(site, "<=" if forward else ">=", items.start, value)
    last = compare(site, "<" if forward else ">", value, items.stop)
    met = equal(site, binary(site, "%", binary(site, "-", value, items.start), items.step), 0)
    return conditions().all((first, last, met))


def _identical(site: PathSite, a: Any, b: Any) -> Guard:
    names = only_name(a), only_name(b)
    if None not in names and FOREIGN not in names:
        return TRUE if names[0] == names[1] else FALSE
    if not any(each is None or isinstance(each, bool | Enum) for each in (a, b)):
        raise SwizzleError(
            "`is` between values, which have no identity here", place=site.where(), expected="`is None`", fix="=="
        )
    value, wanted = (a, b) if b is None or isinstance(b, bool | Enum) else (b, a)

    def matches(_: PathSite, each: Any) -> bool | Boolean:
        if not isinstance(wanted, bool) or not isinstance(each, bool | Boolean):
            return each is wanted
        return truth_value(conditions(), guard_of(each) if wanted else -guard_of(each))

    return guard_of(spread(site, matches, value))
