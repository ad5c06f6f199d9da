"""The counting floor: no filling costs less, and it is not lower than it need be."""

import pytest

from swizzle import maximum, solve
from swizzle.solving.costs.accumulates import floor
from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Limits
from tests.sketches import kernel

BODY = """
lane = cuda.laneid
i = cuda.grid(1)
a = accumulator(i32, outer="{outer}")
for k in range(4):
    v = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(lane, 4, k))
    a.accumulate(v, when=?sw_cond(lane, k))
    a.accumulate(v, when=?sw_cond(lane, k))
    a.accumulate(v, when=?sw_cond(lane, k))
y[i] = a.value{final}
"""

LANES = "lane = cuda.laneid\ni = cuda.grid(1)\n"
LOOP = "for k in range(4):\n    a.accumulate(x[?sw_xform(k, 8, lane)], when={})\n"
ONCE = "a.accumulate(x[?sw_xform(lane, 8)], when={})\n"
UNEVEN = [
    (LOOP.format("?sw_cond(k, lane)") + ONCE.format("?sw_cond(lane)"), 4, 1),  # the loop alone
    (ONCE.format("?sw_cond(lane)") + LOOP.format("?sw_cond(k, lane)"), 4, 1),
    (LOOP.format("?sw_cond(k, lane)") + ONCE.format("?sw_cond(lane)"), 5, 2),
    (2 * ONCE.format("?sw_cond(lane)"), 1, 1),
    (LOOP.format("True") + ONCE.format("?sw_cond(lane)"), 4, 1),  # what always runs is one of those that are needed
    (LOOP.format("True") + ONCE.format("?sw_cond(lane)"), 5, 2),
    (2 * ONCE.format("lane < 4") + ONCE.format("?sw_cond(lane)"), 2, 2),
]


@pytest.mark.parametrize(
    ("items", "outer", "final", "expected"),
    [
        (4, "+", "", 1),
        (5, "+", "", 2),
        (8, "+", "", 2),
        (9, "+", "", 3),
        (9, "+", " * 2", 3),
        (9, "max", "", 0),
    ],
)
def test_each_statement_brings_an_item_a_round(items: int, outer: str, final: str, expected: int) -> None:
    """Four rounds bring four items a statement; a maximum may take an item twice, so nothing follows there."""

    def spec(x):  # type: ignore[no-untyped-def]
        found = []
        for i in range(8):
            total = x[i // 4 * 4]
            for j in range(1, items):
                item = x[(i // 4 * 4 + j) % 8]
                total = maximum(total, item) if outer == "max" else total + item
            found.append(total * 2 if final else total)
        return found

    sketch = kernel(BODY.format(outer=outer, final=final))
    assert floor(Problem.of(sketch.program, spec)) == expected


@pytest.mark.parametrize(("statements", "items", "expected"), UNEVEN)
def test_statements_that_run_more_often_bring_more(statements: str, items: int, expected: int) -> None:
    """The floor is what a filling reaches: those that run most often come first, those that always run count."""
    body = f'{LANES}a = accumulator(i32, outer="+")\n{statements}y[i] = a.value'
    total = " + ".join(f"x[(i + {j}) % 8]" for j in range(items))
    sketch = kernel(body, spec=f"[{total} for i in range(4)]", arguments="x=i32[8], y=i32.out[4]", block=4)
    assert floor(Problem.of(sketch.program, sketch.spec)) == expected
    assert solve(sketch).best.cost == {"accumulates": expected}


@pytest.mark.parametrize(("first", "second", "expected"), [(1, 1, 2), (1, 5, 3), (5, 8, 4)])
def test_accumulators_that_share_no_statement_need_their_own(first: int, second: int, expected: int) -> None:
    """Two sums: what each needs is added up. The statements of one serve all its threads, and are counted once."""
    loops = "".join(2 * LOOP.format("?sw_cond(k, lane)").replace("a.", f"{name}.") for name in "ab")
    body = f'{LANES}a = accumulator(i32, outer="+")\nb = accumulator(i32, outer="+")\n{loops}'
    body += "y[i] = a.value\ny[i + 4] = b.value"
    totals = [" + ".join(f"x[(i + {j}) % 8]" for j in range(items)) for items in (first, second)]
    spec = f"[{totals[0]} if i < 4 else {totals[1]} for i in range(8)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[8], y=i32.out[8]", block=4)
    assert floor(Problem.of(sketch.program, sketch.spec)) == expected


def test_threads_that_need_less_do_not_count_beside_those_that_need_more() -> None:
    """Lane 0 sums five elements, the others two: two statements, not three."""
    body = f'{LANES}a = accumulator(i32, outer="+")\n{3 * LOOP.format("?sw_cond(k, lane)")}y[i] = a.value'
    spec = "[x[0] + x[1] + x[2] + x[3] + x[4] if i == 0 else x[i] + x[i + 1] for i in range(4)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[8], y=i32.out[4]", block=4)
    assert floor(Problem.of(sketch.program, sketch.spec)) == 2


@pytest.mark.parametrize("when", ["k == 0", "k == 3", "k < 2"])
def test_a_statement_counts_once_if_it_ever_runs(when: str) -> None:
    """In whichever rounds that is; two such statements are two."""
    rounds = 2 if when == "k < 2" else 1
    body = f'{LANES}a = accumulator(i32, outer="+")\n{2 * LOOP.format(when)}y[i] = a.value'
    total = " + ".join(f"x[(i + {j}) % 8]" for j in range(2 * rounds))
    sketch = kernel(body, spec=f"[{total} for i in range(4)]", arguments="x=i32[8], y=i32.out[4]", block=4)
    assert solve(sketch).best.cost == {"accumulates": 2}


def test_what_may_be_overwritten_needs_nothing() -> None:
    """A second store, to where a hole says, may replace the first, whose sum need not be right then."""
    body = f'{LANES}a = accumulator(i32, outer="+")\n{2 * LOOP.format("?sw_cond(k, lane)")}y[i] = a.value\n'
    body += 'cuda.syncthreads()\nb = accumulator(i32, outer="+")\n'
    body += LOOP.format("?sw_cond(k, lane)").replace("a.", "b.").replace("range(4)", "range(8)")
    body += "y[?sw_xform(lane, 4)] = b.value"
    total = " + ".join(f"x[(i + {j}) % 8]" for j in range(5))
    sketch = kernel(body, spec=f"[{total} for i in range(4)]", arguments="x=i32[8], y=i32.out[4]", block=4)
    assert floor(Problem.of(sketch.program, sketch.spec)) <= solve(sketch).best.cost["accumulates"] == 1


def test_each_of_all_fillings_counts_by_itself() -> None:
    """Fillings that run side by side, in which a statement is active in different rounds, cost the same."""
    body = f'{LANES}a = accumulator(i32, outer="+")\nfor k in range(4):\n    a.accumulate(x[lane], when=?sw_cond(k))\n'
    sketch = kernel(
        body + "y[i] = a.value", spec="[x[i] for i in range(4)]", arguments="x=i32[4], y=i32.out[4]", block=4
    )
    found = solve(sketch, Limits(space="2", all_solutions=True))
    assert [each.cost for each in found.solutions] == [{"accumulates": 1}] * 4


def test_sums_that_are_put_together_again_have_no_floor() -> None:
    """A sum and another lane's, either of which may be too many terms to list, is asked item by item, and solved."""
    body = """
lane = cuda.laneid
a = accumulator(i32, outer="+")
for k in range(2):
    v = cuda.shfl_sync(cuda.FULL_MASK, x[lane], ?sw_xform(lane, 4, k))
    a.accumulate(v)
    a.accumulate(v, when=?sw_cond(lane, k))
s = a.value
y[lane] = s + cuda.shfl_sync(cuda.FULL_MASK, s, ?sw_xform(lane, 4))
"""
    spec = "[x[0] + x[1] + x[2] + x[3] for v in x]"
    posed = kernel(body, spec=spec, arguments="x=i32[4], y=i32.out[4]", block=4, warp_size=4)
    assert floor(Problem.of(posed.program, posed.spec)) == 1  # the statement that always runs
    found = solve(posed, Limits(space="1"))
    assert found.optimal
    assert found.best.cost == {"accumulates": 1}
