"""The facts of a picture: every cell holds what its sources say, and the ways end where the specification says."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

from swizzle.answers.show.panels import Row, Trace, memory_lines
from swizzle.answers.show.tracer import trace
from swizzle.language.specs.specification import postcondition
from symbolic.algebra.terms import UNWRITTEN
from symbolic.errors import SwizzleError
from symbolic.ir.program import Accumulate, DeclareAccumulator
from symbolic.ir.walk import statements
from templates.registry import FilledHole
from tests.differential.random_sketches import RandomSketch
from tests.sketches import kernel, sketch_of
from tests.swizzle.answers.show.kernels import ALL, BUTTERFLY, CONVOLUTION, TRANSPOSE, picture, random_constants, solved


def traced(text: str, block: int = 0, warp: int = 0) -> Trace:
    sketch, solution = solved(text)
    holes = [FilledHole(h, s.constants) for h, s in zip(sketch.program.holes, solution.holes, strict=True)]
    return trace(sketch.program, sketch.spec, holes, block, warp)


def whole_block(text: str) -> list[Trace]:
    """Trace every warp of the first block; the rows of all of them have the same numbers."""
    sketch = sketch_of(text)
    warps = prod(sketch.program.block) // sketch.program.warp_size
    return [traced(text, warp=warp) for warp in range(warps)]


def term_at(warps: list[Trace], row: int, thread: int) -> int:
    """Return what a thread of the block had at a row, whichever warp it is in."""
    for one in warps:
        if one.first <= thread < one.first + one.lanes:
            assert one.rows[row].on[thread - one.first], "a value comes from where there is one"
            return int(one.rows[row].terms[thread - one.first])
    raise AssertionError(f"no thread {thread}")


def given(warps: list[Trace], row: Row, lane: int) -> list[int]:
    """Return the values that a lane's value is made of, by its sources."""
    found = [(int(s.row[lane]), int(s.thread[lane])) for s in row.sources if s.row[lane] >= 0]
    assert all(number < row.number for number, _ in found), "a value comes from an earlier row"
    return [term_at(warps, number, thread) for number, thread in found]


@pytest.mark.parametrize("name", ALL)
def test_every_value_is_what_its_sources_make(name: str) -> None:
    """Loads, shuffles and stores hand on; an accumulate multiplies; a result sums; by the algebra, not by the trace."""
    warps = whole_block(ALL[name])
    program = warps[0].program
    accumulators = {s.name: s for s in program.body if isinstance(s, DeclareAccumulator)}
    for one in warps:
        for row in one.rows:
            for lane in np.flatnonzero(row.on).tolist():
                term, values = int(row.terms[lane]), given(warps, row, lane)
                if row.kind == "load" and not values:
                    assert row.access is not None
                    assert term == one.terms.atom(row.access.array, row.access.cells[lane])
                elif row.kind in ("load", "shuffle", "store") and len(values) == 1:
                    assert term == values[0]
                elif row.kind == "accumulate":
                    inner = accumulators[row.accumulator.split("[")[0]].inner
                    assert term == (one.terms.apply(inner, values) if inner else values[0])
                elif row.kind == "result":
                    declared = accumulators[row.accumulator.split("[")[0]]
                    total = one.terms.apply(declared.outer, values)
                    two = one.terms.const(2)
                    assert term == (total if declared.final is None else one.terms.apply("*", (total, two)))


def test_random_kernels_hand_on_what_they_have() -> None:
    """Random kernels with random fillings: whatever is read or shuffled is what was there, in any warp of any block."""
    ran = 0
    for seed in range(60):
        program, random = RandomSketch(Random(seed)).sketch().program, Random(seed)
        holes = [FilledHole(hole, random_constants(hole, random)) for hole in program.holes]
        warps = prod(program.block) // program.warp_size
        try:
            block = prod(program.grid) - 1
            traces = [trace(program, None, holes, block, warp) for warp in range(warps)]
        except SwizzleError:
            continue  # a filling that breaks a rule
        ran += 1
        for one in traces:
            for row in one.rows:
                for lane in np.flatnonzero(row.on).tolist():
                    values = given(traces, row, lane)
                    if row.kind == "load" and not values:
                        assert row.access is not None
                        values = [one.terms.atom(row.access.array, row.access.cells[lane])]
                    assert row.kind not in ("load", "shuffle") or values == [row.terms[lane]]
    assert ran >= 20


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("block", [0, 1])
def test_what_is_stored_last_is_what_the_specification_says(name: str, block: int) -> None:
    """The stores of all warps of a block, in order, leave the specification's terms in the cells that they touch."""
    sketch = sketch_of(ALL[name])
    if block >= prod(sketch.program.grid):
        with pytest.raises(SwizzleError, match="there is no block 1"):
            traced(ALL[name], block=1)
        return
    touched = 0
    for warp in range(prod(sketch.program.block) // sketch.program.warp_size):
        one = traced(ALL[name], block, warp)
        assert one.wrong == {}
        wanted = postcondition(one.program, sketch.spec, one.terms)
        last: dict[tuple[str, int], int] = {}
        for row in one.rows:
            if row.kind == "store" and row.access is not None and row.access.memory == "global":
                last |= {
                    (row.access.array, cell): int(term)
                    for cell, term in zip(row.access.cells, row.terms, strict=True)
                    if cell >= 0
                }
        touched += len(last)
        assert all(wanted[array][cell] == term for (array, cell), term in last.items())
    assert touched


def test_a_shuffle_names_whom_each_lane_asks() -> None:
    """In iteration k of the convolution lane i asks lane (i + k) modulo 4, which offers the register it reads."""
    one = traced(CONVOLUTION, block=1, warp=1)
    shuffles = [row for row in one.rows if row.kind == "shuffle"]
    assert [row.loops for row in shuffles] == [(("k", k),) for k in range(3)]
    for k, row in enumerate(shuffles):
        (source,) = row.sources
        assert (source.thread - one.first).tolist() == [(i + k) % 4 for i in range(4)]
        offered = one.rows[int(source.row[0])]
        assert offered.title == "mine = inp[part1]" and offered.access is not None
        assert list(offered.access.cells) == [0 if i >= k else 1 for i in range(4)]
        assert [one.terms.show(int(t)) for t in row.terms] == [f"x[{12 + i + k}]" for i in range(4)]


@pytest.mark.parametrize("mode", ["up", "down", "xor"])
def test_other_shuffles_ask_the_machine_too(mode: str) -> None:
    """shfl_up, shfl_down and shfl_xor: a lane that would ask outside the warp asks itself."""
    body = f"v = x[cuda.grid(1)]\ny[cuda.grid(1)] = cuda.shfl_{mode}_sync(cuda.FULL_MASK, v, 3)"
    sketch = kernel(body, spec="[x[i] for i in range(8)]")
    one = trace(sketch.program, None, (), 0, 1)
    (row,) = (row for row in one.rows if row.kind == "shuffle")
    moved = {"up": [0, 1, 2, 0], "down": [3, 1, 2, 3], "xor": [3, 2, 1, 0]}[mode]
    assert row.sources[0].thread.tolist() == [4 + lane for lane in moved]
    assert row.title.startswith(f"shfl_{mode}_sync(v, 3)")


def test_a_value_may_come_from_another_warp() -> None:
    """Through shared memory, a lane of warp 0 reads what thread r * 8 + c stored."""
    one = traced(TRANSPOSE)
    (read,) = (row for row in one.rows if row.kind == "load" and row.access and row.access.memory == "shared")
    (source,) = read.sources
    assert source.thread.tolist() == [t % 4 * 8 + t // 4 for t in range(8)]
    assert {one.rows[number].kind for number in source.row.tolist()} == {"store"}


def test_a_variable_that_is_updated_hands_on_its_newest_value() -> None:
    """In the butterfly each iteration sums what the last one left, own and other lane's."""
    one = traced(BUTTERFLY)
    sums = [row for row in one.rows if row.kind == "compute"]
    assert [len(one.terms.multiset(int(row.terms[0]), "+")) for row in sums] == [2, 4, 8]
    for d, row in enumerate(sums):
        before, other = row.sources
        assert before.thread.tolist() == list(range(8))
        asked = one.rows[int(other.row[0])].sources[0]
        assert asked.thread.tolist() == [lane ^ (1 << d) for lane in range(8)]
        assert (asked.row == before.row).all()


def test_a_row_says_which_holes_steer_it() -> None:
    """Directly, or through a variable; a load inside an accumulate answers for its own."""
    text = CONVOLUTION.replace("mine = inp[?sw_part(2, lane, k)]", "p = ?sw_part(2, lane, k)\n        mine = inp[p]")
    rows = [row for row in traced(text).rows if row.loops == (("k", 0),)]
    assert [(row.kind, row.holes) for row in rows] == [
        ("load", (0,)), ("shuffle", (1,)), ("load", (2,)), ("accumulate", ()),
    ]  # fmt: skip


def test_the_points_of_the_holes_are_those_that_the_grid_asks() -> None:
    """Each hole's table has every point, with the value that its formula has there."""
    one = traced(CONVOLUTION)
    assert one.asked[0] == {(i, k): int(i < k) for i in range(4) for k in range(3)}
    assert one.asked[1] == {(i, k): (i + k) % 4 for i in range(4) for k in range(3)}


def test_dead_accumulates_leave_no_row() -> None:
    """An accumulate that runs for no lane of the grid is not there."""
    body = 'out = accumulator(i32, outer="+")\nout.accumulate(x[cuda.grid(1)])\n'
    body += "out.accumulate(x[0], when=cuda.laneid > 9)\ny[cuda.grid(1)] = out.value"
    sketch = kernel(body, spec="[x[i] for i in range(8)]")
    one = trace(sketch.program, sketch.spec)
    assert len([s for s in statements(sketch.program.body) if isinstance(s, Accumulate)]) == 2
    assert len([row for row in one.rows if row.kind == "accumulate"]) == 1


def test_a_wrong_kernel_is_drawn_with_what_is_wrong() -> None:
    """Outputs that are not the specification's are named, with what it says."""
    sketch = kernel("i = cuda.grid(1)\ny[i] = x[i] if i != 3 else x[0]", spec="[x[i] for i in range(8)]")
    one = trace(sketch.program, sketch.spec)
    assert {cell: one.terms.show(term) for cell, term in one.wrong.items()} == {("y", 3): "x[3]"}


def test_a_kernel_that_breaks_a_rule_is_the_users_mistake() -> None:
    """Out of bounds, for one: the machine's own error."""
    sketch = kernel("y[cuda.grid(1)] = x[cuda.grid(1) + 1]", spec="[x[i] for i in range(8)]")
    with pytest.raises(SwizzleError, match=r"x\[8\] is out of bounds"):
        trace(sketch.program, sketch.spec)


@pytest.mark.parametrize(("block", "warp", "found"), [(0, 2, "there is no warp 2"), (2, 0, "there is no block 2")])
def test_a_warp_that_is_not_there(block: int, warp: int, found: str) -> None:
    """Blocks and warps count from 0."""
    with pytest.raises(SwizzleError, match=found):
        traced(CONVOLUTION, block, warp)


def test_the_last_warp_may_be_short() -> None:
    """A block that ends in part of a warp has a warp of as many lanes."""
    sketch = kernel("y[cuda.grid(1)] = x[cuda.grid(1)]", spec="[x[i] for i in range(8)]", block=6, grid=1,
                    arguments="x=i32[6], y=i32.out[6]")  # fmt: skip
    one = trace(sketch.program, None, (), 0, 1)
    assert one.lanes == 2 and [row.terms.tolist() for row in one.rows] == [one.rows[0].terms.tolist()] * 2
    assert UNWRITTEN not in one.rows[0].terms.tolist()


WIDE = """
@spec
def copied(x):
    return [x[i] for i in range(128)]

@sketch(spec=copied, block=32, warp_size=32, x=f32[128], y=f32.out[128])
def wide(x, y):
    mine = cuda.local.array(4, f32)
    for e in range(4):
        mine[e] = x[4 * cuda.laneid + e]
    for e in range(4):
        y[32 * e + ?sw_xform(cuda.laneid, 32)] = mine[e]
"""


def test_accesses_are_as_wide_as_they_are_printed() -> None:
    """Four loads of neighbouring words are one float4, whose sectors each of the rows counts; the stores stay apart."""
    text = WIDE.replace("x[i] for", "x[i % 32 * 4 + i // 32] for")
    drawn = picture(text)
    far = [row.access for row in drawn.trace.rows if row.access and row.access.memory == "global"]
    assert [(a.array, a.width, a.sectors) for a in far] == [("x", 4, 16)] * 4 + [("y", 1, 4)] * 4
    assert [a.cells[1] for a in far[:4]] == [4, 5, 6, 7]
    assert {len(words) for a in far[:4] for _, words in memory_lines(a)} == {32}
    assert far[0].summary().endswith("as few as possible, 16 bytes a lane at once")
