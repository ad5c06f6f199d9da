"""Facts about index variables follow the program's flow."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from random import Random
from typing import Any, get_args

import numpy as np
import pytest

from cuda_out.passes.simplify import simplify_expression
from symbolic.algebra.numbers import NUMPY_DTYPES, Numbers
from symbolic.ir import functions
from symbolic.ir.facts import (
    _BINARY,
    ANY,
    NOTHING,
    Range,
    after_body,
    decide,
    facts_where,
    launch_facts,
    loop_facts,
    numbers_of,
    range_of,
)
from symbolic.ir.program import Apply, Binary, BinaryOp, Cast, Const, DType, Expr, Load, OperatorName, Stmt, Unary
from tests.cuda_out.build import HERE, assign, branch, kernel, loop, num, op, select, un, var, where
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


def test_a_choice_has_the_range_of_both_and_a_gather_that_of_its_array() -> None:
    """Whatever data they compare, or are chosen by."""
    operands = [Const(number, DType.I32, HERE) for number in (1, 2, 5, 9)]
    chosen = Apply(functions.where("<").name, tuple(operands), DType.I32, HERE)
    read = Apply(functions.gather("x", (4,)).name, (operands[0],), DType.I32, HERE)
    assert range_of(chosen, {}) == Range(5, 9) and range_of(read, {"x[]": Range(0, 3)}) == Range(0, 3)
    assert range_of(read, {}) == numbers_of(DType.I32)
    assert set(_BINARY) | {OperatorName} == set(get_args(get_args(BinaryOp)[0])) | {get_args(BinaryOp)[1]}


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
    """The last value is the last that the step reaches; of any step, none is beyond start or stop."""
    stmt = loop("k", stop, start=start, step=step)
    assert range_of(var("k"), loop_facts(stmt, {})) == expected
    unknown = range_of(var("k"), loop_facts(loop("k", stop, start=start, step=var("by")), {}))
    assert unknown == Range(min(start, stop), max(start, stop))


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


INTEGERS = (DType.I32, DType.U32, DType.I64, DType.U64)
COUNT = 16


def data_expression(random: Random, depth: int, dtype: DType) -> Expr:
    """Return an expression on the elements of an array of each type, with its operators and conversions."""
    if depth == 0:
        number = Const(random.choice([1, 2, 7, 30, 255, 2**31 - 1]), dtype, HERE)
        return random.choice([Load(f"{kind}_{dtype.value}", (), dtype, HERE) for kind in ("few", "any")] + [number])
    left = data_expression(random, depth - 1, dtype)
    match random.choice(["unary", "cast", *["binary"] * 4]):
        case "unary":
            return Unary(random.choice(["-", "~", "abs"]), left, dtype, HERE)
        case "cast":
            return Cast(data_expression(random, depth - 1, random.choice(INTEGERS)), dtype, HERE)
        case _:
            chosen = random.choice(["+", "-", "*", "min", "max", "//", "%", "&", "|", "^", "<<", ">>"])
            return Binary(chosen, left, data_expression(random, random.randrange(depth), dtype), dtype, HERE)


def numbers_there(expr: Expr, loaded: Mapping[str, Any]) -> Any:
    """Return what NumPy makes of an expression, lane by lane."""
    algebra = Numbers()
    match expr:
        case Load(array=array):
            return loaded[array]
        case Const(value=number, dtype=dtype):
            return np.full(COUNT, algebra.constant(number, dtype))
        case Unary(op=sign, operand=operand, dtype=dtype):
            return algebra.unary(sign, numbers_there(operand, loaded), dtype)
        case Cast(operand=operand, dtype=dtype):
            return algebra.cast(numbers_there(operand, loaded), operand.dtype, dtype)
        case Binary(op=sign, left=left, right=right, dtype=dtype):
            return algebra.binary(sign, numbers_there(left, loaded), numbers_there(right, loaded), dtype)
    raise AssertionError(expr)


def test_data_wraps_to_its_type() -> None:
    """Oracle: random expressions on data of full width and of small ranges, as NumPy computes them."""
    random, rng, known = Random(3), np.random.default_rng(3), 0
    for dtype in INTEGERS * 150:
        facts, loaded = {}, {}
        for kind in INTEGERS:
            low = random.choice([0, 1, -5]) if kind.value.startswith("i") else random.randrange(9)
            facts[f"few_{kind.value}[]"] = few = Range(low, low + random.randrange(12))
            whole = numbers_of(kind)
            ends = [[found.lo, found.hi] for found in (few, whole)]
            for name, (least, most) in zip(("few", "any"), ends, strict=True):
                some = rng.integers(int(least), int(most), COUNT, NUMPY_DTYPES[kind], endpoint=True)
                some[:2] = least, most
                loaded[f"{name}_{kind.value}"] = rng.permutation(some)
        expr = data_expression(random, random.randrange(1, 4), dtype)
        with np.errstate(all="ignore"):
            values = [int(value) for value in numbers_there(expr, loaded)]
        found = range_of(expr, facts)
        assert found.lo <= min(values) and max(values) <= found.hi, (expr, found, values)
        known += found != numbers_of(dtype)
    assert known > 150


def test_what_no_fact_says_may_be_anything_of_its_type() -> None:
    """Of floats nothing is known; a condition is 0 or 1; and nothing is computed of no value at all."""
    assert range_of(Load("x", (), DType.U8, HERE), {}) == Range(0, 255)
    assert range_of(Cast(Load("x", (), DType.I64, HERE), DType.I16, HERE), {}) == Range(-(2**15), 2**15 - 1)
    assert range_of(Cast(Const(3.5, DType.F32, HERE), DType.I32, HERE), {}) == Range(-(2**31), 2**31 - 1)
    assert range_of(Cast(op("<", where("laneid"), 3), DType.I32, HERE), LAUNCH) == Range(0, 1)
    assert range_of(op("*", un("-", var("v")), "v"), {"v": NOTHING}) == NOTHING
    few = Load("few", (), DType.I32, HERE)
    for amount, expected in ((31, Range(0, 0)), (32, numbers_of(DType.I32))):
        shifted = Binary(">>", few, Const(amount, DType.I32, HERE), DType.I32, HERE)
        assert range_of(shifted, {"few[]": Range(0, 7)}) == expected
    assert range_of(select(op("<", where("laneid"), 3), var("v"), 1), {**LAUNCH, "v": NOTHING}) == Range(1, 1)
