"""Modules printed for numba.cuda: run on a stand-in that promotes numbers as numba does, and compiled where it is."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import uses_local
from cuda_out.numba.compiling import why_not_compiled
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType, Program
from tests.cuda_out.build import (
    array,
    assign,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    shuffle,
    store,
    var,
    where,
)
from tests.cuda_out.examples import EXAMPLES, conv1d
from tests.cuda_out.numba_stand_in import module
from tests.cuda_out.random_programs import RandomKernel
from tests.cuda_out.reference import run
from tests.cuda_out.test_passes import arrays_for
from tests.slow_cases import slow_unless

HALVES = {name for name, program in EXAMPLES.items() if any(p.dtype is DType.F16 for p in program.parameters)}


def assert_text_computes(program: Program, printed: Program) -> None:
    """The printed module gives the numbers of the reference, bit for bit for integers."""
    source, arrays = print_numba(printed), arrays_for(program)
    want, got = run(program, arrays), {name: values.copy() for name, values in arrays.items()}
    module(source.text)[source.launcher](*got.values())
    for name, values in want.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-6 if values.dtype.kind == "f" else 0, err_msg=source.text)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - HALVES))
def test_examples_compute_what_the_reference_computes(name: str) -> None:
    """As they stand, and optimized."""
    assert_text_computes(EXAMPLES[name], EXAMPLES[name])
    assert_text_computes(EXAMPLES[name], optimize(EXAMPLES[name]))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(16))
def test_random_kernels_compute_what_the_reference_computes(seed: int) -> None:
    """Every second one optimized before it is printed."""
    program = RandomKernel(3000 + seed).program()
    assert_text_computes(program, optimize(program) if seed % 2 else program)


def test_a_printed_module() -> None:
    """The text of a small kernel: types converted where they count, nothing else in the way."""
    program = kernel(
        "mix",
        [parameter("x", 64, dtype=DType.U32), parameter("name", 64, role="out", dtype=DType.U32)],
        [
            assign("t", where("threadIdx")),
            assign("v", shuffle(load("x", "t", dtype=DType.U32), op("%", op("+", where("laneid"), 1), 32))),
            store(
                "name", "t", op("*", op("+", var("v", DType.U32), load("x", "t", dtype=DType.U32)), var("v", DType.U32))
            ),
        ],
        grid=(1, 1, 1),
    )
    source = print_numba(program, ["mix, by hand"])
    head, _, launcher = source.text.partition("\n\n\ndef launch_mix")
    assert head.splitlines() == [
        "# SPDX-License-Identifier: MIT-0",
        "# mix, by hand",
        "",
        "from numba import cuda, int32, uint32",
        "",
        "",
        "@cuda.jit",
        "def mix(x, name_):",
        "    # x: uint32[64]",
        "    # name_: out uint32[64]",
        "    t = cuda.threadIdx.x",
        "    v = uint32(cuda.shfl_sync(0xFFFFFFFF, int32(x[t]), (cuda.threadIdx.x % 32 + 1) % 32))",
        "    name_[t] = uint32((v + x[t]) * v)",
    ]
    assert launcher.endswith("    mix[(1, 1, 1), (64, 1, 1), stream](x, name_)\n")


def test_the_launch_function_refuses_other_types_and_shapes() -> None:
    """It names the array, what it is, and what was expected."""
    source = print_numba(optimize(conv1d()))
    launch = module(source.text)[source.launcher]
    x, w, y = (np.zeros(n, np.float32) for n in (130, 3, 128))
    launch(x, w, y)
    with pytest.raises(ValueError, match=r"^x is float64 of shape \(130,\), expected float32 of shape \(130,\)$"):
        launch(x.astype(np.float64), w, y)
    with pytest.raises(ValueError, match=r"^y is float32 of shape \(127,\), expected float32 of shape \(128,\)$"):
        launch(x, w, y[1:])


@pytest.mark.parametrize("name", sorted(HALVES))
def test_halves_are_refused(name: str) -> None:
    """numba.cuda does not shuffle them; the message says what to take instead."""
    with pytest.raises(SwizzleError, match=r"numba.cuda has no f16") as caught:
        print_numba(EXAMPLES[name])
    assert "--emit cuda" in str(caught.value)


def test_long_lines_are_folded_inside_brackets() -> None:
    """Whatever the length of an expression, the module is Python, and no line is much too long."""
    total_: Any = num(0)
    for number in range(60):
        total_ = op("+", total_, op("%", op("*", where("threadIdx"), number + 3), 7))
    body = [assign("long_name", total_), store("y", op("%", "long_name", 64), load("x", op("%", total_, 64)))]
    program = kernel("long", [parameter("x", 64), parameter("y", 64, role="out")], body, grid=(1, 1, 1))
    text = print_numba(program).text
    ast.parse(text)
    assert max(map(len, text.splitlines())) <= 114


@pytest.mark.parametrize(
    ("before", "after"),
    [("uint32(cuda.shfl", "(cuda.shfl"), ("int32(x", "(x"), ("uint32((v", "((v"), ("laneid % 8 +", "laneid % 4 +")],
)
def test_the_stand_in_notices_a_wrong_text(before: str, after: str) -> None:
    """Without one of its conversions, or with another lane, the same text fails."""
    u = DType.U32
    program = kernel(
        "mix",
        [parameter("x", 64, dtype=u), parameter("y", 64, role="out", dtype=u)],
        [
            assign("t", where("threadIdx")),
            assign("v", shuffle(load("x", "t", dtype=u), 3)),
            store("y", "t", op("//", op("*", op("+", var("v", u), load("x", "t", dtype=u)), var("v", u)), var("v", u))),
        ],
        grid=(1, 1, 1),
        warp_size=8,
    )
    source = print_numba(program)
    assert before in source.text
    values = np.random.default_rng(0).integers(2**31, 2**32, 64, dtype=np.uint32)
    v = values.reshape(8, 8)[:, [3]].repeat(8, axis=1).ravel()
    out = np.zeros_like(values)
    module(source.text)[source.launcher](values, out)
    np.testing.assert_array_equal(out, (values + v) * v // v)
    with pytest.raises((AssertionError, TypeError)):
        module(source.text.replace(before, after))[source.launcher](values, out)
        np.testing.assert_array_equal(out, (values + v) * v // v)


def both_ways() -> Program:
    """Lanes read different elements of a register array at an index that a loop decides."""
    lane = where("laneid")
    far = select(op(">", "k", 1), 0, select(op(">", "k", 0), 1, 2))
    read = select(op(">", lane, "k"), load("a", 0, far), load("a", 1, far))
    return kernel(
        "both_ways",
        [parameter("x", 6, 32), parameter("y", 3, 32, role="out")],
        [
            array("a", 2, 3),
            loop("r", 2, loop("s", 3, store("a", "r", "s", load("x", op("+", op("*", "r", 3), "s"), lane)))),
            loop("k", 3, store("y", "k", lane, shuffle(read, op("+", lane, 1)))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


def test_reads_that_nvvm_would_merge_have_constant_indices() -> None:
    """Their loop is written out; the loop that stores stays."""
    assert_text_computes(both_ways(), both_ways())
    text = print_numba(both_ways()).text
    assert "a[0, 2] if cuda.threadIdx.x > 0 else a[1, 2]" in text
    assert re.findall(r"for (\w+) in range", text) == ["r", "s"]


PROGRAMS = {
    **{name: EXAMPLES[name] for name in sorted(EXAMPLES.keys() - HALVES)},
    **{f"random_{seed}": RandomKernel(seed).program() for seed in range(4)},
    "both_ways": both_ways(),
}


LONG = ("lookup", "rotate_7", "rotate_8", "random_0", "random_3")  # to be compiled


def flat(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return the arguments that numba passes an array as."""
    sizes = [np.int64(array.size), np.int64(array.itemsize)]
    return [np.uint64(0), np.uint64(0), *sizes, array, *map(np.int64, array.shape), *map(np.int64, array.strides)]


@pytest.mark.sampled(6)
@pytest.mark.skipif(why_not_compiled() != "", reason=why_not_compiled())
@pytest.mark.parametrize("name", slow_unless(PROGRAMS, lambda name: name not in LONG))
def test_what_numba_compiles_computes_what_the_reference_computes(name: str) -> None:
    """Its PTX, which needs no GPU, is interpreted; nothing is in local memory, nothing became a double by itself."""
    from numba import cuda, from_dtype

    program, scope = PROGRAMS[name], dict[str, Any]()
    source, arrays = print_numba(optimize(program)), arrays_for(program)
    exec(compile(source.text, "printed", "exec"), scope)
    packed = {values.ndim: (*(slice(None),) * (values.ndim - 1), slice(None, None, 1)) for values in arrays.values()}
    types = tuple(from_dtype(values.dtype)[packed[values.ndim]] for values in arrays.values())
    ptx, _ = cuda.compile_ptx(scope[source.kernel].py_func, types, cc=(8, 0))
    assert not uses_local(ptx)
    assert ".f64" not in ptx or any(values.dtype == np.float64 for values in arrays.values())
    got = {key: values.copy() for key, values in arrays.items()}
    (entry,) = re.findall(r"\.entry\s+(\w+)", ptx)
    try:
        interpret(ptx, entry, program.grid, program.block, [each for values in got.values() for each in flat(values)])
    except NotInterpreted as error:
        assert "extends to 64 bits" in str(error) and name == "arithmetic_i32"
        return
    for key, values in run(program, arrays).items():
        np.testing.assert_allclose(got[key], values, rtol=1e-6 if values.dtype.kind == "f" else 0, err_msg=source.text)
