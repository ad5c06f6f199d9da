"""The one place where values of several paths become one.

Each path brings its guard; guards are exclusive, and one of them holds. Ints that are few become a union by the
same `merge` as those of the kernel machine (`symbolic.values.union`); tuples, lists of one length and records are
merged element by element; what is of several kinds stays `Alternatives`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from symbolic.core.structures import fields_of, is_record, record
from symbolic.core.value_types import BitVector, Boolean, Integer, Real
from symbolic.errors import SwizzleError
from symbolic.lifting.conditions import Conditions, conditions
from symbolic.lifting.environment import Closure
from symbolic.lifting.values import Alternatives, Fields, Items, SharedName, as_bits, as_integer, list_names
from symbolic.solve.floor_division import manager
from symbolic.values import union as unions
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

if TYPE_CHECKING:
    from pysmt.fnode import FNode

FEW: Final = 256
"""As many different ints stay apart; of more, one formula is made."""

Part = tuple[Guard, Any]


class UnionCount:
    """How many values of several cases were made."""

    made = 0


UNIONS: Final = UnionCount()


def merge(parts: Iterable[Part]) -> Any:
    """Return the value that is the part whose guard holds."""
    table = conditions()
    given = list(_flat(table, parts))
    assert given, "some path is alive"
    first = given[0][1]
    if all(value is first for _, value in given):
        return first
    groups: dict[object, list[Part]] = {}
    for guard, value in given:
        groups.setdefault(kind_to_merge(value), []).append((guard, value))
    _absorb_ints(groups)
    _absorb_into_reals(groups)
    if len(groups) == 1:
        ((what, group),) = groups.items()
        return _merged(table, what, group)
    UNIONS.made += 1
    return Alternatives(
        tuple((table.any(guard for guard, _ in group), _merged(table, what, group)) for what, group in groups.items())
    )


def kind_to_merge(value: Any) -> tuple[Any, ...]:
    """Return what a value has in common with those that it can be merged with."""
    match value:
        case bool() | Boolean():
            return ("truth",)
        case Integer() | Union():
            return ("integer",)
        case BitVector():
            return ("bits", value.width, value.signed)
        case Real() | Fraction():
            return ("real",)
        case Items():
            return ("list", len(value.items))
        case Fields():
            return ("fields", value.kind)
        case SharedName():
            return ("cell",)
        case Closure() if _can_meet(value):
            return ("function", value.code.node, value.instance, tuple(value.captured), list_names(value))
        case tuple():
            return ("tuple", type(value), len(value))
    if type(value) is int:
        return ("integer",)
    if is_record(value):
        return ("record", type(value))
    if type(value) is dict:
        return ("dict", tuple(value))
    try:
        hash(value)
    except (TypeError, SwizzleError):  # no hash, or none of what is in it
        return ("object", id(value))
    return ("plain", type(value), value)


def truth_value(table: Conditions, guard: Guard) -> bool | Boolean:
    """Return a guard as a value."""
    return guard == TRUE if guard in (TRUE, FALSE) else Boolean(table.formula(guard))


def gathered(parts: Sequence[tuple[Guard, int]]) -> int | Union | Integer:
    """Return the int that is the part whose guard holds."""
    found = unions.merge(conditions(), [(guard, Union.single(value)) for guard, value in parts])
    return _settled(found)


def _settled(found: Union) -> int | Union | Integer:
    if found.constant:
        value: int = next(iter(found.values))
        return value
    UNIONS.made += 1
    return found if len(found.values) <= FEW else as_integer(found)


def guard_of(value: bool | Boolean) -> Guard:
    """Return a condition as a guard."""
    return conditions().guard(value.formula) if isinstance(value, Boolean) else TRUE if value else FALSE


def same(p: Guard, q: Guard) -> Guard:
    """Return the guard that two guards are equal."""
    table = conditions()
    if p in (TRUE, FALSE) or q in (TRUE, FALSE):
        return q if p == TRUE else -q if p == FALSE else p if q == TRUE else -p
    return table.either(table.both(p, q), table.both(-p, -q))


def _flat(table: Conditions, parts: Iterable[Part]) -> Iterable[Part]:
    for guard, value in parts:
        if guard == FALSE:
            continue
        if isinstance(value, Alternatives):
            yield from ((both, part) for g, part in value.parts if (both := table.both(guard, g)) != FALSE)
        else:
            yield guard, value


def _absorb_ints(groups: dict[object, list[Part]]) -> None:
    """Count ints among the bit-vectors of the one kind that is there, where they fit."""
    integers = groups.get(("integer",))
    bits = [what for what in groups if isinstance(what, tuple) and what[0] == "bits"]
    if integers is None or len(bits) != 1 or any(isinstance(value, Integer) for _, value in integers):
        return
    like = next(value for _, value in groups[bits[0]])
    low, high = like.bounds
    numbers = [n for _, v in integers for n in (v.values if isinstance(v, Union) else [v])]
    if all(low <= number <= high for number in numbers):
        del groups["integer",]
        groups[bits[0]] += [(guard, as_bits(value, like)) for guard, value in integers]


def _absorb_into_reals(groups: dict[object, list[Part]]) -> None:
    """Count ints among the fractions that are there."""
    if ("real",) in groups and ("integer",) in groups:
        integers = groups.pop(("integer",))
        groups["real",] += [(guard, as_integer(value).to_real()) for guard, value in integers]


def _merged(table: Conditions, what: Any, parts: list[Part]) -> Any:
    if len(parts) == 1:
        return parts[0][1]
    guards, values = [guard for guard, _ in parts], [value for _, value in parts]
    match what[0]:
        case "truth":
            holds = (
                table.both(g, table.guard(v.formula) if isinstance(v, Boolean) else TRUE if v else FALSE)
                for g, v in parts
            )
            return truth_value(table, table.any(holds))
        case "integer" if not any(isinstance(value, Integer) for value in values):
            united = [value if isinstance(value, Union) else Union.single(value) for value in values]
            return _settled(unions.merge(table, list(zip(guards, united, strict=True))))
        case "integer":
            return Integer(_chain(table, guards, [as_integer(value).formula for value in values]))
        case "real":
            like = Real(manager().Real(0))
            return Real(_chain(table, guards, [like.lift(value).formula for value in values]))
        case "bits":
            return values[0].like(_chain(table, guards, [value.formula for value in values]))
        case "list" | "fields" | "cell":
            names = frozenset[int]().union(*(value.names for value in values))
            return values[0].like(_by_place(guards, [value.items for value in values]), names)
        case "function":
            captured: dict[str, Any] = {}
            given = _by_name(guards, [value.defaults for value in values])
            made = replace(values[0], captured=captured, defaults=given)
            captured |= _by_name(guards, [_captured(value) for value in values])
            if len(captured) < len(values[0].captured):
                captured[made.code.name] = made
            return made
        case "tuple":
            items = _by_place(guards, values)
            return items if what[1] is tuple else what[1](*items)
        case "dict":
            return _by_name(guards, values)
        case "record":
            return record(what[1], _by_name(guards, [fields_of(value) for value in values]))
        case _:
            return values[0]


def _by_place(guards: list[Guard], sequences: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(merge(zip(guards, items, strict=True)) for items in zip(*sequences, strict=True))


def _by_name(guards: list[Guard], values: list[Any]) -> dict[Any, Any]:
    return {key: merge(zip(guards, [each[key] for each in values], strict=True)) for key in values[0]}


def _captured(function: Closure) -> dict[str, Any]:
    """Return what a function has captured, but itself, for its recursion."""
    return {name: value for name, value in function.captured.items() if value is not function}


def _can_meet(function: Closure) -> bool:
    """Tell whether versions of a function that differ in what they captured become one: none of it is a function."""
    found = _captured(function).values()
    return not any(isinstance(v.items[0] if isinstance(v, SharedName) else v, Closure | Alternatives) for v in found)


def _chain(table: Conditions, guards: list[Guard], formulas: list[FNode]) -> FNode:
    """Return the formula that is the one whose guard holds."""
    grouped: dict[FNode, list[Guard]] = {}
    for guard, formula in zip(guards, formulas, strict=True):
        grouped.setdefault(formula, []).append(guard)
    *others, (found, _) = grouped.items()
    for formula, some in reversed(others):
        found = manager().Ite(table.formula(table.any(some)), formula, found)
    return found
