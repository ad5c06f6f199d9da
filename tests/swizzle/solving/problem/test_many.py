"""Many fillings in one run are judged as each is on its own."""

import random

import numpy as np
import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.cegis import Cegis
from templates.chooser import Choice
from templates.formula import plain, values_of
from templates.template import Template
from tests.sketches import accumulates_of, kernel

SKETCHES = {
    "two_blocks_of_two_warps": kernel(
        "t = cuda.grid(1)\ny[t] = x[cuda.blockIdx.x * 8 + ?sw_xform(t % 8, 8)]",
        grid=2,
        arguments="x=i32[16], y=i32.out[16]",
        spec="x",
    ),
    "stores_that_may_race": kernel(
        "t = cuda.threadIdx.x\ns = cuda.shared.array(8, i32)\ns[?sw_xform(t, 8)] = x[t]\n"
        "cuda.syncthreads()\ny[t] = s[?sw_xform(t, 8)]",
        spec="x",
    ),
    "registers_out_of_bounds": kernel(
        "t = cuda.threadIdx.x\nr = cuda.local.array(3, i32)\nfor i in range(3):\n    r[i] = x[t]\n"
        "if ?sw_cond(t, 2):\n    y[t] = r[?sw_xform(t % 4, 4)]\nelse:\n    y[t] = x[t]",
        spec="x",
    ),
    "accumulates": kernel(
        "t = cuda.threadIdx.x\nacc = accumulator(i32, outer='+')\nfor k in range(2):\n"
        "    acc.accumulate(x[?sw_xform(t, 8, k)], when=?sw_cond(t, k))\n"
        "    acc.accumulate(x[0], when=?sw_cond(t, 3))\n"
        "y[t] = acc.value",
        spec="[x[t] + x[(t + 1) % 8] for t in range(8)]",
    ),
    "many_large_arguments": kernel(
        "t = cuda.threadIdx.x\n"
        "y[t] = x[t] if ?sw_cond(t * 1400, 9000 - t * 1200, 9999 - t, t % 3 - 5000, 7) else x[0]\n"
        "if t < 5:\n    y[t] = x[?sw_xform(t, 5, t * 999)]",
        spec="[x[t] if t < 5 else x[0] for t in range(8)]",
    ),
    "a_hole_that_is_never_asked": kernel(
        "t = cuda.threadIdx.x\ny[t] = x[?sw_xform(t, 8)]\nif t > 8:\n    y[0] = x[?sw_xform(t, 8)]", spec="x"
    ),
}


def alone(problem: Problem, templates: list[Template], choices: tuple[Choice, ...]) -> int | None:
    """Return what one run of one filling says: its cost, or None."""
    run, wrong = problem.candidate(templates, choices)
    return None if run.violations or wrong else accumulates_of(run)


@pytest.mark.parametrize("sketch", SKETCHES.values(), ids=SKETCHES)
def test_fillings_are_judged_as_on_their_own(sketch: Sketch) -> None:
    """Right ones, wrong ones and ones that break a rule, mixed."""
    problem, rng = Problem.of(sketch.program, sketch.spec), random.Random(1)
    templates = problem.templates("1")
    with Cegis(problem, "1", "z3", None, lambda _: None) as search:
        right = search.find()
    assert isinstance(right, Candidate)
    kept = [[rng.random() < 0.8 for _ in templates] for _ in range(90)]
    fillings = [
        tuple(
            old if keep else tuple(map(rng.choice, t.components))
            for old, keep, t in zip(right.choices, some, templates, strict=True)
        )
        for some in kept
    ]
    expected = [alone(problem, templates, choices) for choices in fillings]
    many = Many(problem)
    values = [many.chosen(templates, choices) for choices in fillings]
    assert many.costs(values, ACCUMULATES.of_copies) == expected
    assert None in expected and set(expected) != {None}, "the fillings say too little"


@pytest.mark.parametrize("sketch", SKETCHES.values(), ids=SKETCHES)
def test_formulas_give_what_templates_do(sketch: Sketch) -> None:
    """The printed expression of a choice, worked out by itself, is the template's function."""
    problem, rng = Problem.of(sketch.program, sketch.spec), random.Random(2)
    for template, hole, points in zip(problem.templates("2"), problem.program.holes, problem.points, strict=True):
        columns = [np.array(c) for c in zip(*points, strict=True)]
        for _ in range(50 if columns else 0):
            choice = tuple(rng.choice(c) for c in template.components)
            found = values_of(plain(hole, template, choice), columns)
            assert np.array_equal(np.broadcast_to(found, len(points)), template.apply(choice, columns))
