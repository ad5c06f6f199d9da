"""What the induction says of elements before a step: one end of what each holds, or both; as numbers and expressions.

In a scan in place an element's words reach from itself to one side, so the other end says it all. Where elements drop
their words, both ends are open; `nothing` is from where to where the identity reaches.
"""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
from msgspec import Struct

from swizzle.scans.algorithm import ELEMENT, SIZE, Algorithm, ScanStep
from swizzle.scans.bank import Column
from swizzle.scans.held import HeldRanges
from swizzle.scans.points import LoopPoints
from symbolic.expressions.expression import (
    ONE,
    ZERO,
    Expression,
    add,
    both,
    constant,
    either,
    equal,
    less,
    less_equal,
    negation,
    number_name,
    select,
    substituted,
    subtract,
)

CLEARED: Final = number_name("cleared")
"""How many elements there are up to element i (in a backward scan from it on), in the base and without the lowest digit
that is not 0."""
OF_SOURCE: Final = number_name("cleared_of_source")
"""The same of the element that is taken."""
Held = tuple[Expression, ...]
"""The ends of what an element holds, over i, d and N."""


def exists(element: Expression) -> Expression:
    """Return that an element is one of the array."""
    return both(less_equal(ZERO, element), less(element, SIZE))


class OneEnd(Struct, frozen=True):
    """How far each element reaches in a scan in place."""

    backward: bool

    @property
    def start(self) -> Held:
        """What is held in the beginning."""
        return (ELEMENT,)

    @property
    def whole(self) -> Held:
        """What is held in the end."""
        return (subtract(SIZE, ONE) if self.backward else ZERO,)

    def legal(self, step: ScanStep, held: Held) -> Expression:
        """Return that a step keeps the rules, given what is held before it."""
        neighbour = add(held[0], ONE if self.backward else constant(-1))
        return either(negation(step.when), both(exists(step.source), equal(step.source, neighbour)))

    def after(self, step: ScanStep, held: Held) -> Held:
        """Return what is held behind a step."""
        return (select(step.when, substituted(held[0], {"i": step.source, CLEARED.value: OF_SOURCE}), held[0]),)

    def of(self, held: HeldRanges) -> tuple[Column, ...]:
        """Return the same in numbers."""
        return (held.high - 1 if self.backward else held.low,)


class BothEnds(Struct, frozen=True):
    """From where to where elements hold the input, behind the last one, where some drop what they hold."""

    backward: bool
    exclusive: bool

    @property
    def start(self) -> Held:
        """What is held in the beginning."""
        return ELEMENT, add(ELEMENT, ONE)

    @property
    def whole(self) -> Held:
        """What is held in the end."""
        cut = add(ELEMENT, ONE) if self.backward == self.exclusive else ELEMENT
        return (cut, SIZE) if self.backward else (ZERO, cut)

    def legal(self, step: ScanStep, held: Held) -> Expression:
        """Return that a step keeps the rules, given what is held before it."""
        claims, earlier, (low, high) = [], list[Expression](), held
        for move in step.moves:
            if move.how != "nothing":
                first, last = _of_source(move, held)
                beside = equal(last, low) if move.how == "before" else equal(high, first)
                fits = [] if move.how == "instead" else [either(equal(low, high), equal(first, last), beside)]
                claims.append(either(negation(move.when), *earlier, both(exists(move.source), *fits)))
            earlier.append(move.when)
        return both(*claims)

    def after(self, step: ScanStep, held: Held) -> Held:
        """Return what is held behind a step."""
        low, high = held
        alone = equal(low, high)
        for move in reversed(list(step.moves)):
            if move.how == "nothing":
                nothing = SIZE if self.backward else ZERO
                ends = nothing, nothing
            else:
                first, last = ends = _of_source(move, held)
                none = equal(first, last)
                if move.how == "before":
                    ends = select(alone, first, select(none, held[0], first)), select(alone, last, held[1])
                elif move.how == "behind":
                    ends = select(alone, first, held[0]), select(alone, last, select(none, held[1], last))
            low, high = (select(move.when, end, own) for end, own in zip(ends, (low, high), strict=True))
        return low, high

    def of(self, held: HeldRanges) -> tuple[Column, ...]:
        """Return the same in numbers."""
        return held.low, held.high


def _of_source(move: ScanStep, held: Held) -> tuple[Expression, Expression]:
    assert CLEARED.value not in held[0].names | held[1].names, "of this element, not of the source"
    low, high = (substituted(each, {"i": move.source}) for each in held)
    return low, high


def ends_of(algorithm: Algorithm) -> OneEnd | BothEnds:
    """Return which ends are needed of an algorithm."""
    return OneEnd(algorithm.backward) if algorithm.in_place else BothEnds(algorithm.backward, algorithm.exclusive)


def reached(algorithm: Algorithm, number: int, points: LoopPoints) -> list[tuple[Column, ...]]:
    """Return the ends of what is held before each step of a loop, at its points."""
    ends, loop = ends_of(algorithm), algorithm.loops[number]
    found = [[tuple(np.zeros(0, np.int64) for _ in ends.start)] for _ in loop.steps]
    for size in dict.fromkeys(size for size, _ in points.rounds):
        first, behind = (
            sum(len(each.distances(size)) * len(each.steps) for each in algorithm.loops[:until])
            for until in (number, number + 1)
        )
        for at, held in enumerate(itertools.islice(algorithm.held(size), first, behind)):
            assert not isinstance(held, str), held
            found[at % len(loop.steps)].append(ends.of(held))
    return [tuple(map(np.concatenate, zip(*rows, strict=True))) for rows in found]
