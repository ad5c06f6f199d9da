"""What a space holds: all assignments, one, how many, or the least set of rules that leaves none."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist, fmean, stdev

from msgspec import Struct

from symbolic.choices.grounding import GroundSpace
from symbolic.choices.propagation import ContradictionError, PartialAssignment, Propagator
from symbolic.choices.second_opinion import cp_sat_is_empty, has_cp_sat


class SpaceSize(Struct, frozen=True):
    """How many assignments there are: an estimate, and an interval that holds the number in 95 of 100 cases.

    Attributes:
        estimate: the number, exact where `low` and `high` are equal to it.
        low, high: the interval; `low` is never below the assignments that were seen.
        walks: how many random walks were made.
        dead_ends: which part of the walks ended in a contradiction.
    """

    estimate: float
    low: float
    high: float
    walks: int
    dead_ends: float


def fewest_values(propagation: Propagator, candidate: PartialAssignment) -> int:
    """Return the open choice with the fewest values left, the first one of several."""
    return min(propagation.open_variables(candidate), key=lambda variable: candidate.masks[variable].bit_count())


def children(
    propagation: Propagator, candidate: PartialAssignment, variable: int
) -> Iterator[tuple[int, PartialAssignment]]:
    """Yield a candidate for each value of an open choice that is not a contradiction, with the value's bit."""
    for bit in bits_of(candidate.masks[variable]):
        try:
            yield bit, propagation.decide(candidate, variable, bit)
        except ContradictionError:
            continue


def assignments(
    propagation: Propagator,
    candidate: PartialAssignment | None = None,
    next_variable: Callable[[Propagator, PartialAssignment], int] = fewest_values,
) -> Iterator[PartialAssignment]:
    """Yield each complete candidate once.

    Args:
        propagation: the space.
        candidate: where to begin; None for the whole space.
        next_variable: which choice is decided next. The assignments do not depend on it, their order does.
    """
    try:
        waiting = [propagation.root() if candidate is None else candidate]
    except ContradictionError:
        return
    while waiting:
        at = waiting.pop()
        if not propagation.open_variables(at):
            yield at
            continue
        variable = next_variable(propagation, at)
        waiting.extend(reversed([child for _, child in children(propagation, at, variable)]))


def estimate(
    propagation: Propagator, seed: int = 0, walks: int = 200, candidate: PartialAssignment | None = None
) -> SpaceSize:
    """Return how many assignments there are, by random walks from the root (Knuth 1975).

    A walk's product of the numbers of values that propagation left of each decision is an unbiased estimate; one that
    ends in a contradiction counts as 0. The interval is that of a mean of many walks, so it is wrong where few walks
    meet most of the assignments.
    """
    chooser = random.Random(seed)
    try:
        root = propagation.root() if candidate is None else candidate
    except ContradictionError:
        return SpaceSize(0, 0, 0, 0, 0)
    sizes = [_walk(propagation, root, chooser) for _ in range(walks)]
    mean = fmean(sizes)
    error = NormalDist().inv_cdf(0.975) * stdev(sizes) / math.sqrt(walks) if walks > 1 else math.inf
    seen = 1 if any(sizes) else 0
    return SpaceSize(mean, max(seen, mean - error), mean + error, walks, sizes.count(0) / walks)


def _walk(propagation: Propagator, root: PartialAssignment, chooser: random.Random) -> float:
    size, at = 1.0, root
    while propagation.open_variables(at):
        variable = fewest_values(propagation, at)
        bits = bits_of(at.masks[variable])
        size *= len(bits)
        try:
            at = propagation.decide(at, variable, chooser.choice(bits))
        except ContradictionError:
            return 0
    return size


def contradictory_rules(space: GroundSpace, most_nodes: int = 100_000) -> list[str] | None:
    """Return a set of rules that leaves no assignment, of which each rule is needed; None where one is left.

    Args:
        space: the space.
        most_nodes: how many candidates are looked at for each question. Where that does not decide one, CP-SAT does;
            RuntimeError where that is not installed.
    """
    questioned = {*(clause.rule for clause in space.clauses), *(counter.rule for counter in space.counters)}
    kept = sorted(questioned - space.structural)
    if not _is_empty(space, kept, most_nodes):
        return None
    for rule in list(kept):
        fewer = [other for other in kept if other != rule]
        if _is_empty(space, fewer, most_nodes):
            kept = fewer
    return [space.rules[rule] for rule in kept]


def _is_empty(space: GroundSpace, rules: Sequence[int], most_nodes: int) -> bool:
    propagation = Propagator(space, frozenset(rules))
    try:
        waiting = [propagation.root()]
    except ContradictionError:
        return True
    for _ in range(most_nodes):
        if not waiting:
            return True
        at = waiting.pop()
        if not propagation.open_variables(at):
            return False
        waiting.extend(child for _, child in children(propagation, at, fewest_values(propagation, at)))
    if has_cp_sat():
        return cp_sat_is_empty(space, rules)
    raise RuntimeError(f"{most_nodes:,} candidates do not decide whether {space.name} is empty")


def bits_of(mask: int) -> list[int]:
    """Return the bits of a mask, each by itself."""
    return [1 << n for n in range(mask.bit_length()) if mask >> n & 1]
