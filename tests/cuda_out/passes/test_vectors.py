"""Neighbouring words move as vectors where that is provably aligned and in range, and only there."""

from __future__ import annotations

import re
import shutil
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_out.analysis.values import evaluate, is_computable, leaves_in, points
from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_cuda
from cuda_out.passes.pipeline import optimize
from cuda_out.passes.simplify import simplify
from cuda_out.passes.vectors import multiple_of, vector_accesses, vectorize
from cuda_out.ptx.running.validate import validate
from symbolic.algebra.terms import Terms
from symbolic.ir import program as ir
from symbolic.ir.facts import launch_facts
from symbolic.ir.program import DType, Expr, Program
from symbolic.ir.walk import statements
from tests.cuda_out.build import (
    F32,
    array,
    assign,
    barrier,
    branch,
    data,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    store,
    where,
)
from tests.cuda_out.c.test_printer import assert_text_computes
from tests.cuda_out.ptx.kernels import machine_terms
from tests.cuda_out.random_programs import random_index
from tests.cuda_out.test_passes import assert_same_run
from tests.sketches import kernel as sketch_kernel

THREAD = where("threadIdx")
FOUR = op("*", THREAD, 4)
GLOBAL = op("+", op("*", where("blockIdx"), 32), THREAD)

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
needs_compiler = pytest.mark.skipif(not available_tools(), reason="neither NVRTC nor nvcc on this machine")


def copying(
    words: int,
    base: Expr,
    size: int,
    *,
    bound: int | None = None,
    dtype: DType = F32,
    extra: Any = (),
    columns: int | None = None,
) -> Program:
    """Return a kernel that loads words from base on, changes them, and stores them there; predicated by the bound."""
    place = op("+", base, "e")
    shape = (size,) if columns is None else (size // columns, columns)
    at = [place] if columns is None else [base, op("+", "e", op("*", THREAD, 0))]
    read: Any = load("x", *at, dtype=dtype)
    value, three = (ir.Const(number, dtype, num(0).place) for number in (0, 3))
    write: ir.Stmt = store("y", *at, load("mine", "e", dtype=dtype))
    if bound is not None:
        read, write = select(op("<", place, bound), read, value), branch(op("<", place, bound), [write])
    return kernel(
        "copying",
        [parameter("x", *shape, dtype=dtype), parameter("y", *shape, role="inout", dtype=dtype)],
        [
            array("mine", words, dtype=dtype),
            loop("e", words, store("mine", "e", read)),
            loop("e", words, store("mine", "e", op("+", load("mine", "e", dtype=dtype), three))),
            *extra,
            loop("e", words, write),
        ],
        block=(32, 1, 1),
    )  # fmt: skip


def widths(program: Program) -> list[tuple[str, int]]:
    """Return (array, width) of the vector accesses after optimization, in the text's order."""
    return sorted((each.array, each.width) for each in vector_accesses(optimize(program)).values())


def both(width: int) -> list[tuple[str, int]]:
    return [("x", width), ("y", width)]


CASES = {
    "four floats": (copying(4, op("*", GLOBAL, 4), 256), both(4)),
    "two floats": (copying(2, op("*", GLOBAL, 2), 128), both(2)),
    "eight floats are two vectors": (copying(8, op("*", GLOBAL, 8), 512), both(4)),
    "six floats are three pairs": (copying(6, op("*", GLOBAL, 6), 384), both(2)),
    "three floats": (copying(3, op("*", GLOBAL, 3), 192), []),
    "four from an odd place": (copying(4, op("+", op("*", GLOBAL, 4), 1), 260), []),
    "four from an even place": (copying(4, op("+", op("*", GLOBAL, 4), 2), 260), both(2)),
    "two from an even place": (copying(2, op("+", op("*", GLOBAL, 2), 2), 130), both(2)),
    "from where a shift leads": (copying(4, op("&", op("*", GLOBAL, 5), -4), 330), both(4)),
    "doubles": (copying(4, op("*", GLOBAL, 4), 256, dtype=DType.F64), both(2)),
    "integers": (copying(4, op("*", GLOBAL, 4), 256, dtype=DType.U32), both(4)),
    "long integers": (copying(2, op("*", GLOBAL, 2), 128, dtype=DType.I64), both(2)),
    "halves": (copying(4, op("*", GLOBAL, 4), 256, dtype=DType.F16), [("x", 4), ("y", 2)]),
    "halves from an odd place": (copying(2, op("+", op("*", GLOBAL, 2), 1), 130, dtype=DType.F16), []),
    "halves up to a bound": (copying(4, op("*", GLOBAL, 4), 203, bound=203, dtype=DType.F16), [("x", 4), ("y", 2)]),
    "rows of eight": (copying(4, GLOBAL, 512, columns=8), both(4)),
    "rows of six": (copying(4, GLOBAL, 384, columns=6), both(2)),
    "a bound between vectors": (copying(4, op("*", GLOBAL, 4), 200, bound=200), both(4)),
    "a bound within a vector": (copying(4, op("*", GLOBAL, 4), 203, bound=203), both(4)),
    "a bound within the first vector": (copying(8, op("*", GLOBAL, 8), 2, bound=2), both(4)),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_vectors_where_they_are_aligned(name: str) -> None:
    """As wide as the words, the alignment and 16 bytes allow; what is computed stays the same."""
    program, want = CASES[name]
    assert widths(program) == want
    for changed in (vectorize(simplify(program)), optimize(program)):
        assert_same_run(program, changed)


@needs_gcc
@pytest.mark.parametrize("name", ["eight floats are two vectors", "a bound within a vector"])
def test_the_text_with_vectors_computes_the_same(name: str) -> None:
    """The emulation checks bounds and alignment of every access."""
    program = CASES[name][0]
    source = print_cuda(optimize(program))
    assert "reinterpret_cast" in source.text
    assert source.alignment == (16, 16)
    assert_text_computes(program, source)


def through_shared(words: int, dtype: DType = F32, shift: int = 0, columns: int | None = None) -> Program:
    """Return a kernel whose threads hand words on to their neighbours; the tile has rows of some columns."""
    mine, theirs = op("*", THREAD, words), op("*", op("%", op("+", THREAD, 1), 32), words)
    size = 32 * words

    def tile(base: Expr) -> list[Any]:
        at = op("+", op("+", base, shift), "e")
        return [at] if columns is None else [op("//", base, words), op("+", "e", shift)]

    return kernel(
        "handing_on",
        [parameter("x", size, dtype=dtype), parameter("y", size, role="out", dtype=dtype)],
        [
            array("tile", *((size + shift,) if columns is None else (32, columns)), dtype=dtype, memory="shared"),
            array("mine", words, dtype=dtype),
            loop("e", words, store("tile", *tile(mine), load("x", op("+", op("*", "e", 32), THREAD), dtype=dtype))),
            barrier(),
            loop("e", words, store("mine", "e", load("tile", *tile(theirs), dtype=dtype))),
            loop("e", words, store("y", op("+", op("*", "e", 32), THREAD), load("mine", "e", dtype=dtype))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


SHARED = {
    "four floats": (through_shared(4), 4),
    "eight floats": (through_shared(8), 4),
    "two doubles": (through_shared(2, DType.F64), 2),
    "pairs of halves": (through_shared(4, DType.F16), 2),
    "from an odd place": (through_shared(4, shift=1), 0),
    "from an even place": (through_shared(4, shift=2), 2),
    "rows of eight": (through_shared(4, columns=8), 4),
    "rows of six": (through_shared(4, columns=6), 2),
    "padded rows": (through_shared(4, columns=5), 0),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SHARED)
def test_vectors_in_shared_memory(name: str) -> None:
    """Where stride and place allow, in an array that is declared to begin there."""
    program, width = SHARED[name]
    assert widths(program) == ([("tile", width), ("tile", width)] if width else [])
    assert_same_run(program, optimize(program))
    source = print_cuda(optimize(program))
    bytes_ = width * program.parameters[0].dtype.bits // 8
    assert (f"__shared__ __align__({bytes_}) " in source.text) == (width > 0)
    if shutil.which("g++"):
        assert_text_computes(program, source)


@needs_compiler
@pytest.mark.parametrize("name", ["four floats", "pairs of halves", "rows of six"])
def test_vectors_in_shared_memory_are_fewer_instructions(name: str) -> None:
    """What is computed is the same for all inputs. Four floats in a row the compiler finds for itself."""
    program, counts = SHARED[name][0], []
    for printed in (simplify(program), optimize(program)):
        source, terms = print_cuda(printed), Terms()
        ptx = compile_cuda(source.text).ptx
        counts.append(len(re.findall(r"\b(?:ld|st)\.shared", ptx)))
        found = validate(program, ptx, source.entry, machine_terms(program, terms), terms)
        assert (found.verdict, found.findings) == ("equal", ())
    assert counts[1] < counts[0] or (name == "four floats" and counts == [2, 2])


@needs_compiler
def test_a_vector_is_one_instruction() -> None:
    """In PTX, at the width that the text says."""
    ptx = compile_cuda(print_cuda(optimize(CASES["four floats"][0])).text).ptx
    assert ptx.count("ld.global.nc.v4") == 1
    assert ptx.count("st.global.v4") == 1


def test_a_loop_that_computes_gets_its_words_from_registers() -> None:
    """What it reads in any case is loaded before it, what it writes is stored behind it."""
    at = op("+", op("*", GLOBAL, 4), "e")
    work = loop("e", 4, store("y", at, op("+", op("*", load("x", at), load("x", at)), load("z", op("*", "e", 2)))))
    program = kernel(
        "k", [parameter("x", 256), parameter("z", 8), parameter("y", 256, role="out")], [work], block=(32, 1, 1)
    )
    assert widths(program) == both(4)
    assert_same_run(program, optimize(program))


@pytest.mark.parametrize(
    "body",
    [
        [loop("e", 4, store("y", op("+", FOUR, "e"), load("y", op("+", FOUR, op("-", 3, "e")))))],
        [loop("e", 4, store("y", op("-", op("+", FOUR, 3), "e"), data(1.0)))],
        [loop("e", 4, store("y", op("+", FOUR, op("*", "e", 0)), data(1.0)))],
        [assign("p", op("+", THREAD, 1)), loop("e", 4, store("y", op("+", op("*", "p", 3), "e"), data(1.0)))],
        [loop("e", 4, store("y", op("+", FOUR, "e"),
            select(op("<", op("+", THREAD, "e"), 5), load("x", op("+", FOUR, "e")), data(2.0))),
            store("y", FOUR, data(3.0)))],
    ],
)  # fmt: skip
def test_what_is_no_vector_is_left_alone(body: list[ir.Stmt]) -> None:
    """Read and written, backwards, one place, not aligned, written twice."""
    program = kernel(
        "k", [parameter("x", 140), parameter("y", 140, role="inout")], body, block=(32, 1, 1), grid=(1, 1, 1)
    )
    assert widths(program) == []
    assert_same_run(program, optimize(program))


def test_a_condition_that_turns_on_within_a_vector() -> None:
    """`>=` and a condition of its own, together with a bound."""
    at = op("+", FOUR, "e")
    inside = op("and", op("and", op(">=", at, 6), op("<", at, 101)), op("<", THREAD, 20))
    program = kernel(
        "k",
        [parameter("x", 128), parameter("y", 128, role="inout")],
        [
            array("m", 4),
            loop("e", 4, branch(inside, [store("m", "e", load("x", at))], [store("m", "e", data(5.0))])),
            loop("e", 4, branch(inside, [store("y", at, load("m", "e"))])),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )
    assert widths(program) == both(4)
    assert_same_run(program, optimize(program))


def test_a_variable_that_outlives_its_loop_keeps_it() -> None:
    """Read behind the loop, or in the next iteration."""
    p = assign("p", op("+", FOUR, "e"))
    behind = [loop("e", 4, p, store("y", "p", load("x", "p"))), store("y", op("+", FOUR, 0), load("x", "p"))]
    carried = [assign("p", num(0)), loop("e", 4, store("y", op("+", FOUR, "e"), load("x", "p")), p)]
    for body in (behind, carried):
        program = kernel("k", [parameter("x", 128), parameter("y", 128, role="inout")], body, block=(32, 1, 1))
        program = ir.Program("k", program.parameters, program.body, (), (32, 1, 1), (1, 1, 1), 32, program.place)
        for changed in (vectorize(program), optimize(program)):
            assert_same_run(program, changed)


def test_the_launch_wrapper_refuses_a_misaligned_address() -> None:
    """And the signature says what it expects; a kernel without vectors asks for nothing."""
    text = print_cuda(optimize(CASES["doubles"][0])).text
    assert "// in f64[256], aligned to 16 bytes" in text
    for name in "xy":
        assert f"if (reinterpret_cast<size_t>({name}) % 16 != 0) return cudaErrorMisalignedAddress;" in text
    plain = print_cuda(optimize(CASES["three floats"][0]))
    assert "align" not in plain.text.lower() and plain.alignment == (1, 1)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9))
def test_every_value_is_a_multiple(seed: int) -> None:
    """Of what `multiple_of` says, for random expressions over threads and a loop in steps of twelve."""
    random = Random(seed)
    facts = {**launch_facts(kernel("k", [], [])), "k": launch_facts(kernel("k", [], []))["warpsize.x"]}
    expr = op("*", random_index(random, ["k"], 3), random.choice([1, 4, 6]))
    if not is_computable(expr, facts):
        return
    found = multiple_of(expr, {}, {"k": 16})
    where_ = points(kernel("k", [], []), leaves_in([expr]), facts)
    assert where_ is not None
    values = evaluate(expr, where_)
    assert (values == 0).all() if found == 0 else (values % found == 0).all()


@pytest.mark.parametrize("read", ["e", 3, 0], ids=str)
@pytest.mark.parametrize("written", ["e", 3, 0], ids=str)
def test_what_a_loop_reads_again_is_not_loaded_before_it(written: Any, read: Any) -> None:
    """A word that an earlier iteration wrote, in the array that it writes, is read with what was written."""
    value = op("+", op("*", load("y", op("+", FOUR, read)), load("x", op("+", FOUR, "e"))), data(1.0))
    other = store("z", op("+", FOUR, "e"), load("y", op("+", FOUR, "e")))
    body = loop("e", 4, store("y", op("+", FOUR, written), value), other)
    program = kernel(
        "k",
        [parameter("x", 128), parameter("y", 128, role="inout"), parameter("z", 128, role="out")],
        [body],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )
    for changed in (vectorize(program), vectorize(simplify(program)), optimize(program)):
        assert_same_run(program, changed)


@pytest.mark.parametrize("by", range(34))
def test_what_is_shifted_is_a_multiple(by: int) -> None:
    """Of a power of two, up to the width of an index."""
    found = multiple_of(op("<<", op("*", THREAD, 3), by), {}, {})
    assert found == (3 << by if by < 32 else 1)


def test_a_move_within_a_loop_needs_no_registers_of_its_own() -> None:
    """The register's index has the outer loop's variable, which is static as well: words go straight to their place."""
    place = op("+", op("*", "v", 4), "e")
    move = store("mine", place, load("x", op("+", op("*", THREAD, 8), place)))
    back = store("y", op("+", op("*", THREAD, 8), "e"), load("mine", "e"))
    program = kernel(
        "nested",
        [parameter("x", 256), parameter("y", 256, role="inout")],
        [array("mine", 8), loop("v", 2, loop("e", 4, move)), loop("e", 8, back)],
        block=(32, 1, 1),
    )
    changed = vectorize(program)
    assert_same_run(program, changed)
    assert [each.name for each in statements(changed.body) if isinstance(each, ir.DeclareArray)] == ["mine"]
    assert widths(program) == [("x", 4), ("y", 4)]


def test_what_is_read_twice_is_one_vector() -> None:
    """A loop that squares: both factors are words of the vector that was loaded, and no word is loaded again."""
    text = "i = cuda.laneid\nfor e in range(4):\n    y[4 * i + e] = x[4 * i + e] * x[4 * i + e]"
    squares = sketch_kernel(text, spec="[v * v for v in x]", arguments="x=f32[32], y=f32.out[32]", block=8, warp_size=8)
    printed = print_cuda(optimize(squares.program)).text
    assert "y_words[e] = x_words[e] * x_words[e];" in printed and len(re.findall(r"\bx\[", printed)) == 1


def test_what_moves_between_memories_is_no_vector_of_registers() -> None:
    """A loop from one array to another has no registers on either side."""
    program = kernel(
        "through",
        [parameter("x", 4), parameter("y", 128, role="out")],
        [
            array("tile", 128, memory="shared"),
            loop("e", 4, store("tile", op("+", FOUR, "e"), load("x", "e"))),
            loop("e", 4, store("y", op("+", FOUR, "e"), load("tile", op("+", FOUR, "e")))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )
    assert vector_accesses(program) == {}
    assert_same_run(program, optimize(program))
