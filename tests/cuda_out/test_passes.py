"""Each pass keeps what a program computes; each does what it is there for."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_out.analysis.registers import is_static, loops_to_unroll, register_arrays, register_indices, static_names
from cuda_out.passes.barrel import rotate_registers
from cuda_out.passes.distribute import distribute
from cuda_out.passes.permutations import split_permutations
from cuda_out.passes.pipeline import optimize
from cuda_out.passes.references import plain_coordinates, reuse_names, see_through_names, separate_names
from cuda_out.passes.share import merge_copies, share_values
from cuda_out.passes.shuffles import legal_shuffles, plain_lanes
from cuda_out.passes.simplify import drop_dead, inline_finals, reduce_strength, simplify, simplify_expression
from cuda_out.passes.vectors import vectorize
from symbolic.ir import program as ir
from symbolic.ir.facts import launch_facts
from symbolic.ir.program import Expr, Program
from symbolic.ir.walk import own_expressions, same, statements, subexpressions
from tests.cuda_out.build import (
    F32,
    accumulate,
    accumulator,
    array,
    assign,
    branch,
    data,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    shuffle,
    store,
    total,
    un,
    var,
    where,
)
from tests.cuda_out.examples import EXAMPLES, conv1d, rotate
from tests.cuda_out.random_programs import RandomKernel
from tests.cuda_out.reference import NUMPY, run

PASSES: dict[str, Callable[[Program], Program]] = {
    "simplify": simplify,
    "distribute": distribute,
    "drop_dead": drop_dead,
    "inline_finals": inline_finals,
    "legal_shuffles": legal_shuffles,
    "plain_lanes": plain_lanes,
    "split_permutations": split_permutations,
    "rotate_registers": rotate_registers,
    "plain_coordinates": plain_coordinates,
    "reuse_names": reuse_names,
    "separate_names": separate_names,
    "see_through_names": see_through_names,
    "share_values": share_values,
    "vectorize": vectorize,
    "reduce_strength": reduce_strength,
    "merge_copies": merge_copies,
    "optimize": optimize,
}


Numbers: TypeAlias = "dict[str, np.ndarray[Any, Any]]"


def arrays_for(program: Program, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return small random numbers, none of them zero, for every parameter."""
    drawn = np.random.default_rng(seed)
    found = {}
    for each in program.parameters:
        numbers = drawn.integers(1 if each.dtype.value.startswith("u") else -9, 10, each.shape)
        numbers[numbers == 0] = 4
        found[each.name] = (numbers / (4 if each.dtype.is_float else 1)).astype(NUMPY[each.dtype])
    return found


def assert_same_run(first: Program, second: Program, seed: int = 0) -> None:
    arrays = arrays_for(first, seed)
    want, got = run(first, arrays), run(second, arrays)
    for name, values in want.items():
        np.testing.assert_array_equal(values, got[name], err_msg=name)


def parts_of(body: tuple[ir.Stmt, ...]) -> list[Expr]:
    """Return every expression of a body and all their parts."""
    exprs = [expr for stmt in statements(body) for expr in own_expressions(stmt)]
    return [part for expr in exprs for part in subexpressions(expr)]


def is_distributed(program: Program) -> bool:
    """Say whether every register array is indexed by constants and variables of loops that will be unrolled."""
    static, arrays = static_names(program), register_arrays(program)
    indices = [index for stmt in statements(program.body) for index in register_indices(stmt, arrays)]
    return all(is_static(index, static) for index in indices)


@pytest.mark.sampled(85)
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("rewrite", PASSES)
def test_every_pass_keeps_the_examples(rewrite: str, name: str) -> None:
    """The reference gives the same numbers before and after."""
    assert_same_run(EXAMPLES[name], PASSES[rewrite](EXAMPLES[name]))


@pytest.fixture(scope="module")
def random_runs() -> list[tuple[int, Program, Numbers]]:
    """Random kernels, other ones each time, with their seeds and what they compute."""
    found = []
    for seed in random.sample(range(10**9), 10):
        program = RandomKernel(seed).program()
        found.append((seed, program, run(program, arrays_for(program, seed))))
    return found


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rewrite", PASSES)
def test_every_pass_keeps_random_kernels(rewrite: str, random_runs: list[tuple[int, Program, Numbers]]) -> None:
    """Random kernels with branches, loops, shuffles, accumulators and dynamic indices compute the same."""
    for seed, program, want in random_runs:
        got = run(PASSES[rewrite](program), arrays_for(program, seed))
        for name, values in want.items():
            np.testing.assert_array_equal(values, got[name], err_msg=f"{name} of RandomKernel({seed})")


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**9))
def test_random_kernels_are_fully_distributed(seed: int) -> None:
    """After optimization no register array has a dynamic index, and optimizing again changes nothing it computes."""
    program = optimize(RandomKernel(seed).program())
    assert is_distributed(program)
    assert_same_run(program, optimize(program))


# ---- simplify --------------------------------------------------------------------------------------------------

LANE = where("laneid")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (op("+", LANE, 0), LANE),
        (op("*", 1, LANE), LANE),
        (op("//", LANE, 1), LANE),
        (op("%", LANE, 32), LANE),
        (op("//", LANE, 32), num(0)),
        (op("%", op("+", LANE, 64), 32), LANE),
        (op("%", op("-", LANE, 1), 32), op("%", op("+", LANE, 31), 32)),
        (op("//", op("+", op("*", var("r"), 32), LANE), 32), var("r")),
        (op("%", op("+", op("*", var("r"), 32), LANE), 32), LANE),
        (op("//", op("+", op("*", var("r"), 64), LANE), 32), op("*", var("r"), 2)),
        (op("%", op("%", var("r"), 32), 8), op("%", var("r"), 8)),
        (op("%", op("+", op("%", var("r"), 32), LANE), 32), op("%", op("+", var("r"), LANE), 32)),
        (op("//", op("//", var("r"), 4), 8), op("//", var("r"), 32)),
        (op("+", op("+", var("r"), 3), 4), op("+", var("r"), 7)),
        (op("-", op("+", var("r"), LANE), var("r")), LANE),
        (op("&", LANE, 31), LANE),
        (op("min", LANE, 40), LANE),
        (select(op("<", LANE, 32), var("r"), 7), var("r")),
        (select(op("<", var("r"), 3), LANE, op("+", LANE, 0)), LANE),
        (un("not", op("<", var("r"), 3)), op(">=", var("r"), 3)),
        (op("<", op("+", var("r"), 3), 5), op("<", var("r"), 2)),
        (op("and", op("<", LANE, 99), op("<", var("r"), 2)), op("<", var("r"), 2)),
        (where("blockDim"), num(64)),
    ],
)
def test_simplification_of_an_index(before: Expr, after: Expr) -> None:
    """Ranges and Python's floor allow these rewrites, whatever the sign of r."""
    assert same(simplify_expression(before, launch_facts(kernel("k", [], []))), after)


def test_decided_statements_disappear() -> None:
    """A decided if is its branch; a false accumulate and an empty loop are nothing; a true condition is none."""
    ten, y = data(10.0), parameter("y", 64, role="out")
    program = kernel("k", [y], [
        accumulator("out"),
        branch(op("<", LANE, 99), [accumulate("out", ten, when=op(">", LANE, 31))], [store("y", 0, ten)]),
        accumulate("out", ten, when=op(">=", LANE, 0)),
        loop("k", 0, accumulate("out", ten)),
        branch(op("<", LANE, 5), [], [accumulate("out", ten)]),
    ])  # fmt: skip
    assert simplify(program).body == (
        accumulator("out"),
        accumulate("out", ten),
        branch(op(">=", LANE, 5), [accumulate("out", ten)]),
    )


# ---- distribute ------------------------------------------------------------------------------------------------


def distributed_value(index: Expr, *before: ir.Stmt, size: int = 2) -> tuple[ir.Stmt, ...]:
    """Return what becomes of `v = a[index]` for a register array a."""
    body = [array("a", size), *before, assign("v", load("a", index))]
    return distribute(kernel("k", [], body)).body[1 + len(before) :]


def test_a_reference_is_distributed_over_a_select() -> None:
    """a[c ? 0 : 1] becomes c ? a[0] : a[1]."""
    condition = op(">=", LANE, "r")
    want = assign("v", select(condition, load("a", 0), load("a", 1)))
    assert distributed_value(select(condition, 0, 1)) == (want,)


def test_a_reference_is_distributed_through_a_variable() -> None:
    """p = c ? 0 : 5; a[p] becomes c ? a[0] : a[5], unless c's variables have changed since."""
    condition = op(">=", LANE, "r")
    bound = assign("p", select(condition, 0, 5))
    want = assign("v", select(condition, load("a", 0), load("a", 5)))
    assert distributed_value(var("p"), bound, size=6) == (want,)
    changed = distributed_value(var("p"), bound, assign("r", LANE), size=6)
    assert changed != (want,)


def test_a_variable_is_forgotten_where_a_block_changes_it() -> None:
    """A loop may come round with another value, a branch leaves one or the other."""
    condition = op(">=", LANE, 16)
    bound = assign("p", select(condition, 0, 5))
    use = store("y", op("+", LANE, 0), load("a", "p"))
    fill = loop("j", 6, store("a", "j", load("x", op("+", op("*", "j", 32), LANE))))
    for block in (
        [loop("k", 2, use, assign("p", op("%", op("+", "p", 1), 6)))],
        [branch(op("<", LANE, 8), [assign("p", 3)]), use],
        [branch(op("<", LANE, 8), [assign("p", 1), use], [assign("p", select(op("<", LANE, 20), 2, 4)), use]), use],
    ):
        program = kernel(
            "k",
            [parameter("x", 192), parameter("y", 32, role="out")],
            [array("a", 6), fill, bound, *block],
            block=(32, 1, 1),
            grid=(1, 1, 1),
        )
        assert_same_run(program, distribute(program))


def test_a_sum_is_distributed_with_its_select() -> None:
    """a[(c ? 0 : 1) + 2] becomes c ? a[0 + 2] : a[1 + 2]."""
    condition = op("<", LANE, 9)
    want = select(condition, load("a", op("+", 0, 2)), load("a", op("+", 1, 2)))
    assert distributed_value(op("+", select(condition, 0, 1), 2), size=4) == (assign("v", want),)


def test_a_dynamic_index_becomes_a_choice_among_what_it_can_be() -> None:
    """A range of three values needs two comparisons, of an index computed once."""
    index = op("//", op("%", LANE, 30), 10)
    named = assign("a_index", index)
    choice = select(op("==", "a_index", 0), load("a", 0), select(op("==", "a_index", 1), load("a", 1), load("a", 2)))
    assert distributed_value(index, size=8) == (named, assign("v", choice))


def test_many_elements_are_told_apart_by_bits() -> None:
    """Sixteen elements take four different conditions, not fifteen."""
    body = distributed_value(LANE, size=16)
    conditions = {part for part in parts_of(body) if isinstance(part, ir.Compare)}
    assert conditions == {op("!=", op("&", LANE, bit), 0) for bit in (1, 2, 4, 8)}


def test_an_array_too_large_stays_as_it_is() -> None:
    """Beyond the limit the index stays dynamic, even where two dimensions exceed it only together."""
    program = kernel("k", [], [array("a", 128), assign("v", load("a", op("%", "r", 128)))])
    assert distribute(program).body == program.body
    square = kernel("k", [], [array("a", 9, 9), assign("v", load("a", op("%", "r", 9), op("%", "s", 9)))])
    assert distribute(square).body[-1:] == square.body[-1:]


def test_the_offered_value_is_distributed_before_the_shuffle() -> None:
    """It is the source lane's index that counts: the select stands inside the shuffle."""
    program = optimize(conv1d())
    offered = [part.value for part in parts_of(program.body) if isinstance(part, ir.Shuffle)]
    assert len(offered) == 1
    assert isinstance(offered[0], ir.Select)
    assert is_distributed(program) and not is_distributed(conv1d())


def test_a_store_evaluates_its_value_once() -> None:
    """a[i] = shuffle(...) shuffles before it chooses the element."""
    body = [array("a", 3), store("a", op("%", LANE, 3), shuffle(load("x", LANE), 1))]
    found = distribute(kernel("k", [parameter("x", 32)], body)).body
    assert sum(isinstance(part, ir.Shuffle) for part in parts_of(found)) == 1
    assert isinstance(found[-1], ir.If)


# ---- unrolling, dead code --------------------------------------------------------------------------------------


def test_loops_that_index_registers_are_unrolled() -> None:
    """Directly, through a variable, and around a loop whose bounds they give; other loops are left to the compiler."""
    program = kernel("k", [parameter("x", 32)], [
        array("a", 8),
        loop("i", 3, loop("j", op("+", "i", 1), store("a", "j", data(1.0)))),
        loop("k", 4,
            assign("n", op("*", "k", 2)), loop("q", 5, assign("v", load("x", "q"))), store("a", "n", data(0.0)),
        ),
        loop("other", 9, assign("v", load("x", "other"))),
        loop("around", 6, loop("r", 2, store("a", "r", load("x", "around")))),
    ])  # fmt: skip
    assert {stmt.variable for stmt in loops_to_unroll(program)} == {"i", "j", "k", "r"}


def test_what_depends_on_the_thread_is_not_static() -> None:
    """A variable assigned under a condition on the lane is dynamic, one counted by a loop is static."""
    program = kernel("k", [], [
        assign("n", 0), assign("p", 0),
        loop("i", 3, assign("n", op("+", "n", 1)), branch(op("<", LANE, 3), [assign("p", 1)])),
    ])  # fmt: skip
    assert static_names(program) == {"n", "i"}


def test_dead_code_is_dropped() -> None:
    """Variables, arrays and loops that nothing needs go, in one call; stores and barriers stay."""
    kept = store("y", LANE, data(1.0))
    program = kernel("k", [parameter("y", 64, role="out")], [
        assign("p", LANE), assign("q", op("+", "p", 1)), array("a", 4),
        loop("j", 4, store("a", "j", ir.Cast(var("q"), F32, kept.place))),
        accumulator("sum"), accumulate("sum", load("a", 0)), branch(op("<", LANE, 3), [assign("v", total("sum"))]),
        kept,
    ])  # fmt: skip
    assert drop_dead(program).body == (kept,)


def test_rotation_of_registers_is_distributed() -> None:
    """The rotations stay loops in the text, with static indices at the leaves; before they were dynamic."""
    assert is_distributed(optimize(rotate(8)))
    assert not is_distributed(rotate(8))


@pytest.mark.parametrize("mode", ["up", "down", "xor"])
def test_a_delta_is_within_the_warp_after_the_pass(mode: str) -> None:
    """One that is already stays as it is; for any other the source lane is computed."""
    deltas: list[tuple[Expr, int, int]] = [(num(delta), delta, delta) for delta in (-1, 0, 1, 31, 32, 33)]
    deltas += [(where("laneid"), 0, 31), (op("+", where("laneid"), 1), 1, 32), (op("-", where("laneid"), 1), -1, 30)]
    for delta, low, high in deltas:
        value = shuffle(load("x", where("laneid")), delta, mode)
        program = kernel(
            "k",
            [parameter("x", 32), parameter("y", 32, role="out")],
            [store("y", where("laneid"), value)],
            block=(32, 1, 1),
            grid=(1, 1, 1),
        )
        found = legal_shuffles(program)
        assert_same_run(program, found)
        (after,) = (part for part in parts_of(found.body) if isinstance(part, ir.Shuffle))
        assert (after == value) == (low >= 0 and high < 32)
        assert after.mode == (mode if after == value else "idx")


LANE = where("laneid")


@pytest.mark.parametrize(
    ("lane", "plain"),
    [
        (op("%", op("+", LANE, 3), 32), op("+", LANE, 3)),
        (op("%", op("-", LANE, 3), 64), op("-", LANE, 3)),
        (op("&", op("+", LANE, 3), 31), op("+", LANE, 3)),
        (op("*", op("%", op("+", LANE, 1), 4), 8), op("+", op("*", LANE, 8), 8)),
        (op("%", op("+", op("%", op("*", LANE, 5), 32), 1), 32), op("+", op("*", LANE, 5), 1)),
        (op("%", LANE, 16), None),
        (op("*", op("%", LANE, 4), 4), None),
        (op("//", op("%", op("+", LANE, 3), 32), 2), None),
        (op("%", op("+", LANE, 3), 33), None),
    ],
)
def test_a_shuffle_takes_the_remainder_itself(lane: Expr, plain: Expr | None) -> None:
    """Only remainders that the source lane is taken modulo 32 of anyway are left out, behind a variable too."""
    value = load("x", LANE)
    ways = ([store("y", LANE, shuffle(value, lane))], [assign("at", lane), store("y", LANE, shuffle(value, var("at")))])
    for body in ways:
        arrays = [parameter("x", 32), parameter("y", 32, role="out")]
        program = kernel("k", arrays, body, block=(32, 1, 1), grid=(1, 1, 1))
        found = plain_lanes(program)
        assert_same_run(program, found)
        assert any(same(part, plain or lane) for part in parts_of(found.body))
        assert found.body == program.body or plain is not None


def test_a_variable_that_is_more_than_a_source_lane_stays() -> None:
    """A lane that is also stored, or compared, keeps its remainder."""
    at, value = var("at"), load("x", LANE)
    body = [assign("at", op("%", op("+", LANE, 3), 32)), store("y", at, shuffle(value, at))]
    arrays = [parameter("x", 32), parameter("y", 32, role="out")]
    program = kernel("k", arrays, body, block=(32, 1, 1), grid=(1, 1, 1))
    assert plain_lanes(program).body == program.body
