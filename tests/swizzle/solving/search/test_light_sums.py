"""Partial sums of which a part of their space, the light constants, holds an answer."""

import pytest

from swizzle import solve
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.cegis import Cegis
from templates.holes import Space
from tests.sketches import kernel

TREE = """
s = cuda.shared.array(N, f32)
t = cuda.threadIdx.x
s[t] = x[t]
s[t + N // 2] = x[t + N // 2]
cuda.syncthreads()
for k in range(3):
    d = 1 << k
    if t < N // (2 * d):
        s[?sw_xform(2 * d * t, N, d)] += s[?sw_xform(2 * d * t, N, d)]
    cuda.syncthreads()
for k in range(2):
    d = N // 4 >> k
    if t < N // (2 * d) - 1:
        s[?sw_xform(2 * d * t, N, d)] += s[?sw_xform(2 * d * t, N, d)]
    cuda.syncthreads()
y[t] = s[t]
y[t + N // 2] = s[t + N // 2]
""".replace("N", "8")
"""Brent and Kung's scan, whose cells are holes."""

STEP = "s = s + t{0} if ?sw_cond(lane) else s"
STEPS = "\n".join(
    ["lane = cuda.laneid", "s = x[lane]"]
    + [f"t{k} = cuda.shfl_sync(cuda.FULL_MASK, s, ?sw_xform(lane, 16))\n{STEP.format(k)}" for k in range(4)]
    + ["y[lane] = s"]
)
"""Kogge and Stone's scan, whose steps have holes of their own."""


@pytest.mark.parametrize(("text", "lanes", "threads", "space"), [(TREE, 8, 4, "1"), (STEPS, 16, 16, "2")])
def test_light_constants_of_scans(text: str, lanes: int, threads: int, space: Space) -> None:
    """Cells that are up to three distances apart, and bounds that are powers of two, are light."""
    posed = kernel(
        text,
        spec=f"[sum(x[j] for j in range(i + 1)) for i in range({lanes})]",
        arguments=f"x=f32[{lanes}], y=f32.out[{lanes}]",
        block=threads,
        warp_size=threads,
    )
    problem = Problem.of(posed.program, posed.spec)
    with Cegis(problem, space, "glucose", None, lambda doing: None, light=True) as light:
        assert isinstance(light.find(), Candidate)


@pytest.mark.slow
def test_all_fillings_are_tried_side_by_side() -> None:
    """Before a solver is asked for what is asked item by item: once in each space, and no other search finds less."""
    posed = kernel(
        TREE,
        spec="[sum(x[j] for j in range(i + 1)) for i in range(8)]",
        arguments="x=f32[8], y=f32.out[8]",
        block=4,
        warp_size=4,
    )
    steps = list[tuple[str, str]]()
    assert solve(posed, progress=lambda step: steps.append((step.space, step.doing))).status == "sat"
    assert steps.count(("1", "trying all fillings")) == 1
