"""Operators of several words under holes: states are moved and combined whole, and what is found is right of words."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import print_cuda
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.validate import validate
from swizzle import (
    Limits,
    SwizzleError,
    accumulator,
    cuda,
    f32,
    i32,
    operator,
    scan_operator,
    serial,
    sketch,
    solve,
    spec,
    sw_cond,
    sw_xform,
)
from swizzle.answers.checking.trial import RandomRun, _trial
from swizzle.language.specs.specification import numbers, postcondition
from swizzle.language.specs.verify import verify
from swizzle.operators import found_of, product, reversed, segmented
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.problem.stored_states import StoredStates
from symbolic.algebra.numbers import Numbers
from symbolic.algebra.terms import Terms
from symbolic.ir.program import Binary, Const, DType, Expr, Var
from symbolic.machine.machine import Machine
from templates.formula import fill
from tests.swizzle.operators import loops

N = 8


@serial
def average(x: f32):  # type: ignore[no-untyped-def]
    total, count = 0, 0
    for v in x:
        total += v
        count += 1
    return total / count


@serial
def best_run(x: f32):  # type: ignore[no-untyped-def]
    here, most = 0, 0
    for v in x:
        here = max(0, here + v)
        most = max(most, here)
    return most


@operator
def argmin(a: (f32, i32), b: (f32, i32)):  # type: ignore[valid-type, no-untyped-def]
    return a if a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]) else b


@operator
def affine(a: (i32, i32), b: (i32, i32)):  # type: ignore[valid-type, no-untyped-def]
    return a[0] * b[0], a[1] * b[0] + b[1]


recurrence, mean, least, maps = (scan_operator(each) for each in (loops.recurrence, average, argmin, affine))


@spec
def prefixes(v: Any, g: Any) -> Any:
    return [recurrence.result(*words) for words in recurrence.scan(v, g)]


def numbers_of(program: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the machine leaves in a program's outputs, on numbers."""
    run = Machine(program, Numbers(), given).run()
    assert not run.violations
    return {p.name: run.memories[p.name].data for p in program.parameters if p.role == "out"}


def test_a_scan_of_a_recurrence() -> None:
    """Lane and condition are found; with the operands swapped, and with one step too few, there is nothing to find."""

    @sketch(spec=prefixes, block=N, warp_size=N, v=f32[N], g=f32[N], y=f32.out[N])
    def scan(v, g, y):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        s = recurrence.lift(v[lane], g[lane])
        for k in range(3):
            before = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, N, 1 << k))
            s = recurrence.combine(before, s) if sw_cond(lane, 1 << k) else s
        y[lane] = recurrence.result(s)

    best = solve(scan).best
    assert [hole.formula for hole in best.holes] == ["(lane - (1 << k)) % 8", "lane >= (1 << k)"]
    rng = random.Random(1)
    given = {name: np.array([rng.randint(-3, 3) for _ in range(N)], np.float32) for name in "vg"}
    found = numbers_of(best.program, given)["y"].tolist()
    assert found == [loops.recurrence(given["v"][: i + 1], given["g"][: i + 1]) for i in range(N)]
    assert "recurrence_combine_h(" in best.to_cuda()
    assert "recurrence_combine_h(" in best.to_numba()

    @sketch(spec=prefixes, block=N, warp_size=N, v=f32[N], g=f32[N], y=f32.out[N])
    def swapped(v, g, y):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        s = recurrence.lift(v[lane], g[lane])
        for k in range(3):
            before = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, N, 1 << k))
            s = recurrence.combine(s, before) if sw_cond(lane, 1 << k) else s
        y[lane] = recurrence.result(s)

    @sketch(spec=prefixes, block=N, warp_size=N, v=f32[N], g=f32[N], y=f32.out[N])
    def short(v, g, y):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        s = recurrence.lift(v[lane], g[lane])
        for k in range(2):
            before = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, N, 1 << k))
            s = recurrence.combine(before, s) if sw_cond(lane, 1 << k) else s
        y[lane] = recurrence.result(s)

    assert solve(swapped).status == solve(short).status == "unsat"


def test_a_tree_in_shared_memory() -> None:
    """An array of states is an array for each word. The mean commutes, so parts may come in any order."""

    @spec
    def mean_of(x: Any) -> Any:
        return [mean.result(*mean.scan(x)[-1])]

    @sketch(spec=mean_of, block=16, warp_size=8, x=f32[16], y=f32.out[1])
    def tree(x, y):  # type: ignore[no-untyped-def]
        t = cuda.threadIdx.x
        parts = cuda.shared.array(16, mean)
        parts[t] = mean.lift(x[t])
        cuda.syncthreads()
        for k in range(4):
            if sw_cond(t, 8 >> k):
                parts[t] = mean.combine(parts[t], parts[sw_xform(t, 16, 8 >> k)])
            cuda.syncthreads()
        if t == 0:
            y[0] = mean.result(parts[0])

    best = solve(tree).best
    assert [hole.formula for hole in best.holes] == ["t < (8 >> k)", "t + (8 >> k)"]
    assert "float parts_total[16]" in best.to_cuda() and "int parts_count[16]" in best.to_cuda()


@pytest.mark.parametrize("rounds", [1, 2])
def test_an_accumulator_of_states_behind_a_hole(rounds: int) -> None:
    """All words of a state depend on one hole: they are as many states as elements, not as words chosen apart."""
    best = scan_operator(best_run)

    @spec
    def pairs(x: Any) -> Any:
        read = [[x[N - 1 - i], x[i]] for i in range(N)]
        return [best.result(*best.scan(some[:rounds])[-1]) for some in read]

    @sketch(spec=pairs, block=N, warp_size=N, x=f32[N], y=f32.out[N])
    def open_states(x, y):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        out = accumulator(best)
        for k in range(rounds):
            out.accumulate(best.lift(x[sw_xform(lane, N, k)]))
        y[lane] = best.result(out.value)

    found = solve(open_states)
    assert found.status == "sat"
    rng = random.Random(3)
    x = np.array([rng.randint(-5, 5) for _ in range(N)], np.float32)
    wanted = [best_run([x[N - 1 - i], x[i]][:rounds]) for i in range(N)]
    assert numbers_of(found.best.program, {"x": x})["y"].tolist() == wanted


def test_two_results_of_an_operator_that_commutes() -> None:
    """Ties go to the lesser index: parts may come in any order, and twice, as all lanes put together do."""

    @spec
    def where_least(x: Any) -> Any:
        value, index = least.scan(x, list(range(N)))[-1]
        return [value] * N, [index] * N

    @sketch(spec=where_least, block=N, warp_size=N, x=f32[N], y=f32.out[N], at=i32.out[N])
    def butterfly(x, y, at):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        s = least.lift(x[lane], i32(lane))
        for mask in (4, 2, 1):
            s = least.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, N, mask)))
        value, index = least.result(s)
        y[lane] = value
        at[lane] = index

    best = solve(butterfly).best
    x = np.array([3, 1, 2, 1, 5, 1, 7, 4], np.float32)
    found = numbers_of(best.program, {"x": x})
    assert found["y"].tolist() == [1] * N and found["at"].tolist() == [1] * N


def _reduction(flip: bool, lanes: int) -> Sketch:
    @spec
    def whole(p: Any, q: Any) -> Any:
        return [maps.result(*maps.scan(p, q)[-1])[1]]

    if not flip:

        @sketch(spec=whole, block=lanes, warp_size=lanes, p=i32[lanes], q=i32[lanes], y=i32.out[1])
        def reduction(p, q, y):  # type: ignore[no-untyped-def]
            lane = cuda.laneid
            s = maps.lift(p[lane], q[lane])
            for d in (1, 2):
                s = maps.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, lanes, d)))
            _, offset = maps.result(s)
            if lane == 0:
                y[0] = offset

        return reduction

    @sketch(spec=whole, block=lanes, warp_size=lanes, p=i32[lanes], q=i32[lanes], y=i32.out[1])
    def flipped(p, q, y):  # type: ignore[no-untyped-def]
        lane = cuda.laneid
        s = maps.lift(p[lane], q[lane])
        for d in (1, 2):
            s = maps.combine(cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, lanes, d)), s)
        _, offset = maps.result(s)
        if lane == 0:
            y[0] = offset

    return flipped


@pytest.mark.parametrize("flip", [False, True])
def test_each_filling_is_right_of_numbers_or_wrong_of_terms(flip: bool) -> None:
    """All affine functions of lane and distance at 4 lanes: what the machine says of the words and what the search says
    of the states is what Python says of random numbers."""
    made = _reduction(flip, 4)
    rng = random.Random(2)
    arrays = {name: np.array([rng.randint(2, 99) for _ in range(4)], np.int32) for name in "pq"}
    wanted = numbers(made.program, made.spec, arrays)["y"].tolist()
    place, right = made.program.place, 0
    for a, b, c in itertools.product(range(4), repeat=3):
        total: Expr = Const(c, DType.INDEX, place)
        for factor, name in ((a, "0"), (b, "1")):
            times = Binary("*", Var(name, DType.INDEX, place), Const(factor, DType.INDEX, place), DType.INDEX, place)
            total = Binary("+", total, times, DType.INDEX, place)
        program = fill(made.program, [Binary("%", total, Const(4, DType.INDEX, place), DType.INDEX, place)])
        equal = verify(program, made.spec).equal
        assert equal == (numbers_of(program, arrays)["y"].tolist() == wanted), (a, b, c)
        right += equal
    assert (solve(made).status == "sat") == (right > 0)
    assert (right > 0) != flip


def test_a_word_may_be_that_of_several_states() -> None:
    """Of one part, the result is the element alone: whatever else is lifted with it."""

    @sketch(spec=lambda v, g: v[::-1], block=N, warp_size=N, v=f32[N], g=f32[N], y=f32.out[N])
    def backward(v, g, y):  # type: ignore[no-untyped-def]
        s = recurrence.lift(v[sw_xform(cuda.laneid, N)], g[cuda.laneid])
        y[cuda.laneid] = recurrence.result(s)

    assert [hole.formula for hole in solve(backward).best.holes] == ["7 - cuda.laneid"]


def test_laws_of_words_that_elements_make() -> None:
    """What is proved of words that do not wrap says nothing of words that a kernel is passed, which may."""
    runs = scan_operator(loops.best_run)
    rows = (0, 1, 2)

    @spec
    def grouped(a: Any, b: Any, c: Any, d: Any) -> Any:
        p, q, r = ((a[i], b[i], c[i], d[i]) for i in rows)
        return [runs.result(*runs.combine(*runs.combine(*p, *q), *r))]

    arrays = {"a": i32[3], "b": i32[3], "c": i32[3], "d": i32[3], "y": i32.out[1]}

    @sketch(spec=grouped, block=1, warp_size=1, **arrays)
    def same(a, b, c, d, y):  # type: ignore[no-untyped-def]
        e, f, g, h = runs.combine(a[0], b[0], c[0], d[0], a[1], b[1], c[1], d[1])
        e, f, g, h = runs.combine(e, f, g, h, a[2], b[2], c[2], d[2])
        y[0] = runs.result(e, f, g, h)

    @sketch(spec=grouped, block=1, warp_size=1, **arrays)
    def other(a, b, c, d, y):  # type: ignore[no-untyped-def]
        e, f, g, h = runs.combine(a[1], b[1], c[1], d[1], a[2], b[2], c[2], d[2])
        e, f, g, h = runs.combine(a[0], b[0], c[0], d[0], e, f, g, h)
        y[0] = runs.result(e, f, g, h)

    assert verify(same.program, same.spec).equal
    assert not verify(other.program, other.spec).equal

    @sketch(spec=lambda x: [runs.result(*runs.scan(x)[-1])], block=1, warp_size=1, x=i32[3], y=i32.out[1])
    def lifted(x, y):  # type: ignore[no-untyped-def]
        a, b, c, d = runs.lift(x[1])
        e, f, g, h = runs.lift(x[2])
        e, f, g, h = runs.combine(a, b, c, d, e, f, g, h)
        a, b, c, d = runs.lift(x[0])
        e, f, g, h = runs.combine(a, b, c, d, e, f, g, h)
        y[0] = runs.result(e, f, g, h)

    assert verify(lifted.program, lifted.spec).equal


def test_large_numbers_overflow_in_one_grouping_or_another() -> None:
    """Factors overflow that the loop never multiplies; what is finite is compared all the same."""

    @sketch(spec=prefixes, block=N, warp_size=N, v=f32[N], g=f32[N], y=f32.out[N])
    def scan(v, g, y):  # type: ignore[no-untyped-def]
        s = recurrence.lift(v[0], g[0])
        y[cuda.laneid] = recurrence.result(recurrence.combine(s, s))

    def tried(wrong: float) -> RandomRun:
        def wanted(inputs: Any) -> Any:
            return {"y": np.array([1, 2, 3, *[np.inf] * 5], np.float32)}

        def run(arguments: list[Any]) -> None:
            arguments[2][...] = 1, 2 + wrong, 3, np.nan, np.inf, -np.inf, np.nan, 7

        return _trial(scan.program, wanted, run, np.random.default_rng(1), "large numbers", None)

    assert str(tried(0)).endswith("of the largest; 5 more overflow") and tried(0).equal
    assert tried(1).wrong == 1


def test_a_condition_with_itself() -> None:
    """It is 0 or 1 then, whatever number of an array it was made of."""

    @operator
    def either(a: (bool, i32), b: (bool, i32)):  # type: ignore[valid-type, no-untyped-def]
        return a[0] or b[0], max(a[1], b[1])

    some = scan_operator(either)

    @sketch(spec=lambda p: [some.result(p[0], p[0])[0]], block=1, warp_size=1, p=i32[1], y=i32.out[1])
    def twice(p, y):  # type: ignore[no-untyped-def]
        s = some.lift(p[0], p[0])
        flag, _ = some.result(some.combine(s, s))
        y[0] = flag

    assert not verify(twice.program, twice.spec).equal


def test_an_operator_that_is_asked_for_twice() -> None:
    """It is the same operator, whose words meet; so is one that is made of the same in the same way."""
    loop = loops.recurrence
    assert scan_operator(loop) is scan_operator(found_of(loop)) is recurrence
    by_segment = scan_operator(segmented(reversed(loop)))
    assert scan_operator(segmented(reversed(loop))) is by_segment is not scan_operator(reversed(loop))
    assert product(loop, average) == product(loop, average) != product(average, loop)


@pytest.mark.skipif(not available_tools(), reason="needs a CUDA compiler")
def test_two_operators_of_one_name() -> None:
    """That one of them commutes says nothing of the other, and their functions have names of their own in C++."""

    def made(sums: bool) -> Any:
        if sums:

            @operator
            def f(a: (i32, i32), b: (i32, i32)):  # type: ignore[valid-type, no-untyped-def]
                return a[0] + b[0], a[1] + b[1]
        else:

            @operator
            def f(a: (i32, i32), b: (i32, i32)):  # type: ignore[valid-type, no-untyped-def]
                return a[0] * b[0], a[1] * b[0] + b[1]

        return scan_operator(f)

    sums, others = made(True), made(False)

    @spec
    def both(p: Any, q: Any) -> Any:
        words = p[0], q[0], p[1], q[1]
        return [sums.combine(*words)[1], others.combine(*words)[1]]

    @sketch(spec=both, block=1, warp_size=1, p=i32[2], q=i32[2], y=i32.out[2])
    def swapped(p, q, y):  # type: ignore[no-untyped-def]
        _, s = sums.combine(p[1], q[1], p[0], q[0])
        _, t = others.combine(p[1], q[1], p[0], q[0])
        y[0] = s
        y[1] = t

    assert not verify(swapped.program, swapped.spec).equal
    assert (sums.scan([1, 2], [3, 4]), others.scan([1, 2], [3, 4])) == ([(1, 3), (3, 7)], [(1, 3), (2, 10)])

    def turned(p: Any, q: Any) -> Any:
        words = p[1], q[1], p[0], q[0]
        return [sums.combine(*words)[1], others.combine(*words)[1]]

    def verdict(text: str) -> str:
        terms = Terms()
        wanted = postcondition(swapped.program, turned, terms)
        ptx = compile_to_ptx(with_opaque_calls(text))
        return validate(swapped.program, ptx, swapped.program.name, wanted, terms).verdict

    text = print_cuda(optimize(swapped.program)).text
    assert verdict(text) == "equal"
    assert "const int t = f_combine_value1_2(" in text
    assert verdict(text.replace("t = f_combine_value1_2(", "t = f_combine_value1(")) == "different"


def test_states_written_out() -> None:
    """Each word keeps its place in swaps, choices, local arrays and calls within each other."""

    @cuda.jit(device=True)
    def after(s, t):  # type: ignore[no-untyped-def]
        return maps.combine(s, t), t

    @spec
    def some(p: Any, q: Any) -> Any:
        found = []
        for i in range(4):
            a, b, c = ((p[(i + j) % 4], q[(i + j) % 4]) for j in range(3))
            a, b = b, a
            whole = maps.combine(*maps.combine(*a, *b), *maps.combine(*c, *a))
            found.append(maps.result(*whole)[1])
        return found

    @sketch(spec=some, block=4, warp_size=4, p=i32[4], q=i32[4], y=i32.out[4])
    def kernel(p, q, y):  # type: ignore[no-untyped-def]
        i = cuda.laneid
        mine = cuda.local.array(3, maps)
        for j in range(3):
            mine[j] = maps.lift(p[(i + j) % 4], q[(i + j) % 4])
        a, b = mine[0], mine[1]
        a, b = b, a
        c = mine[2]
        c, a = after(c, a)
        s = maps.combine(a, b)
        s = maps.combine(s, c) if i >= 0 else maps.lift(p[9], q[9])
        _, offset = maps.result(s)
        y[i] = offset

    assert verify(kernel.program, kernel.spec).equal
    rng = random.Random(3)
    arrays = {name: np.array([rng.randint(-99, 99) for _ in range(4)], np.int32) for name in "pq"}
    assert (
        numbers_of(kernel.program, arrays)["y"].tolist() == numbers(kernel.program, kernel.spec, arrays)["y"].tolist()
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("s = s + t", "`+` of states"),
        ("s = -s", "`-` of states"),
        ("s = maps.combine(s, v[0])", "an operand of `affine.combine` is f32 data"),
        ("y[0] = s", "the value stored to y is a state"),
        ("y[0] = f32(s)", "f32(...) of states"),
        ("s = recurrence.combine(s, t)", "a state of affine where one of recurrence is needed"),
        ("s = recurrence.lift(v[0], v[1])", "a state of recurrence where one of affine is needed"),
        ("s = 0", "the new value of s is an index"),
        ("a, b = maps.combine(s, t)", "one value for 2 targets"),
        ("y[0] = where(v[0] < v[1], s, t)", "`where` of states"),
    ],
)
def test_states_are_no_numbers(line: str, found: str, tmp_path: Any) -> None:
    """Each mistake is one error, at its place."""
    from swizzle import load

    names = "cuda f32 i32 operator scan_operator serial sketch spec where"
    file = tmp_path / "wrong.py"
    file.write_text(
        f"from swizzle import {', '.join(names.split())}\n"
        "from tests.swizzle.solving.problem.test_stored_states import maps, recurrence\n"
        "@sketch(spec=lambda v, p: v, block=4, warp_size=4, v=f32[4], p=i32[4], y=f32.out[4])\n"
        "def wrong(v, p, y):\n    s = maps.lift(p[0], p[1])\n    t = maps.lift(p[1], p[2])\n"
        f"    {line}\n"
    )
    with pytest.raises(SwizzleError) as caught:
        load(str(file))
    assert caught.value.found == found and caught.value.place is not None and caught.value.place.line == 7


@spec
def products(v: Any, g: Any) -> Any:
    h = recurrence.result(*recurrence.scan(v, g)[-1])
    return [v[i] * h + h / g[i] for i in range(4)]


@sketch(spec=products, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def computed(v, g, y):  # type: ignore[no-untyped-def]
    """What is computed with a result is asked as its state."""
    lane = cuda.laneid
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        s = recurrence.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k)))
    h = recurrence.result(cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4)))
    y[lane] = v[lane] * h + h / g[lane]


@spec
def after_the_first(v: Any, g: Any) -> Any:
    return [v[i] * recurrence.result(*recurrence.scan(v, g)[-1]) for i in range(4)]


@sketch(spec=after_the_first, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def moved(v, g, y):  # type: ignore[no-untyped-def]
    """What the result is multiplied by depends on a hole, so that it is not asked as a state."""
    lane = cuda.laneid
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        s = recurrence.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k)))
    whole = recurrence.result(cuda.shfl_sync(cuda.FULL_MASK, s, 0))
    y[lane] = whole * v[sw_xform(lane, 4)]


@sketch(spec=after_the_first, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def wrong(v, g, y):  # type: ignore[no-untyped-def]
    """It is not right of the state that is wanted."""
    lane = cuda.laneid
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        s = recurrence.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k)))
    y[lane] = recurrence.result(cuda.shfl_sync(cuda.FULL_MASK, s, 0)) * g[lane]


@sketch(spec=products, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def written_later(v, g, y):  # type: ignore[no-untyped-def]
    """What is read of an array that is written afterwards is not read again where it is stored: it has a name."""
    lane = cuda.laneid
    tile = cuda.shared.array(1, recurrence)
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        s = recurrence.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k)))
    if lane == 0:
        tile[0] = s
    cuda.syncwarp()
    h = recurrence.result(tile[0])
    e = v[lane] * h
    cuda.syncwarp()
    if lane == 0:
        tile[0] = recurrence.lift(v[0], g[0])
    if lane < 4:
        y[lane] = e + h / g[lane]


@spec
def of_prefixes(v: Any, g: Any) -> Any:
    found = [recurrence.result(*words) for words in recurrence.scan(v, g)]
    return [v[i] * found[i] + found[i] / g[i] if i < 3 else 7 for i in range(4)]


@sketch(spec=of_prefixes, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def scanned(v, g, y):  # type: ignore[no-untyped-def]
    """The first state is one element's; the last element has none."""
    lane = cuda.laneid
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        before = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k))
        s = recurrence.combine(before, s) if sw_cond(lane, 1 << k) else s
    h = recurrence.result(s)
    y[lane] = v[lane] * h + h / g[lane] if lane < 3 else f32(7)


@sketch(spec=of_prefixes, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def scanned_to_another(v, g, y):  # type: ignore[no-untyped-def]
    """Nothing is right, as the last element has another number."""
    lane = cuda.laneid
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        before = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k))
        s = recurrence.combine(before, s) if lane >= 1 << k else s
    h = recurrence.result(s)
    y[lane] = v[lane] * h + h / g[lane] if lane < 3 else f32(8)


@sketch(spec=products, block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def shuffled_words(v, g, y):  # type: ignore[no-untyped-def]
    """A word of a state is shuffled, rather than the state, and what is stored is a choice."""
    lane = cuda.laneid
    s = recurrence.lift(v[lane], g[lane])
    for k in range(2):
        s = recurrence.combine(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, 4, 1 << k)))
    h = cuda.shfl_sync(cuda.FULL_MASK, recurrence.result(s), 0)
    y[lane] = v[lane] * h + h / g[lane] if lane < 4 else f32(0)


@serial
def sum_and_most(x: f32):  # type: ignore[no-untyped-def]
    total, most = 0, -math.inf
    for v in x:
        total += v
        most = max(most, v)
    return total, most


extremes = scan_operator(sum_and_most)


@sketch(spec=lambda v, g: [0 for _ in v], block=4, warp_size=4, v=f32[4], g=f32[4], y=f32.out[4])
def of_any_element(v, g, y):  # type: ignore[no-untyped-def]
    """Of one element, the sum is the maximum: every state of a single part gives what is wanted."""
    total, most = extremes.result(extremes.lift(v[sw_xform(cuda.laneid, 4)]))
    y[cuda.laneid] = (total - most) * g[cuda.laneid]


@pytest.mark.parametrize(
    ("kernel", "asked", "count"),
    [
        (computed, 1, 1),
        (moved, 0, 1),
        (wrong, 0, 0),
        (written_later, 1, 1),
        (scanned, 4, 1),
        (scanned_to_another, 0, 0),
        (shuffled_words, 1, 1),
        (of_any_element, 0, 2),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_what_is_computed_with_results(kernel: Sketch, asked: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All fillings are those that are found without asking for states."""

    def fillings() -> set[str]:
        found = solve(kernel, Limits(space="1", all_solutions=True)).solutions
        return {str([hole.formula for hole in each.holes]) for each in found}

    problem = Problem.of(kernel.program, kernel.spec)
    some = fillings()
    monkeypatch.setattr(StoredStates, "settled", lambda *_: None)
    plain = Problem.of(kernel.program, kernel.spec)
    shown = [list(map(each.terms.show, each.wanted["y"])) for each in (problem, plain)]
    assert len(set(shown[0])) == asked if asked else shown[0] == shown[1]
    assert fillings() == some and len(some) >= count
