"""A space of implementations: sets of objects, choices about them, and what has to hold of the choices together.

This is the language of section 3 of "On the Representation of Partially Specified Implementations". A space is declared
once, for objects that a kernel, a derivation or a sketch's parameters give; `ground` makes a variable of each choice
for each tuple of distinct objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from symbolic.choices.conditions import ChoiceOf, Condition, GenericChoice, Literal, Object, ObjectSet, Value

Additions: TypeAlias = "Mapping[ObjectSet, Iterable[Object]]"


class ConstraintRule(Struct, frozen=True, eq=False):
    """A condition that is to hold of all distinct objects of some sets.

    Attributes:
        why: what it says, in words, for messages.
        sets: the sets of its objects.
        condition: the condition for some objects.
    """

    why: str
    sets: tuple[ObjectSet, ...]
    condition: Callable[..., Condition | bool]


class CounterRule(Struct, frozen=True, eq=False):
    """A sum, or a product, over the distinct objects of some sets, that has to stay between two bounds.

    Attributes:
        why: what it says, in words, for messages.
        product: whether values are multiplied, and not added.
        sets: the sets of its objects.
        value: what some objects count: a number that is not negative, or a choice of such numbers.
        when: under which condition on a single choice they count; None for always.
        least, most: the bounds, which it may reach.
    """

    why: str
    product: bool
    sets: tuple[ObjectSet, ...]
    value: Callable[..., int | ChoiceOf]
    when: Callable[..., Condition | bool] | None
    least: float
    most: float


class TriggerRule(Struct, frozen=True, eq=False):
    """Objects that are there once some conditions hold (section 3.4). They are only ever added.

    Attributes:
        why: what it says, in words.
        sets: the sets of the objects that it is about.
        when: the condition, a conjunction of tests of single choices.
        adds: the new objects, which have to follow from the given objects alone, for each set.
    """

    why: str
    sets: tuple[ObjectSet, ...]
    when: Callable[..., Condition | bool]
    adds: Callable[..., Additions]


class QuotientRule(Struct, frozen=True, eq=False):
    """A choice that is True of one object of each class of some objects, the first one by `rank` (Listing 6).

    Attributes:
        chosen: the choice between False and True.
        where: which objects are looked at.
        same: which two are of one class, a single test of choices.
    """

    chosen: GenericChoice
    where: Callable[[Object], Condition | bool]
    same: Callable[[Object, Object], Condition | bool]


class ChoiceSpace:
    """The declaration of a space; each method adds to it and returns what was declared."""

    def __init__(self, name: str = "space") -> None:
        self.name = name
        self.sets: list[ObjectSet] = []
        self.choices: list[GenericChoice] = []
        self.constraints: list[ConstraintRule] = []
        self.counters: list[CounterRule] = []
        self.triggers: list[TriggerRule] = []
        self.quotients: list[QuotientRule] = []
        self.algebras: list[tuple[GenericChoice, Mapping[tuple[Value, Value], frozenset[Value]]]] = []

    def set(self, name: str, objects: Iterable[Object] = ()) -> ObjectSet:
        """Declare a set of objects, which are told apart by their `repr`; ValueError where a name is taken."""
        _new(name, self.sets)
        made = ObjectSet(name, tuple(dict.fromkeys(objects)))
        self.sets.append(made)
        return made

    def enum(
        self,
        name: str,
        sets: Sequence[ObjectSet],
        values: Sequence[Value],
        opposite: Mapping[Value, Value] | None = None,
    ) -> GenericChoice:
        """Declare a choice among named values.

        Args:
            name: what it is called.
            sets: the sets of its objects.
            values: what can be chosen.
            opposite: for pairs of one set, which value `choice(b, a)` has where `choice(a, b)` has another:
                `{"BEFORE": "AFTER"}` goes both ways, and values that are left out are their own opposite.
        """
        _new(name, self.choices)
        if len(set(values)) != len(values) or not values:
            raise ValueError(f"the values of {name} have to be different, and at least one: {list(values)}")
        both = None
        if opposite is not None:
            if len(sets) != 2 or sets[0] is not sets[1]:
                raise ValueError(f"{name} has opposites, so it is about two objects of one set")
            both = {value: value for value in values}
            for value, other in opposite.items():
                if value not in both or other not in both:
                    raise ValueError(
                        f"{name} has no values {value!r} and {other!r}; it has {', '.join(map(str, values))}"
                    )
                both |= {value: other, other: value}
        made = GenericChoice(name, tuple(sets), tuple(values), both)
        self.choices.append(made)
        return made

    def integer(self, name: str, sets: Sequence[ObjectSet], universe: Callable[..., Sequence[int]]) -> GenericChoice:
        """Declare a choice of a number; `universe` gives what can be chosen for some objects."""
        _new(name, self.choices)
        made = GenericChoice(name, tuple(sets), universe)
        self.choices.append(made)
        return made

    def require(
        self, why: str, sets: Sequence[ObjectSet], condition: Callable[..., Condition | bool]
    ) -> ConstraintRule:
        """Demand a condition of all distinct objects of some sets; the words are what messages say of it."""
        made = ConstraintRule(why, tuple(sets), condition)
        self.constraints.append(made)
        return made

    def counter(
        self,
        why: str,
        sets: Sequence[ObjectSet],
        value: Callable[..., int | ChoiceOf],
        *,
        when: Callable[..., Condition | bool] | None = None,
        product: bool = False,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> CounterRule:
        """Demand that a sum or a product over the distinct objects of some sets stays between two bounds."""
        made = CounterRule(why, product, tuple(sets), value, when, least, most)
        self.counters.append(made)
        return made

    def trigger(
        self,
        why: str,
        sets: Sequence[ObjectSet],
        when: Callable[..., Condition | bool],
        adds: Callable[..., Additions],
    ) -> TriggerRule:
        """Declare objects that are there once a condition holds."""
        made = TriggerRule(why, tuple(sets), when, adds)
        self.triggers.append(made)
        return made

    def algebra(self, choice: GenericChoice, compose: Mapping[tuple[Value, Value], Iterable[Value]]) -> None:
        """Declare what `choice(a, b)` and `choice(b, c)` leave for `choice(a, c)`, for all three objects.

        Args:
            choice: a choice about pairs that has opposites.
            compose: the values that are left for each pair of values; a pair that is left out leaves all.
        """
        if choice.opposite is None:
            raise ValueError(f"{choice.name} has no opposites, so it is no relation between the objects of one set")
        self.algebras.append((choice, {pair: frozenset(left) for pair, left in compose.items()}))

    def quotient(
        self,
        name: str,
        of: ObjectSet,
        where: Callable[[Object], Condition | bool],
        same: Callable[[Object, Object], Condition | bool],
    ) -> GenericChoice:
        """Declare a choice that is True of one object of each class of some objects: the first one (Listing 6).

        Args:
            name: the name of the choice that is made.
            of: the set of the objects.
            where: which of them are looked at.
            same: which two are of one class, a single test such as `order(a, b).is_("MERGED")`. It has to be
                an equivalence that objects for which `where` holds have with such objects alone.
        """
        chosen = self.enum(name, [of], (False, True))
        self.quotients.append(QuotientRule(chosen, where, same))
        return chosen


def single(condition: Condition | bool) -> Literal | bool:
    """Return the test of one choice that a condition is, or the constant."""
    if isinstance(condition, bool):
        return condition
    if isinstance(condition, Literal) and len(condition.chosen) == 1:
        return condition
    raise ValueError("this condition has to be a test of a single choice, such as kind(d).is_('THREAD')")


def _new(name: str, known: Sequence[ObjectSet | GenericChoice]) -> None:
    if any(one.name == name for one in known):
        raise ValueError(f"{name} is declared twice")
