"""Choices about objects, and conditions on them: what a constraint may say of the values that are chosen.

`order(a, b).is_("BEFORE")`, `size(d) <= 4`, `level(x).same_as(level(y))` and `holds(fits, bm, bn)` are conditions;
`|`, `&` and `~` make others of them. A constraint is kept as clauses, disjunctions of literals (section 3.3).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

Value: TypeAlias = str | int | bool
Object: TypeAlias = Hashable


class ObjectSet(Struct, frozen=True, eq=False):
    """A set of objects of the kernel, such as its loops, by name; triggers may add to it."""

    name: str
    objects: tuple[Object, ...]

    def __repr__(self) -> str:
        return self.name


class GenericChoice(Struct, frozen=True, eq=False):
    """A decision for each tuple of distinct objects of some sets: `order(a, b)`, `size(d)`.

    Attributes:
        name: what it is called in messages.
        sets: the sets of its objects.
        values: the values of an enum choice, or a function of the objects that gives those of an integer choice.
        opposite: for a choice about a pair, the value of (b, a) for each value of (a, b); None for all others.
    """

    name: str
    sets: tuple[ObjectSet, ...]
    values: tuple[Value, ...] | Callable[..., Sequence[int]]
    opposite: Mapping[Value, Value] | None = None

    def __call__(self, *objects: Object) -> ChoiceOf:
        if len(objects) != len(self.sets):
            raise TypeError(f"{self.name} is a choice about {len(self.sets)} objects, not {len(objects)}")
        if self.opposite is not None and rank(objects[0]) > rank(objects[1]):
            return ChoiceOf(self, objects[::-1], turned=True)
        return ChoiceOf(self, objects)

    def universe(self, *objects: Object) -> tuple[Value, ...]:
        """Return the values that there are for some objects."""
        return self.values if isinstance(self.values, tuple) else tuple(self.values(*objects))


class Condition:
    """What may hold of a complete assignment; `|`, `&` and `~` are or, and, not. A `bool` may stand for one."""

    def __or__(self, other: Condition | bool) -> Condition:
        return AnyOf((self, as_condition(other)))

    def __ror__(self, other: bool) -> Condition:
        return as_condition(other) | self

    def __and__(self, other: Condition | bool) -> Condition:
        return AllOf((self, as_condition(other)))

    def __rand__(self, other: bool) -> Condition:
        return as_condition(other) & self

    def __invert__(self) -> Condition:
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise TypeError("a condition on choices is neither true nor false yet; write |, & and ~ for or, and and not")


class AnyOf(Condition, Struct, frozen=True):
    """At least one of the parts holds; of no parts, none does."""

    parts: tuple[Condition, ...]

    def __invert__(self) -> Condition:
        return AllOf(tuple(~part for part in self.parts))


class AllOf(Condition, Struct, frozen=True):
    """All parts hold; of no parts, they do."""

    parts: tuple[Condition, ...]

    def __invert__(self) -> Condition:
        return AnyOf(tuple(~part for part in self.parts))


class Literal(Condition, Struct, frozen=True):
    """A test of the values of some choices.

    Attributes:
        chosen: the choices with their objects.
        test: what is asked of their values, one argument for each.
        positive: whether the test is to hold, or is to fail.
        key: what says that two tests are the same function; None for a function that is only the same as itself.
    """

    chosen: tuple[ChoiceOf, ...]
    test: Callable[..., bool]
    positive: bool = True
    key: Hashable = None

    def __invert__(self) -> Condition:
        return Literal(self.chosen, self.test, not self.positive, self.key)


class ChoiceOf(Struct, frozen=True):
    """A choice with its objects, whose value a condition may ask about.

    Attributes:
        choice: the generic choice.
        objects: the objects in the order in which their value is kept; `turned` says that the condition named them
            the other way round, so that it means the opposite value.
    """

    choice: GenericChoice
    objects: tuple[Hashable, ...]
    turned: bool = False

    def is_(self, *values: Value) -> Condition:
        """Return the condition that one of the values is chosen; ValueError for a value that the choice lacks."""
        unknown = [value for value in values if value not in self.choice.universe(*self.objects)]
        if unknown:
            known = ", ".join(map(str, self.choice.universe(*self.objects)))
            raise ValueError(f"{self} has no value {unknown[0]!r}; it has {known}")
        wanted = frozenset(values)
        return Literal((self,), wanted.__contains__, key=("is", wanted))

    def is_not(self, *values: Value) -> Condition:
        """Return the condition that none of the values is chosen."""
        return ~self.is_(*values)

    def same_as(self, other: ChoiceOf) -> Condition:
        """Return the condition that both have one value."""
        return self._compared(operator.eq, other)

    def __le__(self, other: ChoiceOf | int) -> Condition:
        return self._compared(operator.le, other)

    def __lt__(self, other: ChoiceOf | int) -> Condition:
        return self._compared(operator.lt, other)

    def __ge__(self, other: ChoiceOf | int) -> Condition:
        return self._compared(operator.ge, other)

    def __gt__(self, other: ChoiceOf | int) -> Condition:
        return self._compared(operator.gt, other)

    def _compared(self, test: Callable[[Value, Value], bool], other: ChoiceOf | int) -> Condition:
        if isinstance(other, ChoiceOf):
            return Literal((self, other), test, key=test)
        return Literal((self,), lambda value: test(value, other), key=(test, other))

    def __str__(self) -> str:
        objects = self.objects[::-1] if self.turned else self.objects
        return f"{self.choice.name}({', '.join(map(str, objects))})"


def rank(thing: Object) -> tuple[str, str]:
    """Return what objects are ordered by: their type's name and `repr`, whatever the order in which they came."""
    return type(thing).__name__, repr(thing)


def holds(test: Callable[..., bool], *chosen: ChoiceOf) -> Condition:
    """Return the condition that a function of the values of some choices is true.

    Args:
        test: a pure function, called with one value for each choice.
        chosen: the choices with their objects.
    """
    return Literal(chosen, test, key=test)


def as_condition(given: Condition | bool) -> Condition:
    """Return a condition that holds always for True, and never for False."""
    if isinstance(given, Condition):
        return given
    return AllOf(()) if given else AnyOf(())


def clauses(condition: Condition | bool) -> Iterator[tuple[Literal, ...]]:
    """Yield disjunctions of literals that all hold where the condition does, and only there."""
    match as_condition(condition):
        case Literal() as literal:
            yield (literal,)
        case AllOf(parts):
            for part in parts:
                yield from clauses(part)
        case AnyOf(parts):
            made: list[tuple[Literal, ...]] = [()]
            for part in parts:
                made = [before + clause for clause in clauses(part) for before in made]
            yield from made
        case other:
            raise AssertionError(f"a condition of an unknown kind: {other!r}")
