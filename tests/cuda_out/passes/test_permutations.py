"""Gathers in a fixed order, rotated by an amount of the thread: a permutation that costs nothing, and a rotation."""

from __future__ import annotations

from random import Random

import pytest

from cuda_out.passes.permutations import split_permutations
from cuda_out.passes.pipeline import optimize
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program
from symbolic.ir.walk import statements
from tests.cuda_out.build import array, kernel, load, loop, op, parameter, store, where
from tests.cuda_out.test_passes import assert_same_run, is_distributed

LANE = where("laneid")
I32 = DType.I32


def gather(index: Expr, size: int) -> Program:
    """Return `for j: b[j] = a[index]`, for an index that depends on j and the lane."""
    return kernel(
        "gather",
        [parameter("x", size, 32, dtype=I32), parameter("y", size, 32, role="out", dtype=I32)],
        [
            array("a", size, dtype=I32),
            loop("i", size, store("a", "i", load("x", "i", LANE, dtype=I32))),
            array("b", size, dtype=I32),
            loop("j", size, store("b", "j", load("a", index, dtype=I32))),
            loop("i", size, store("y", "i", LANE, load("b", "i", dtype=I32))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


def splits(program: Program) -> int:
    """Count the arrays that the pass made."""
    return sum(
        isinstance(stmt, ir.DeclareArray) and "ordered" in stmt.name
        for stmt in statements(split_permutations(program).body)
    )


def turned(amount: Expr, size: int) -> Expr:
    return op("%", op("+", "j", amount), size)


def swapped(x: Expr, size: int) -> Expr:
    """Return the other one of each pair of neighbours: a permutation that is no rotation."""
    assert size % 2 == 0
    return op("+", op("*", op("//", x, 2), 2), op("%", op("+", x, 1), 2))


FOUND = {
    "neighbours exchanged": (swapped(turned(LANE, 8), 8), 8),
    "a fan with a carry": (op("%", op("+", op("*", 3, turned(LANE, 12)), op("//", turned(LANE, 12), 4)), 12), 12),
    "by every fourth lane": (swapped(turned(op("//", LANE, 4), 6), 6), 6),
    "by the lane, backwards": (swapped(turned(op("-", 5, LANE), 10), 10), 10),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_fixed_order_is_taken_first(name: str) -> None:
    """The program computes the same, by the pass alone and in the whole pipeline, and no index is dynamic."""
    program = gather(*FOUND[name])
    assert splits(program) == 1
    assert_same_run(program, split_permutations(program))
    found = optimize(program)
    assert is_distributed(found)
    assert_same_run(program, found)


LEFT = {
    "a rotation already": (turned(LANE, 8), 8),
    "another order in each lane": (op("%", op("*", op("+", "j", 1), op("+", op("*", LANE, 2), 1)), 8), 8),
    "the same in all lanes": (swapped(op("%", "j", 8), 8), 8),
    "turned by a square": (swapped(turned(op("*", LANE, LANE), 8), 8), 8),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_indices_are_left_as_they_are(name: str) -> None:
    program = gather(*LEFT[name])
    assert splits(program) == 0
    assert_same_run(program, optimize(program))


def test_random_permutations_turned_by_random_amounts() -> None:
    """Compositions of fans and exchanges, by `c * lane + lane // d + b`."""
    random = Random(0)
    for _ in range(10):
        size = random.choice([4, 6, 8, 9, 12])
        c, d, b = random.randrange(size), random.randrange(1, 9), random.randrange(size)
        factor = random.choice([f for f in range(1, size) if all(f * k % size for k in range(1, size))])
        x = turned(op("+", op("+", op("*", c, LANE), op("//", LANE, d)), b), size)
        index = op("%", op("+", op("*", factor, swapped(x, size) if size % 2 == 0 else x), 1), size)
        program = gather(index, size)
        assert_same_run(program, split_permutations(program))
        assert_same_run(program, optimize(program))
