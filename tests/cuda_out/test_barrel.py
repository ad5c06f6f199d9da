"""Rotations of register arrays are found by their values, and cost ceil(log2 n) conditional moves an element."""

from __future__ import annotations

import re
from random import Random

import pytest

from cuda_out.analysis.registers import is_static
from cuda_out.analysis.values import evaluate
from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_cuda, uses_local
from cuda_out.passes.barrel import rotate_registers
from cuda_out.passes.distribute import distribute
from cuda_out.passes.pipeline import optimize
from cuda_out.passes.rotation import Reference, find_rotation
from cuda_out.passes.share import merge_copies
from cuda_out.passes.simplify import drop_dead, simplify
from symbolic.ir import program as ir
from symbolic.ir.facts import launch_facts
from symbolic.ir.program import DType, Expr, Program
from symbolic.ir.walk import own_expressions, same, statements, subexpressions
from tests.cuda_out.build import (
    array,
    assign,
    branch,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    shuffle,
    store,
    un,
    var,
    where,
)
from tests.cuda_out.examples import rotate
from tests.cuda_out.test_passes import assert_same_run, is_distributed
from tests.slow_cases import slow_unless

LANE = where("laneid")
I32 = DType.I32


def gather(index: Expr, size: int = 8, *, count: int | None = None, body: tuple[ir.Stmt, ...] = ()) -> Program:
    """Return `for j: y[j, lane] = a[index]`, for an index that depends on j and the lane."""
    count = size if count is None else count
    return kernel(
        "gather",
        [parameter("x", size, 32, dtype=I32), parameter("y", count, 32, role="out", dtype=I32)],
        [
            array("a", size, dtype=I32),
            loop("i", size, store("a", "i", load("x", "i", LANE, dtype=I32))),
            *body,
            loop("j", count, store("y", "j", LANE, load("a", index, dtype=I32))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


def scatter(index: Expr, size: int = 8, *, when: Expr | None = None) -> Program:
    """Return `for j: a[index] = x[j, lane] + 1`, perhaps under a condition, into an array that holds x."""
    write = store("a", index, op("+", load("x", "j", LANE, dtype=I32), ir.Const(1, I32, LANE.place)))
    return kernel(
        "scatter",
        [parameter("x", size, 32, dtype=I32), parameter("y", size, 32, role="out", dtype=I32)],
        [
            array("a", size, dtype=I32),
            loop("i", size, store("a", "i", load("x", "i", LANE, dtype=I32))),
            loop("j", size, write if when is None else branch(when, [write])),
            loop("j", size, store("y", "j", LANE, load("a", "j", dtype=I32))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


def rotations(program: Program) -> int:
    """Count the arrays that the pass made."""
    return sum(
        isinstance(stmt, ir.DeclareArray) and "rotated" in stmt.name and "turned" not in stmt.name
        for stmt in statements(rotate_registers(program).body)
    )


def assert_rotated(program: Program, count: int = 1) -> None:
    assert rotations(program) == count
    assert_same_run(program, rotate_registers(program))
    found = optimize(program)
    assert is_distributed(found)
    assert_same_run(program, found)


J_LANE = op("+", "j", LANE)
WRAPPED = op("-", J_LANE, select(op(">=", J_LANE, 32), 32, select(op(">=", J_LANE, 24), 24, 0)))

ROTATIONS = {
    "sum": op("%", J_LANE, 8),
    "difference": op("%", op("-", "j", LANE), 8),
    "from the lane": op("%", op("-", LANE, "j"), 8),
    "mask": op("&", op("+", op("*", "j", 3), LANE), 7),
    "fan": op("%", op("-", op("-", 5, op("*", "j", 3)), op("*", LANE, 2)), 8),
    "wrapped by hand": op(
        "-", op("+", "j", op("%", LANE, 8)), select(op(">=", op("+", "j", op("%", LANE, 8)), 8), 8, 0)
    ),
    "either way": select(op("<", LANE, 9), op("%", J_LANE, 8), op("%", op("-", "j", LANE), 8)),
    "in groups of four": op("+", op("*", op("//", "j", 4), 4), op("%", J_LANE, 4)),
    "in the upper half": op("+", 4, op("%", J_LANE, 4)),
    "of four lanes' blocks": op("%", op("+", "j", op("//", LANE, 4)), 8),
    "even amounts": op("%", op("+", "j", op("*", LANE, 2)), 8),
    "exchange": op("^", "j", op("%", LANE, 8)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROTATIONS)
def test_a_rotation_is_found_by_its_values(name: str) -> None:
    """However it is spelled; the same index serves reads and writes."""
    assert_rotated(gather(ROTATIONS[name]))
    assert_rotated(scatter(ROTATIONS[name]))


@pytest.mark.parametrize(
    "index", [op("//", J_LANE, 5), op("%", op("*", "j", LANE), 8), select(op("<", LANE, "j"), 1, 6)]
)
def test_what_is_no_rotation_stays_a_choice(index: Expr) -> None:
    """The distribution pass takes it from there."""
    assert rotations(gather(index)) == 0
    assert rotations(scatter(index)) == 0


def test_an_index_that_is_no_rotation_of_another_size_is_refused() -> None:
    """(j + lane) % 7 in an array of eight elements turns seven of them; the eighth is left alone."""
    assert_rotated(gather(op("%", J_LANE, 7), 8))
    assert_rotated(scatter(op("%", J_LANE, 7), 7))


def test_an_amount_without_a_range_is_split_off_the_sum() -> None:
    """A variable that a shuffle gives has no values to try."""
    far = assign("far", shuffle(op("*", LANE, 5), op("-", 31, LANE)))
    amount = assign("p", op("-", op("*", "far", 1000003), 7))
    assert_rotated(gather(op("%", op("-", "p", "j"), 7), 7, body=(far, amount)))
    unknown = kernel("k", [], [])
    index = op("%", op("-", var("q"), "j"), 8)
    reference = Reference(index, index, (("j", tuple(range(8))),), launch_facts(unknown), 8)
    found = find_rotation(unknown, reference, {})
    assert found is not None and same(found.amount, op("%", var("q"), 8))


def test_one_rotation_serves_many_reads() -> None:
    """Also through a variable, a nested condition, another loop and the value that a shuffle offers."""
    body = (
        loop("k", 2, loop("j", 8,
            assign("at", op("%", op("+", op("+", "j", "k"), LANE), 8)),
            branch(op("<", "j", 5), [store("y", "j", LANE, load("a", "at", dtype=I32))]),
        )),
        loop("j", 8, store("y", "j", LANE, op(
            "+", load("y", "j", LANE, dtype=I32),
            shuffle(load("a", op("%", op("-", op("+", LANE, 3), "j"), 8), dtype=I32), op("+", LANE, 5)),
        ))),
    )  # fmt: skip
    program = gather(
        op("%", J_LANE, 8), body=(loop("j", 8, store("y", "j", LANE, ir.Const(1, I32, LANE.place))), *body)
    )
    program = ir.Program(
        program.name,
        (program.parameters[0], parameter("y", 8, 32, role="inout", dtype=I32)),
        program.body[:-1], (), program.block, program.grid, 32, program.place,
    )  # fmt: skip
    assert_rotated(program, 1)


def test_a_rotation_along_each_axis() -> None:
    """Two axes are two rotations."""
    tile = load("a", op("%", op("+", "i", op("//", LANE, 8)), 3), op("%", op("-", "j", LANE), 4), dtype=I32)
    program = kernel(
        "k",
        [parameter("x", 12, 32, dtype=I32), parameter("y", 12, 32, role="out", dtype=I32)],
        [
            array("a", 3, 4, dtype=I32),
            loop("i", 3, loop("j", 4, store("a", "i", "j", load("x", op("+", op("*", "i", 4), "j"), LANE, dtype=I32)))),
            loop("i", 3, loop("j", 4, store("y", op("+", op("*", "i", 4), "j"), LANE, tile))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )  # fmt: skip
    assert_rotated(program, 2)


def test_writes_to_a_part_keep_the_rest() -> None:
    """Under a condition on the lane or the iteration what is not written comes back to its place."""
    for condition in (op("<", "j", 7), op("<", LANE, 20), op("or", op("<", LANE, 9), op(">", "j", 3))):
        assert_rotated(scatter(op("%", op("-", "j", LANE), 8), when=condition), 1)
    assert_rotated(scatter(op("%", op("-", "j", LANE), 7), 7, when=op("<", LANE, 20)), 1)


def test_an_array_that_may_be_unwritten_is_not_moved() -> None:
    """A rotation reads every element, a choice only the right one."""
    program = gather(op("%", J_LANE, 8))
    (declared, fill, read) = program.body
    assert isinstance(fill, ir.For)
    half = ir.For(fill.variable, num(0), num(4), num(1), fill.body, fill.place)
    assert rotations(kernel("k", program.parameters, [declared, half, read])) == 0


def test_an_array_or_amount_that_changes_on_the_way_is_not_moved() -> None:
    """In place the next read sees what the last one wrote; a new amount is another rotation."""
    in_place = loop("j", 8, store("a", "j", load("a", op("%", J_LANE, 8), dtype=I32)))
    program = gather(num(0), body=(in_place,))
    assert rotations(program) == 0
    moving = loop("j", 8, assign("p", op("%", op("*", op("+", "p", 1), 3), 8)),
        store("y", "j", LANE, load("a", "p", dtype=I32)))  # fmt: skip
    changed = gather(num(0), body=(assign("p", LANE), moving))
    assert rotations(changed) == 0
    for each in (program, changed):
        assert_same_run(each, optimize(each))


def test_a_rotation_serves_up_to_the_change_of_its_amount() -> None:
    """The last statement before the change is served, too."""
    at = op("%", op("+", "j", "p"), 8)
    read = loop("j", 8, store("y", "j", LANE, load("a", at, dtype=I32)))
    program = gather(num(0), body=(assign("p", LANE), read, read, assign("p", op("*", LANE, 3)), read, read))
    assert_rotated(program, 2)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", slow_unless(range(30), (16).__gt__))
def test_random_rotations_compute_the_same(seed: int) -> None:
    """Random sizes, fans, groups, amounts and counts, read and written."""
    random = Random(seed)
    size = random.randint(2, 12)
    group = random.choice([n for n in range(1, size + 1) if size % n == 0])
    amount = random.choice(
        [LANE, un("-", LANE), op("//", LANE, random.randint(1, 9)), op("*", LANE, random.randint(2, 5))]
    )
    fan = random.choice([1, -1, 3, 5, 7, -2])
    turned = op("%", op("+", op("+", op("*", "j", fan), random.randint(-9, 9)), amount), group)
    index = op("+", op("*", op("//", "j", group), group), turned)
    programs = [gather(index, size, count=random.randint(1, size)), scatter(index, size)]
    programs.append(scatter(index, size, when=op("<", op("+", LANE, "j"), random.randint(1, 40))))
    for program in programs:
        assert_same_run(program, optimize(program), seed)


def test_the_steps_are_logarithmic() -> None:
    """One conditional move an element for each bit that the amount may have."""
    for size, steps in ((8, 3), (9, 4), (16, 4)):
        body = rotate_registers(simplify(gather(op("%", J_LANE, size), size))).body
        (bits,) = (stmt for stmt in statements(body) if isinstance(stmt, ir.For) and stmt.variable == "bit")
        assert evaluate(op("-", bits.start, bits.stop), {}) == steps
    assert "bit" not in print_cuda(optimize(gather(op("%", op("+", "j", op("*", LANE, 4)), 8)))).text


@pytest.mark.parametrize("size", slow_unless(range(2, 18), (2, 5, 8).__contains__))
def test_what_is_written_comes_back_by_as_few_steps(size: int) -> None:
    """Every lane comes back to where it was, whatever its amount and whichever of its elements it wrote."""
    for amount in (LANE, op("*", LANE, 2), op("*", LANE, 4), un("-", LANE)):
        for when in (None, op("<", LANE, 20)):
            program = scatter(op("%", op("+", "j", amount), size), size, when=when)
            found = rotate_registers(simplify(program))
            assert_same_run(program, found)
            loops = [s for s in statements(found.body) if isinstance(s, ir.For) and s.variable.startswith("bit")]
            steps = {int(evaluate(op("-", bits.start, bits.stop), {})) for bits in loops}
            assert steps <= {(size - 1).bit_length()}


@pytest.mark.skipif(not available_tools(), reason="neither NVRTC nor nvcc on this machine")
@pytest.mark.parametrize("size", slow_unless([5, 8, 16, 31], lambda size: size < 31))
def test_a_rotation_takes_fewer_instructions_than_choices(size: int) -> None:
    """Both compiled: fewer PTX instructions and no more local memory (none)."""
    chosen = drop_dead(simplify(distribute(simplify(rotate(size)))))
    before, after = (compile_cuda(print_cuda(each).text) for each in (chosen, optimize(rotate(size))))
    assert not uses_local(after.ptx)
    assert instructions(after.ptx) < instructions(before.ptx) / (2 if size >= 8 else 1)


def instructions(ptx: str) -> int:
    return len(re.findall(r"^\t(?!\.|//)[^:\n]*;", ptx, re.MULTILINE))


# ---- copies ----------------------------------------------------------------------------------------------------


def test_a_rotation_in_place_needs_no_copy() -> None:
    """The array, its rotated form and the array that it is put into become one."""
    program = gather(num(0), body=(
        array("p", 8, dtype=I32),
        loop("j", 8, store("p", "j", load("a", op("%", J_LANE, 8), dtype=I32))),
        loop("j", 8, store("a", "j", load("p", "j", dtype=I32))),
    ))  # fmt: skip
    found = optimize(program)
    declared = [stmt.name for stmt in statements(found.body) if isinstance(stmt, ir.DeclareArray)]
    assert declared == ["a", "a_turned"]
    assert_same_run(program, found)


def test_a_copy_stays_where_both_are_needed() -> None:
    """One is written while the other will still be read: in a straight line, in a loop, in a branch."""
    change = store("a", 3, ir.Const(7, I32, LANE.place))
    copy = loop("k", 8, store("p", "k", load("a", "k", dtype=I32)))
    sides = [branch(op("<", LANE, 3), [change]), loop("q", 2, change), loop("q", 2, copy, change), change]
    for side in sides:
        body = (array("p", 8, dtype=I32), copy, side)
        program = gather(num(0), body=body)
        read = loop("j", 8, store("y", "j", LANE, op("+", load("a", "j", dtype=I32), load("p", "j", dtype=I32))))
        program = kernel("k", program.parameters, [*program.body[:-1], read], block=(32, 1, 1), grid=(1, 1, 1))
        merged = merge_copies(program)
        assert sum(isinstance(stmt, ir.DeclareArray) for stmt in statements(merged.body)) == 2
        assert_same_run(program, merged)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("reads", [False, True])
def test_a_store_ends_the_life_of_what_it_overwrites_whole(size: int, reads: bool) -> None:
    """After `p = a`, p is changed and read, then a is, or a from p: one name serves only where a has one element."""

    def show(name: str, row: int) -> ir.Stmt:
        return loop("j", size, store("y", op("+", "j", row * size), LANE, load(name, "j", dtype=I32)))

    seven = ir.Const(7, I32, LANE.place)
    changed = [store("p", 0, seven), show("p", 0), store("a", size - 1, op("+", load("x", 0, LANE, dtype=I32), seven))]
    if reads:
        changed = [store("a", 0, seven), store("a", size - 1, load("p", 0, dtype=I32)), show("a", 0)]
    program = kernel(
        "k",
        [parameter("x", size, 32, dtype=I32), parameter("y", 2 * size, 32, role="inout", dtype=I32)],
        [
            array("other", 9, dtype=I32),
            array("a", size, dtype=I32),
            array("p", size, dtype=I32),
            store("other", 8, seven),
            loop("i", size, store("a", "i", load("x", "i", LANE, dtype=I32))),
            loop("k", size, store("p", "k", load("a", "k", dtype=I32))),
            *changed,
            show("a", 1),
            *([] if reads else [store("p", 0, seven)]),
            store("y", 0, LANE, op("+", load("y", 0, LANE, dtype=I32), load("other", 8, dtype=I32))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )
    merged = merge_copies(program)
    assert_same_run(program, merged)
    arrays = [stmt.name for stmt in statements(merged.body) if isinstance(stmt, ir.DeclareArray)]
    assert sorted(arrays) == (["a", "other"] if size == 1 and not reads else ["a", "other", "p"])


def test_arrays_are_declared_where_they_are_used() -> None:
    """Just before the first statement that mentions them; unused loops of copies are gone."""
    program = gather(num(0), body=(array("p", 8, dtype=I32), loop("k", 8, store("p", "k", load("a", "k", dtype=I32)))))
    declared, fill, read = merge_copies(program).body
    assert isinstance(declared, ir.DeclareArray) and isinstance(fill, ir.For) and isinstance(read, ir.For)
    assert all(is_static(part, frozenset({"i"})) for part in own_expressions(fill) for part in subexpressions(part))
