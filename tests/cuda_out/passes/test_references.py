"""A variable has a name of its own in each body that assigns it first, and nowhere else."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cuda_out.passes.pipeline import optimize
from cuda_out.passes.references import see_through_names, separate_names, steady_first
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Program
from tests.cuda_out.build import (
    as_expr,
    assign,
    branch,
    copy,
    data,
    kernel,
    load,
    loop,
    op,
    parameter,
    store,
    var,
    where,
)
from tests.cuda_out.reference import run

LANE = where("laneid")
Y = parameter("y", 512, role="out", dtype=DType.I32)


def program(*body: ir.Stmt) -> Program:
    return kernel("k", [Y], list(body))


def kept(*body: ir.Stmt) -> bool:
    return separate_names(program(*body)).body == body


def out(name: str) -> ir.Stmt:
    return store("y", LANE, ir.Cast(var(name), DType.I32, var(name).place))


def test_bodies_that_share_nothing_have_names_of_their_own() -> None:
    one, two = assign("row", op("*", LANE, 2)), assign("row", op("+", "k", 1))
    body = (loop("k", 4, *[one, out("row")]), loop("k", 4, *[two, out("row"), assign("row", 3), out("row")]))
    first, second = separate_names(program(*body)).body
    assert first == body[0]
    assert second == loop("k", 4, *[assign("row_2", op("+", "k", 1)), out("row_2"), assign("row_2", 3), out("row_2")])


@pytest.mark.parametrize(
    "body",
    [
        (loop("k", 4, *[assign("row", "k")]), out("row"), assign("row", 1)),
        (assign("row", 1), loop("k", 4, *[assign("row", op("+", "row", "k"))]), out("row")),
        (branch(op("<", LANE, 3), [assign("row", 1)], [assign("row", 2)]), out("row")),
        (loop("k", 4, *[branch(op("<", "k", 1), [assign("row", 1)]), out("row"), assign("row", "k")]),),
        (loop("row", 4, *[out("row")]), loop("k", 2, *[assign("row", op("+", "row", 1)), out("row")])),
    ],
)
def test_what_one_body_leaves_to_another_keeps_its_name(body: tuple[ir.Stmt, ...]) -> None:
    assert kept(*body)


def random_body(random: Random, known: list[str], loops: list[str], depth: int) -> list[ir.Stmt]:
    """Return statements that assign two variables here and there, and store those that surely have a value."""
    known, found = list(known), []
    for _ in range(random.randint(1, 4)):
        kind = random.choice(["assign", "assign", "store", "loop", "branch"])
        value = op("+", random.choice([LANE, *loops, *known]), random.randint(0, 5))
        if kind == "assign":
            name = random.choice("pq")
            found.append(assign(name, value))
            known += [name] if name not in known else []
        elif kind == "store":
            place = op("+", LANE, 32 * random.randint(0, 15))
            found.append(store("y", place, ir.Cast(as_expr(value), DType.I32, LANE.place)))
        elif depth and kind == "loop":
            variable = f"k{len(loops)}"
            inner = random_body(random, known, [*loops, variable], depth - 1)
            found.append(loop(variable, random.randint(1, 3), *inner))
        elif depth:
            sides = [random_body(random, known, loops, depth - 1) for _ in range(2)]
            found.append(branch(op("<", random.choice([LANE, *loops]), random.randint(0, 20)), *sides))
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_bodies_compute_the_same(seed: int) -> None:
    random = Random(seed)
    renamed = 0
    for _ in range(12):
        before = program(*random_body(random, [], [], 3), store("y", LANE, data(1, DType.I32)))
        after = separate_names(before)
        renamed += before != after
        arrays = {"y": np.zeros(512, np.int32)}
        want = run(before, arrays)["y"]
        np.testing.assert_array_equal(want, run(after, arrays)["y"])
        np.testing.assert_array_equal(want, run(optimize(before), arrays)["y"])
    assert renamed


LANES, WARP = where("laneid"), where("warpid")


def seen(name: str, index: ir.Expr, *before: ir.Stmt) -> ir.Expr:
    """Return what becomes of an index in a loop over k whose body begins with some statements."""
    at = assign("at", index)
    (found,) = see_through_names(
        program(loop(name, 64, *before, at, store("y", "at", data(1, DType.I32)), step=8))
    ).body
    assert isinstance(found, ir.For)
    return next(stmt.value for stmt in found.body if isinstance(stmt, ir.Assign) and stmt.name == "at")


def test_a_variable_is_divided_as_what_it_holds() -> None:
    """What a layout turns a row by does not depend on which of a fragment's rows it is."""
    row = assign("row", op("+", op("+", op("*", WARP, 32), "k"), op("%", LANES, 16)))
    turned = op("//", op("%", LANES, 8), 2)
    for spelled in (op("%", op("//", "row", 2), 4), op("&", op(">>", "row", 1), 3)):
        assert seen("k", spelled, row) in (op("%", op("//", LANES, 2), 4), turned)
    assert seen("k", op("%", "k", 8), row) == as_expr(0)
    kept = op("%", op("//", "row", 2), 16)  # k counts
    assert seen("k", kept, row) == kept
    changing = branch(op("<", LANES, 3), [assign("row", 5)])
    assert seen("k", op("%", op("//", "row", 2), 4), row, changing) == op("%", op("//", "row", 2), 4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(20))
def test_random_divisions_compute_the_same(seed: int) -> None:
    random = Random(seed)
    changed = 0

    def term() -> ir.Expr:
        base = random.choice([LANES, WARP, var("k"), var("j"), var("row")])
        scaled = op("*", base, random.choice([1, 2, 3, 4, 8, 16, 32])) if random.random() < 0.6 else base
        return op("%", scaled, random.choice([3, 4, 8, 16])) if random.random() < 0.4 else scaled

    def index(terms: int) -> ir.Expr:
        found = term()
        for _ in range(terms - 1):
            found = op(random.choice("+-"), found, term())
        for _ in range(random.randint(0, 3)):
            by = random.choice([2, 3, 4, 6, 8, 16])
            found = op(random.choice(["//", "%"]), found, by)
            if random.random() < 0.3:
                found = random.choice([op("&", found, 7), op(">>", found, 1), op("+", found, term())])
        return found

    for _ in range(12):
        rows = [assign("row", 0), assign("row", index(2))]
        stores = [store("y", LANES, ir.Cast(op("+", op("*", "at", 3), "row"), DType.I32, LANE.place))]
        inner = loop("j", 12, *rows, assign("at", index(3)), *stores, step=random.choice([1, 4]))
        before = program(assign("row", 0), loop("k", 16, inner, step=random.choice([1, 2, 8])))
        after = see_through_names(before)
        changed += before != after
        arrays = {"y": np.zeros(512, np.int32)}
        np.testing.assert_array_equal(run(before, arrays)["y"], run(after, arrays)["y"])
        np.testing.assert_array_equal(run(before, arrays)["y"], run(optimize(before), arrays)["y"])
    assert changed


def test_what_loops_move_stands_behind_the_rest() -> None:
    """Also through the name of an index and in products; not where all of an index moves, or none, or one with what
    does not."""
    length, steady = op("+", op("*", LANE, 8), where("blockIdx")), op("*", LANE, 16)
    mixed = op("^", "m", LANE)
    copies = [
        ([op("+", op("*", "row", 8), 3)], [op("+", steady_8 := op("*", LANE, 8), op("+", op("*", "m", 8), 3))]),
        ([length, op("*", "m", 2)], [length, op("*", "m", 2)]),
        ([op("+", mixed, "row")], [op("+", op("+", mixed, LANE), "m")]),
        ([steady, mixed], [steady, mixed]),
    ]  # fmt: skip
    assert steady_8 != steady
    row = assign("row", op("+", "m", LANE))
    for given, wanted in copies:
        before, after = ([copy("tile", op("+", "m", LANE), load("x", *each))] for each in (given, wanted))
        assert steady_first(program(loop("m", 4, row, *before))).body == (loop("m", 4, row, *after),)
