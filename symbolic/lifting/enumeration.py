"""The cheapest program of a grammar by trying: all values that its programs may have, in the order of their cost.

Programs that have the same values on all examples are one; of what is left, each cost's programs are put together from
cheaper ones, a column of numbers at a time. Where no program of a cost fits the examples, none of that cost fits all
inputs; so the first one that does is proved cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np
import pysmt.operators as op
from msgspec import Struct
from pysmt.environment import get_env
from pysmt.fnode import FNode

from symbolic.expressions.bank import Bank, Block
from symbolic.lifting.environment import Closure
from symbolic.lifting.rules import Alternative, NoRules, Productions, choices, rules_of
from symbolic.lifting.unknowns import ChoicePoint
from symbolic.solve.answer import Model
from symbolic.solve.columns import Column, column, evaluated
from symbolic.solve.floor_division import manager
from symbolic.solve.tables import Value

CHUNK: Final = 1 << 14
"""Programs that are looked at together."""
MOST: Final = 3_000_000
"""As many are looked at for one answer."""
COMMUTE: Final = frozenset({
    op.BV_ADD, op.BV_MUL, op.BV_AND, op.BV_OR, op.BV_XOR, op.PLUS, op.TIMES, op.AND, op.OR, op.IFF, op.EQUALS,
})  # fmt: skip


class GaveUp(Exception):
    """There are too many programs, or the time is over."""


class TriedProgram(Struct, frozen=True):
    """What the choices are in a program of a cost."""

    values: dict[FNode, bool]
    cost: int


class Enumeration(Struct, frozen=True):
    """A grammar's call that a claim is about: its rules, the symbols of its values in the claim, the numbers given."""

    claim: FNode
    rules: Productions
    calls: tuple[tuple[FNode, Mapping[FNode, FNode]], ...]
    guessed: Callable[[Any], dict[FNode, bool]]
    outside: int
    """What is left of the cost when the grammar's own is taken off."""

    def best(
        self, examples: Sequence[Mapping[FNode, Value]], least: int, late: Callable[[], bool]
    ) -> TriedProgram | int | None:
        """Return a program that fits the examples, of the least cost, of which none is below `least`; None where there
        is none. An int says that none costs less, and that more are too many to look at."""
        programs = _Programs(self._given(examples), len(self.calls) * len(examples), late)
        most = self.rules.most + self.outside
        for cost in range(least, most + 1):
            try:
                level, bank = programs.level(self.rules, cost - self.outside)
                for start in range(level.start, level.stop, CHUNK):
                    fits = self._fits(bank.rows[start : min(start + CHUNK, level.stop)], examples)
                    if fits.any():
                        found = programs.derivation(self.rules, start + int(np.argmax(fits)))
                        return TriedProgram(self.guessed(found), cost)
            except GaveUp:
                return cost
        return None

    def _given(self, examples: Sequence[Mapping[FNode, Value]]) -> dict[FNode, Column]:
        """Return what the formulas of the rules are given, over all calls and examples."""
        models = [Model(dict(example).get) for example in examples]
        return {
            symbol: column(
                [model.value(places[symbol]) for _, places in self.calls for model in models], symbol.symbol_type()
            )
            for symbol in self.calls[0][1]
        }

    def _fits(self, rows: Column, examples: Sequence[Mapping[FNode, Value]]) -> Any:
        symbols = {symbol for example in examples for symbol in example}
        columns = {s: column([example[s] for example in examples], s.symbol_type()) for s in symbols}
        for number, (symbol, _) in enumerate(self.calls):
            columns[symbol] = rows[:, number * len(examples) : (number + 1) * len(examples)]
        found = evaluated(self.claim, columns)
        return np.broadcast_to(found, (len(rows), len(examples))).all(axis=1)


Derivation: TypeAlias = tuple[int, tuple[int, ...]]
"""The number of an alternative, and the places of what is in its slots, in the banks of the slots' rules."""


def _derivation(number: int, places: Sequence[Any], row: int) -> Derivation:
    return number, tuple(int(some[row]) for some in places)


class _Programs:
    """All programs so far, by rules and cost; of those with the same values the first."""

    def __init__(self, given: dict[FNode, Column], points: int, late: Callable[[], bool]) -> None:
        self._given = given
        self._points = points
        self._late = late
        self._banks: dict[Productions, Bank[Derivation]] = {}
        self._looked = 0

    def level(self, rules: Productions, cost: int) -> tuple[range, Bank[Derivation]]:
        """Return the places of the programs of a cost, without those that are as good as a cheaper one."""
        rules = rules.plain
        bank = self._banks.setdefault(rules, Bank())
        if cost not in bank.levels:
            for lower in range(cost):
                self.level(rules, lower)
            bank.grow(cost, self._blocks(rules, cost) if 0 <= cost <= rules.most else ())
        return bank.levels[cost], bank

    def derivation(self, rules: Productions, place: int) -> Any:
        """Return how a program comes about: the alternative, and the derivations of what is in its slots."""
        if rules.plain is not rules:
            return 0, [self.derivation(rules.alternatives[0].slots[0].rules, place)]
        number, places = self._banks[rules].made[place]
        slots = rules.alternatives[number].slots
        return number, [self.derivation(slot.rules, at) for slot, at in zip(slots, places, strict=True)]

    def _blocks(self, rules: Productions, cost: int) -> Iterator[Block[Derivation]]:
        for number, alternative in enumerate(rules.alternatives):
            for costs in _shares(alternative, cost - alternative.own):
                yield from self._combined(number, alternative, costs)

    def _combined(self, number: int, alternative: Alternative, costs: tuple[int, ...]) -> Iterator[Block[Derivation]]:
        """Yield what an alternative gives with slots of these costs."""
        parts = [self.level(slot.rules, cost) for slot, cost in zip(alternative.slots, costs, strict=True)]
        shape = tuple(len(level) for level, _ in parts)
        ordered = _commutes(alternative)
        if not all(shape) or (ordered and costs[0] > costs[1]):
            return
        total = math.prod(shape)
        for start in range(0, total, CHUNK):
            if self._late():
                raise GaveUp
            flat = np.arange(start, min(start + CHUNK, total))
            at = np.unravel_index(flat, shape) if shape else ()
            if ordered and costs[0] == costs[1]:
                kept = at[0] <= at[1]
                at = tuple(each[kept] for each in at)
            count = len(at[0]) if shape else 1
            self._looked += count
            if self._looked > MOST:
                raise GaveUp
            places = [level.start + each for (level, _), each in zip(parts, at, strict=True)]
            columns = {
                slot.symbol: bank.rows[some]
                for slot, (_, bank), some in zip(alternative.slots, parts, places, strict=True)
            }
            values = evaluated(alternative.formula, {**self._given, **columns})
            rows = np.broadcast_to(values, (count, self._points))
            yield rows, partial(_derivation, number, places)


def _shares(alternative: Alternative, cost: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to share a cost out among the slots."""
    most = [slot.rules.most for slot in alternative.slots]
    if cost < 0 or sum(most) < cost:
        return
    *others, last = most or [0]
    for share in product(*(range(min(each, cost) + 1) for each in others)):
        if 0 <= cost - sum(share) <= last:
            yield (*share, cost - sum(share)) if most else ()


def _commutes(alternative: Alternative) -> bool:
    """Tell whether an alternative's two slots may change places."""
    slots, formula = alternative.slots, alternative.formula
    return (
        len(slots) == 2
        and formula.node_type() in COMMUTE
        and set(formula.args()) == {slot.symbol for slot in slots}
        and slots[0].rules.plain is slots[1].rules.plain
    )


def enumeration(closure: Closure, cost: FNode, claim: FNode, inputs: set[FNode]) -> Enumeration | None:
    """Return how to try the programs of a claim about all inputs, where a call of one grammar is all that is unknown in
    it; None where there are other unknowns, or what a program must meet cannot be told from its values."""
    sketch, free = closure.sketch, get_env().fvo.get_free_variables
    values = {
        root.result: manager().FreshSymbol(get_env().stc.get_type(root.result), "value!%d")
        for root in sketch.roots.values()
        if not free(root.result) <= inputs
    }
    claimed = claim.substitute(values)
    asked = [root for root in sketch.roots.values() if root.result in values and values[root.result] in free(claimed)]
    if len({root.instance for root in asked}) != 1 or not free(claimed) <= inputs | set(values.values()):
        return None
    (instance,) = {root.instance for root in asked}
    try:
        rules, places = rules_of(asked[0].function, [root.names for root in asked])
    except NoRules:
        return None
    if any(not free(formula) <= inputs for place in places for formula in place.values()):
        return None

    def guessed(derivation: Any) -> dict[FNode, bool]:
        found: dict[FNode, bool] = {}
        for choice, number in choices(rules, derivation, sketch, instance):
            found |= choice.choosing(number)
        return found

    least, derivation = rules.cheapest
    own = {
        hole
        for key, unknown in sketch.unknowns.items()
        if key[: len(instance)] == instance and isinstance(unknown, ChoicePoint)
        for hole in unknown.holes
    }
    if not free(cost) <= own:
        return None
    total = Model(guessed(derivation).get).value(cost)
    assert isinstance(total, int)
    calls = tuple((values[root.result], place) for root, place in zip(asked, places, strict=True))
    return Enumeration(claimed, rules, calls, guessed, total - least)
