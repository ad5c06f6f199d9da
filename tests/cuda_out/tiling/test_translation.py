"""Shifts: what is claimed of an expression in every block holds when it is evaluated there."""

from __future__ import annotations

from random import Random

import pytest

from cuda_out.tiling.tiling import Span, TiledAxis, Tiling, largest_indices
from cuda_out.tiling.translation import NotTranslated, Translated, _Walk, translated
from cuda_out.tiling.trips import one_tile
from symbolic.ir import program as ir
from tests.cuda_out.build import HERE, assign, branch, data, kernel, load, loop, op, parameter, store, where
from tests.cuda_out.random_programs import random_index
from tests.cuda_out.reference import Block

NAMES = ["a", "b", "c"]
SHIFTS = {"a": 0, "b": 64, "c": -96}


def test_what_is_claimed_holds_in_other_blocks() -> None:
    """Two thousand random expressions without their bounds, at random points, some blocks further on."""
    random = Random(5)
    program = kernel("k", [], [], block=(1, 1, 1))
    walk = _Walk(program, "x")
    followed = 0
    for _ in range(2000):
        expr, shift = walk.expr(random_index(random, NAMES, 3), SHIFTS)
        if isinstance(shift, NotTranslated):
            continue
        followed += shift != 0
        for _ in range(4):
            point, far = {name: random.randint(-200, 200) for name in NAMES}, random.choice([1, 2, 5])
            values = []
            for moved in (0, far):
                block = Block(program, (0, 0, 0), {})
                block.scalars[0] = {name: value + moved * SHIFTS[name] for name, value in point.items()}
                values.append(int(block.values(expr, [0])[0]))
            assert values[1] - values[0] == far * shift, expr
    assert followed > 200


AT = op("+", op("*", where("blockIdx"), 64), where("threadIdx"))


def moves(*body: ir.Stmt) -> Translated | NotTranslated:
    return translated(kernel("k", [parameter("x", 128), parameter("y", 128, role="out")], body), "x")


@pytest.mark.parametrize(
    ("index", "stride"),
    [
        (AT, 64),
        (op("*", AT, 3), 192),
        (op("//", AT, 32), 2),
        (op("%", AT, 32), 0),
        (op(">>", AT, 4), 4),
        (op("&", AT, 63), 0),
        (op("^", AT, 21), 64),
        (op("max", AT, op("-", AT, 1)), 64),
    ],
)
def test_strides(index: ir.Expr, stride: int) -> None:
    """Linear arithmetic, and what divides evenly."""
    found = moves(store("y", AT, load("x", index)))
    assert isinstance(found, Translated)
    assert found.strides == {"x": (stride,), "y": (64,)}


@pytest.mark.parametrize(
    "index",
    [
        op("//", AT, 48),
        op("%", AT, 48),
        op("&", AT, 64),
        op("^", AT, 64),
        op("min", AT, 100),
    ],
)
def test_what_moves_unevenly_is_refused(index: ir.Expr) -> None:
    """The block's size is not a multiple of what divides it, or the bits that change are its own."""
    found = moves(store("y", AT, load("x", index)))
    assert found == NotTranslated("this does not move evenly with blockIdx.x", HERE)


def test_bounds_go_away_and_other_conditions_stay() -> None:
    """`i < 100` and its negation are bounds; a condition on the thread is not."""
    inner = op("<", where("threadIdx"), 5)
    found = moves(
        branch(
            op("<", AT, 100),
            [branch(inner, [store("y", AT, load("x", AT))])],
            [store("y", AT, data(1.0))],
        ),
        branch(op(">=", AT, 100), [store("y", AT, data(2.0))]),
    )
    assert isinstance(found, Translated)
    (kept,) = found.program.body
    assert isinstance(kept, ir.If)
    assert isinstance(kept.condition, ir.Compare)
    assert kept.condition.op == inner.op  # type: ignore[union-attr]


def test_a_variable_that_moves_with_the_loop_is_followed_or_refused() -> None:
    """What a loop adds is the same in every block; a multiple of the block's number that changes is not."""
    total = assign("p", AT)
    found = moves(total, loop("k", 2, store("y", "p", data(1.0)), assign("p", op("+", "p", "k"))))
    assert isinstance(found, Translated)
    assert found.strides["y"] == (64,)
    found = moves(total, loop("k", 2, store("y", "p", data(1.0)), assign("p", op("+", "p", AT))))
    assert isinstance(found, NotTranslated)
    assert found.why == "p moves differently on two paths"


def test_block_0_has_no_block_index() -> None:
    """Its indices are those of the threads; the largest of them is its reach."""
    program = kernel(
        "k",
        [parameter("x", 130), parameter("y", 128, role="out")],
        [store("y", AT, load("x", op("+", AT, 2)))],
    )
    tiling = Tiling((TiledAxis("x", 64, 1, 128),), {"x": (Span("x", 1, 2),), "y": (Span("x", 1, 0),)})
    tile = one_tile(program, tiling)
    assert tile.grid == (1, 1, 1)
    assert largest_indices(tile) == {"x": (65,), "y": (63,)}
    assert tiling.lengths(tiling.at(program, {"x": 1000})) == {"x": 1000}
    assert tiling.at(program, {"x": 1000}).grid == (16, 1, 1)
