"""The search agrees with brute force on random sketches of the whole language, rule-breaking fillings included.

Brute force runs the concrete machine on every filling. A sketch that no filling saves, or that asks for what the
search refuses by name, is passed over.
"""

import itertools
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.errors import SwizzleError
from templates.registry import template
from tests.differential.random_sketches import RandomSketch, functions, specification_of, what_runs, without_question
from tests.sketches import accumulates_of
from tests.slow_cases import slow_unless


def compare(seed: int, space: Any, most: int = 400) -> str:
    """Compare one random sketch's search with brute force on at most so many fillings; return what became of it."""
    random = Random(seed)
    sketch = RandomSketch(random).sketch()
    program = sketch.program
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
    spec = specification_of(program, made, truth, random)
    problem = Problem.of(program, spec)
    right = {}
    for choices in fillings:
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            right[what_runs(program, made, choices)] = accumulates_of(run)
    costs = list(right.values())
    posed = Sketch(sketch.name, program, spec, {}, sketch.place)  # type: ignore[arg-type]
    try:
        found = solve(posed, Limits(space=space, all_solutions=True))
        best = solve(posed, Limits(space=space))
    except SwizzleError as error:
        return f"refused: {error.found}"
    if found.status == "unknown" or "cancelling" in found.certificate:  # it says that some were left out
        assert not Counter(s.cost["accumulates"] for s in found.solutions) - Counter(costs)
        return "narrowed"
    assert found.status == best.status == ("sat" if costs else "unsat")
    assert sorted(s.cost["accumulates"] for s in found.solutions) == sorted(costs)
    assert not costs or (best.optimal and best.best.cost["accumulates"] == min(costs))
    return best.status


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", slow_unless(range(100), lambda seed: seed < 8))
def test_random_sketches(seed: int) -> None:
    """Status, least cost and number of solutions are what trying every filling gives."""
    compare(seed, "123"[seed % 3], most=120)
