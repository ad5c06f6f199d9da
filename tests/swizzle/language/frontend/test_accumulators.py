"""Accumulators of operators on several words: what is in them, in which order, and what nothing in them means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import (
    Limits,
    SwizzleError,
    accumulator,
    cuda,
    f32,
    i32,
    operator,
    scan_operator,
    sketch,
    solve,
    spec,
    sw_cond,
    sw_xform,
)
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import numbers
from swizzle.language.specs.verify import verify
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.audit.random_check import small_difference
from swizzle.solving.problem.problem import Problem
from symbolic.algebra.numbers import Numbers
from symbolic.machine.machine import Machine
from tests.swizzle.operators import loops

N, EACH = 8, 4


@operator
def first(a: (i32, i32), b: (i32, i32)):  # type: ignore[valid-type, no-untyped-def]
    return a


recurrence, runs, sums, firsts = (
    scan_operator(each) for each in (loops.recurrence, loops.best_run, loops.total, first)
)


@cuda.jit(device=True)
def add(out, v, g):  # type: ignore[no-untyped-def]
    out.accumulate(recurrence.lift(v, g))


@spec
def filters(v: Any, g: Any) -> Any:
    rows = [range(EACH * i, EACH * i + EACH) for i in range(N)]
    return [recurrence.result(*recurrence.scan([v[j] for j in row], [g[j] for j in row])[-1]) for row in rows]


def arrays(dtype: Any, *names: str) -> dict[str, Any]:
    return {**dict.fromkeys(names, dtype[EACH * N]), "y": dtype.out[N]}


@sketch(spec=filters, block=N // 2, warp_size=N // 2, **arrays(f32, "v", "g"))
def several(v, g, y):  # type: ignore[no-untyped-def]
    two = accumulator(recurrence, shape=2)
    for k in range(EACH):
        for j in range(2):
            at = (2 * cuda.laneid + j) * EACH + k
            add(two[j], v[at], g[at])
    for j in range(2):
        y[2 * cuda.laneid + j] = recurrence.result(two[j].value)


@spec
def sums_of_some(v: Any) -> Any:
    rows = [[v[(EACH * i + k) % len(v)] for k in range(i)] for i in range(N)]
    return [sums.result(sums.scan(row)[-1][0]) if row else 0 for row in rows]


@sketch(spec=sums_of_some, block=N, warp_size=N, **arrays(i32, "v"))
def some(v, y):  # type: ignore[no-untyped-def]
    """Of one word, and of as many elements as the lane says, none in lane 0."""
    mine = accumulator(sums)
    for k in range(N - 1):
        mine.accumulate(sums.lift(v[(cuda.laneid * EACH + k) % 32]), when=k < cuda.laneid)
    y[cuda.laneid] = sums.result(mine.value)


@spec
def foremost_ones(v: Any) -> Any:
    rows = [range(i % EACH, EACH) for i in range(N)]
    return [firsts.result(*firsts.scan([v[i * EACH + k] for k in rows[i]], rows[i])[-1])[0] for i in range(N)]


@sketch(spec=foremost_ones, block=N, warp_size=N, **arrays(i32, "v"))
def foremost(v, y):  # type: ignore[no-untyped-def]
    """There are no words of no element: the first ones that come are taken as they are, wherever that is."""
    mine = accumulator(firsts)
    for k in range(EACH):
        mine.accumulate(firsts.lift(v[cuda.laneid * EACH + k], i32(k)), when=k >= cuda.laneid % EACH)
    value, _ = firsts.result(mine.value)
    y[cuda.laneid] = value


@spec
def foremost_of_three(v: Any) -> Any:
    return [firsts.result(*firsts.scan(v[EACH * i : EACH * i + 3], range(3))[-1])[0] for i in range(N)]


@sketch(spec=foremost_of_three, block=N, warp_size=N, v=i32[EACH * N], y=i32.out[N])
def begun(v, y):  # type: ignore[no-untyped-def]
    """The state that an accumulator begins with comes first; several are accumulated in their order."""
    lane = cuda.laneid
    mine = accumulator(firsts, init=firsts.lift(v[lane * EACH], i32(0)), shape=2)
    for k in range(2):
        mine[k].accumulate(firsts.lift(v[lane * EACH + 1], i32(1)), firsts.lift(v[lane * EACH + 2], i32(2)))
    value, _ = firsts.result(mine[1].value)
    y[lane] = value


@spec
def in_order(v: Any) -> Any:
    return [runs.result(*runs.scan([v[EACH * i + k] for k in range(EACH)])[-1]) for i in range(N)]


@sketch(spec=in_order, block=N, warp_size=N, v=i32[EACH * N], y=i32.out[N])
def pairs(v, y):  # type: ignore[no-untyped-def]
    at = cuda.laneid * EACH
    mine = accumulator(runs, init=runs.lift(v[at]))
    mine.accumulate(runs.lift(v[at + 1]), runs.lift(v[at + 2]), runs.lift(v[at + 3]))
    y[cuda.laneid] = runs.result(mine.value)


@pytest.mark.parametrize("kernel", [several, some, foremost, begun, pairs], ids=lambda each: each.name)
def test_what_is_in_them(kernel: Sketch) -> None:
    """Of terms and of numbers it is what the specification says."""
    assert firsts.operator is not None and firsts.operator.law.empty is None
    assert verify(kernel.program, kernel.spec).equal and not small_difference(kernel.program, kernel.spec)
    rng = np.random.default_rng(1)
    given = {
        p.name: rng.integers(-9, 9, p.shape).astype(np.float32 if p.dtype.is_float else np.int32)
        for p in kernel.program.parameters
        if p.role == "in"
    }
    wanted = numbers(kernel.program, kernel.spec, given)
    found = Machine(kernel.program, Numbers(), given).run().memories
    assert all(np.array_equal(found[name].data, each) for name, each in wanted.items())


@spec
def best(v: Any) -> Any:
    return [runs.result(*runs.scan(v)[-1])]


def test_states_of_no_element_change_nothing() -> None:
    """Lanes without elements take part in a reduction; those of other lanes stay in their order."""

    @sketch(spec=best, block=N, warp_size=N, v=i32[5], y=i32.out[1])
    def straight(v, y):  # type: ignore[no-untyped-def]
        mine = accumulator(runs)
        if cuda.laneid < 5:
            mine.accumulate(runs.lift(v[cuda.laneid]))
        s = mine.value
        for d in (1, 2, 4):
            s = runs.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, (cuda.laneid + d) % N))
        if cuda.laneid == 0:
            y[0] = runs.result(s)

    @sketch(spec=best, block=N, warp_size=N, v=i32[5], y=i32.out[1])
    def crossed(v, y):  # type: ignore[no-untyped-def]
        mine = accumulator(runs)
        if cuda.laneid < 5:
            mine.accumulate(runs.lift(v[cuda.laneid]))
        s = mine.value
        for d in (4, 2, 1):
            s = runs.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, (cuda.laneid + d) % N))
        if cuda.laneid == 0:
            y[0] = runs.result(s)

    assert verify(straight.program, straight.spec).equal and not verify(crossed.program, crossed.spec).equal
    assert small_difference(crossed.program, best) == "y[0]"
    tried = solve(straight, Limits(space="1", certify=True)).certificate["tried"]
    assert tried["verdict"] == "confirmed on random numbers"


def test_words_that_no_element_makes() -> None:
    """An identity that is proved of words that elements make leaves other words alone; of a sum it is one of any."""
    assert runs.operator is not None and runs.operator.law.empty == (0, 0, 0, 0)

    @sketch(spec=lambda p: [runs.result(p[0], p[1], p[2], p[3])], block=1, warp_size=1, p=i32[4], y=i32.out[1])
    def any_words(p, y):  # type: ignore[no-untyped-def]
        a, b, c, d = runs.combine(0, 0, 0, 0, p[0], p[1], p[2], p[3])
        y[0] = runs.result(a, b, c, d)

    @sketch(spec=lambda p: [runs.result(*runs.lift(p[0]))], block=1, warp_size=1, p=i32[4], y=i32.out[1])
    def lifted(p, y):  # type: ignore[no-untyped-def]
        a, b, c, d = runs.lift(p[0])
        e, f, g, h = runs.combine(0, 0, 0, 0, a, b, c, d)
        y[0] = runs.result(e, f, g, h)

    @sketch(spec=lambda p: [p[0]], block=1, warp_size=1, p=i32[4], y=i32.out[1])
    def summed(p, y):  # type: ignore[no-untyped-def]
        y[0] = sums.combine(p[0], 0)

    assert not verify(any_words.program, any_words.spec).equal
    assert verify(lifted.program, lifted.spec).equal and verify(summed.program, summed.spec).equal


def test_holes_and_an_unsolvable_order() -> None:
    """Which elements come, whether they do, and whom a lane asks; the other order has no filling."""

    @sketch(spec=best, block=N, warp_size=N, v=i32[2 * N], y=i32.out[1])
    def forward(v, y):  # type: ignore[no-untyped-def]
        mine = accumulator(runs)
        for k in range(3):
            mine.accumulate(runs.lift(v[2 * cuda.laneid + sw_xform(k % 2, 2)]), when=sw_cond(k, 2))
        s = mine.value
        for k in range(3):
            s = runs.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(cuda.laneid, N, 1 << k)))
        if cuda.laneid == 0:
            y[0] = runs.result(s)

    @sketch(spec=best, block=N, warp_size=N, v=i32[2 * N], y=i32.out[1])
    def backward(v, y):  # type: ignore[no-untyped-def]
        mine = accumulator(runs)
        for k in range(3):
            mine.accumulate(runs.lift(v[2 * cuda.laneid + sw_xform(k % 2, 2)]), when=sw_cond(k, 2))
        s = mine.value
        for k in range(3):
            s = runs.combine(cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(cuda.laneid, N, 1 << k)), s)
        if cuda.laneid == 0:
            y[0] = runs.result(s)

    assert solve(forward, Limits(space="1")).status == "sat"
    assert solve(backward, Limits(space="1")).status == "unsat"


def test_what_the_cost_counts() -> None:
    """A statement counts once, whatever it is printed as, and not where its condition never holds."""

    @sketch(spec=best, block=N, warp_size=N, v=i32[2 * N], y=i32.out[1])
    def twice(v, y):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        mine = accumulator(runs, shape=2)
        for k in range(3):
            mine[0].accumulate(runs.lift(v[2 * lane + sw_xform(k % 2, 2)]), when=sw_cond(k, 2))
        mine[0].accumulate(runs.lift(v[2 * lane + sw_xform(lane % 2, 2)]), when=sw_cond(lane, N))
        s = mine[0].value
        for k in range(3):
            s = runs.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, N, 1 << k)))
        if lane == 0:
            y[0] = runs.result(s)

    found = solve(twice, Limits(space="1"))
    assert (found.status, found.best.cost, found.optimal) == ("sat", {"accumulates": 1}, True)
    assert all(solve(each).best.cost == {"accumulates": 1} for each in (several, some, foremost, begun, pairs))


@pytest.mark.parametrize(
    ("declared", "statement", "found", "fix"),
    [
        ("runs", "mine.accumulate(v[0])", "an operand of mine is i32 data",
         "make one of an element: s = op.lift(x[i])"),
        ("runs, init=0", "y[0] = 1", "init is an index", "make one of an element: s = op.lift(x[i])"),
        ('runs, outer="+"', "y[0] = 1", "outer= of an accumulator by best_run",
         "leave it out: states are combined by best_run"),
        ("runs, final=runs.result", "y[0] = 1", "final= of an accumulator by best_run",
         "take what is wanted of it behind: best_run.result(out.value)"),
        ("i32, outer=runs", "y[0] = 1", "the operator of a scan, runs, as an outer operator",
         "write accumulator(runs): it has its own types"),
        ("i32", "y[0] = 1", "an accumulator of i32 without its operator",
         'write accumulator(i32, outer="+"); the operator of a scan is its own: accumulator(op)'),
        ("firsts, shape=2", "y[0] = 1", "accumulators with a shape by first, which has no identity, without init",
         "write init=first.lift(...), or an accumulator for each of them"),
    ],
)  # fmt: skip
def test_mistakes(declared: str, statement: str, found: str, fix: str, tmp_path: Path) -> None:
    text = f"""from swizzle import accumulator, cuda, i32, sketch
from tests.swizzle.language.frontend.test_accumulators import firsts, runs
@sketch(spec=lambda v: [v[0]], block=1, warp_size=1, v=i32[2], y=i32.out[1])
def kernel(v, y):
    mine = accumulator({declared})
    {statement}
"""
    (tmp_path / "wrong.py").write_text(text)
    with pytest.raises(SwizzleError) as error:
        load(tmp_path / "wrong.py")
    assert (error.value.found, error.value.fix) == (found, fix) and error.value.place is not None


SWZ = """
@serial(length=4096, where=lambda v: -1000 <= v <= 1000)
def best_run(x: i32):
    here, best = 0, 0
    for v in x:
        here = max(0, here + v)
        best = max(best, here)
    return best

runs = scan_operator(segmented(reversed(best_run)))

@spec
def best(x, at):
    words = runs.scan(x, at)
    return [runs.result(runs.combine(words[14], runs.lift(x[15], at[15])))]

@sketch(spec=best, block=8, warp_size=8, x=i32[16], at=i32[16], y=i32.out[1])
def reduced(x, at, y):
    lane = cuda.laneid
    mine = accumulator(runs)
    for k in range(2):
        mine.accumulate(runs.lift(x[2 * lane + k], at[2 * lane + k]))
    tile = cuda.shared.array(8, runs)
    tile[lane] = mine.value
    cuda.syncthreads()
    whole = accumulator(runs)
    for k in range(8):
        whole.accumulate(tile[?sw_xform(k, 8)])
    if lane == 0:
        y[0] = runs.result(whole.value)
"""


def test_a_swz_file() -> None:
    (kernel,) = read_swz(SWZ, "states.swz", Parameters({}))
    found = solve(kernel, Limits(space="1", certify=True))
    assert [hole.formula for hole in found.best.holes] == ["k"]
    assert found.certificate["tried"]["verdict"] == "confirmed on random numbers"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("segmented(reversed(best_run))", "segmented(best)", "best is no serial loop"),
        ("segmented(reversed(best_run))", "best_run, 3", "a wrong call of scan_operator"),
        ("segmented(reversed(best_run))", "product(best_run)", "product(best_run) is no serial loop"),
        ("runs.scan(x, at)", "runs.scan(3, at)", "TypeError"),
        ("runs.scan(x, at)", "runs.scan(x)", "segmented_reversed_best_run.lift with 1 argument"),
        ("runs.scan(x, at)", "runs.words", "the attribute `words` is not part of the sequential"),
    ],
)
def test_mistakes_in_a_swz_file(old: str, new: str, found: str) -> None:
    with pytest.raises(SwizzleError) as error:
        (kernel,) = read_swz(SWZ.replace(old, new), "states.swz", Parameters({}))
        Problem.of(kernel.program, kernel.spec)
    assert error.value.found.startswith(found) and error.value.place is not None
