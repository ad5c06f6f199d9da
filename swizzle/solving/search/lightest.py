"""One hole's functions from light to heavy: for costs that are counted, such as conflicts, the first is often the best.

A layout is a hole that is asked wherever a tile is written and read. Nearly every function of it is right, and there
are more than can be counted, so the search looks at them in the order in which one would like to read them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.named_rows import RowTurns
from swizzle.solving.problem.problem import Problem
from symbolic.machine.launch_shape import LaunchShape
from templates.chooser import Choice
from templates.either import Either
from templates.holes import Space
from templates.template import Template

# Each of these is varied by an experiment: python bench/tuned.py lightest.TRIED 1_000 4_000 16_000
TRIED = 4_000  # functions
FIRST = 8  # that are run at once when the search begins; later twice as many each time
THREADS = 1 << 15  # that run at once
FEW = 512  # functions that are all looked at


def has_few(problem: Problem, space: Space) -> bool:
    """Say whether a problem has one hole, with so few functions that `candidates` looks at all of them."""
    templates = problem.templates(space)
    return len(templates) == 1 and sum(part.size() for part in templates[0].parts) <= FEW


def candidates(
    problem: Problem, space: Space, cost: BoundedCost, template: Template | None = None
) -> Iterator[Candidate]:
    """Yield the right fillings of a problem with one hole, from light to heavy, each behaviour once.

    Where there are more than a few, it does not yield all. The hole has the functions of `template`, unless given those
    of the space. Of so many functions at a time, those come first with which the rows that lanes name to ldmatrix meet
    in the fewest banks: their turns are part of a filling's conflicts.
    """
    template = template or problem.templates(space)[0]
    many, table = Many(problem), np.array(problem.points[0], np.int64).reshape(len(problem.points[0]), -1)
    few = sum(part.size() for part in template.parts) <= FEW
    choices = _all(template) if few else itertools.islice(template.lightest(), TRIED)
    turns = RowTurns(problem.rows, many)
    together, least = (FEW, 1) if turns else (FIRST, FIRST)
    most = max(1, THREADS // LaunchShape.of(problem.program).count)
    seen = set[bytes]()
    while batch := list(itertools.islice(choices, together if turns else min(together, most))):
        together *= 2
        fresh: list[tuple[Choice, Values]] = []
        for choice in batch:
            values = np.broadcast_to(np.asarray(template.apply(choice, list(table.T))), len(table)).astype(np.int64)
            if values.tobytes() not in seen:
                seen.add(values.tobytes())
                fresh.append((choice, (values,)))
        if turns:
            fresh.sort(key=lambda filling: turns.of(filling[1]))
        while fresh:
            some, fresh = fresh[: min(least, most)], fresh[min(least, most) :]
            least *= 2
            costs = many.costs([values for _, values in some], cost.of_copies)
            for (choice, filling), costing in zip(some, costs, strict=True):
                if costing is not None:
                    yield Candidate(space, (choice,), costing, filling)


def _all(template: Template) -> Iterator[Choice]:
    """Yield every choice of a template, those of each of its parts from light to heavy."""
    for number, part in enumerate(template.parts):
        for choice in sorted(itertools.product(*part.components), key=part.weight):
            yield template.whole(number, choice) if isinstance(template, Either) else choice
