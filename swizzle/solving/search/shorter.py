"""Other functions of the same cost with shorter formulas: a few light ones are tried in place of each long one.

Where several functions solve a sketch, a search ends with any of them: what the kernel does with a value may make no
difference. That the answer is the shortest is claimed only of the cost `terms` (`solving/costs/counted.py`), which
looks at every filling.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec.structs import replace

from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.readback import Reading
from symbolic.machine.launch_shape import LaunchShape
from templates.chooser import Choice
from templates.formula import length_of
from templates.holes import kind_of
from templates.registry import template
from templates.template import Template

SHORT: Final = 5  # terms, as `(lane + k) % 32` has them: nothing is tried for a formula that has no more
FUNCTIONS: Final = 9  # `0`, `k`, `i`, `i + k` and the like: what is tried for one hole
THREADS: Final = 1 << 14  # that run for one hole at most


def with_shorter_formulas(reading: Reading, best: Candidate, cost: BoundedCost) -> Candidate:
    """Return a filling that costs no more, with shorter formulas where a few tries find some."""
    problem = reading.problem
    many, fits = Many(problem), min(FUNCTIONS, THREADS // LaunchShape.of(problem.program).count)
    for number, hole in enumerate(problem.program.holes):
        length = length_of(reading.formulas(best)[number])
        if not kind_of(hole).moves or length <= SHORT:
            continue
        light = _light(problem, number)
        values = many.chosen(problem.templates(best.space), best.choices)
        arguments = list(many.points[number].table.T)
        others: dict[bytes, Values] = {}
        for choice in itertools.islice(_plainest(light), fits):
            some = np.broadcast_to(np.asarray(light.apply(choice, arguments)), len(values[number]))
            others.setdefault(some.astype(np.int64).tobytes(), (*values[:number], some, *values[number + 1 :]))
        costs = many.costs(list(others.values()), cost.of_copies)
        for other, costing in zip(others.values(), costs, strict=True):
            own = reading.choice_of(best.space, number, other[number].tolist()) if costing == best.cost else None
            if own is not None:
                choices = (*best.choices[:number], own, *best.choices[number + 1 :])
                candidate = Candidate(best.space, choices, best.cost, other)
                if length_of(reading.formulas(candidate)[number]) < length:
                    best, length = candidate, length_of(reading.formulas(candidate)[number])
    return best


def _light(problem: Problem, number: int) -> Template:
    """Return the light functions of Space 1 at a hole's points, of which one that names its families may have some."""
    hole = replace(problem.program.holes[number], kind="xform", families=())
    return template(hole, problem.points[number], "1").restricted(strides=bool(problem.reductions))


def _plainest(template: Template) -> Iterator[Choice]:
    """Yield the choices of a template of Space 1, those without an offset first."""
    shapes, rates, offsets = template.components
    for offset, shape, rate in itertools.product(offsets, shapes, rates):
        yield shape, rate, offset
