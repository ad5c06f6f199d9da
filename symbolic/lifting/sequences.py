"""Elements of lists, tuples, ranges and dicts by an index that may be symbolic, slices, and lengths."""

from __future__ import annotations

import operator
from typing import Any

from symbolic.core.value_types import BitVector, Integer
from symbolic.errors import SwizzleError
from symbolic.lifting.comparisons import compare
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import gathered, merge
from symbolic.lifting.operations import Number, as_number, attempt, for_all, parts_of, spread
from symbolic.lifting.own_methods import UNSAID, asked
from symbolic.lifting.states import Dead, PathSite
from symbolic.lifting.values import (
    Items,
    bounds_of,
    inward,
    is_plain,
    kind_of,
    said,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union


def read(site: PathSite, sequence: Any, index: Any) -> Any:
    """Return `sequence[index]`."""
    if isinstance(index, slice):

        def cut(at: PathSite, each: Any, start: Any, stop: Any, step: Any) -> Any:
            return _read(at, each, slice(start, stop, step))

        return spread(site, cut, sequence, *map(as_number, (index.start, index.stop, index.step)))
    return spread(site, _read, sequence, index)


def _read(site: PathSite, sequence: Any, index: Any) -> Any:
    if isinstance(sequence, Items) and type(index) is int and 0 <= index < len(sequence):
        return sequence.at(index)
    items = sequence.items if isinstance(sequence, Items) else sequence
    said_so = asked(site, "__getitem__", items, index)
    if said_so is not UNSAID:
        return said_so
    if isinstance(index, slice):
        return _slice(site, sequence, items, index)
    index = as_number(index)
    text = isinstance(items, str | bytes) and isinstance(index, Integer | BitVector)
    if type(items) is not range and not isinstance(items, tuple) and not text:
        if isinstance(items, Number):
            site.fail(f"TypeError: {said(items)} has no elements")
        if isinstance(index, Union):
            return for_all(site, parts_of(index), lambda at, key: _read(at, sequence, key))
        if isinstance(items, dict) and isinstance(index, Integer | BitVector):
            return _keyed(site, items, index)
        if isinstance(index, Integer | BitVector) and not isinstance(items, dict) and is_plain(items):
            raise SwizzleError(
                f"{said(items)} at an index that depends on a condition", place=site.where(),
                expected="a list or a tuple", fix="list(...), outside of the function",
            )  # fmt: skip
        return attempt(site, operator.getitem, items, index)
    places = _places(site, len(items), index)
    return merge((guard, inward(items[place])) for place, guard in places.items())


def store(site: PathSite, sequence: Items, index: Any, value: Any) -> Items:
    """Return the list with another element at an index; it is the same list."""
    if type(index) is int and 0 <= index < len(sequence):
        return sequence.edited(index, index + 1, (value,))
    new = sequence
    for place, guard in _places(site, len(sequence), as_number(index)).items():
        element = value if guard == TRUE else merge([(guard, value), (-guard, sequence.at(place))])
        new = new.edited(place, place + 1, (element,))
    return new


def _places(site: PathSite, length: int, index: Any) -> dict[int, Guard]:
    """Return the guard of each place that an index may mean; it must mean one of them."""
    table = conditions()
    if not isinstance(index, int | Union | Integer | BitVector):
        site.fail(f"TypeError: an index that is {said(index)}")
    text = f"IndexError: an index out of range, of {length} element{'' if length == 1 else 's'}"
    if isinstance(index, int | Union):
        found: dict[int, list[Guard]] = {}
        wrong: list[Guard] = []
        for guard, number in parts_of(index):
            if table.both(site.path, guard) != FALSE:
                if -length <= number < length:
                    found.setdefault(number % length, []).append(guard)
                else:
                    wrong.append(guard)
        site.require(-table.any(wrong), text)
        if not found:
            raise Dead
        return {place: TRUE if len(found) == 1 else table.any(guards) for place, guards in found.items()}
    low, high = bounds_of(index)
    negative = low < 0 and table.both(site.path, table.guard((index < 0).formula)) != FALSE
    site.require(compare(site, "<", index, length), text)
    site.require(compare(site, ">=", index, -length if negative else 0), text)
    if length == 0:
        raise Dead
    return {
        place: table.any(
            table.guard((index == number).formula)
            for number in ((place, place - length) if negative else (place,))
            if low <= number <= high
        )
        for place in range(length)
        if negative or low <= place <= high
    }


def _keyed(site: PathSite, items: dict[Any, Any], index: Any) -> Any:
    table = conditions()
    low, high = bounds_of(index)
    keys = [key for key in items if isinstance(key, int | float) and low <= key <= high and key % 1 == 0]
    guards = [table.guard((index == int(key)).formula) for key in keys]
    site.require(table.any(guards), "KeyError: a key that is not there")
    if not keys:
        raise Dead
    return merge((guard, inward(items[key])) for guard, key in zip(guards, keys, strict=True))


def _slice(site: PathSite, sequence: Any, items: Any, index: slice) -> Any:
    plain = all(type(each) in (int, type(None)) for each in (index.start, index.stop, index.step))
    if not isinstance(items, tuple) and (plain or not isinstance(items, range | str | bytes)):
        if not plain:
            raise SwizzleError(
                f"a slice of {kind_of(items)}, whose ends depend on a condition", place=site.where(),
                expected="a list or a tuple", fix="list(...), outside of the function",
            )  # fmt: skip
        return attempt(site, operator.getitem, items, index)
    if type(index.step) not in (int, type(None)):
        raise SwizzleError(
            "a slice's step depends on a condition", place=site.where(), expected="a number", fix="xs[a:b]"
        )
    if index.step == 0 or not all(isinstance(each, Number | type(None)) for each in (index.start, index.stop)):
        site.fail("TypeError or ValueError: a slice's ends are numbers, its step is not 0")
    site.budget.spend(len(items), site.where)
    start, stop = (_finite(site, each, len(items)) for each in (index.start, index.stop))

    def made(first: Any, last: Any) -> Any:
        found = items[slice(first, last, index.step)]
        return Items.new(found) if isinstance(sequence, Items) else found

    def cut(at: PathSite, first: Any) -> Any:
        return for_all(at, parts_of(stop), lambda _, last: made(first, last))

    return for_all(site, parts_of(start), cut)


def _finite(site: PathSite, bound: Any, length: int) -> Any:
    """Return the end of a slice as one of a few ints: what lies beyond the sequence is its end."""
    if not isinstance(bound, Integer | BitVector):
        return bound
    table = conditions()
    least, most = bounds_of(bound)
    low, high = int(max(least, -length - 1)), int(min(most, length))  # xs[-len(xs) - 1 :: -1] is empty
    found = [(table.guard((bound == number).formula), number) for number in range(low + 1, high)]
    found += [(table.guard((bound <= low).formula), low), (table.guard((bound >= high).formula), high)]
    return gathered([(guard, number) for guard, number in found if table.both(site.path, guard) != FALSE])


def length_of(site: PathSite, value: Any) -> Any:
    """Return `len(value)`."""

    def length(at: PathSite, each: Any) -> Any:
        if isinstance(each, Number):
            at.fail(f"TypeError: {said(each)} has no length")
        said_so = asked(at, "__len__", each)
        if said_so is not UNSAID:
            at.require(compare(at, ">=", said_so, 0), "ValueError: a length that is negative")
            return said_so
        return len(each) if isinstance(each, Items) else attempt(at, len, each)

    return spread(site, length, value)
