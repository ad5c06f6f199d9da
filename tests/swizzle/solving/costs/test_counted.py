"""Bank conflicts as a cost: the least one, what is claimed of it, and every filling tried one by one.

Sectors of global memory as a cost: the floor, what is picked, vectors as they are printed, every filling.

Terms, shuffles and bytes as costs: what they count, and every filling tried one by one.
"""

from __future__ import annotations

import io
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle.commands.process import execute
from swizzle.sketches.sketch import Sketch
from swizzle.solving.costs.counted import Conflicts, Sectors
from swizzle.solving.costs.unavoidable import least_conflicts
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import plan
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.in_words import optimality
from swizzle.solving.solution.solution import Limits, Progress
from templates.formula import formula_of_text, length_of, plain
from tests.differential.random_sketches import functions
from tests.sketches import kernel, sketch_of

CASES = Path(__file__).resolve().parents[4] / "case_studies"

# One hole, called where the tile is written and where it is read: in which column of the tile an element lies.
LAYOUT = """
@cuda.jit(device=True)
def place(c, r):
    return ?sw_xform(c, {n}, {of})

@spec
def transposed(x):
    return [[x[r, c] for r in range({n})] for c in range({n})]

@sketch(spec=transposed, block=({n}, {n}), warp_size={n}, x=f32[{n}, {n}], y=f32.out[{n}, {n}])
def k(x, y):
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    tile = cuda.shared.array(({n}, {n}), f32)
    tile[r, place(c, r)] = x[r, c]
    cuda.syncthreads()
    y[r, c] = tile[c, place(r, c)]
"""


def layout(n: int, of: str = "r") -> Sketch:
    """`of` is what the layout may depend on, besides the column."""
    return sketch_of(LAYOUT.format(n=n, of=of))


def counted_by_hand(n: int, function: dict[tuple[int, int], int], banks: int) -> int:
    """The conflicts of a layout: each row of the block is a warp, which writes its row and reads a column."""
    conflicts = 0
    for r in range(n):
        for cells in ([r * n + function[c, r] for c in range(n)], [c * n + function[r, c] for c in range(n)]):
            for first in range(0, n, banks):
                phase = Counter(cell % banks for cell in cells[first : first + banks])
                conflicts += max(phase.values()) - 1
    return conflicts


@pytest.mark.sampled(3)
@pytest.mark.parametrize("of", ["r", "0"])
@pytest.mark.parametrize(
    ("n", "banks", "least"), [(4, 4, 12), (4, 8, 4), (4, 2, 8), pytest.param(8, 8, 56, marks=pytest.mark.slow)]
)
def test_the_least_of_all_layouts(n: int, banks: int, least: int, of: str) -> None:
    """Every right layout of Space 1, counted by hand: the minimum is found, and said to be proved.

    One that knows the row has no conflicts; one that moves all rows alike has `least` of them.
    """
    sketch = layout(n, of)
    problem = Problem.of(sketch.program, sketch.spec)
    (made,) = problem.templates("1")
    (points,) = problem.points
    right = []
    for choice in functions(made, points):
        run, wrong = problem.candidate([made], [choice])
        if not run.violations and not wrong:
            values = np.broadcast_to(made.apply(choice, [np.array(p) for p in zip(*points, strict=True)]), len(points))
            given = dict(zip(points, values.tolist(), strict=True))
            right.append({(c, r): given[c, r if of == "r" else 0] for c in range(n) for r in range(n)})
    costs = [counted_by_hand(n, function, banks) for function in right]
    found = solve(sketch, Limits(space="1"), cost=[Conflicts(banks)])
    assert found.best.cost == {"conflicts": min(costs)} and found.optimal
    assert min(costs) == (0 if of == "r" else least)
    every = solve(sketch, Limits(space="1", all_solutions=True), cost=[Conflicts(banks)])
    assert [s.cost["conflicts"] for s in every.solutions] == sorted(costs)


TWO_PARTS = """
lane = cuda.laneid
tile = cuda.shared.array(16, i32)
tile[4 * lane] = x[lane]
cuda.syncwarp()
a = accumulator(i32, outer="+")
a.accumulate(tile[4 * lane], when=?sw_cond(lane))
a.accumulate(tile[4 * lane], when=?sw_cond(lane))
y[lane] = a.value
"""


def two_parts() -> Sketch:
    """All lanes at once wait for each other; half of them each time wait less, at the price of a statement."""
    arguments = "x=i32[4], y=i32.out[4]"
    return kernel(TWO_PARTS, spec="[x[i] for i in range(4)]", arguments=arguments, block=4, warp_size=4)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("names", "best"),
    [
        (["accumulates"], {"accumulates": 1}),
        (["accumulates", "conflicts"], {"accumulates": 1, "conflicts": 6}),
        (["conflicts", "accumulates"], {"conflicts": 5, "accumulates": 2}),
        (["conflicts"], {"conflicts": 5}),
    ],
)
@pytest.mark.parametrize("space", ["2", "all", None])
def test_the_order_of_costs_decides(names: list[str], best: dict[str, int], space: Any) -> None:
    """The first cost decides, the next one among its best; each is proved, as the fillings are all there."""
    bank_of_four: list[Any] = [Conflicts(4) if name == "conflicts" else name for name in names]
    found = solve(two_parts(), Limits(space=space), cost=bank_of_four)
    assert list(found.best.cost.items()) == list(best.items())
    assert found.optimal and all(found.proved.values())


def test_the_order_against_every_filling() -> None:
    """The best of all fillings in Space 2, by brute force over both conditions, in either order of the costs."""
    sketch = two_parts()
    problem = Problem.of(sketch.program, sketch.spec)
    made = problem.templates("2")
    ranks = set()
    for choices in itertools.product(*(functions(t, p) for t, p in zip(made, problem.points, strict=True))):
        run, wrong = problem.candidate(made, choices)
        if run.violations or wrong:
            continue
        masks = [np.asarray(entry.mask) for entry in run.accumulated if np.asarray(entry.mask).any()]
        ranks.add((len(masks), 3 + sum(int(mask.sum()) - 1 for mask in masks)))
    assert min(ranks) == (1, 6) and min(b for _, b in ranks) == 5


def test_an_enumeration_that_is_cut_short_proves_nothing() -> None:
    """Interrupted after the first filling: the best so far, and 'not proved'; what counting says is still proved."""

    def interrupt(news: Progress) -> None:
        if news.best_cost is not None and "conflicts" in news.best_cost:
            raise KeyboardInterrupt

    found = solve(layout(4), Limits(space="1"), interrupt, cost=["accumulates", Conflicts(4)])
    assert found.best.cost == {"accumulates": 0, "conflicts": 12} and not found.optimal
    assert found.proved == {"accumulates": True, "conflicts": False}
    assert optimality(found, False) == [
        "0 accumulates, proved minimal in Space 1",
        "12 conflicts, not proved minimal among these",
    ]


WIDE = """
@spec
def wanted(x):
    return [x[i] for i in range(128)]

@sketch(spec=wanted, block=32, warp_size=32, x=f32[128], y=f32.out[128])
def k(x, y):
    lane = cuda.laneid
    tile = cuda.shared.array(128, f32)
    mine = cuda.local.array(4, f32)
    for e in range(4):
        {write}
    cuda.syncwarp()
    for e in range(4):
        {read}
    for e in range(4):
        y[4 * lane + e] = mine[e]
"""


@pytest.mark.parametrize(
    ("write", "read", "conflicts"),
    [
        ("tile[4 * lane + e] = x[4 * lane + e]", "mine[e] = tile[4 * lane + e]", 0),  # float4, by quarters of a warp
        ("tile[32 * e + lane] = x[32 * e + lane]", "mine[e] = tile[4 * lane + e]", 0),
        ("tile[32 * e + lane] = x[4 * lane + e]", "mine[e] = tile[32 * e + lane]", 0),
    ],
)
def test_vectors_are_served_by_quarters_of_a_warp(write: str, read: str, conflicts: int) -> None:
    """What would be four words of one bank, word by word, is no conflict as one float4."""
    found = solve(sketch_of(WIDE.format(write=write, read=read)), cost=["conflicts"])
    assert found.best.cost == {"conflicts": conflicts} and found.optimal


def test_the_tile_of_the_case_study_is_free_of_conflicts() -> None:
    """32 x 32 through shared memory, by rotated columns; 0 is proved without the thousands of other solutions."""
    out, err = io.StringIO(), io.StringIO()
    words = ["solve", str(CASES / "transpose.py"), "--no-cache", "--json", "--cost", "accumulates,conflicts"]
    assert execute(words, out, err) == 0
    answer = json.loads(out.getvalue())
    assert answer["cost"] == {"accumulates": 0, "conflicts": 0}
    assert answer["proved"] == {"accumulates": True, "conflicts": True}


def test_a_bank_is_as_wide_as_it_is_said_to_be() -> None:
    """Every other word: two lanes meet at a bank of one word, and none at a bank of two."""
    body = "i = cuda.laneid\ntile = cuda.shared.array(16, f32)\ntile[i] = x[i]\ntile[8 + i] = x[i]\n"
    sketch = kernel(
        body + "cuda.syncwarp()\ny[i] = tile[2 * i]", spec="[x[2 * i % 8] for i in range(8)]",
        arguments="x=f32[8], y=f32.out[8]", block=8, warp_size=8,
    )  # fmt: skip
    for word, conflicts in ((4, 1), (8, 0)):
        assert solve(sketch, cost=[Conflicts(8, word)]).best.cost == {"conflicts": conflicts}


ALIKE = """
lane = cuda.laneid
tile = cuda.shared.array((8, 16), {dtype})
for k in range(9):
    if k < 8:
        tile[{write}] = x[k, lane]
cuda.syncthreads()
y[lane] = {read}
"""


@pytest.mark.parametrize(
    ("write", "read", "dtype", "least"),
    [
        ("k, lane", "tile[lane, 3]", "i32", 7),  # one column of rows of 16 words
        ("k, lane", "tile[lane, ?sw_xform(3, 8)]", "i32", 7),  # one column, whichever it is
        ("k, lane", "tile[lane, ?sw_xform(lane, 8)]", "i32", 0),
        ("k, lane", "tile[lane, 2 * ?sw_xform(lane, 8)]", "i32", 1),  # even banks
        ("k, 2 * ?sw_xform(lane, 8, k)", "tile[0, 2 * lane]", "i32", 1 + 8),  # what writes has different cells
        ("k, 2 * ?sw_xform(lane, 8, k)", "x[0, lane]", "i32", 0),  # nothing reads it
        ("k, lane", "tile[0, 0] if ?sw_cond(lane) else tile[lane, 0]", "i32", 0),  # a side that may vanish
        ("k, lane", "tile[lane, 0]", "u8", 3),  # two rows fill the banks
        ("k, lane", "tile[lane, 0]", "f64", 6),  # four lanes at a time, in the first two banks
    ],
)
def test_what_no_filling_avoids(write: str, read: str, dtype: str, least: int) -> None:
    """In eight banks, by eight lanes."""
    sketch = kernel(
        ALIKE.format(write=write, read=read, dtype=dtype), arguments=f"x={dtype}[8, 8], y={dtype}.out[8]", block=8,
        warp_size=8,
    )  # fmt: skip
    problem = Problem.of(sketch.program, lambda x: [x[0, i] for i in range(8)])
    assert least_conflicts(problem, 8, 4) == least


AOS = """
@spec
def sums(x):
    return [sum(x[i * {s} + e] for e in range({s})) for i in range({n})]

@sketch(spec=sums, block={n}, warp_size={n}, x=i32[{n} * {s}], y=i32.out[{n}])
def k(x, y):
    lane = cuda.laneid
    tile = cuda.shared.array({n} * {s}, i32)
    for r in range({s}):
        i = {s} * lane + r if ?sw_cond({of}) else {n} * r + lane
        tile[i] = x[i]
    cuda.syncthreads()
    a = accumulator(i32, outer="+")
    for r in range({s}):
        a.accumulate(tile[{s} * lane + r])
    y[lane] = a.value
"""


def test_the_coalesced_variant_is_picked() -> None:
    """Structures of three words, 32 of them: 12 sectors to load and 4 to store, as counting says."""
    sketch = sketch_of(AOS.format(n=32, s=3, of="r"))
    found = solve(sketch, cost=["sectors"])
    assert found.best.cost == {"sectors": 16} and found.optimal
    assert "sectors that no filling can do without, by counting: 16" in found.certificate["floor"]
    assert found.best.holes[0].formula == "False"
    every = solve(sketch, Limits(all_solutions=True), cost=["sectors"])
    assert [s.cost["sectors"] for s in every.solutions] == [16, 40]


def test_light_constants_do_not_settle_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """All fillings have as many accumulates; which of them moves the fewest sectors is looked for all the same."""
    monkeypatch.setattr(plan, "LARGE", 0)
    monkeypatch.setattr(plan, "WORTH_IT", 0)
    found = solve(sketch_of(AOS.format(n=32, s=3, of="r")), cost=["accumulates", "sectors"])
    assert found.optimal and found.best.cost == {"accumulates": 1, "sectors": 16}


def test_four_words_go_as_a_vector() -> None:
    """One float4 a lane touches each sector once; word by word, the same sectors are touched four times."""
    body = "mine = cuda.local.array(4, f32)\nfor e in range(4):\n    mine[e] = x[{}]\n"
    body += "for e in range(4):\n    y[{}] = mine[e]"
    options: dict[str, Any] = {"block": 32, "warp_size": 32, "arguments": "x=f32[128], y=f32.out[128]"}
    beside = kernel(body.format(*["4 * cuda.laneid + e"] * 2), spec="[x[i] for i in range(128)]", **options)
    assert solve(beside, cost=["sectors"]).best.cost == {"sectors": 32}
    turned = "[x[i // 4 * 4 + (i + 1) % 4] for i in range(128)]"
    apart = kernel(body.format("4 * cuda.laneid + (e + 1) % 4", "4 * cuda.laneid + e"), spec=turned, **options)
    assert solve(apart, cost=["sectors"]).best.cost == {"sectors": 80}


def test_what_stays_as_it_is_need_not_move() -> None:
    """An inout array of which the first half is written: its other half is neither loaded nor stored."""
    body = "i = cuda.laneid\nz[i] = z[i] + x[0]"
    spec = "[z[i] + x[0] if i < 8 else z[i] for i in range(16)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[64], z=i32.inout[16]", block=8, warp_size=8)
    problem = Problem.of(sketch.program, sketch.spec)
    assert Sectors().floor(problem) == 3
    assert solve(sketch, cost=["sectors"]).best.cost == {"sectors": 3}


@pytest.mark.parametrize("of", ["r", "lane, r"])
def test_every_filling_of_a_small_sketch(of: str) -> None:
    """Eight lanes, three words each (no vector): the sectors of each right filling by its addresses, and the least."""
    sketch = sketch_of(AOS.format(n=8, s=3, of=of))
    problem = Problem.of(sketch.program, sketch.spec)
    made, right = problem.templates("2"), []
    for choices in itertools.product(*(functions(t, p) for t, p in zip(made, problem.points, strict=True))):
        run, wrong = problem.candidate(made, choices)
        if run.violations or wrong:
            continue
        lane, count = np.arange(8), 1  # the store
        for r in range(3):
            arguments = [np.full(8, r)] if of == "r" else [lane, np.full(8, r)]
            structured = np.broadcast_to(made[0].apply(choices[0], arguments), 8)
            cells = np.where(structured, 3 * lane + r, 8 * r + lane)
            count += len(set((cells // 8).tolist()))
        right.append(count)
    found = solve(sketch, Limits(space="2", all_solutions=True), cost=["sectors"])
    assert sorted(right) == [solution.cost["sectors"] for solution in found.solutions]
    assert found.best.cost["sectors"] == min(right) and found.optimal


def low(n: int = 8) -> Sketch:
    """What lanes of the upper half receive is not stored, so many functions are right."""
    text = """
i = cuda.laneid
got = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(i, {n}))
y[i] = got if ?sw_cond(i) else x[i]
"""
    options: dict[str, Any] = {"block": n, "grid": 1, "warp_size": n, "arguments": f"x=i32[{n}], y=i32.out[{n}]"}
    spec = f"[x[i + 1] if i < {n // 2 - 1} else x[i] for i in range({n})]"
    return kernel(text.replace("{n}", str(n)), spec=spec, **options)


def test_terms_are_counted_over_all_fillings() -> None:
    """The terms of each right filling are counted again, from its text; the best has the fewest."""
    sketch = low()
    every = solve(sketch, Limits(space="3", all_solutions=True), cost="terms")
    assert len(every.solutions) > 1 and every.optimal
    for solution in every.solutions:
        formulas = [formula_of_text(h, s.formula) for h, s in zip(sketch.program.holes, solution.holes, strict=True)]
        assert solution.cost == {"terms": sum(map(length_of, formulas))}
    lengths = [solution.cost["terms"] for solution in every.solutions]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]
    found = solve(sketch, Limits(space="3"), cost=["accumulates", "terms"])
    assert found.best.cost == {"accumulates": 0, "terms": lengths[0]}
    assert found.proved == {"accumulates": True, "terms": True}


def test_no_filling_of_the_space_has_fewer_terms() -> None:
    """Brute force: every function of one hole with every one of the other, as the templates write them."""
    sketch = low(4)
    problem = Problem.of(sketch.program, sketch.spec)
    templates, many = problem.templates("3"), Many(problem)
    fillings = list(itertools.product(*(itertools.product(*made.components) for made in templates)))
    right = many.costs([many.chosen(templates, each) for each in fillings], lambda run, copies: [0] * copies)
    written = [
        sum(length_of(plain(h, t, c)) for h, t, c in zip(sketch.program.holes, templates, filling, strict=True))
        for filling, cost in zip(fillings, right, strict=True)
        if cost is not None
    ]
    assert solve(sketch, Limits(space="3"), cost="terms").best.cost["terms"] <= min(written)


@pytest.mark.parametrize("space", ["2", "3", "4"])
def test_formulas_are_right_where_they_are_asked(space: Any) -> None:
    """Python's value of every printed formula of every solution is that of its constants."""
    found = solve(low(), Limits(space=space, all_solutions=True))
    assert found.solutions
    for solution in found.solutions:
        for hole, asked in zip(solution.holes, solution.tables().values(), strict=True):
            named = [dict(zip(asked.arguments, point, strict=True)) for point in asked.points.tolist()]
            assert [eval(hole.formula, {}, names) for names in named] == asked.values.tolist()


@pytest.mark.parametrize("grid", [1, 3])
def test_shuffles_are_counted_by_warps(grid: int) -> None:
    """A warp's shuffle is one, one of doubles two; what nothing reads is none."""
    turn = "i = cuda.grid(1)\ngot = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(cuda.laneid, 8))\ny[i] = {}"
    for dtype, words in (("f32", 1), ("f64", 2), ("f16", 1)):
        options: dict[str, Any] = {"block": 16, "grid": grid, "warp_size": 8}
        options["arguments"] = f"x={dtype}[{16 * grid}], y={dtype}.out[{16 * grid}]"
        spec = f"[x[i // 8 * 8 + (i + 1) % 8] for i in range({16 * grid})]"
        assert solve(kernel(turn.format("got"), spec=spec, **options), cost="shuffles").best.cost == {
            "shuffles": 2 * grid * words
        }
        same = kernel(turn.format("x[i]"), spec=f"[x[i] for i in range({16 * grid})]", **options)
        assert solve(same, cost="shuffles").best.cost == {"shuffles": 0}


def test_bytes_are_those_in_use() -> None:
    """Of a tile of 8 words 4 are touched in the best filling, and they lie at its beginning.

    Of several blocks, the one counts that goes furthest.
    """
    text = """
i = cuda.laneid
tile = cuda.shared.array({n}, i32)
tile[{at}] = x[i]
cuda.syncthreads()
y[i] = tile[{at}]
"""
    options: dict[str, Any] = {"block": 4, "arguments": "x=i32[4], y=i32.out[4]", "spec": "[x[i] for i in range(4)]"}
    holes = kernel(text.format(n=8, at="?sw_xform(i, 8)"), **options)
    assert solve(holes, Limits(space="1"), cost="bytes").best.cost == {"bytes": 16}
    apart = kernel(text.format(n=16, at="3 * i + 2") + "y[i] = tile[2]\ny[i] = x[i]", **options)
    assert solve(apart, cost="bytes").best.cost == {"bytes": 4 * 12}
    several: dict[str, Any] = options | {
        "grid": 3,
        "arguments": "x=i32[12], y=i32.out[12]",
        "spec": "[x[i] for i in range(12)]",
    }
    body = text.format(n=8, at="i + cuda.blockIdx.x").replace("x[i]", "x[j]").replace("y[i]", "y[j]")
    blocks = kernel("j = cuda.grid(1)\n" + body, **several)
    assert solve(blocks, cost="bytes").best.cost == {"bytes": 4 * 6}
