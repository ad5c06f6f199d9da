"""Sequences in a lifted function: their elements by an index that may be symbolic, slices, lengths, and what loops and
comprehensions run over, with the guards that it is there.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

from symbolic.core.value_types import BitVector, Integer
from symbolic.errors import Place, SwizzleError
from symbolic.lifting import comparisons, operations
from symbolic.lifting.budget import ROUND
from symbolic.lifting.comparisons import compare
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import gathered, merge
from symbolic.lifting.operations import (
    UNSAID,
    Number,
    as_number,
    asked,
    attempt,
    binary,
    elements_of,
    for_all,
    has_elements,
    parts_of,
    spread,
)
from symbolic.lifting.running import Running
from symbolic.lifting.states import Dead, PathSite, State
from symbolic.lifting.values import (
    DIRECT,
    Alternatives,
    Items,
    SharedName,
    SymbolicRange,
    bounds_of,
    inward,
    is_plain,
    kind_of,
    said,
    shape_of,
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
    if isinstance(index, Alternatives):
        return spread(site, lambda at, each: store(at, sequence, each, value), index)  # type: ignore[no-any-return]
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
        if isinstance(each, SymbolicRange):
            return _range_length(at, each)
        said_so = asked(at, "__len__", each)
        if said_so is not UNSAID:
            at.require(compare(at, ">=", said_so, 0), "ValueError: a length that is negative")
            return said_so
        return len(each) if isinstance(each, Items) else attempt(at, len, each)

    return spread(site, length, value)


def _range_length(site: PathSite, given: SymbolicRange) -> Any:
    """Return how many elements a range has: the distance of its ends by its step, rounded up, and not below 0."""
    forward = given.step > 0
    ends = (given.stop, given.start) if forward else (given.start, given.stop)
    distance = binary(site, "+", binary(site, "-", *ends), abs(given.step) - 1)
    count = binary(site, "//", distance, abs(given.step))
    negative = compare(site, "<", count, 0)
    return merge([(negative, 0), (-negative, count)])


_INWARD: Final = frozenset({int, bool, float, tuple, Items})
"""Types whose values are held as they are."""


class Iteration(Running):
    """One call of a function, as far as what it runs over goes."""

    def known_elements(self, sequence: Any) -> tuple[Any, ...] | list[Any] | range | None:
        """Return the elements of a sequence whose length depends on no condition; None for any other value."""
        if isinstance(sequence, Items):
            return sequence.items
        if isinstance(sequence, range):
            return sequence
        if isinstance(sequence, tuple):
            return [item if type(item) in _INWARD else inward(item, operations.THEIRS) for item in sequence]
        if shape_of(sequence):
            found = (sequence[place] for place in range(len(sequence)))
            return [item if DIRECT[type(item)] else inward(item, operations.THEIRS) for item in found]
        return None

    def elements(self, site: PathSite, sequence: Any) -> Iterator[tuple[Guard, Callable[[PathSite], Any]]]:
        """Yield, of each element, the guard that there is one and what gives it; without end for symbolic ranges."""
        table = conditions()
        match sequence:
            case Items(items=items):
                yield from ((TRUE, _given(item)) for item in items)
            case _ if shape_of(sequence):
                yield from ((TRUE, _given(inward(sequence[i], operations.THEIRS))) for i in range(len(sequence)))
            case SymbolicRange():
                number = sequence.start
                while True:
                    guard = comparisons.compare(site, "<" if sequence.step > 0 else ">", number, sequence.stop)
                    yield guard, _given(number)
                    number = operations.binary(site, "+", number, sequence.step)
            case Alternatives(parts=parts):
                lengths = []
                for guard, part in parts:
                    items = self._of_one_length(site.narrowed(guard), part)
                    lengths.append((guard, len(items), items))
                for place in range(max(length for _, length, _ in lengths)):
                    some = [(guard, part) for guard, length, part in lengths if place < length]
                    present = table.any(guard for guard, _ in some)
                    yield present, _read_at(some, place)
            case tuple() | range() | str() | list():
                yield from ((TRUE, _given(inward(item, operations.THEIRS))) for item in sequence)
            case dict():
                yield from ((TRUE, _given(item)) for item in list(sequence))
            case _ if not self.budget.limited and has_elements(sequence):
                found = inward(elements_of(site, sequence), operations.THEIRS)
                yield from ((TRUE, _given(item)) for item in found.items)
            case _ if not self.budget.limited and hasattr(type(sequence), "__getitem__"):
                raise SwizzleError(
                    f"a loop over {type(sequence).__name__}, which has no `__iter__`", place=site.where(),
                    expected="a list, or whatever Python makes one of", fix="[xs[i] for i in range(...)]",
                )  # fmt: skip
            case _:
                if self.budget.limited:
                    raise SwizzleError(
                        f"a loop over {kind_of(sequence)}", place=site.where(), expected="a range, a list or an array",
                        fix="write range(n)",
                    )  # fmt: skip
                site.fail(f"TypeError: {said(sequence)} is no sequence")

    def _of_one_length(self, site: PathSite, value: Any) -> Any:
        if site.path == FALSE:
            return ()
        try:
            return self.items(site, value)
        except Dead:
            return ()

    def items(self, site: PathSite, sequence: Any) -> tuple[Any, ...]:
        """Return the elements of a sequence of one known length."""
        known = self.known_elements(sequence)
        if known is not None:
            if isinstance(known, range):
                self.budget.check_length(max(0, -((known.start - known.stop) // known.step)), site.where)
            else:
                self.budget.check_length(len(known), site.where)
            return tuple(known)
        found: list[Any] = []
        for present, item in self.elements(site, sequence):
            if present != TRUE:
                raise SwizzleError(
                    "a sequence whose length depends on a condition", place=site.where(),
                    expected="one of a known length", fix="a loop: for x in xs: ...",
                )  # fmt: skip
            found.append(item(site))
        return tuple(found)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, state: State) -> Any:
        """Return the list that a comprehension makes."""
        elements = self.generated(node, state)
        certain: list[Any] = []
        for guard, item in elements:
            if guard != TRUE:
                break
            certain.append(item)
            self.count(len(certain), lambda: self.place(node))
        else:
            return Items.new(certain)
        rest, table = chain([(guard, item)], elements), conditions()
        ways: list[tuple[Guard, tuple[Any, ...]]] = [(TRUE, tuple(certain))]
        for count, (now, each) in enumerate(rest, 1):
            apart = [
                (both, (*some, each) if here is now else some)
                for guard, some in ways
                for here in (now, -now)
                if (both := table.both(guard, here)) != FALSE
            ]
            if len(apart) > 2 * (count + 2):  # conditions by themselves, not ends of ranges: each length is one way
                rest = chain([(now, each)], rest)
                break
            ways = apart
        found: Any = merge((guard, Items.new(some)) for guard, some in ways)
        for now, each in rest:
            longer = spread(self.site(node, state), _longer(each), found)
            found = merge([(now, longer), (-now, found)])
        return found

    def count(self, length: int, where: Callable[[], Place]) -> None:
        """Take a step for the last element of a sequence that is being made."""
        self.budget.left -= ROUND
        if self.budget.left < self.budget.pause or length > self.budget.length:
            self.budget.look(where)
            self.budget.check_length(length, where)

    def _give_own(self, target: ast.expr, item: Any, state: State) -> None:
        """Give the names of a comprehension what they are; they are its own, whatever they mean around it."""
        for each in ast.walk(target):
            if isinstance(each, ast.Name) and type(state.names.get(each.id)) is SharedName:
                del state.names[each.id]
        self.store(target, item, state)

    def generated(self, node: ast.ListComp | ast.GeneratorExp, state: State) -> Iterator[tuple[Guard, Any]]:
        """Yield the elements of a comprehension, each with the guard that it is one."""

        def inner(generators: list[ast.comprehension], on: State, guard: Guard) -> Iterator[tuple[Guard, Any]]:
            if not generators:
                yield guard, self.value(node.elt, on)
                return
            first, *rest = generators
            count, sequence = 0, self.value(first.iter, on)
            known = self.known_elements(sequence)
            if known is not None:
                yield from surely(first, rest, on, guard, known)
                return
            for present, item in self.elements(self.site(first.iter, on), sequence):
                asked = State(conditions().both(on.path, state.path), on.names)  # fewer, once some are decided
                here = asked.on(present)
                if here is None:
                    return
                count += present != TRUE
                if count > self.function.bound:
                    self.too_far(first.iter, here, f"more than {self.function.bound} elements")
                    return
                both = conditions().both(guard, present)
                try:
                    self._give_own(first.target, item(self.site(first.iter, here)), here)
                    for test in first.ifs:
                        passed = self.condition(test, here)
                        both, on_now = conditions().both(both, passed), here.on(passed)
                        if on_now is None:
                            break
                        here = on_now
                    else:
                        yield from inner(rest, here, both)
                except Dead:
                    here.leave(state)

        def surely(
            first: ast.comprehension, rest: list[ast.comprehension], on: State, guard: Guard, known: Iterable[Any]
        ) -> Iterator[tuple[Guard, Any]]:
            """As `inner`, for elements that are there whatever the inputs are."""
            target, tests = first.target, first.ifs
            for item in known:
                self.budget.left -= ROUND
                if self.budget.left < self.budget.pause:
                    self.tired(first.iter)
                if on.path == state.path:
                    here = on
                else:  # fewer paths, once some are decided
                    here = State(conditions().both(on.path, state.path), dict(on.names))
                    if here.path == FALSE:
                        return
                both = guard
                try:
                    if type(target) is ast.Name:
                        here.names[target.id] = item
                    else:
                        self._give_own(target, item, here)
                    for test in tests:
                        passed = self.condition(test, here)
                        if passed == TRUE:
                            continue
                        on_now = here.on(passed)
                        if on_now is None:
                            break
                        both, here = conditions().both(both, passed), on_now
                    else:
                        if rest:
                            yield from inner(rest, here, both)
                        else:
                            yield both, self.value(node.elt, here)
                except Dead:
                    here.leave(state)

        yield from inner(node.generators, State(state.path, dict(state.names)), TRUE)


def _given(item: Any) -> Callable[[PathSite], Any]:
    return lambda _: item


def _read_at(parts: list[tuple[Guard, Any]], place: int) -> Callable[[PathSite], Any]:
    return lambda at: for_all(at, parts, lambda where, part: read(where, part, place))


def _longer(item: Any) -> Callable[[PathSite, Items], Items]:
    return lambda _, xs: Items((*xs.items, item), xs.names)
