"""Without canonical terms: the same answers where terms tell all, more where a law of arithmetic is needed."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle import load
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.audit.random_check import disagreement
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.errors import SwizzleError
from templates.registry import template
from tests.differential.random_sketches import RandomSketch, functions, specification_of, without_question
from tests.sketches import kernel

CASES = Path(__file__).parents[5] / "case_studies"
NO_TERMS = Limits(canonical=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("file", "name", "parameters"),
    [
        ("mult32", "shared", {}),
        ("mult32", "register", {}),
        ("aos_sum", "crc", {"struct_size": 2}),
        ("aos_store", "rcr", {"struct_size": 3}),
        pytest.param("aos_store", "crc", {"struct_size": 6}, marks=pytest.mark.slow),
        ("conv1d", None, {}),
        ("stencil1d", None, {}),
    ],
)
def test_the_same_status_and_cost(file: str, name: str | None, parameters: dict[str, int]) -> None:
    """Small case studies, whole numbers and floats, get the answer that terms give."""
    (sketch,) = load(CASES / f"{file}.py", name, {"warp_size": 4, "grid": 1, **parameters})
    found, wanted = solve(sketch, NO_TERMS), solve(sketch)
    assert (found.status, found.space, found.optimal) == (wanted.status, wanted.space, wanted.optimal)
    if wanted.solutions:
        assert found.best.cost == wanted.best.cost
        assert verify(found.best.program, sketch.spec).equal
        assert found.certificate["verified"]["how"] == "formulas, by z3"


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 60), marks=pytest.mark.slow)])
def test_random_sketches(seeds: range) -> None:
    """What terms find is found, at no higher cost; what only numbers find has other terms."""
    outcomes = [_compare(seed, "123"[seed % 3]) for seed in seeds]
    assert outcomes.count("sat") >= 2
    assert outcomes.count("unsat") >= 2


def _compare(seed: int, space: Any) -> str:
    random = Random(seed)
    sketch = RandomSketch(random).sketch()
    program = sketch.program
    try:
        probe = without_question(program)
    except SwizzleError:
        return "refused"
    made = [template(h, p, space) for h, p in zip(program.holes, probe.points, strict=True)]
    each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
    if not program.holes or np.prod([len(e) for e in each]) > 600:
        return "passed over"
    spec = specification_of(program, made, tuple(random.choice(e) for e in each), random)
    posed = Sketch(sketch.name, program, spec, {}, sketch.place)  # type: ignore[arg-type]
    try:
        wanted = solve(posed, Limits(space=space))
        found = solve(posed, Limits(space=space, canonical=False, timeout=20))
    except SwizzleError:
        return "refused"
    if found.status == "unknown":
        return "unknown"
    if wanted.status == "sat":
        assert found.status == "sat"
        assert found.best.cost["accumulates"] <= wanted.best.cost["accumulates"]
    elif found.status == "sat":
        assert not verify(found.best.program, spec).equal
    return found.status


@pytest.mark.parametrize("dtype", ["i32", "u64", "f32"])
def test_a_law_that_terms_do_not_know(dtype: str) -> None:
    """The smaller and the larger are both: terms find nothing, a solver finds it and all its fillings."""
    body = "i = cuda.laneid\ny[i] = max(x[?sw_xform(i, 4)], x[3 - i]) + min(x[?sw_xform(i, 4)], x[3 - i])"
    arrays = f"x={dtype}[4], y={dtype}.out[4]"
    sketch = kernel(body, spec="[x[i] + x[3 - i] for i in range(4)]", arguments=arrays, block=4)
    assert solve(sketch, Limits(space="1")).status == "unsat"
    found = solve(sketch, Limits(space="1", canonical=False, all_solutions=True))
    assert [[h.formula for h in s.holes] for s in found.solutions] == [["i", "i"]]
    assert disagreement(found.best.program, sketch.spec) == ""


def test_what_is_not_followed_is_the_users_mistake() -> None:
    """Conversions between floats and whole numbers have no meaning for the solver."""
    body = "i = cuda.laneid\ny[i] = f32(x[?sw_xform(i, 4)])"
    sketch = kernel(body, spec="[x[i] for i in range(4)]", arguments="x=i32[4], y=f32.out[4]", block=4)
    with pytest.raises(SwizzleError, match="--no-canonical does not follow the conversion from i32 to f32"):
        solve(sketch, NO_TERMS)
