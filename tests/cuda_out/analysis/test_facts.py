"""Facts about index variables follow the program's flow."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from cuda_out.analysis.facts import after_body, decide, facts_where, launch_facts, loop_facts, range_of
from cuda_out.analysis.intervals import ANY, Range
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir.program import Expr, Stmt
from tests.cuda_out.build import assign, branch, kernel, loop, num, op, select, un, var, where
from tests.cuda_out.random_programs import random_condition, random_index
from tests.cuda_out.reference import Block

LAUNCH = launch_facts(kernel("k", [], [], block=(8, 6, 1), grid=(3, 2, 1), warp_size=32))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (where("threadIdx", "y"), Range(0, 5)),
        (where("blockIdx", "x"), Range(0, 2)),
        (where("blockDim", "x"), Range(8, 8)),
        (where("laneid"), Range(0, 31)),
        (where("warpid"), Range(0, 1)),
        (op("+", op("*", where("blockIdx"), where("blockDim")), where("threadIdx")), Range(0, 23)),
        (select(op("<", where("threadIdx"), 3), where("threadIdx"), 2), Range(0, 2)),
        (select(op("<", where("threadIdx"), 3), 4, where("threadIdx")), Range(3, 7)),
        (var("unknown"), ANY),
    ],
)
def test_coordinates_get_their_range_from_the_launch_shape(expr: Expr, expected: Range) -> None:
    """Coordinates and what is computed from them are bounded by block and grid."""
    assert range_of(expr, LAUNCH) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([assign("v", 3), assign("v", op("+", "v", 1))], Range(4, 4)),
        ([assign("v", 3), branch(op("<", where("threadIdx"), 4), [assign("v", 9)])], Range(3, 9)),
        ([branch(op("<", where("threadIdx"), 99), [assign("v", 9)], [assign("v", 1)])], Range(9, 9)),
        ([assign("v", 0), loop("k", 5, assign("v", "k"))], Range(0, 4)),
        ([assign("v", 0), loop("k", 5, assign("v", op("+", "v", 1)))], Range(0, float("inf"))),
        ([assign("v", 0), loop("k", 5, assign("v", op("%", op("+", "v", 1), 8)))], Range(0, 7)),
        ([assign("v", 5), loop("k", 0, assign("v", 77))], Range(5, 5)),
        ([loop("v", 3)], ANY),
    ],
)
def test_variables_are_followed_through_the_program(body: list[Stmt], expected: Range) -> None:
    """Assignments, branches and loops change what is known about a variable."""
    assert range_of(var("v"), after_body(tuple(body), LAUNCH)) == expected


@pytest.mark.parametrize(
    ("start", "stop", "step", "expected"),
    [
        (0, 5, 2, Range(0, 4)),
        (0, 4, 2, Range(0, 2)),
        (7, 0, -3, Range(1, 7)),
        (8, 0, -3, Range(2, 8)),
        (3, -1, -1, Range(0, 3)),
    ],
)
def test_a_loop_variable_stays_within_its_bounds(start: int, stop: int, step: int, expected: Range) -> None:
    """The last value is the last that the step reaches."""
    stmt = loop("k", stop, start=start, step=step)
    assert range_of(var("k"), loop_facts(stmt, {})) == expected


def test_values_that_reach_a_variable_after_many_iterations_count() -> None:
    """A value handed on from variable to variable arrives at the last one six iterations later."""
    names = "abcdef"
    start = [assign(name, 0) for name in names]
    hand_on = [assign(last, var(first)) for first, last in zip(names[-2::-1], names[:0:-1], strict=True)]
    facts = after_body((*start, loop("k", 9, *hand_on, assign("a", 7))), {})
    assert range_of(var("f"), facts).hi >= 7


def test_conditions_narrow_and_decide() -> None:
    """Inside a branch its condition holds, and decides weaker conditions."""
    inside = facts_where(op("and", op(">=", "a", 3), op("<", "a", 10)), True, {})
    assert inside["a"] == Range(3, 9)
    assert decide(op("<", "a", 10), inside) is True
    assert decide(un("not", op("==", "a", 12)), inside) is True
    assert decide(op("or", op(">", "a", 9), op("==", "b", 1)), inside) is None
    assert facts_where(op("or", op(">=", "a", 3), op("==", "b", 1)), False, {})["a"] == Range(-float("inf"), 2)
    assert facts_where(op("!=", "a", 3), True, inside)["a"] == Range(4, 9)


@pytest.mark.parametrize("seed", range(150))
def test_random_expressions_stay_in_range_and_simplify_to_the_same_value(seed: int) -> None:
    """The reference's value lies in the range, and the simplified expression has it too."""
    random = Random(seed)
    block = Block(kernel("k", [], [], block=(1, 1, 1)), (0, 0, 0), {})
    bounds = {name: sorted(random.randint(-40, 40) for _ in range(2)) for name in "abc"}
    facts = {name: Range(*ends) for name, ends in bounds.items()}
    expr, condition = random_index(random, list("abc"), 4), random_condition(random, list("abc"), 3)
    simple, simple_condition = simplify_expression(expr, facts), simplify_expression(condition, facts)
    for _ in range(30):
        block.scalars[0] = {name: random.randint(*ends) for name, ends in bounds.items()}
        value, truth = block.values(expr, [0])[0], block.values(condition, [0])[0]
        known = range_of(expr, facts)
        assert known.lo <= value <= known.hi
        assert decide(condition, facts) in (None, truth)
        assert block.values(simple, [0])[0] == value
        assert block.values(simple_condition, [0])[0] == truth
    assert range_of(num(3), facts) == Range(3, 3)


@pytest.mark.parametrize(
    ("block", "grid", "warp"), [((8, 6, 1), (3, 2, 1), 32), ((3, 2, 4), (1, 5, 2), 8), ((20, 1, 1), (4, 1, 1), 32)]
)
def test_a_coordinate_ranges_over_just_its_values(
    block: tuple[int, int, int], grid: tuple[int, int, int], warp: int
) -> None:
    """From the least to the greatest that a thread of the launch has."""
    program = kernel("k", [], [], block=block, grid=grid, warp_size=warp)
    threads = [(x, y, z, x + block[0] * (y + block[1] * z)) for x, y, z in product(*map(range, block))]
    facts = launch_facts(program)
    for number, axis in enumerate("xyz"):
        for name, extent in (("threadIdx", block), ("blockIdx", grid)):
            assert facts[f"{name}.{axis}"] == Range(0, extent[number] - 1)
        for name, extent in (("blockDim", block), ("gridDim", grid)):
            assert facts[f"{name}.{axis}"] == Range(extent[number], extent[number])
    for name, values in (("laneid", [t[3] % warp for t in threads]), ("warpid", [t[3] // warp for t in threads])):
        assert facts[f"{name}.x"] == Range(min(values), max(values))
