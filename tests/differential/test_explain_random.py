"""What is blamed for a random sketch without a solution is to blame: compared with trying every filling.

Brute force runs the concrete machine on every function of every template, and on every table of the holes that are
not blamed.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle.answers.explain.blame import Blame, find, find_outputs
from swizzle.answers.explain.relaxed import Relaxed
from swizzle.solving.problem.problem import Problem
from symbolic.errors import SwizzleError
from symbolic.solve.engines import quickest_boolean
from templates.chooser import Choice, Chooser
from templates.holes import Point
from templates.registry import template
from templates.template import Template
from tests.differential.random_sketches import RandomSketch, functions, specification_of, without_question
from tests.differential.test_search_against_brute_force import random_sketch


class Table(Template):
    """A hole that may be any function: the choice is one value a point."""

    def __init__(self, values: Sequence[Any], points: Sequence[Point]) -> None:
        self.points = list(points)
        self.components = tuple(tuple(values) for _ in points)

    def at(self, chooser: Chooser[Any], point: Point) -> Any:
        return chooser.pick(self.points.index(point), lambda v: v)

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        lanes = np.broadcast_arrays(*arguments) if arguments else [np.zeros(1, np.int64)]
        table = dict(zip(self.points, choice, strict=True))
        points = zip(*(a.tolist() for a in lanes), strict=True) if arguments else [()]
        return np.array([table.get(p, self.components[0][0] if choice else 0) for p in points])


def right_sets(problem: Problem, made: Sequence[Template], fillings: Iterable[Choice]) -> Iterator[frozenset[int]]:
    """Yield which outputs each filling that keeps all rules gets right."""
    numbers = {(o.array, o.address): n for n, o in enumerate(problem.outputs)}
    everything = frozenset(numbers.values())
    for choices in fillings:
        run, wrong = problem.candidate(made, choices)
        if not run.violations:
            yield everything - {numbers[m.array, m.address] for m in wrong}


def within(some: frozenset[int], found: Iterable[frozenset[int]]) -> bool:
    return any(some <= right for right in found)


def blame_of(problem: Problem, space: Any) -> Blame:
    deadline = time.monotonic() + 60
    with Relaxed(problem, space, quickest_boolean(), tight=True) as tight:
        conflict = find_outputs(tight, deadline)
        assert conflict is not None
    with Relaxed(problem, space, quickest_boolean(), violations=tight.violations) as relaxed:
        blame = find(relaxed, conflict, deadline)
    assert blame.complete and blame.all_needed
    return blame


def check_free(problem: Problem, found: Sequence[frozenset[int]], tables: Sequence[Template], most: int) -> None:
    """What no functions of the holes' arguments make right is looked for first: check that none does, if it was found.

    No filling does; and of few tables, none does, but each part of the outputs is made right by some.
    """
    deadline = time.monotonic() + 60
    with Relaxed(problem, "1", quickest_boolean(), free=frozenset(range(len(tables)))) as free:
        conflict = find_outputs(free, deadline)
        if conflict is None:
            return
        blame = find(free, conflict, deadline)
    blamed = frozenset(blame.outputs)
    assert blame.complete and blame.all_needed and not blame.holes
    assert not within(blamed, found)
    if prod(int(t.size()) for t in tables) <= most:
        each = [functions(t, p) for t, p in zip(tables, problem.points, strict=True)]
        found = list(right_sets(problem, tables, itertools.product(*each)))
        assert not within(blamed, found)
        assert all(within(blamed - {o}, found) for o in blamed)


def spoilt(spec: Callable[..., Any], seed: float) -> Callable[..., Any]:
    """Return a specification with some elements of its outputs in one another's place."""

    def changed(*arrays: Any) -> Any:
        random, found = Random(seed), spec(*arrays)
        for _ in range(random.choice([1, 1, 2])):
            some, other = random.choice(found), random.choice(found)
            j, k = random.randrange(len(some)), random.randrange(len(other))
            some[j], other[k] = other[k], some[j]
        return found

    return changed


def check(seed: int, space: Any, most: int, rich: bool) -> str:
    """Check what is blamed for one random sketch; return what became of it."""
    random = Random(seed)
    program = (RandomSketch(random).sketch() if rich else random_sketch(random)).program
    try:
        probe = without_question(program)
    except SwizzleError as error:
        return f"refused: {error.found}"
    if not program.holes:
        return "no holes"
    made = [template(h, p, space) for h, p in zip(program.holes, probe.points, strict=True)]
    each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
    if np.prod([len(e) for e in each]) > most:
        return "too many fillings"
    fillings = list(itertools.product(*each))
    truth = random.choice([f for f in fillings if not probe.candidate(made, f)[0].violations] or fillings)
    problem = Problem.of(program, spoilt(specification_of(program, made, truth, random), random.random()))
    try:
        found = list(right_sets(problem, made, fillings))
        if within(frozenset(range(len(problem.outputs))), found):
            return "sat"
        blame = blame_of(problem, space)
    except SwizzleError as error:
        return f"refused: {error.found}"
    blamed = frozenset(blame.outputs)
    assert not within(blamed, found)
    assert all(within(blamed - {o}, found) for o in blamed)
    if blame.proved_smallest and 1 <= len(blamed) <= 3:
        fewer = itertools.combinations(range(len(problem.outputs)), len(blamed) - 1)
        assert all(within(frozenset(some), found) for some in fewer)
    tables: list[Template] = [
        Table((False, True) if h.kind == "cond" else range(h.size), p)
        for h, p in zip(program.holes, problem.points, strict=True)
    ]
    check_free(problem, found, tables, most)
    for freed in (None, *blame.holes):
        mixed = [made[n] if n in blame.holes and n != freed else table for n, table in enumerate(tables)]
        some = [functions(t, p) for t, p in zip(mixed, problem.points, strict=True) if t.size() <= 20_000]
        if len(some) < len(mixed) or np.prod([len(s) for s in some]) > most:
            continue
        producible = within(blamed, right_sets(problem, mixed, itertools.product(*some)))
        if freed is not None:
            assert producible, f"freeing hole {freed} does not help"
        else:
            assert not producible, "the holes are not enough to blame"
    return f"{len(blame.outputs)} outputs, {len(blame.holes)} holes, {len(blame.rules)} rules"


@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("rich", [False, True])
def test_random_sketches(seed: int, rich: bool) -> None:
    """The outputs cannot be produced together, every one of them is needed, and so is every hole."""
    check(seed, "123"[seed % 3], 60, rich)
