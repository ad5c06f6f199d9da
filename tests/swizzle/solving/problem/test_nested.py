"""Holes whose arguments other holes decide, against all fillings one by one."""

from __future__ import annotations

import itertools
import random

import pytest

from swizzle import SwizzleError, solve
from swizzle.language.specs.verify import verify
from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Limits
from tests.sketches import kernel

BODIES = {
    "itself": "y[i] = x[?sw_xform(?sw_xform(i, 4), 4)]",
    "a variable": "j = ?sw_xform(i, 4)\ny[i] = x[?sw_xform(j, 4, i)]",
    "two parts of one": "p = ?sw_xform(i, 4)\ny[i] = x[?sw_xform(p % 2, 2) + 2 * ?sw_part(2, p // 2, i)]",
    "two holes": "y[i] = x[?sw_xform(?sw_xform(i, 4), 4, ?sw_part(2, i))]",
    "a condition": "j = 0\nif ?sw_cond(i):\n    j = 2\ny[i] = x[?sw_xform(i, 4, j)]",
    "a branch": "if ?sw_cond(i):\n    j = ?sw_xform(i, 4)\n    y[i] = x[?sw_xform(j, 4)]\nelse:\n    y[i] = x[i]",
}


def rights(problem: Problem) -> int:
    """Count the right fillings of Space 1, one run each."""
    templates = problem.templates("1")
    choices = (list(itertools.islice(itertools.product(*t.components), 400)) for t in templates)
    return sum(not problem.candidate(templates, some)[1] for some in itertools.product(*choices))


@pytest.mark.parametrize(
    "body", [pytest.param(body, marks=[pytest.mark.slow] * (body in ("two holes", "a branch"))) for body in BODIES]
)
def test_they_are_solved_where_some_filling_is_right(body: str) -> None:
    """What is found is verified; where nothing is found, no filling is right."""
    found = set()
    for seed in range(3):
        order = random.Random(seed).sample(range(4), 4) if seed else [1, 2, 3, 0]
        sketch = kernel(
            f"i = cuda.laneid\n{BODIES[body]}", spec=f"[x[j] for j in {order}]",
            arguments="x=i32[4], y=i32.out[4]", block=4,
        )  # fmt: skip
        result = solve(sketch, Limits(space="1"))
        found.add(result.status)
        if result.status == "sat":
            assert verify(result.best.program, sketch.spec).equal
        else:
            assert result.status == "unsat" and not rights(Problem.of(sketch.program, sketch.spec))
    assert "sat" in found


@pytest.mark.slow
@pytest.mark.parametrize("body", ["itself", "two holes"])
def test_a_certificate_confirms_what_is_found(body: str) -> None:
    """The second reading asks holes at the points that other holes lead to."""
    sketch = kernel(
        f"i = cuda.laneid\n{BODIES[body]}", spec="[x[3 - j] for j in range(4)]",
        arguments="x=i32[4], y=i32.out[4]", block=4,
    )  # fmt: skip
    result = solve(sketch, Limits(space="1", certify=True))
    assert result.status == "sat"
    assert all(not said for said in result.certificate.get("doubts", ()))


def test_too_many_points_are_refused() -> None:
    """Arguments that many holes decide together."""
    parts = ", ".join(f"?sw_xform(i, 64, {k})" for k in range(3))
    with pytest.raises(SwizzleError, match="depend on other holes, and may be one of 262144"):
        solve(kernel(f"i = cuda.threadIdx.x\ny[i] = x[?sw_part(2, {parts})]", spec="[x[0] for i in range(64)]",
                     arguments="x=i32[2], y=i32.out[64]", block=64, warp_size=32))  # fmt: skip
