"""What a space holds: all assignments, one, how many, or the least set of rules that leaves none."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist, fmean, stdev, variance
from typing import Final

from msgspec import Struct

from symbolic.choices.grounding import GroundSpace
from symbolic.choices.propagation import ContradictionError, PartialAssignment, Propagator
from symbolic.choices.second_opinion import cp_sat_is_empty, has_cp_sat

FEWEST: Final = 4
"""Walks that an interval is made of, at least."""
MOST_STEPS: Final = 100
"""Strata are made narrower until a walk takes more steps than that."""
COARSEST: Final = 4**6


class SpaceSize(Struct, frozen=True):
    """How many assignments there are: an estimate, and an interval that holds the number in 95 of 100 cases.

    Attributes:
        estimate: the number, exact where `low` and `high` are equal to it.
        low, high: the interval; `low` is never below the assignments that were seen.
        walks: how many random walks were made.
    """

    estimate: float
    low: float
    high: float
    walks: int


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
    propagation: Propagator, seed: int = 0, walks: int = 20, candidate: PartialAssignment | None = None,
    seconds: float = 15.0,
) -> SpaceSize:  # fmt: skip
    """Return how many assignments there are, by random walks from the root in strata (Chen 1992).

    Each walk is an unbiased estimate. Their logarithms are taken to be normally distributed (Cox's interval), as a few
    walks that meet most of the assignments make the mean of many; where some are 0, the walks themselves are. The
    strata of large spaces are wider, so that a walk ends soon, and the interval is too. After `seconds` of processor
    time no more than a few walks are made.
    """
    chooser = random.Random(seed)
    try:
        root = propagation.root() if candidate is None else candidate
    except ContradictionError:
        return SpaceSize(0, 0, 0, 0)
    sizes, begun, width = list[float](), time.process_time(), COARSEST
    while width > 1 and _walk(propagation, root, random.Random(seed), width)[1] <= MOST_STEPS:
        width //= 4
    while len(sizes) < walks and (len(sizes) < FEWEST or time.process_time() - begun < seconds):
        sizes.append(_walk(propagation, root, chooser, width)[0])
    walks = len(sizes)
    mean, quantile = fmean(sizes), NormalDist().inv_cdf(0.975) * (1 + 1 / walks)
    if not all(sizes):
        error = quantile * stdev(sizes) / math.sqrt(walks)
        return SpaceSize(mean, max(any(sizes), mean - error), mean + error, walks)
    logarithms = list(map(math.log, sizes))
    spread = variance(logarithms)
    error = quantile * math.sqrt(spread / walks + spread**2 / 2 / (walks - 1))
    middle = fmean(logarithms) + spread / 2
    low, high = math.exp(middle - error), math.exp(middle + error)
    return SpaceSize(mean, max(1, min(low, mean)), max(high, mean), walks)


def _walk(propagation: Propagator, root: PartialAssignment, chooser: random.Random, width: int) -> tuple[float, int]:
    """Return an estimate and the steps of one walk through the tree, in which one candidate stands for its stratum.

    A stratum are those with as many open choices, and about as many combinations of their values, or of `width` such
    numbers. Of these the one that is kept is drawn by its weight, the number of candidates for which it stands.
    """
    waiting, total, steps = {(0, 0): (1.0, root)}, 0.0, 0
    while waiting:
        steps += 1
        weight, at = waiting.pop(min(waiting))
        if not propagation.open_variables(at):
            total += weight
            continue
        for _, child in children(propagation, at, fewest_values(propagation, at)):
            values = [child.masks[variable].bit_count() for variable in propagation.open_variables(child)]
            stratum = -len(values) // width, round(-math.log2(math.prod(values)) / (2 * width))
            before, kept = waiting.get(stratum, (0.0, child))
            drawn = child if chooser.random() * (before + weight) < weight else kept
            waiting[stratum] = before + weight, drawn
    return total, steps


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
