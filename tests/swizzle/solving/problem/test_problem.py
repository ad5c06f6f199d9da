"""What the solver is asked excludes no right filling: the corners where asking too much is easy."""

import numpy as np
import pytest

from swizzle.solving.problem.problem import Content, ItemCount, Output, Problem, points_asked
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from tests.sketches import kernel

SATISFIABLE = {
    "a barrier under a hole": (
        "t = cuda.threadIdx.x\ns = cuda.shared.array(8, i32)\ns[t] = x[t]\n"
        "if ?sw_cond(t):\n    cuda.syncthreads()\ny[t] = s[7 - t]",
        "[x[7 - i] for i in range(8)]",
    ),
    "a store that a later one overwrites": (
        "t = cuda.threadIdx.x\ny[?sw_xform(t, 8)] = x[t]\ncuda.syncthreads()\n"
        "if t == 0:\n    y[t] = x[?sw_part(4, t)]",
        "[x[3]] + [x[i] for i in range(1, 8)]",
    ),
    "partial sums": (
        "i = cuda.grid(1)\na = accumulator(i32, outer='+')\nfor k in range(2):\n"
        "    a.accumulate(x[(i + ?sw_xform(k, 2)) % 8])\n"
        "b = accumulator(i32, outer='+')\nb.accumulate(a.value)\nb.accumulate(x[i])\ny[i] = b.value",
        "[x[i] + x[(i + 1) % 8] + x[i] for i in range(8)]",
    ),
    "a final function": (
        "i = cuda.grid(1)\na = accumulator(i32, outer='+', final=lambda s: max(s * 2 + 1, 0))\nfor k in range(8):\n"
        "    a.accumulate(x[(i + ?sw_xform(k, 8)) % 8])\ny[i] = a.value",
        "[maximum(1 + 2 * sum(x[k] for k in range(8)), 0) for i in range(8)]",
    ),
    "a sum of products of sums": (
        "i = cuda.grid(1)\na = accumulator(i32, outer='+')\n"
        "for k in range(8):\n    a.accumulate(x[?sw_xform(k, 8, i)])\n"
        "b = accumulator(i32, outer='+', inner='*')\nfor k in range(2):\n"
        "    b.accumulate(a.value, x[?sw_xform(k, 2)])\ny[i] = b.value",
        "[sum(sum(x[k] for k in range(8)) * x[j] for j in range(2)) for i in range(8)]",
    ),
    "one operator inside and outside": (
        "i = cuda.grid(1)\na = accumulator(i32, outer='+', inner='+')\na.accumulate(x[?sw_xform(i, 8)], x[i])\n"
        "y[i] = a.value",
        "[x[i] + x[i] for i in range(8)]",
    ),
    "a factor 0": (
        "i = cuda.grid(1)\na = accumulator(i32, outer='*')\na.accumulate(x[?sw_xform(i, 8)])\na.accumulate(0)\n"
        "y[i] = a.value",
        "[0 for i in range(8)]",
    ),
    "a cell with more values than are listed": (
        "i = cuda.grid(1)\na = accumulator(i32, outer='+')\n"
        "for k in range(8):\n    a.accumulate(x[?sw_xform(k, 8, i)])\n"
        "r = cuda.local.array(2, i32)\nr[0] = x[i]\nr[1] = a.value\ny[i] = r[?sw_part(2, i)]",
        "[sum(x[k] for k in range(8)) for i in range(8)]",
    ),
    "a cell that one filling leaves unwritten": (
        "t = cuda.threadIdx.x\nr = cuda.local.array(2, i32)\nr[?sw_xform(t % 2, 2)] = x[t]\n"
        "r[?sw_part(2, t % 2)] = x[t]\n"
        "y[t] = r[0]",
        "[x[i] for i in range(8)]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SATISFIABLE))
@pytest.mark.parametrize("space", ["1", "2"])
def test_a_right_filling_is_found(name: str, space: str) -> None:
    """Each sketch has a filling; both spaces find one."""
    body, spec = SATISFIABLE[name]
    found = solve(kernel(body, spec=spec), Limits(space=space))  # type: ignore[arg-type]
    assert found.status == "sat" and found.optimal


@pytest.mark.slow
def test_arithmetic_on_two_reductions() -> None:
    """A product of two sums is that of the specification where each of them is; that there is none is not claimed, as
    one may be a multiple of what it should be.
    """
    body = """
i = cuda.grid(1)
a = accumulator(i32, outer="+")
b = accumulator(i32, outer="+")
for k in range(4):
    a.accumulate(x[?sw_xform(k, 4, i)])
    b.accumulate(x[?sw_xform(k, 4, i)])
y[i] = a.value * b.value
"""
    found = solve(kernel(body, spec="[sum(x[k] for k in range(4)) * sum(x[k] for k in range(4)) for i in range(8)]"))
    assert found.status == "sat"
    found = solve(kernel(body, spec="[sum(x[k] for k in range(4)) * sum(x[k] for k in range(3)) for i in range(8)]"))
    assert found.status == "unknown" and "cancel" in found.reason


def test_stores_of_two_branches_are_demanded_thread_by_thread() -> None:
    """Neither store is final, as either may be the one; what a cell holds in the end is one thread's doing."""
    body = "t = cuda.threadIdx.x\nif ?sw_cond(t):\n    y[7 - t] = x[?sw_xform(t, 8)]\nelse:\n    y[7 - t] = x[0]"
    posed = kernel(body, spec="[x[i] for i in range(8)]", block=8, grid=1, arguments="x=i32[8], y=i32.out[8]")
    problem = Problem.of(posed.program, posed.spec)
    assert problem.final_writes("y") == [1]
    assert [problem.thread_of(output) for output in problem.outputs] == list(range(8))[::-1]
    demands = problem.demands_of({2})
    assert [d.address for d in demands if isinstance(d, Output)] == [5]
    assert {problem.thread_of(d) for d in demands} == {2}


@pytest.mark.parametrize("block", [1, 4])
def test_the_first_demands_are_of_threads_that_there_are(block: int) -> None:
    """Of a block of one thread, too."""
    n = 2 * block
    posed = kernel(
        f"t = cuda.grid(1)\ny[?sw_xform(t, {n})] = x[t]", spec=f"[x[i] for i in range({n})]",
        arguments=f"x=i32[{n}], y=i32.out[{n}]", block=block, grid=2, warp_size=block,
    )  # fmt: skip
    problem = Problem.of(posed.program, posed.spec)
    assert {problem.thread_of(demand) for demand in problem.first_demands()} == {0, block - 1}


def test_one_sum_is_asked_for_as_one_of_many_is() -> None:
    """How many items the last output has, and how often it has one of them."""
    body = "s = x[0]\nfor k in range(1, 8):\n    s = s + x[?sw_xform(k, 8)]\n"
    options = {"block": 1, "grid": 1, "warp_size": 1}
    posed = kernel(body + "y[0] = s", spec="[sum(x)]", arguments="x=i32[8], y=i32.out[1]", **options)
    problem = Problem.of(posed.program, posed.spec)
    assert [type(demand) for demand in problem.first_demands()] == [ItemCount, Content]
    assert solve(posed).status == "sat"


@pytest.mark.parametrize(
    ("starts", "final"),
    [([0, 4], [0, 1]), ([4, 0], [0, 1]), ([0, 0], [1]), ([0, 4, 0], [1, 2]), ([0, 4, 2], [2]), ([0, 3, 7], [1, 2])],
)
def test_final_writes_are_those_that_no_later_one_reaches(starts: list[int], final: list[int]) -> None:
    """Each store goes to one of four elements from its start on, which a hole chooses."""
    body = "t = cuda.threadIdx.x\n" + "cuda.syncthreads()\n".join(
        f"y[{start} + ?sw_xform(t, 4)] = x[t]\n" for start in starts
    )
    posed = kernel(body, spec="[x[0] for i in range(11)]", arguments="x=i32[8], y=i32.out[11]", block=4)
    reached = [set(range(start, start + 4)) for start in starts]
    assert final == [j for j, mine in enumerate(reached) if not any(mine & later for later in reached[j + 1 :])]
    assert Problem.of(posed.program, posed.spec).final_writes("y") == final


@pytest.mark.parametrize("most", [2, 1000])
def test_the_points_at_which_a_hole_is_asked(most: int) -> None:
    """Those of threads that are on, each once, however far apart they lie."""
    rng = np.random.default_rng(most)
    lanes = [rng.integers(-most, most, 64) for _ in range(3)]
    for on in (rng.integers(0, 2, 64).astype(bool), np.zeros(64, bool)):
        wanted = {
            point
            for point, is_on in zip(zip(*(a.tolist() for a in lanes), strict=True), on.tolist(), strict=True)
            if is_on
        }
        assert list(map(tuple, points_asked(lanes, on).tolist())) == sorted(wanted)
