"""The search agrees with brute force on small random sketches: sat or unsat, the least cost, how many solutions.

A sketch's specification is what one random filling of it computes, sometimes spoilt, so that some sketches have
one solution, some many, some none. Brute force runs the concrete machine on every filling.
"""

import itertools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.costs.accumulates import floor
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.datum import Datum
from symbolic.ir.program import Program
from symbolic.machine.machine import Machine
from templates.chooser import OneChoice
from templates.registry import template
from templates.template import Template
from tests.differential.random_sketches import what_runs
from tests.sketches import accumulates_of, kernel
from tests.slow_cases import slow_unless

REGISTER = """
lane = cuda.laneid
i = cuda.grid(1)
r = cuda.local.array(2, i32)
r[0] = x[i]
r[1] = x[i + 8]
a = accumulator(i32, outer="{outer}", inner={inner})
for k in range({rounds}):
    v = cuda.shfl_sync(cuda.FULL_MASK, r[{part}], ?sw_xform(lane, 4, k))
    a.accumulate({operands}{condition})
y[i] = a.value
"""
SHARED = """
t = cuda.threadIdx.x
i = cuda.grid(1)
s = cuda.shared.array(8, i32)
s[{store}] = x[i]
cuda.syncthreads()
y[i] = s[{load}]
"""
PERMUTED = """
lane = cuda.laneid
i = cuda.grid(1)
r = cuda.local.array(2, i32)
r[0] = x[i]
r[1] = x[i + 8]
q = cuda.local.array(2, i32)
for j in range(2):
    q[?sw_xform(j, 2, lane)] = r[j]
y[i] = q[0]
y[i + 8] = q[1]
"""


PREDICATED = """
i = cuda.laneid
a = accumulator(i32, outer="+")
a.accumulate(x[i])
a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))
y[i] = a.value
"""
BRANCHED = """
i = cuda.laneid
if ?sw_cond(i):
    y[i] = x[?sw_xform(i, 4)]
else:
    y[i] = x[3 - i] + x[i]
"""
SELECTED = """
i = cuda.laneid
y[i] = x[?sw_xform(i, 4)] if ?sw_cond(i) else x[3 - i]
"""


def random_sketch(random: Random) -> Sketch:
    """Return a sketch with one to three small holes; its specification is to be replaced."""
    match random.randrange(3):
        case 0:
            weighted, conditional = random.random() < 0.4, random.random() < 0.5
            body = REGISTER.format(
                outer=random.choice(["+", "xor"] if conditional else ["+", "max", "xor"]),
                inner='"*"' if weighted else None,
                rounds=random.choice([1, 2]),
                part=random.choice(["?sw_part(2, lane)", "?sw_part(2, k, lane)", "k % 2"]),
                operands="v, w[k]" if weighted else "v",
                condition=", when=?sw_cond(lane, k)" if conditional else "",
            )
            return kernel(body, arguments="x=i32[16], w=i32.const[2], y=i32.out[8]")
        case 1:
            store = random.choice(["t", "?sw_xform(t, 8)", "t // 4 * 4 + ?sw_xform(t % 4, 4, t // 4)"])
            load = random.choice(["?sw_xform(t, 8)", "7 - t", "t // 4 * 4 + ?sw_xform(t % 4, 4, t // 4)"])
            return kernel(SHARED.format(store=store, load=load))
        case _:
            return kernel(PERMUTED, arguments="x=i32[16], y=i32.out[16]")


def functions(made: Template, points: list[Any]) -> list[Any]:
    """Return one choice of each distinct function on the points."""
    seen: dict[tuple[Any, ...], Any] = {}
    for choice in itertools.product(*made.components):
        seen.setdefault(tuple(made.at(OneChoice(choice), p) for p in points), choice)
    return list(seen.values())


def specification_of(
    program: Program, templates: list[Template], choices: tuple[Any, ...], spoilt: bool
) -> Callable[..., Any]:
    """Return a specification that is what a filling computes; spoilt, its first and last element are exchanged."""

    def spec(*arrays: Any) -> Any:
        terms = arrays[0].terms
        inputs = {a.name: np.array([terms.atom(a.name, i) for i in range(a.shape[0])]) for a in arrays}
        hole = lambda n, args, mask: np.broadcast_to(np.asarray(templates[n].apply(choices[n], args)), args[0].shape)  # noqa: E731
        run = Machine(program, Canonical(terms), inputs, hole).run()
        memory = run.memories["y"]
        found = [Datum(terms, int(t)) for t in memory.data]
        if spoilt:
            found[0], found[-1] = found[-1], found[0]
        return found

    return spec


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", slow_unless(range(36), lambda seed: seed < 3))
@pytest.mark.parametrize("space", ["1", "2", "3"])
def test_random_sketches(seed: int, space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, least cost and number of solutions are what trying every filling gives."""
    random = Random(seed)
    sketch = random_sketch(random)
    program = sketch.program
    probe = Problem.of(program, lambda *arrays: [0] * len(sketch_output(program)))
    made = [template(h, p, space) for h, p in zip(program.holes, probe.points, strict=True)]
    each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
    truth = tuple(random.choice(some) for some in each)
    spec = specification_of(program, made, truth, random.random() < 0.3)
    if np.prod([len(e) for e in each]) > 3000:
        each = [[t, *random.sample(e, min(len(e), 5))] for e, t in zip(each, truth, strict=True)]
        complete = False
    else:
        complete = True
    problem = Problem.of(program, spec)
    right = {}
    for choices in itertools.product(*each):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            right[what_runs(program, made, choices)] = accumulates_of(run)
    costs = list(right.values())
    posed = Sketch(sketch.name, program, spec, {}, sketch.place)  # type: ignore[arg-type]
    found = solve(posed, Limits(space=space, all_solutions=complete))
    if complete:
        assert found.status == ("sat" if costs else "unsat")
        assert len(found.solutions) == len(costs)
        assert sorted(s.cost["accumulates"] for s in found.solutions) == sorted(costs)
    if costs:
        assert found.status == "sat" and found.optimal
        assert found.best.cost["accumulates"] <= min(costs)
        assert floor(problem) <= found.best.cost["accumulates"]
    monkeypatch.setattr("swizzle.solving.search.plan.LARGE", 0)  # light parts first, however small the space
    lighter = solve(posed, Limits(space=space))
    assert lighter.status == found.status
    if costs:
        assert lighter.optimal and lighter.best.cost == found.best.cost
    if seed % 6:
        return
    monkeypatch.setattr(Problem, "light", refuse)
    assert solve(posed, Limits(space=space, light=False)).status == found.status


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("body", "spec"),
    [
        (PREDICATED, "[x[i] + x[0] if i > 2 else x[i] for i in range(4)]"),
        (PREDICATED, "[v for v in x]"),
        (BRANCHED, "[x[2] if i == 0 else x[3 - i] + x[i] for i in range(4)]"),
        (SELECTED, "[x[i] if i < 1 else x[3 - i] for i in range(4)]"),
    ],
)
@pytest.mark.parametrize(
    ("space", "canonical"),
    slow_unless(
        ((space, canonical) for space in "123" for canonical in (True, False)), lambda case: case[1] or case[0] == "2"
    ),
)
def test_solutions_differ_where_they_run(body: str, spec: str, space: Any, canonical: bool) -> None:
    """Solutions that differ only where a condition keeps a hole from being asked are one; all others are found."""
    sketch = kernel(body, spec=spec, arguments="x=i32[4], y=i32.out[4]", block=4, warp_size=4)
    problem = Problem.of(sketch.program, sketch.spec)
    made = problem.templates(space)
    each = [functions(t, p) for t, p in zip(made, problem.points, strict=True)]
    right = [c for c in itertools.product(*each) if not problem.candidate(made, c)[1]]
    distinct = {what_runs(sketch.program, made, choices) for choices in right}
    assert len(distinct) < len(right) or not right
    found = solve(sketch, Limits(space=space, all_solutions=True, canonical=canonical, certify=canonical))
    assert len(found.solutions) == len(distinct)
    assert {c["verdict"] for c in found.certificate.get("confirmed", ())} <= {"confirmed"}


def refuse(*_: object) -> None:
    raise AssertionError("light constants were asked for")


def sketch_output(program: Program) -> range:
    (out,) = [p for p in program.parameters if p.role == "out"]
    return range(out.shape[0])
