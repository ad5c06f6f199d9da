"""What is settled before a search, in which order, and what is given back to the solver."""

from __future__ import annotations

from swizzle.language.parameters import Parameters
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.solution import Limits, Listener, Result
from swizzle.solving.stages import staged

TEXT = """
@cuda.jit(device=True)
def turned(v):
    return cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(cuda.laneid, 8))

@spec
def once(x):
    return [x[(i + 1) % 8] for i in range(8)]

@sketch(spec=once, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def one(x, y):
    y[cuda.laneid] = turned(x[cuda.laneid])

@spec
def twice(x):
    return [x[(i + 2) % 8] for i in range(8)]

@sketch(spec=twice, filled_from=one, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def two(x, y):
    y[cuda.laneid] = turned(turned(x[cuda.laneid]))
"""


def test_each_stage_hands_on_what_is_left() -> None:
    """A sketch that needs no stage is the solver's own; one that is filled has its sources solved by it first."""
    from swizzle.solving.search.metasketch import solve

    one, two = read_swz(TEXT, "two.swz", Parameters())
    asked: list[tuple[str, Limits]] = []

    def solver(sketch: Sketch, limits: Limits, progress: Listener | None) -> Result:
        asked.append((sketch.name, limits))
        return staged(sketch, limits, progress, solver) or solve(sketch, limits, progress)

    assert staged(one, Limits(), None, solver) is None and not asked
    costs = Limits(cost=("accumulates", "bytes"), pareto=True)
    assert solver(two, costs, None).status == "sat"
    every = Limits(cost=costs.cost, all_solutions=True)
    lexicographic = Limits(cost=costs.cost)
    assert asked == [("two", costs), ("one", lexicographic), ("two", costs), ("two", every)]


def test_what_is_left_of_a_timeout() -> None:
    """None is left of none; never nothing at all, which would be an error of its own."""
    assert Limits().after(5) == Limits()
    assert Limits(timeout=3.0, space="2").after(1.0) == Limits(timeout=2.0, space="2")
    assert Limits(timeout=3.0).after(10).timeout == 0.001
