"""An evident 'no' is never said where some free tables give what is asked: they are all tried."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.hopeless import hopeless
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.errors import SwizzleError
from templates.registry import template
from templates.template import Template
from tests.differential.random_sketches import RandomSketch, without_question
from tests.differential.test_explain_random import Table, functions, random_sketch, right_sets, specification_of, within
from tests.sketches import kernel
from tests.slow_cases import slow_unless

MOST = 150  # tables of all holes together


def changed(spec: Callable[..., Any], seed: float) -> Callable[..., Any]:
    """Return a specification with an element that is exchanged, doubled, or another one's sum."""

    def asked(*arrays: Any) -> Any:
        random, found = Random(seed), spec(*arrays)
        some = random.choice(found)
        j, k = random.randrange(len(some)), random.randrange(len(some))
        match random.randrange(4):
            case 0:
                some[j], some[k] = some[k], some[j]
            case 1:
                some[j] = some[j] + some[k]
            case 2:
                some[j] = arrays[0][random.randrange(arrays[0].shape[0])]
        return found

    return asked


def check(seed: int) -> str:
    """Compare with all tables for one random sketch; return what was said."""
    random = Random(seed)
    program = (RandomSketch(random).sketch() if seed % 2 else random_sketch(random)).program
    try:
        probe = without_question(program)
        if not program.holes:
            return "no holes"
        made = [template(h, p, "1") for h, p in zip(program.holes, probe.points, strict=True)]
        truth = tuple(random.choice(functions(t, p)) for t, p in zip(made, probe.points, strict=True))
        spec = changed(specification_of(program, made, truth, random), random.random())
        problem = Problem.of(program, spec)
    except SwizzleError as error:
        return f"refused: {error.found}"
    found = hopeless(problem, "glucose")
    tables: list[Template] = [
        Table((False, True) if h.kind == "cond" else range(h.size), p)
        for h, p in zip(program.holes, problem.points, strict=True)
    ]
    if any(t.size() > MOST for t in tables) or np.prod([t.size() for t in tables]) > MOST:
        if found is not None:
            run, wrong = problem.candidate(made, truth)
            assert wrong or run.violations
        return "too many tables"
    some = [functions(t, p) for t, p in zip(tables, problem.points, strict=True)]
    right = list(right_sets(problem, tables, itertools.product(*some)))
    if found is None:
        return "all right" if within(frozenset(range(len(problem.outputs))), right) else "not evident"
    assert not within(frozenset({found.output}), right)
    posed = Sketch(program.name, program, spec, {}, program.place)  # type: ignore[arg-type]
    answer = solve(posed, Limits())
    assert answer.status == "unsat" or (answer.status == "unknown" and "cancel" in answer.reason)
    return "evident"


@pytest.mark.parametrize("part", slow_unless(range(4), lambda part: part < 1))
def test_random_sketches(part: int) -> None:
    """Both answers occur, and no 'no' is wrong; most sketches of the slow parts have too many tables to try."""
    seeds = range(20) if part == 0 else range(80 * part - 60, 80 * part + 20)
    said = Counter(check(seed).partition(":")[0] for seed in seeds)
    assert said["evident"] and said["all right"] + said["not evident"], said


@pytest.mark.parametrize(("steps", "asked"), [("2, 1", "unsat"), ("4, 2, 1", "sat")])
def test_items_of_differences_and_multiples_are_counted(steps: str, asked: str) -> None:
    """A butterfly of sums and differences, which may cancel: two steps put four elements together, three eight."""
    text = f"""
i = cuda.laneid
v = x[i]
for m in ({steps}):
    o = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(i, 8, m))
    v = v + o if i % (2 * m) < m else 3 * (o - v)
y[i] = v
"""
    bits = "({0} % 2 + {0} // 2 % 2 + {0} // 4)"
    spec = (
        f"[sum((-1) ** {bits.format('(i & j)')} * 3 ** {bits.format('i')} * x[j] for j in range(8)) for i in range(8)]"
    )
    posed = kernel(text, spec=spec, arguments="x=i32[8], y=i32.out[8]", block=8, warp_size=8)
    found = hopeless(Problem.of(posed.program, posed.spec), "glucose")
    assert (found is not None) is (asked == "unsat")
    if found is not None:
        assert solve(posed).certificate["evident"] == found.output
