"""Sums, shifts and names: cheaper and shorter index expressions that mean the same, for every sign."""

from __future__ import annotations

import itertools
import shutil
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_out.analysis.values import evaluate, is_computable, leaves_in, points
from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_cuda
from cuda_out.emulate.emulate import emulate
from cuda_out.passes.index_rules import collected, without_remainders
from cuda_out.passes.pipeline import optimize
from cuda_out.passes.references import plain_coordinates, reuse_names
from cuda_out.passes.share import share_values
from cuda_out.passes.simplify import reduce_strength, simplify, simplify_expression, strong
from symbolic.ir import program as ir
from symbolic.ir.facts import Range, launch_facts
from symbolic.ir.program import DType, Expr, Program
from symbolic.ir.walk import own_expressions, same, statements, subexpressions
from tests.cuda_out.build import (
    HERE,
    assign,
    branch,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    store,
    un,
    var,
    where,
)
from tests.cuda_out.random_programs import random_index
from tests.cuda_out.test_barrel import instructions
from tests.cuda_out.test_passes import assert_same_run

I32 = DType.I32
LANE, THREAD, R = where("laneid"), where("threadIdx"), var("r")
WARPS = launch_facts(kernel("k", [], [], block=(64, 1, 1)))


def data(index: Expr) -> Expr:
    return ir.Cast(index, I32, HERE)


# ---- sums ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (op("+", R, op("+", LANE, 3)), op("+", op("+", R, LANE), 3)),
        (op("+", op("-", R, LANE), op("+", op("*", R, 32), LANE)), op("*", R, 33)),
        (op("-", op("+", 3, R), op("-", LANE, R)), op("+", op("-", op("*", R, 2), LANE), 3)),
        (op("+", un("-", LANE), R), op("-", R, LANE)),
        (op("-", op("-", 5, LANE), 7), op("-", un("-", LANE), 2)),
        (op("-", 5, op("*", LANE, 2)), op("-", 5, op("*", LANE, 2))),
        (op("+", op("*", op("-", R, LANE), 7), LANE), op("+", op("*", op("-", R, LANE), 7), LANE)),
        (op("-", op("+", R, THREAD), LANE), op("+", R, op("*", where("warpid"), 32))),
        (op("-", op("*", LANE, 2), op("*", THREAD, 2)), un("-", op("*", where("warpid"), 64))),
    ],
)
def test_terms_are_collected(before: Expr, after: Expr) -> None:
    """Brackets vanish, equal terms meet, what is subtracted stands behind what is not."""
    assert same(collected(before, WARPS), after)


def test_a_thread_of_a_flat_block_is_its_warp_and_lane() -> None:
    """Not where a block has rows: there x says nothing of the lane."""
    rows = launch_facts(kernel("k", [], [], block=(16, 4, 1)))
    difference = op("-", THREAD, LANE)
    assert same(collected(difference, rows), difference)
    one = launch_facts(kernel("k", [], [], block=(32, 1, 1)))
    assert same(collected(difference, one), num(0))


def test_remainders_within_a_remainder() -> None:
    """Modulo 8, taking something modulo 16 first changes nothing."""
    inner = op("-", op("%", R, 16), op("*", op("&", LANE, 7), 3))
    assert same(without_remainders(inner, 8), op("-", R, op("*", LANE, 3)))
    assert without_remainders(op("%", R, 12), 8) is not R


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_simple_and_strong_are_the_same_number(seed: int) -> None:
    """Random expressions, evaluated for every thread and r from -5 to 9, before and after each rewrite."""
    random = Random(seed)
    program = kernel("k", [], [], block=(48, 1, 1), warp_size=16)
    facts = {**launch_facts(program), "r": Range(-5, 9)}
    expr = random_index(random, ["r"], 4)
    if not is_computable(expr, facts):
        return
    for rewritten in (
        simplify_expression(expr, facts),
        collected(expr, facts),
        strong(expr, facts),
        strong(simplify_expression(expr, facts), facts),
    ):
        at = points(program, leaves_in([expr, rewritten]), facts)
        assert at is not None
        assert np.array_equal(*np.broadcast_arrays(evaluate(expr, at), evaluate(rewritten, at)))


# ---- division --------------------------------------------------------------------------------------------------

DIVISORS = (1, 7, 8, -1, -3, -8)
OPERANDS: tuple[Expr, ...] = (THREAD, op("-", THREAD, 40), op("-", 5, THREAD), op("*", op("-", THREAD, 33), 101), R)


def divisions() -> Program:
    """Every operand divided by every divisor, rounded down, and the remainders."""
    at = op("*", THREAD, 2)
    stores = []
    for number, divisor in enumerate(DIVISORS):
        for place, operand in enumerate(OPERANDS):
            row = number * len(OPERANDS) + place
            stores.append(store("y", row, at, data(op("//", operand, divisor))))
            stores.append(store("y", row, op("+", at, 1), data(op("%", operand, divisor))))
    y = parameter("y", len(DIVISORS) * len(OPERANDS), 128, role="out", dtype=I32)
    body = [assign("r", op("-", op("*", THREAD, THREAD), 1000)), *stores]
    return kernel("divisions", [y], body, block=(64, 1, 1), grid=(1, 1, 1))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_division_is_pythons_for_every_sign() -> None:
    """The optimized text, run on the CPU, gives what Python's `//` and `%` give."""
    source = print_cuda(optimize(divisions()))
    y = np.zeros((len(DIVISORS) * len(OPERANDS), 128), np.int32)
    emulate(source.text, f"{source.namespace}::{source.entry}", source.grid, source.block, [y])
    for t in range(64):
        operands = (t, t - 40, 5 - t, (t - 33) * 101, t * t - 1000)
        rows = [[operand // divisor, operand % divisor] for divisor in DIVISORS for operand in operands]
        np.testing.assert_array_equal(y[:, 2 * t : 2 * t + 2], rows)


def strong_text(index: Expr) -> str:
    """Return how `p = index` is printed at last, for a dynamic r of no known range."""
    program = kernel("k", [parameter("y", 64, role="out", dtype=I32)], [store("y", index, data(num(1)))])
    text = print_cuda(optimize(program)).text
    line = next(line for line in text.splitlines() if "y[" in line)
    return line[line.index("[") + 1 : line.rindex("]")]


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (op("%", THREAD, 8), "int(threadIdx.x) & 7"),
        (op("//", THREAD, 8), "int(threadIdx.x) >> 3"),
        (op("//", op("-", THREAD, 9), 4), "((int(threadIdx.x) + 3) >> 2) - 3"),
        (op("%", op("-", 5, THREAD), 7), "(68 - int(threadIdx.x)) % 7"),
        (op("//", op("-", THREAD, 9), 7), "(int(threadIdx.x) + 5) / 7 - 2"),
        (op("%", THREAD, 40), "int(threadIdx.x) >= 40 ? int(threadIdx.x) - 40 : int(threadIdx.x)"),
    ],
)
def test_division_is_printed_without_a_helper(index: Expr, text: str) -> None:
    """Masks and shifts, dividends that are not negative, one subtraction."""
    found = strong_text(index).replace("thread_x", "int(threadIdx.x)")
    assert found == text


@pytest.mark.skipif(not available_tools(), reason="neither NVRTC nor nvcc on this machine")
def test_the_stronger_text_takes_fewer_instructions() -> None:
    """Compiled, with and without the last pass."""
    index = op("+", op("%", op("-", R, 40), 7), op("%", op("+", R, 3), 8))
    body = [assign("r", op("*", THREAD, 3)), store("y", index, data(num(1))), store("y", op("%", THREAD, 40), data(R))]
    program = simplify(kernel("k", [parameter("y", 64, role="out", dtype=I32)], body))
    weak, strong = (compile_cuda(print_cuda(each).text).ptx for each in (program, reduce_strength(program)))
    assert instructions(strong) < instructions(weak)


# ---- names -----------------------------------------------------------------------------------------------------


def test_a_value_with_a_name_is_read_by_it() -> None:
    """In later statements and nested ones, until what it was made of changes; aliases go."""
    row = op("//", LANE, 8)
    program = kernel("k", [parameter("y", 128, role="out", dtype=I32)], [
        assign("row", row),
        assign("again", op("//", LANE, 8)),
        loop("k", 4, store("y", op("+", op("*", row, 8), "k"), data(op("+", "again", row)))),
        branch(op("<", LANE, 3), [assign("p", op("*", LANE, 3))], [store("y", op("*", LANE, 3), data(row))]),
        assign("q", op("*", "q0", 5)), assign("q0", LANE), store("y", 0, data(op("*", "q0", 5))),
    ])  # fmt: skip
    program = kernel("k", program.parameters, [assign("q0", num(2)), *program.body])
    found = reuse_names(program).body
    assert found[2] == loop("k", 4, store("y", op("+", op("*", "row", 8), "k"), data(op("+", "row", "row"))))
    assert found[3] == branch(
        op("<", LANE, 3), [assign("p", op("*", LANE, 3))], [store("y", op("*", LANE, 3), data(var("row")))]
    )
    assert found[-1] == store("y", 0, data(op("*", "q0", 5)))
    short = (assign("three", num(3)), store("y", op("+", LANE, 3), data(LANE)))
    assert reuse_names(kernel("k", program.parameters, list(short))).body == short
    assert_same_run(program, reuse_names(program))


def test_coordinates_have_one_name() -> None:
    """A variable that only names one is undone, and in a block of one warp the thread is the lane."""
    body = [assign("me", LANE), assign("at", op("+", "me", THREAD)), store("y", "at", data(var("me")))]
    y = parameter("y", 128, role="out", dtype=I32)
    one = plain_coordinates(kernel("k", [y], body, block=(32, 1, 1))).body
    assert one[1:] == (assign("at", op("+", LANE, LANE)), store("y", "at", data(LANE)))
    changing = [assign("me", LANE), branch(op("<", LANE, 3), [assign("me", 7)]), store("y", LANE, data(var("me")))]
    assert plain_coordinates(kernel("k", [y], changing)).body == tuple(changing)
    many = plain_coordinates(kernel("k", [y], body, block=(64, 1, 1))).body
    assert many[1] == assign("at", op("+", LANE, THREAD))
    alone = [store("y", THREAD, data(op("+", THREAD, where("blockIdx"))))]
    assert plain_coordinates(kernel("k", [y], alone, block=(32, 1, 1))).body == tuple(alone)
    lanes = [store("y", THREAD, data(LANE))]
    assert plain_coordinates(kernel("k", [y], lanes, block=(32, 1, 1))).body == (store("y", LANE, data(LANE)),)
    text = print_cuda(optimize(kernel("k", [y], body, block=(32, 1, 1)))).text
    assert "const int me = int(threadIdx.x);" in text
    assert "const int at = me * 2;" in text


def test_every_name_is_declared_once_it_is_read() -> None:
    """What one branch computes is not read by the other."""
    product = op("*", LANE, 3)
    program = kernel("k", [parameter("y", 128, role="out", dtype=I32)], [
        branch(op("<", LANE, 3), [assign("p", product), store("y", "p", data(var("p")))],
               [store("y", product, data(num(1)))]),
    ])  # fmt: skip
    read = {
        part.name
        for stmt in statements(reuse_names(program).body[0:1])
        for expr in own_expressions(stmt)
        for part in [expr]
        if isinstance(part, ir.Var)
    }
    assert read <= {"p"}
    assert_same_run(program, reuse_names(program))


# ---- values that are shared ------------------------------------------------------------------------------------


def shared(*body: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """Return the body with values shared, after checking that it computes the same."""
    program = kernel("k", [parameter("y", 256, role="inout", dtype=I32)], body, block=(32, 1, 1), grid=(1, 1, 1))
    found = share_values(program)
    assert_same_run(program, found)
    return found.body


HEAVY = op("+", op("*", op("//", LANE, 4), 8), op("%", LANE, 4))


def test_an_index_that_stands_twice_is_computed_once() -> None:
    """In one statement or in several, in their innermost body."""
    read = load("y", op("+", HEAVY, 4), dtype=I32)
    named = assign("y_index", HEAVY)
    assert shared(store("y", HEAVY, data(num(1))), store("y", HEAVY, data(num(2))))[0] == named
    assert shared(store("y", HEAVY, read)) == (
        named,
        store("y", "y_index", load("y", op("+", "y_index", 4), dtype=I32)),
    )
    branched = branch(op("<", LANE, 9), [store("y", HEAVY, read)])
    (found,) = shared(branched)
    assert isinstance(found, ir.If) and found.then[0] == named
    assert shared(branched, store("y", HEAVY, data(num(3))))[0] == named


def test_what_a_loop_does_not_change_stands_before_it() -> None:
    """Unless it is light, or computed under a condition, or made of something the loop changes."""
    at = op("+", HEAVY, var("k"))
    hoisted = shared(loop("k", 4, store("y", at, data(num(1)))))
    assert hoisted[0] == assign("y_base", HEAVY)
    light = loop("k", 4, store("y", op("+", op("*", LANE, 2), "k"), data(num(1))))
    guarded = loop("k", 4, branch(op("<", LANE, "k"), [store("y", at, data(num(1)))]))
    heavy_k = loop("k", 4, store("y", op("%", op("*", op("+", op("//", LANE, 4), "k"), 3), 200), data(num(1))))
    for unchanged in (light, guarded, heavy_k):
        assert shared(unchanged) == (unchanged,)


def test_a_value_is_not_shared_past_a_change() -> None:
    """Of a variable that it is made of, nor computed where that has no value yet."""
    p = op("+", op("*", op("//", var("p"), 4), 8), op("%", var("p"), 4))
    change = [assign("p", LANE), store("y", p, data(num(1))), assign("p", num(3)), store("y", p, data(num(2)))]
    assert shared(*change) == tuple(change)
    again = loop("k", 3, assign("p", op("+", var("p"), "k")), store("y", p, data(num(4))))
    found = shared(assign("p", LANE), store("y", p, data(num(1))), store("y", p, data(num(2))), again)
    assert found[-1] == again and found[1] == assign("y_index", p)
    where_set = op("<", LANE, 9)
    sides = [
        branch(where_set, [assign("p", LANE)]),
        *(branch(where_set, [store("y", p, data(num(n)))]) for n in (1, 2)),
    ]
    assert shared(*sides) == tuple(sides)


@pytest.mark.parametrize("n", [3, 5, 6, 7])
@pytest.mark.parametrize("low", [-2, -1, 0, 1])
def test_remainders_at_the_edges_of_their_range(n: int, low: int) -> None:
    """Python's value for each dividend; where it is below twice the divisor, and a name, there is no division left."""
    for high in (n - 1, 2 * n - 2, 2 * n - 1, 2 * n, 2 * n + 1, 3 * n):
        facts = {**WARPS, "r": Range(low, high)}
        for dividend in (R, op("+", R, 0)):
            for operator, python in (("%", int.__mod__), ("//", int.__floordiv__)):
                found = strong(op(operator, dividend, n), facts)
                for value in range(low, high + 1):
                    assert evaluate(found, {"r": np.array([value])}) == python(value, n), (value, low, high)
                subtracted = isinstance(found, ir.Select)
                assert subtracted == (operator == "%" and dividend is R and low >= 0 and high < 2 * n)


@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "min", "max"])
def test_an_operation_with_a_constant_is_simplified_to_the_same(operator: str) -> None:
    """On either side, and with itself; what is the other operand, or a number, everywhere is replaced by it."""
    for c, d in itertools.product((-40, -1, 0, 3, 40), (-33, -1, 0, 1, 31, 33)):
        if is_computable(both := op(operator, num(c), d), {}):
            assert simplify_expression(both, {}) == num(int(evaluate(both, {})))
    for low, high in ((-5, 9), (0, 7), (1, 3), (8, 11)):
        facts = {**WARPS, "r": Range(low, high)}
        at = {"r": np.arange(low, high + 1)}
        shifts = operator in ("<<", ">>")
        exprs: list[Expr] = [op(operator, R, c) for c in range(0 if shifts else -3, 10)]
        exprs += [op(operator, num(c), R) for c in range(-3, 10) if not (shifts and low < 0)]
        exprs += [op(operator, R, R)] if not (shifts and low < 0) else []
        for expr in exprs:
            if not is_computable(expr, facts):
                continue
            found = simplify_expression(expr, facts)
            wanted = np.broadcast_to(evaluate(expr, at), high - low + 1)
            assert np.array_equal(wanted, np.broadcast_to(evaluate(found, at), high - low + 1)), (expr, found)
            if isinstance(expr, ir.Binary) and isinstance(expr.right, ir.Const) and np.array_equal(wanted, at["r"]):
                assert found == R or (operator in ("|", "^", "&") and expr.right.value != 0), (expr, found)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_a_sum_without_remainders_is_equal_modulo_n(n: int) -> None:
    """Constants before and inside of what is taken modulo a multiple of n are kept."""
    values = np.arange(-40, 41)
    for modulus, inside, outside, factor in itertools.product((n, 2 * n, 5), (0, 3, -1), (0, 5), (1, -2)):
        expr = op("+", op("*", op("%", op("+", R, inside), modulus), factor), outside)
        found = without_remainders(expr, n)
        assert np.array_equal(evaluate(expr, {"r": values}) % n, evaluate(found, {"r": values}) % n)
        assert any(isinstance(p, ir.Binary) and p.op == "%" for p in subexpressions(found)) == (
            modulus * factor % n != 0
        )
    for mask in (1, 2, 3, 6, 7, 15):
        expr = op("-", op("&", op("+", R, 3), mask), 5)
        found = without_remainders(expr, n)
        assert np.array_equal(evaluate(expr, {"r": values}) % n, evaluate(found, {"r": values}) % n)
        assert (found is expr) == (mask in (2, 6) or (mask + 1) % n != 0)
