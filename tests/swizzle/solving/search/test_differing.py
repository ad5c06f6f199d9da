"""Points at which holes must have different values, against kernels that are right with tables drawn at random."""

import random

import numpy as np
import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import tables
from swizzle.solving.search.differing import differing
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from templates.xform import Xform
from templates.xform_functions import Xforms
from tests.sketches import kernel

LANES = 4
TRANSPOSED = """
t = cuda.threadIdx.x
own = cuda.local.array({words}, i32)
for r in range({words}):
    own[r] = x[t + 4 * r]
permute_local(own, lambda r: ?sw_xform(r, {words}, t))
for r in range({words}):
    own[r] = cuda.shfl_sync(cuda.FULL_MASK, own[r], ?sw_xform(t, 4, r))
permute_local(own, lambda r: ?sw_xform(r, {words}, t))
for r in range({words}):
    y[4 * r + t] = own[r]
"""
Tables = list[dict[tuple[int, int], int]]


def posed(words: int, values: Tables) -> Sketch:
    """Return the kernel, with the specification that is met if its holes have these values."""
    first, shuffled, last = values
    wanted = []
    for r in range(words):
        for t in range(LANES):
            register = last[r, t]
            lane = shuffled[t, register]
            wanted.append(first[register, lane] * LANES + lane)
    size = words * LANES
    arguments = f"x=i32[{size}], y=i32.out[{size}]"
    return kernel(
        TRANSPOSED.format(words=words),
        spec=f"[x[i] for i in {wanted}]",
        arguments=arguments,
        block=LANES,
        warp_size=LANES,
    )


def drawn(draw: random.Random, words: int, wild: float) -> Tables:
    """Return values of the holes: permutations, but for a part that is drawn at random."""

    def table(size: int, others: int) -> dict[tuple[int, int], int]:
        found = {}
        for other in range(others):
            for n, value in enumerate(draw.sample(range(size), size)):
                found[n, other] = draw.randrange(size) if draw.random() < wild else value
        return found

    return [table(words, LANES), table(LANES, words), table(words, LANES)]


def by_templates(draw: random.Random, words: int) -> Tables:
    """Return values of functions of Space 3."""
    found = []
    for size, others in ((words, LANES), (LANES, words), (words, LANES)):
        points = [(n, other) for n in range(size) for other in range(others)]
        template = Xform(size, points, "3")
        choice = tuple(draw.choice(some) for some in template.components)
        columns = list(np.array(points).T)
        found.append(dict(zip(points, np.asarray(template.apply(choice, columns)).tolist(), strict=True)))
    return found


@pytest.mark.parametrize("wild", [0.0, 0.1, 0.6])
def test_values_of_right_kernels_differ(wild: float) -> None:
    draw, told = random.Random(int(10 * wild)), 0
    for _ in range(8):
        words = draw.randrange(2, 7)
        values = drawn(draw, words, wild)
        sketch = posed(words, values)
        problem = Problem.of(sketch.program, sketch.spec)
        for known in differing(problem):
            there = [values[known.hole][problem.points[known.hole][place]] for place in known.places.tolist()]
            assert len(set(there)) == len(there)
            told += 1
    assert told or wild


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_solutions_are_those_without_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    words = draw.randrange(2, 5)
    sketch = posed(words, by_templates(draw, words) if seed % 3 else drawn(draw, words, 0.0))
    found = []
    for least in (1 << 62, 0):
        monkeypatch.setattr(tables, "WORTH_IT", least)
        found.append(solve(sketch, Limits(space="3", all_solutions=True, timeout=60)))
    alone, told = found
    assert (told.status, len(told.solutions)) == (alone.status, len(alone.solutions))


def test_structures_of_a_warp_leave_few_functions() -> None:
    """Registers are permuted in each lane, and so are those from which a lane's words come."""
    words = 3
    values: Tables = [{}, {}, {}]
    for lane in range(LANES):
        for r in range(words):
            source = (words * lane + r) % LANES
            values[2][r, lane] = r
            values[1][lane, r] = source
            values[0][r, source] = (words * lane + r) // LANES
    problem = Problem.of((sketch := posed(words, values)).program, sketch.spec)
    known = differing(problem)
    points = [[problem.points[2][place] for place in each.places] for each in known if each.hole == 2]
    assert [[(r, lane) for r in range(words)] in points for lane in range(LANES)] == [True] * LANES
    held = [
        [(r, t) for r in range(words) for t in range(LANES) if (words * t + r) % LANES == lane] for lane in range(LANES)
    ]
    assert all(any(sorted(each) == sorted(some) for some in points) for each in held)


@pytest.mark.parametrize("seed", range(6))
def test_functions_with_different_values(seed: int) -> None:
    draw = random.Random(seed)
    n, shifts = draw.choice((4, 6, 8, 9, 12)), draw.randrange(1, 5)
    points = [(i, k) for i in range(n) for k in range(shifts)]
    every = Xform(n, points, "3").functions(points)
    assert isinstance(every, Xforms)
    shift = draw.randrange(shifts)
    some = [place for place, (_, k) in enumerate(points) if seed % 2 or k == shift]
    places = np.array(draw.sample(some, min(len(some), draw.randrange(2, 5))))
    values = every.values(np.arange(len(points)))
    apart = [len(set(line)) == len(line) for line in values[:, places].tolist()]
    left = every.differing(places)
    assert {line.tobytes() for line in left.values(np.arange(len(points)))} == {
        line.tobytes() for line in values[np.array(apart)]
    }
