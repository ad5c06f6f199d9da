"""Candidates: partial assignments that are as narrow as what is known of them allows (section 2.1).

A candidate is immutable: a mask of values for each variable. `decide` narrows a choice and propagates to a fixpoint,
which is the same whatever the order of decisions and of propagators, as each propagator only removes values that are in
no tuple that it allows, and removes the more the narrower the domains are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from symbolic.choices.conditions import ChoiceOf, GenericChoice, Object, Value
from symbolic.choices.grounding import MOST_TUPLES, CounterTerm, GroundClause, GroundCounter, GroundSpace, Test

MOST_SCOPE = 3
"""Clauses about more variables than that are not made tables of."""


class ContradictionError(Exception):
    """No assignment is left. Its arguments are the rules that were looked at when the last value of a variable went."""

    @property
    def why(self) -> tuple[str, ...]:
        """Return the rules in words."""
        return self.args

    def __str__(self) -> str:
        return " and ".join(self.args)


class PartialAssignment(Struct, frozen=True):
    """A partial assignment: for each variable the values that are left, as bits."""

    masks: tuple[int, ...]


class _Table:
    """All tuples that the clauses on up to three variables allow; a value that is in none of them goes.

    Clauses about the same variables, or about some of them, are one table: each by itself would not remove what they
    forbid together. Tables that are alike share what they have worked out.
    """

    def __init__(self, scope: tuple[int, ...], sizes: tuple[int, ...], allowed: int, rules: tuple[int, ...]) -> None:
        self.scope, self.sizes, self.allowed, self.rules = scope, sizes, allowed, rules
        self.narrowed = _narrowed(sizes, allowed)

    def narrow(self, masks: list[int]) -> Iterable[tuple[int, int]] | None:
        before = tuple(masks[variable] for variable in self.scope)
        after = self.narrowed.get(before)
        if after is None:
            after = self.narrowed[before] = self._supported(before)
        return zip(self.scope, after, strict=True) if after else None

    def _supported(self, before: tuple[int, ...]) -> tuple[int, ...]:
        live = self.allowed
        for position, mask in enumerate(before):
            live &= _with_values(self.sizes, position, mask)
        if not live:
            return ()
        return tuple(
            sum(bit for bit in _single(mask) if live & _with_values(self.sizes, position, bit))
            for position, mask in enumerate(before)
        )


class _Disjunction:
    """A clause about many variables: where all tests but one have failed, that one has to pass."""

    def __init__(self, space: GroundSpace, clause: GroundClause) -> None:
        self.space, self.tests, self.rules = space, clause.tests, (clause.rule,)
        self.scope = tuple(dict.fromkeys(variable for test in clause.tests for variable in test.scope))

    def narrow(self, masks: list[int]) -> Iterable[tuple[int, int]] | None:
        open_test: Test | None = None
        for test in self.tests:
            passing, failing = self._outcomes(test, masks)
            if not failing:
                return ()
            if passing:
                if open_test is not None:
                    return ()
                open_test = test
        return None if open_test is None else self._supported(open_test, masks)

    def _outcomes(self, test: Test, masks: list[int]) -> tuple[bool, bool]:
        """Return whether a test may pass, and whether it may fail."""
        if test.allowed is not None:
            live = self._live(test, masks)
            return live & test.allowed != 0, live & ~test.allowed != 0
        tuples = self._tuples(test, masks)
        if tuples is None:
            return True, True
        outcomes = {test.function(*values) for values in tuples}
        return True in outcomes, False in outcomes

    def _live(self, test: Test, masks: list[int]) -> int:
        sizes = tuple(len(self.space.values[variable]) for variable in test.scope)
        live = (1 << math.prod(sizes)) - 1
        for position, variable in enumerate(test.scope):
            live &= _with_values(sizes, position, masks[variable])
        return live

    def _tuples(self, test: Test, masks: list[int]) -> Iterator[tuple[Value, ...]] | None:
        """Return the tuples of values that are left of a large test; None where they are too many."""
        left = [[self.space.values[v][n.bit_length() - 1] for n in _single(masks[v])] for v in test.scope]
        return None if math.prod(map(len, left)) > MOST_TUPLES else itertools.product(*left)

    def _supported(self, test: Test, masks: list[int]) -> Iterable[tuple[int, int]]:
        """Return what is left of each variable of the only test that may still pass."""
        if test.allowed is not None:
            sizes = tuple(len(self.space.values[variable]) for variable in test.scope)
            live = self._live(test, masks) & test.allowed
            return [
                (variable, sum(bit for bit in _single(masks[variable]) if live & _with_values(sizes, position, bit)))
                for position, variable in enumerate(test.scope)
            ]
        tuples = self._tuples(test, masks)
        if tuples is None:
            return ()
        left = [set[Value]() for _ in test.scope]
        for values in tuples:
            if test.function(*values):
                for kept, value in zip(left, values, strict=True):
                    kept.add(value)
        return [
            (variable, sum(1 << n for n, value in enumerate(self.space.values[variable]) if value in kept))
            for variable, kept in zip(test.scope, left, strict=True)
        ]


class _Total:
    """A counter: a value goes with which the least, or the most, that is possible is beyond a bound."""

    def __init__(self, space: GroundSpace, counter: GroundCounter) -> None:
        self.space, self.counter, self.rules = space, counter, (counter.rule,)
        variables = [term.variable for term in counter.terms if term.variable is not None]
        self.scope = tuple(dict.fromkeys([*variables, *(v for term in counter.terms for v, _ in term.when)]))
        self.neutral = 1 if counter.product else 0

    def narrow(self, masks: list[int]) -> Iterable[tuple[int, int]] | None:
        counter = self.counter
        ranges = [self._range(term, masks) for term in counter.terms]
        least, most = self._joined(low for low, _ in ranges), self._joined(high for _, high in ranges)
        if least > counter.most or most < counter.least:
            return None
        if least >= counter.least and most <= counter.most:
            return ()
        narrower: list[tuple[int, int]] = []
        for number, term in enumerate(counter.terms):
            low, high = ranges[number]
            if low == high:
                continue
            others = ranges[:number] + ranges[number + 1 :]
            rest = self._joined(one for one, _ in others), self._joined(one for _, one in others)
            narrower += self._without(term, masks, rest)
        return narrower

    def _joined(self, numbers: Iterable[int]) -> int:
        return math.prod(numbers) if self.counter.product else sum(numbers)

    def _fits(self, value: int, rest: tuple[int, int]) -> bool:
        low, high = (self._joined((value, other)) for other in rest)
        return low <= self.counter.most and high >= self.counter.least

    def _numbers(self, term: CounterTerm, masks: list[int]) -> list[tuple[int, int]]:
        """Return the values that a term may have where it counts, with the bits of the variable that gives them."""
        if term.variable is None:
            return [(0, term.constant)]
        values = self.space.values[term.variable]
        return [(bit, int(values[bit.bit_length() - 1])) for bit in _single(masks[term.variable])]

    def _range(self, term: CounterTerm, masks: list[int]) -> tuple[int, int]:
        numbers = [value for _, value in self._numbers(term, masks)]
        if any(not masks[variable] & mask for variable, mask in term.when):
            return self.neutral, self.neutral
        if any(masks[variable] & ~mask for variable, mask in term.when):
            numbers.append(self.neutral)
        return min(numbers), max(numbers)

    def _without(self, term: CounterTerm, masks: list[int], rest: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Yield what is left of a term's variables, where the other terms together are between two numbers."""
        numbers = self._numbers(term, masks)
        fitting = [bit for bit, value in numbers if self._fits(value, rest)]
        undecided = [(variable, mask) for variable, mask in term.when if masks[variable] & ~mask]
        if not undecided:
            if term.variable is not None:
                yield term.variable, sum(fitting)
        elif not self._fits(self.neutral, rest):  # it has to count
            yield from term.when
            if term.variable is not None:
                yield term.variable, sum(fitting)
        elif not fitting and len(undecided) == 1:  # it must not count
            variable, mask = undecided[0]
            yield variable, ~mask


class Propagator:
    """A ground space with its propagators.

    Args:
        space: the space.
        rules: the rules that count, by number; None for all. Those that say what is there always count.
    """

    def __init__(self, space: GroundSpace, rules: Collection[int] | None = None) -> None:
        self.space = space
        counting = range(len(space.rules)) if rules is None else space.structural | frozenset(rules)
        self.propagators: list[_Table | _Disjunction | _Total] = list(_tables(space, counting))
        self.propagators += [_Total(space, counter) for counter in space.counters if counter.rule in counting]
        self.watching: list[list[int]] = [[] for _ in space.names]
        for number, propagator in enumerate(self.propagators):
            for variable in propagator.scope:
                self.watching[variable].append(number)

    def root(self) -> PartialAssignment:
        """Return the candidate of which nothing is decided; ContradictionError where there is no assignment."""
        masks = [(1 << len(values)) - 1 for values in self.space.values]
        return self._settled(masks, range(len(self.propagators)))

    def decide(self, candidate: PartialAssignment, variable: int, mask: int) -> PartialAssignment:
        """Return a candidate narrowed to some values of a variable; ContradictionError where none is left."""
        masks = list(candidate.masks)
        left = masks[variable] & mask
        if left == masks[variable]:
            return candidate
        if not left:
            raise ContradictionError(f"{self.space.label(variable)} has none of these values left")
        masks[variable] = left
        return self._settled(masks, self.watching[variable])

    def choose(self, candidate: PartialAssignment, chosen: ChoiceOf, *values: Value) -> PartialAssignment:
        """Decide that a choice has one of some values: `choose(candidate, order(a, b), "BEFORE")`."""
        variable = self.space.variable(chosen)
        opposite = chosen.choice.opposite if chosen.turned else None
        wanted = {opposite[value] for value in values} if opposite else set(values)
        domain = self.space.values[variable]
        return self.decide(candidate, variable, sum(1 << n for n, value in enumerate(domain) if value in wanted))

    def left(self, candidate: PartialAssignment, chosen: ChoiceOf) -> tuple[Value, ...]:
        """Return the values that are left of a choice."""
        variable = self.space.variable(chosen)
        values = self.values_left(candidate, variable)
        opposite = chosen.choice.opposite if chosen.turned else None
        return tuple(opposite[value] for value in values) if opposite else values

    def values_left(self, candidate: PartialAssignment, variable: int) -> tuple[Value, ...]:
        """Return the values that are left of a variable."""
        return tuple(self.space.values[variable][bit.bit_length() - 1] for bit in _single(candidate.masks[variable]))

    def open_variables(self, candidate: PartialAssignment) -> list[int]:
        """Return the choices that are there and not decided."""
        masks, needs = candidate.masks, self.space.needs
        return [
            variable
            for variable in range(self.space.choices)
            if masks[variable] & (masks[variable] - 1) and all(masks[need] == 0b10 for need in needs[variable])
        ]

    def assignment(self, candidate: PartialAssignment) -> dict[tuple[GenericChoice, tuple[Object, ...]], Value]:
        """Return the value of each choice that is there, where all are decided."""
        assert not self.open_variables(candidate), "an assignment of a candidate that is open"
        made: dict[tuple[GenericChoice, tuple[Object, ...]], Value] = {}
        for variable in range(self.space.choices):
            if all(candidate.masks[need] == 0b10 for need in self.space.needs[variable]):
                choice, objects = self.space.names[variable]
                assert isinstance(choice, GenericChoice)
                made[choice, objects] = self.values_left(candidate, variable)[0]
        return made

    def _settled(self, masks: list[int], first: Iterable[int]) -> PartialAssignment:
        """Run propagators until none removes a value."""
        waiting = dict.fromkeys(first)
        while waiting:
            number = next(iter(waiting))
            del waiting[number]
            propagator = self.propagators[number]
            narrower = propagator.narrow(masks)
            if narrower is None:
                raise ContradictionError(*(self.space.rules[rule] for rule in propagator.rules))
            for variable, mask in narrower:
                left = masks[variable] & mask
                if left != masks[variable]:
                    if not left:
                        raise ContradictionError(*(self.space.rules[rule] for rule in propagator.rules))
                    masks[variable] = left
                    waiting.update(dict.fromkeys(self.watching[variable]))
        return PartialAssignment(tuple(masks))


def _tables(space: GroundSpace, rules: Collection[int]) -> Iterator[_Table | _Disjunction]:
    """Yield a table for the clauses about the same few variables, and the other clauses as they are."""
    together: dict[tuple[int, ...], tuple[int, dict[int, None]]] = {}
    for clause in space.clauses:
        if clause.rule not in rules:
            continue
        scope = tuple(sorted({variable for test in clause.tests for variable in test.scope}))
        sizes = tuple(len(space.values[variable]) for variable in scope)
        written_out = all(test.allowed is not None for test in clause.tests)
        if len(scope) > MOST_SCOPE or math.prod(sizes) > MOST_TUPLES or not written_out:
            yield _Disjunction(space, clause)
            continue
        shapes = tuple((tuple(scope.index(v) for v in test.scope), test.allowed or 0) for test in clause.tests)
        allowed, guilty = together.setdefault(scope, ((1 << math.prod(sizes)) - 1, {}))
        guilty[clause.rule] = None
        together[scope] = allowed & _allowed(sizes, shapes), guilty
    for scope, (allowed, guilty) in together.items():
        sizes = tuple(len(space.values[variable]) for variable in scope)
        rules_of_all = dict(guilty)
        for fewer in range(1, len(scope)):
            for part in itertools.combinations(range(len(scope)), fewer):
                if (inner := together.get(tuple(scope[position] for position in part))) is not None:
                    allowed &= _allowed(sizes, ((part, inner[0]),))
                    rules_of_all |= inner[1]
        yield _Table(scope, sizes, allowed, tuple(rules_of_all))


@lru_cache(maxsize=1 << 16)
def _allowed(sizes: tuple[int, ...], shapes: tuple[tuple[tuple[int, ...], int], ...]) -> int:
    """Return the tuples of values for which one of some tests passes.

    Args:
        sizes: how many values each variable has.
        shapes: of each test the positions of its variables, and its own tuples that pass.
    """
    made = 0
    for number, values in enumerate(itertools.product(*map(range, sizes))):
        for positions, allowed in shapes:
            at = 0
            for position in positions:
                at = at * sizes[position] + values[position]
            if allowed >> at & 1:
                made |= 1 << number
                break
    return made


@lru_cache(maxsize=1 << 16)
def _with_values(sizes: tuple[int, ...], position: int, mask: int) -> int:
    """Return the tuples of values, in mixed radix, in which one variable has a value of a mask."""
    inner = math.prod(sizes[position + 1 :])
    block = (1 << inner) - 1
    one = 0
    for value in range(sizes[position]):
        if mask >> value & 1:
            one |= block << (value * inner)
    size = inner * sizes[position]
    return sum(one << (outer * size) for outer in range(math.prod(sizes[:position])))


@lru_cache(maxsize=1 << 16)
def _narrowed(sizes: tuple[int, ...], allowed: int) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return what tables of this kind have worked out: what is left of which masks, nothing for a contradiction."""
    return {}


@lru_cache(maxsize=1 << 16)
def _single(mask: int) -> tuple[int, ...]:
    """Return the bits of a mask, each by itself."""
    return tuple(1 << n for n in range(mask.bit_length()) if mask >> n & 1)
