"""A space written out for its objects: variables with small domains, and what they have to fulfil together.

What triggers may add is written out beforehand. Each object that is not there from the beginning has a variable that
says whether it is there, and each trigger one that says whether it has fired, so that objects which come and go with
the decisions need nothing of their own in propagation, and the order of decisions cannot matter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from msgspec import Struct

from symbolic.choices.conditions import (
    ChoiceOf,
    Condition,
    GenericChoice,
    Literal,
    Object,
    ObjectSet,
    Value,
    as_condition,
    clauses,
    rank,
)
from symbolic.choices.space import (
    ChoiceSpace,
    ConstraintRule,
    CounterRule,
    QuotientRule,
    TriggerRule,
    single,
)

MOST_OBJECTS = 100_000
"""Triggers that add more objects than that are taken to add them without end."""
MOST_TUPLES = 4096
"""Tables of more tuples of values than that are not written out."""

Key: TypeAlias = "tuple[GenericChoice | ObjectSet | TriggerRule, tuple[Object, ...]]"


class Test(Struct, frozen=True):
    """A literal on variables: which tuples of their values pass, as bits in mixed radix, the last variable fastest.

    Attributes:
        scope: the variables by number.
        allowed: the tuples of values that pass; None where there are too many to write out, and `function` is asked.
        function: the same as a function of the values.
    """

    scope: tuple[int, ...]
    allowed: int | None
    function: Callable[..., bool]


class GroundClause(Struct, frozen=True):
    """A disjunction of tests, with the number of the rule that it belongs to."""

    rule: int
    tests: tuple[Test, ...]


class CounterTerm(Struct, frozen=True):
    """What is added, or multiplied, where all masks of `when` hold: a variable's value, or a constant."""

    variable: int | None
    constant: int
    when: tuple[tuple[int, int], ...]


class GroundCounter(Struct, frozen=True):
    """A sum or a product of terms between two bounds, with the number of the rule that it belongs to."""

    rule: int
    product: bool
    terms: tuple[CounterTerm, ...]
    least: float
    most: float


class GroundSpace(Struct, frozen=True):
    """A space for its objects; `symbolic.choices.propagation` searches it.

    Attributes:
        name: the name of the space.
        names: of each variable, what it is about: a choice, a set (is the object in it?) or a trigger (has it fired?),
            and the objects.
        values: of each variable, the values of its domain.
        needs: of each variable, the variables that have to be true for it to be there.
        choices: the number of variables that are choices. They are the first ones.
        rules: what each rule says, in words.
        clauses: the disjunctions.
        counters: the sums and products.
        structural: the rules by number that say what is there and what represents a class, and forbid nothing.
    """

    name: str
    names: tuple[Key, ...]
    values: tuple[tuple[Value, ...], ...]
    needs: tuple[tuple[int, ...], ...]
    choices: int
    rules: tuple[str, ...]
    clauses: tuple[GroundClause, ...]
    counters: tuple[GroundCounter, ...]
    structural: frozenset[int]

    def variable(self, chosen: ChoiceOf) -> int:
        """Return the number of the variable of a choice with its objects; KeyError where there is none."""
        return self.names.index((chosen.choice, chosen.objects))

    def label(self, variable: int) -> str:
        """Return what a variable is called in messages: `order(a, b)`."""
        about, objects = self.names[variable]
        inside = ", ".join(map(str, objects))
        if isinstance(about, TriggerRule):
            return f"{about.why} ({inside})"
        return f"{inside} in {about.name}" if isinstance(about, ObjectSet) else f"{about.name}({inside})"


def ground(space: ChoiceSpace) -> GroundSpace:
    """Write a space out for its objects.

    Raises:
        ValueError: a condition about objects that a choice does not have, a number that is negative or that a choice
            lacks, triggers that add objects without end, or that each wait for what the other adds.
    """
    return _Grounding(space).made()


class _Grounding:
    def __init__(self, space: ChoiceSpace) -> None:
        self.space = space
        self.names: list[Key] = []
        self.values: list[tuple[Value, ...]] = []
        self.needs: list[tuple[int, ...]] = []
        self.number: dict[Key, int] = {}
        self.rules: list[str] = []
        self.structural: set[int] = set()
        self.clauses: list[GroundClause] = []
        self.counters: list[GroundCounter] = []
        self.tables: dict[Hashable, int] = {}
        self.added: dict[tuple[ObjectSet, Object], list[tuple[TriggerRule, tuple[Object, ...]]]] = {}
        self.fired: list[tuple[TriggerRule, tuple[Object, ...]]] = []
        self.members: dict[ObjectSet, list[Object]] = {group: list(group.objects) for group in space.sets}

    def made(self) -> GroundSpace:
        self.close()
        self.differ()
        for choice in self.space.choices:
            for objects in self.tuples(choice.sets):
                if choice.opposite is None or rank(objects[0]) < rank(objects[1]):
                    universe = choice.universe(*objects)
                    if not universe:
                        raise ValueError(f"{choice.name}({', '.join(map(str, objects))}) has nothing to choose from")
                    self.variable((choice, objects), universe)
        choices = len(self.names)
        for group, thing in self.added:
            self.variable((group, (thing,)), (False, True))
        for trigger, objects in self.fired:
            self.variable((trigger, objects), (False, True))
        self.needs = [self.needed(*self.names[n]) if n < choices else () for n in range(len(self.names))]
        for trigger, objects in self.fired:
            self.fires(trigger, objects)
        for member, causes in self.added.items():
            self.exists(member, causes)
        for rule in self.space.constraints:
            self.constrain(rule)
        for quotient in self.space.quotients:
            self.divide(quotient)
        for choice, compose in self.space.algebras:
            self.compose(choice, compose)
        for counter in self.space.counters:
            self.count(counter)
        return GroundSpace(
            self.space.name,
            tuple(self.names),
            tuple(self.values),
            tuple(self.needs),
            choices,
            tuple(self.rules),
            tuple(self.clauses),
            tuple(self.counters),
            frozenset(self.structural),
        )

    def close(self) -> None:
        """Find all objects that triggers may add."""
        seen: set[tuple[int, tuple[Object, ...]]] = set()
        growing = True
        while growing:
            growing = False
            for number, trigger in enumerate(self.space.triggers):
                for objects in list(self.tuples(trigger.sets)):
                    if (number, objects) in seen:
                        continue
                    seen.add((number, objects))
                    growing = True
                    self.fired.append((trigger, objects))
                    for group, things in trigger.adds(*objects).items():
                        self.add(group, things, trigger, objects)
                    if len(self.added) > MOST_OBJECTS:
                        raise ValueError(f"{trigger.why}: this adds more than {MOST_OBJECTS:,} objects, without end")
        waits = {
            member: [need for trigger, objects in causes for need in self.dynamic(trigger.sets, objects)]
            for member, causes in self.added.items()
        }
        try:
            TopologicalSorter(waits).prepare()
        except CycleError as error:
            names = " and ".join(dict.fromkeys(f"{thing} in {group.name}" for group, thing in error.args[1]))
            raise ValueError(f"triggers wait for each other to add {names}") from None

    def add(
        self, group: ObjectSet, things: Iterable[Object], trigger: TriggerRule, objects: tuple[Object, ...]
    ) -> None:
        if group not in self.members:
            raise ValueError(f"{trigger.why}: {group.name} is no set of {self.space.name}")
        for thing in things:
            if thing in group.objects:
                continue
            causes = self.added.setdefault((group, thing), [])
            if not causes:
                self.members[group].append(thing)
            causes.append((trigger, objects))

    def differ(self) -> None:
        """Refuse objects that are different and look alike, as what they look like is what orders them."""
        alike: dict[tuple[str, str], Object] = {}
        for things in self.members.values():
            for thing in things:
                if alike.setdefault(rank(thing), thing) != thing:
                    raise ValueError(f"two objects have one `repr`, {thing!r}; they are told apart by it")

    def tuples(self, sets: Sequence[ObjectSet]) -> Iterator[tuple[Object, ...]]:
        for objects in itertools.product(*(self.members[group] for group in sets)):
            if len(set(objects)) == len(objects):
                yield objects

    def dynamic(self, sets: Sequence[ObjectSet], objects: Sequence[Object]) -> list[tuple[ObjectSet, Object]]:
        """Return what of the objects is not in its set from the beginning."""
        return [member for member in zip(sets, objects, strict=True) if member in self.added]

    def variable(self, key: Key, values: tuple[Value, ...]) -> None:
        self.number[key] = len(self.names)
        self.names.append(key)
        self.values.append(values)

    def needed(self, about: GenericChoice | ObjectSet | TriggerRule, objects: tuple[Object, ...]) -> tuple[int, ...]:
        assert not isinstance(about, ObjectSet)
        return tuple(self.number[group, (thing,)] for group, thing in self.dynamic(about.sets, objects))

    def known(self, chosen: ChoiceOf) -> int:
        """Return the variable of a choice with its objects."""
        number = self.number.get((chosen.choice, chosen.objects))
        if number is None:
            raise ValueError(f"there is no {chosen}: these objects are not different ones of its sets")
        return number

    # What has to hold.

    def rule(self, why: str) -> int:
        self.rules.append(why)
        return len(self.rules) - 1

    def structure(self, why: str) -> int:
        number = self.rule(why)
        self.structural.add(number)
        return number

    def clause(self, rule: int, needs: Iterable[int], literals: Iterable[Test]) -> None:
        """Keep a clause that counts only where some variables are true."""
        absent = [self.is_false(need) for need in dict.fromkeys(needs)]
        self.clauses.append(GroundClause(rule, (*absent, *literals)))

    def is_false(self, variable: int) -> Test:
        return Test((variable,), 0b01, _is_false)

    def is_true(self, variable: int) -> Test:
        return Test((variable,), 0b10, bool)

    def test(self, literal: Literal, present: Sequence[int] = ()) -> Test:
        """Return a literal on variables; it fails where one of the variables `present` is false."""
        scope = list(dict.fromkeys([*present, *map(self.known, literal.chosen)]))
        at = [scope.index(self.known(chosen)) for chosen in literal.chosen]
        turns = [chosen.choice.opposite if chosen.turned else None for chosen in literal.chosen]
        there = len(set(present))
        test, positive = literal.test, literal.positive

        def function(*values: Value) -> bool:
            given = [turn[values[n]] if turn else values[n] for n, turn in zip(at, turns, strict=True)]
            return all(values[:there]) and bool(test(*given)) == positive

        domains = tuple(self.values[variable] for variable in scope)
        if math.prod(map(len, domains)) > MOST_TUPLES:
            return Test(tuple(scope), None, function)
        turned = tuple(turn is not None and chosen.choice for turn, chosen in zip(turns, literal.chosen, strict=True))
        key = None if literal.key is None else (literal.key, positive, tuple(at), turned, there, domains)
        if key is None or key not in self.tables:
            allowed = sum(1 << n for n, values in enumerate(itertools.product(*domains)) if function(*values))
            if key is None:
                return Test(tuple(scope), allowed, function)
            self.tables[key] = allowed
        return Test(tuple(scope), self.tables[key], function)

    def condition(
        self, rule: int, needs: Sequence[int], condition: Condition | bool, extra: Sequence[Test] = ()
    ) -> None:
        """Keep what a condition says, where some variables are true."""
        for literals in clauses(condition):
            tests = [self.test(literal) for literal in literals]
            asked = [need for test in tests for variable in test.scope for need in self.needs[variable]]
            self.clause(rule, [*needs, *asked], [*extra, *tests])

    def constrain(self, rule: ConstraintRule) -> None:
        number = self.rule(rule.why)
        for objects in self.tuples(rule.sets):
            needs = [self.number[group, (thing,)] for group, thing in self.dynamic(rule.sets, objects)]
            self.condition(number, needs, rule.condition(*objects))

    def fires(self, trigger: TriggerRule, objects: tuple[Object, ...]) -> None:
        """A trigger has fired just where its objects are there and its condition holds."""
        number = self.structure(trigger.why)
        fired = self.number[trigger, objects]
        parts = [self.is_true(need) for need in self.needed(trigger, objects)]
        for literals in clauses(trigger.when(*objects)):
            if len(literals) != 1:
                raise ValueError(f"{trigger.why}: when a trigger fires is a conjunction of tests of choices")
            present = [need for chosen in literals[0].chosen for need in self.needs[self.known(chosen)]]
            parts.append(self.test(literals[0], present))
        for part in parts:
            self.clauses.append(GroundClause(number, (self.is_false(fired), part)))
        self.clauses.append(GroundClause(number, (self.is_true(fired), *map(self.negated, parts))))

    def negated(self, test: Test) -> Test:
        tuples = math.prod(len(self.values[variable]) for variable in test.scope)
        allowed = None if test.allowed is None else ((1 << tuples) - 1) ^ test.allowed
        return Test(test.scope, allowed, lambda *values: not test.function(*values))

    def exists(
        self, member: tuple[ObjectSet, Object], causes: Sequence[tuple[TriggerRule, tuple[Object, ...]]]
    ) -> None:
        """An object is in a set just where a trigger that adds it has fired."""
        group, thing = member
        number = self.structure(f"{thing} is in {group.name} where it is added")
        there = self.number[group, (thing,)]
        fired = [self.number[cause] for cause in causes]
        for cause in fired:
            self.clauses.append(GroundClause(number, (self.is_false(cause), self.is_true(there))))
        self.clauses.append(GroundClause(number, (self.is_false(there), *map(self.is_true, fired))))

    def divide(self, quotient: QuotientRule) -> None:
        """Of each class the first object that is there is chosen, and no other one."""
        name, of = quotient.chosen.name, quotient.chosen.sets[0]
        about, one, first = (
            self.structure(f"{name} {words}") for words in ("is of its objects", "is one of each class", "is the first")
        )
        for (a,) in self.tuples([of]):
            chosen = self.known(quotient.chosen(a))
            needs = self.needs[chosen]
            self.condition(about, needs, as_condition(quotient.where(a)), [self.is_false(chosen)])
            earlier: list[Test] = []
            for (b,) in self.tuples([of]):
                if rank(b) >= rank(a):
                    continue
                same = quotient.same(b, a)
                if not isinstance(same, Literal):
                    raise ValueError(f"{name}: whether {b} and {a} are of one class has to be one test of choices")
                present = [need for chosen_one in same.chosen for need in self.needs[self.known(chosen_one)]]
                earlier.append(self.test(same, present))
                self.condition(one, [*needs, *present], ~same, [self.is_false(chosen)])
            self.condition(first, needs, ~as_condition(quotient.where(a)), [self.is_true(chosen), *earlier])

    def compose(self, choice: GenericChoice, compose: Mapping[tuple[Value, Value], frozenset[Value]]) -> None:
        """All three of the relations between three objects fit."""
        number = self.rule(f"{choice.name} of three objects")
        of, opposite = choice.sets[0], choice.opposite
        assert opposite is not None

        def fit(ab: Value, bc: Value, ac: Value) -> bool:
            back = {"ab": opposite[ab], "bc": opposite[bc], "ac": opposite[ac]}
            ways = [(ab, bc, ac), (ac, back["bc"], ab), (back["ab"], ac, bc)]
            ways += [(opposite[y], opposite[x], opposite[z]) for x, y, z in ways]
            return all(z in compose.get((x, y), {z}) for x, y, z in ways)

        for a, b, c in itertools.combinations(sorted(self.members[of], key=rank), 3):
            literal = Literal((choice(a, b), choice(b, c), choice(a, c)), fit, key=("composed", choice))
            self.condition(number, [], literal)

    def count(self, counter: CounterRule) -> None:
        number = self.rule(counter.why)
        terms: list[CounterTerm] = []
        for objects in self.tuples(counter.sets):
            present = [self.number[group, (thing,)] for group, thing in self.dynamic(counter.sets, objects)]
            value = counter.value(*objects)
            when = single(True if counter.when is None else counter.when(*objects))
            if when is False:
                continue
            masks: dict[int, int] = {}
            if isinstance(when, Literal):
                test = self.test(when)
                assert test.allowed is not None
                masks[test.scope[0]] = test.allowed
                present += self.needs[test.scope[0]]
            variable = self.known(value) if isinstance(value, ChoiceOf) else None
            if variable is not None:
                present += self.needs[variable]
            numbers = [value] if not isinstance(value, ChoiceOf) else self.values[variable or 0]
            if not all(isinstance(n, int) and n >= 0 for n in numbers):
                raise ValueError(f"{counter.why}: what is counted has to be whole numbers from 0 on, not {numbers}")
            masks |= dict.fromkeys(present, 0b10)
            terms.append(CounterTerm(variable, 0 if isinstance(value, ChoiceOf) else value, tuple(masks.items())))
        self.counters.append(GroundCounter(number, counter.product, tuple(terms), counter.least, counter.most))


def _is_false(value: Value) -> bool:
    return not value
