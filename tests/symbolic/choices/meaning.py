"""What a declared space means, read off the declaration: all its assignments, by trying every value of every choice.

Shares nothing with grounding and propagation: what triggers add is added when they fire, and a rule is a test
of a whole assignment.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from symbolic.choices.conditions import AllOf, AnyOf, ChoiceOf, Condition, Literal, ObjectSet
from symbolic.choices.space import ChoiceSpace

Assignment = dict[tuple[str, tuple[str, ...]], object]
Members = dict[ObjectSet, list[str]]


def all_assignments(space: ChoiceSpace) -> set[frozenset[tuple[tuple[str, tuple[str, ...]], object]]]:
    """Return every assignment that keeps the rules, as its items."""
    base = {group: list(group.objects) for group in space.sets}
    return {frozenset(made.items()) for made in _from(space, base, {})}


def _from(space: ChoiceSpace, members: Members, values: Assignment) -> Iterator[Assignment]:
    open_choices = [
        (choice, objects)
        for choice in space.choices
        for objects in distinct(members, choice.sets)
        if (choice.opposite is None or key(objects[0]) < key(objects[1])) and (choice.name, objects) not in values
    ]
    universes = [choice.universe(*objects) for choice, objects in open_choices]
    for picked in itertools.product(*universes):
        names = [(choice.name, objects) for choice, objects in open_choices]
        made = {**values, **dict(zip(names, picked, strict=True))}
        more = _added(space, members, made)
        if more != members:
            yield from _from(space, more, made)
        elif _right(space, members, made):
            yield made


def _added(space: ChoiceSpace, members: Members, values: Assignment) -> Members:
    more = {group: list(things) for group, things in members.items()}
    for trigger in space.triggers:
        for objects in distinct(members, trigger.sets):
            if true(trigger.when(*objects), values):
                for group, things in trigger.adds(*objects).items():
                    more[group] += [thing for thing in things if thing not in more[group]]
    return more


def _right(space: ChoiceSpace, members: Members, values: Assignment) -> bool:
    for rule in space.constraints:
        if not all(true(rule.condition(*objects), values) for objects in distinct(members, rule.sets)):
            return False
    for quotient in space.quotients:
        for (a,) in distinct(members, quotient.chosen.sets):
            others = [b for (b,) in distinct(members, quotient.chosen.sets) if key(b) < key(a)]
            first = true(quotient.where(a), values) and not any(true(quotient.same(b, a), values) for b in others)
            if value(quotient.chosen(a), values) != first:
                return False
    for choice, compose in space.algebras:
        for a, b, c in distinct(members, choice.sets[:1] * 3):
            pair = (value(choice(a, b), values), value(choice(b, c), values))
            if pair in compose and value(choice(a, c), values) not in compose[pair]:
                return False
    for counter in space.counters:
        numbers = []
        for objects in distinct(members, counter.sets):
            if counter.when is None or true(counter.when(*objects), values):
                counted = counter.value(*objects)
                numbers.append(value(counted, values) if isinstance(counted, ChoiceOf) else counted)
        total = math.prod(numbers) if counter.product else sum(numbers)
        if not counter.least <= total <= counter.most:
            return False
    return True


def distinct(members: Members, sets: Sequence[ObjectSet]) -> Iterator[tuple[str, ...]]:
    for objects in itertools.product(*(members[group] for group in sets)):
        if len(set(objects)) == len(objects):
            yield objects


def key(thing: str) -> str:
    return repr(thing)


def value(chosen: ChoiceOf, values: Assignment) -> object:
    kept = values[chosen.choice.name, chosen.objects]
    if not chosen.turned:
        return kept
    assert chosen.choice.opposite is not None
    return chosen.choice.opposite[kept]


def true(condition: Condition | bool, values: Assignment) -> bool:
    match condition:
        case bool():
            return condition
        case Literal():
            return bool(condition.test(*(value(chosen, values) for chosen in condition.chosen))) == condition.positive
        case AllOf(parts):
            return all(true(part, values) for part in parts)
        case AnyOf(parts):
            return any(true(part, values) for part in parts)
    raise AssertionError(condition)
