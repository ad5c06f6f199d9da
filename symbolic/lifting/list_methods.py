"""What methods of lists do in a lifted function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from symbolic.errors import SwizzleError
from symbolic.lifting import comparisons, operations, sequences
from symbolic.lifting.budget import COMPARISON
from symbolic.lifting.builtins import HANDLED, Caller, Handler, fixed
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import gathered, truth_value
from symbolic.lifting.states import Dead, PathSite
from symbolic.lifting.values import Items, parts_inside
from symbolic.values.guard import FALSE, TRUE, Guard


def _popped(site: PathSite, xs: Items, index: Any = -1) -> tuple[Items, Any]:
    value = sequences.read(site, xs, index)
    if type(index) is not int:
        raise SwizzleError(
            "pop at an index that depends on a condition", expected="a number",
            fix="x = xs[i]; xs = xs[:i] + xs[i + 1:]",
        )  # fmt: skip
    place = index % len(xs)
    return xs.edited(place, place + 1, ()), value


def _inserted(_: PathSite, xs: Items, index: Any, value: Any) -> tuple[Items, Any]:
    if type(index) is not int:
        raise SwizzleError(
            "insert at an index that depends on a condition", expected="a number", fix="xs[:i] + [x] + xs[i:]"
        )
    place = range(len(xs) + 1)[slice(index, None)].start
    return xs.edited(place, place, (value,)), None


def _extended(site: PathSite, xs: Items, more: Any) -> tuple[Items, Any]:
    if not isinstance(more, Items | tuple):
        raise SwizzleError(
            "extend by something else than one list or tuple", expected="a list of a known length",
            fix="for x in more: xs.append(x)",
        )  # fmt: skip
    site.budget.check_length(len(xs) + len(more), site.where)
    return xs.edited(len(xs), len(xs), more.items if isinstance(more, Items) else more), None


LIST_CHANGES: Final[dict[str, Callable[..., tuple[Items, Any]]]] = {
    "append": lambda _, xs, value: (xs.edited(len(xs), len(xs), (value,)), None),
    "pop": _popped,
    "insert": _inserted,
    "extend": _extended,
    "clear": lambda _, xs: (Items((), xs.names), None),
    "reverse": lambda _, xs: (Items(xs.items[::-1], xs.names), None),
}
"""What changes a list: the site, the list and the arguments to the list after it and the call's value."""


@fixed(2, 2)
def _count(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    xs, value = arguments
    site.budget.spend(COMPARISON * len(xs), site.where)
    found: Any = 0
    for item in parts_inside(xs) or ():
        found = operations.binary(site, "+", found, truth_value(conditions(), comparisons.equal(site, item, value)))
    return found


@fixed(2, 2)
def _index(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    xs, value = arguments
    site.budget.spend(COMPARISON * len(xs), site.where)
    table, found, missing = conditions(), list[tuple[Guard, int]](), TRUE
    for place, item in enumerate(parts_inside(xs) or ()):
        here = table.both(missing, comparisons.equal(site, item, value))
        missing = table.both(missing, -here)
        found.append((here, place))
    site.require(-missing, "ValueError: index of an element that is not there")
    found = [(guard, place) for guard, place in found if guard != FALSE]
    if not found:
        raise Dead
    return gathered(found)


LIST_METHODS: Final[dict[str, Handler]] = {"copy": HANDLED[list], "count": _count, "index": _index}
"""What changes nothing."""
