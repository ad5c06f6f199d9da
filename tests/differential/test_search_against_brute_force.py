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

from swizzle.search.floor import floor
from swizzle.search.metasketch import solve
from swizzle.search.problem import Problem, live_accumulates
from swizzle.sketch import Sketch
from swizzle.solution import Limits
from symbolic.algebra import Canonical
from symbolic.machine import Machine
from symbolic.program import Program
from symbolic.terms import Datum
from templates.chooser import OneChoice
from templates.holes import Template, template
from tests.sketches import kernel

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


@pytest.mark.parametrize("seed", range(24))
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
    costs = []
    for choices in itertools.product(*each):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            costs.append(len(live_accumulates(run)))
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
    monkeypatch.setattr("swizzle.search.metasketch.LARGE", 0)  # light parts first, however small the space
    lighter = solve(posed, Limits(space=space))
    assert lighter.status == found.status
    if costs:
        assert lighter.optimal and lighter.best.cost == found.best.cost
    if seed % 6:
        return
    for kind in ("Xform", "Cond", "Part"):
        monkeypatch.setattr(f"templates.holes.{kind}.light", refuse)
    assert solve(posed, Limits(space=space, light=False)).status == found.status


def refuse(*_: object) -> None:
    raise AssertionError("light constants were asked for")


def sketch_output(program: Program) -> range:
    (out,) = [p for p in program.parameters if p.role == "out"]
    return range(out.shape[0])
