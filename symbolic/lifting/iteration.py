"""What lifted functions run over: elements of sequences and of comprehensions, with the guards that they are there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

from symbolic.errors import Place, SwizzleError
from symbolic.lifting import comparisons, operations, sequences
from symbolic.lifting.budget import ROUND
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import merge
from symbolic.lifting.operations import for_all, spread
from symbolic.lifting.own_methods import elements_of, has_elements
from symbolic.lifting.running import Running
from symbolic.lifting.states import Dead, PathSite, State
from symbolic.lifting.values import DIRECT, Alternatives, Items, SymbolicRange, inward, kind_of, said, shape_of
from symbolic.values.guard import FALSE, TRUE, Guard

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
        found: Any = Items.new(certain)
        for now, each in chain([(guard, item)], elements):
            longer = spread(self.site(node, state), _longer(each), found)
            found = merge([(now, longer), (-now, found)])
        return found

    def count(self, length: int, where: Callable[[], Place]) -> None:
        """Take a step for the last element of a sequence that is being made."""
        self.budget.left -= ROUND
        if self.budget.left < self.budget.pause or length > self.budget.length:
            self.budget.look(where)
            self.budget.check_length(length, where)

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
                    self.store(first.target, item(self.site(first.iter, here)), here)
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
                        self.store(target, item, here)
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
    return lambda at: for_all(at, parts, lambda where, part: sequences.read(where, part, place))


def _longer(item: Any) -> Callable[[PathSite, Items], Items]:
    return lambda _, xs: Items((*xs.items, item), xs.names)
