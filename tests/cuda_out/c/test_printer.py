"""Printed kernels: their text, that they compile without warnings, and that the text computes the right numbers."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.c.types import literal
from cuda_out.compile.toolchain import available_tools, compile_cuda, uses_local
from cuda_out.emulate.emulate import emulate
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Program
from tests.cuda_out.build import (
    F32,
    HERE,
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
    shuffle,
    store,
    total,
    var,
    where,
)
from tests.cuda_out.examples import EXAMPLES, conv1d
from tests.cuda_out.random_programs import RandomKernel
from tests.cuda_out.reference import run
from tests.cuda_out.test_passes import arrays_for
from tests.slow_cases import slow_unless

GOLDEN = Path(__file__).parents[2] / "golden"
PROVENANCE = ["conv1d, solved by hand", "part: 0 if lane >= k else 1", "source lane: (lane + k) % 32"]

needs_compiler = pytest.mark.skipif(not available_tools(), reason="neither NVRTC nor nvcc on this machine")
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")


def run_text(program: Program, source: CudaSource, arrays: dict[str, Any]) -> dict[str, Any]:
    """Run the printed text on the CPU, on copies of the arrays."""
    copies = {name: values.copy() for name, values in arrays.items()}
    given = [copies[name] for name in source.arguments]
    kernel_name = f"{source.namespace}::{source.entry}"
    emulate(source.text, kernel_name, source.grid, source.block, given, warp_size=program.warp_size)
    return copies


def assert_text_computes(program: Program, source: CudaSource) -> None:
    arrays = arrays_for(program)
    want, got = run(program, arrays), run_text(program, source, arrays)
    exact = not any(parameter.dtype.is_float for parameter in program.parameters)
    for name, values in want.items():
        tolerance = 0 if exact else 2e-3 if values.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(got[name], values, rtol=tolerance, err_msg=name)


# ---- the text means the program --------------------------------------------------------------------------------


@needs_gcc
@pytest.mark.parametrize(
    "name",
    slow_unless(
        ["conv1d", "xor_min", "lookup", "carried", "rotate_3", "arithmetic_i32"],
        lambda name: name in ("xor_min", "rotate_3", "arithmetic_i32"),
    ),
)
def test_examples_printed_as_they_stand_compute_what_the_reference_computes(name: str) -> None:
    """The text runs on the CPU emulation."""
    assert_text_computes(EXAMPLES[name], print_cuda(EXAMPLES[name]))


@pytest.mark.sampled(4)
@needs_gcc
@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"conv1d_9", "rotate_4", "rotate_7", "arithmetic_i32"}))
def test_optimized_examples_compute_what_the_reference_computes(name: str) -> None:
    """The optimized text runs on the CPU emulation."""
    assert_text_computes(EXAMPLES[name], print_cuda(optimize(EXAMPLES[name])))


@needs_gcc
@pytest.mark.parametrize("seed", range(4))
def test_printed_random_kernels_compute_what_the_reference_computes(seed: int) -> None:
    """Random kernels, every second one optimized before it is printed."""
    program = RandomKernel(1000 + seed).program()
    assert_text_computes(program, print_cuda(optimize(program) if seed % 2 else program))


@pytest.mark.sampled(5)
@needs_compiler
@pytest.mark.parametrize("name", EXAMPLES)
def test_optimized_examples_compile_and_use_no_local_memory(name: str) -> None:
    """No warnings, no `.local` in the PTX, no stack frame, no spills."""
    compiled = compile_cuda(print_cuda(optimize(EXAMPLES[name])).text, "sm_80")
    assert not uses_local(compiled.ptx)
    assert [(each.stack_bytes, each.spill_store) for each in compiled.kernels.values()] == [(0, 0)]


@needs_compiler
@needs_compiler
def test_as_many_blocks_as_wanted_are_resident() -> None:
    """What is asked for stands in the launch bounds, and the compiler keeps to the registers that are left for it."""
    program = replace(optimize(EXAMPLES["conv1d"]), min_blocks=32)
    compiled = compile_cuda(print_cuda(program).text, "sm_90")
    assert ".minnctapersm 32" in compiled.ptx
    assert compiled.kernels["conv1d"].registers <= 65536 // (32 * 64)
    assert "@cuda.jit(max_registers=32)" in print_numba(program).text
    # The registers of a warp come in units of 256: 5 warps a block, of which 9 fit, have 45 each, hence 40.
    wide = replace(program, block=(160, 1, 1), min_blocks=9)
    assert "@cuda.jit(max_registers=40)" in print_numba(wide).text


def test_without_distribution_registers_become_local_memory() -> None:
    """The witness of the distribution pass: conv1d printed as it stands indexes a local array dynamically."""
    assert uses_local(compile_cuda(print_cuda(conv1d()).text, "sm_80").ptx)


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_random_kernels_compile_and_use_no_local_memory(seed: int) -> None:
    """Kernels that nobody wrote compile without warnings, too."""
    program = RandomKernel(2000 + seed).program()
    compile_cuda(print_cuda(program).text, "sm_80")
    assert not uses_local(compile_cuda(print_cuda(optimize(program)).text, "sm_80").ptx)


@needs_compiler
def test_literals_that_are_not_finite_compile() -> None:
    """Infinities, which max and min start from, and NaN, for every compiler that is here."""
    kernels = ""
    for scalar, dtype in (("float", DType.F32), ("double", DType.F64)):
        spelled = "\n".join(f"  *p++ = {literal(value, dtype)};" for value in (math.inf, -math.inf, math.nan))
        kernels += f'extern "C" __global__ void k_{scalar}({scalar}* p) {{\n{spelled}\n}}\n'
    for tool in available_tools():
        compile_cuda(kernels, "sm_80", tool=tool)


@needs_nvcc
@pytest.mark.parametrize(
    ("name", "arch"), [("arithmetic_f16", "sm_75"), pytest.param("carried", "sm_100", marks=pytest.mark.slow)]
)
def test_nvcc_compiles_host_and_device_without_warnings(name: str, arch: str, tmp_path: Path) -> None:
    """The launch wrapper is compiled, too, and a caller links against it."""
    source = print_cuda(optimize(EXAMPLES[name]), PROVENANCE)
    pointers = ", ".join("nullptr" for _ in source.arguments)
    caller = f"int main() {{ return int({source.namespace}::{source.launcher}({pointers})); }}\n"
    (tmp_path / "kernel.cu").write_text(source.text + caller)
    command = [
        "nvcc",
        "-std=c++17",
        f"-arch={arch}",
        "-Werror",
        "all-warnings",
        "-Xcompiler",
        "-Wall",
        "-c",
        "kernel.cu",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- the text itself -------------------------------------------------------------------------------------------


def test_the_golden_conv1d() -> None:
    """The running example's file, to the letter; the tests around it check what it means."""
    source = print_cuda(optimize(conv1d()), PROVENANCE)
    assert source.text == (GOLDEN / "conv1d.cu").read_text()
    assert (source.name, source.entry, source.launcher) == ("conv1d", "conv1d", "launch_conv1d")
    assert source.arguments == ("x", "w", "y")
    assert (source.block, source.grid) == ((64, 1, 1), (2, 1, 1))


@needs_gcc
def test_the_golden_conv1d_convolves() -> None:
    """The file's own text, run on the CPU, gives NumPy's convolution."""
    arrays = arrays_for(conv1d(), seed=3)
    x, w, y = arrays["x"], arrays["w"], np.zeros(128, np.float32)
    emulate((GOLDEN / "conv1d.cu").read_text(), "swizzle_conv1d::conv1d", (2, 1, 1), (64, 1, 1), [x, w, y])
    np.testing.assert_allclose(y, np.correlate(x, w, "valid"), rtol=1e-6)


def body_of(*stmts: ir.Stmt, parameters: Any = ()) -> list[str]:
    """Return the lines of the kernel's body, without their indent."""
    lines = print_cuda(kernel("k", [parameter("p", 64, role="out"), *parameters], stmts)).text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith("// out f32[64]") or ") {" in line)
    while not lines[start].split("  //")[0].endswith("{"):
        start += 1
    return [line.strip() for line in lines[start + 1 : lines.index("}", start)]]


def test_a_name_is_constant_where_it_is_assigned_once() -> None:
    """One assignment is a const declaration, two are a variable, none that is read is marked unused."""
    lines = body_of(
        assign("a", where("laneid")), assign("b", op("+", "a", 1)), assign("b", op("*", "b", 2)), assign("c", var("b"))
    )
    assert lines == [
        "const int a = int(threadIdx.x % 32);",
        "int b = a + 1;",
        "b = b * 2;",
        "[[maybe_unused]] const int c = b;",
    ]


def test_a_coordinate_used_twice_has_a_name() -> None:
    """The program's own where it gives one before any other use, else one of ours."""
    lane, cell = where("laneid"), lambda place: store("p", place, data(1.0))
    assert body_of(assign("me", lane), cell("me"), cell(op("+", lane, 1))) == [
        "const int me = int(threadIdx.x % 32);",
        "p[me] = 1.0f;",
        "p[me + 1] = 1.0f;",
    ]
    for late in ([cell(lane), assign("me", lane)], [assign("me", lane), cell("me"), assign("me", num(0)), cell(lane)]):
        assert body_of(*late)[0] == "const int lane_id = int(threadIdx.x % 32);"
    assert "lane_id" not in " ".join(body_of(cell(lane)))


def test_a_name_that_outlives_its_block_is_declared_outside() -> None:
    """Before the branch that assigns it; before all loops when an iteration may read the one before."""
    branched = body_of(
        branch(op("<", where("laneid"), 3), [assign("v", 1)], [assign("v", 2)]), store("p", "v", data(1.0))
    )
    assert branched[0] == "int v = 0;"
    inner = [accumulator("s", shape=(2,)), array("t", 3), store("t", 0, data(1.0))]
    arrays = body_of(loop("i", 3, *inner), store("p", 0, op("+", total("s", 0), load("t", 0))))
    assert arrays[:3] == ["float s[2];", "float t[3];", "for (int i = 0; i < 3; ++i) {"]
    looped = body_of(loop("k", 3, branch(op("==", "k", 0), [assign("v", 1)]), store("p", "v", data(1.0))))
    assert looped[:2] == ["int v = 0;", "for (int k_2 = 0; k_2 < 3; ++k_2) {"]
    inside = body_of(loop("k", 3, assign("v", "k"), store("p", "v", data(1.0))))
    assert inside[:2] == ["for (int k_2 = 0; k_2 < 3; ++k_2) {", "const int v = k_2;"]


def test_accumulators_start_at_the_identity() -> None:
    """Of every outer operator and type; a final function is written out where the value is read."""
    square = ir.Final("s", op("*", var("s", F32), var("s", F32)))
    lines = body_of(
        accumulator("a", "*"), accumulator("b", "min", None, final=square),
        accumulator("c", "max", None, dtype=DType.I32),
        accumulator("d", "&", None, dtype=DType.U64), accumulator("e", "+", init=2.5, shape=(2, 3)),
        accumulate("b", data(1.0)), accumulate("e", data(2.0), data(3.0), at=[1, 2], when=op("<", where("laneid"), 3)),
        accumulate("b", data(7.0), when=ir.Const(False, DType.BOOL, HERE)),
        accumulate("b", data(8.0), when=ir.Const(True, DType.BOOL, HERE)),
        store("p", 0, op("+", total("b"), total("a"))),
        store("p", 1, ir.Cast(total("c", dtype=DType.I32), F32, HERE)),
        store("p", 1, ir.Cast(total("d", dtype=DType.U64), F32, HERE)),
        store("p", 2, total("e", 0, 0)),
    )  # fmt: skip
    assert lines == [
        "float a = 1.0f;",
        "float b = __int_as_float(0x7f800000);",
        "int c = (-2147483647 - 1);",
        "unsigned long long d = 18446744073709551615ull;",
        "float e[2][3];",
        "#pragma unroll",
        "for (int e_i = 0; e_i < 2; ++e_i) {",
        "#pragma unroll",
        "for (int e_j = 0; e_j < 3; ++e_j) {",
        "e[e_i][e_j] = 2.5f;",
        "}",
        "}",
        "b = fminf(b, 1.0f);",
        "if (int(threadIdx.x % 32) < 3) e[1][2] += 2.0f * 3.0f;",
        "b = fminf(b, 8.0f);",
        "p[0] = b * b + a;",
        "p[1] = float(c);",
        "p[1] = float(d);",
        "p[2] = e[0][0];",
    ]


def test_provenance_cannot_leave_its_comment() -> None:
    """Newlines start new comment lines; a backslash at the end does not swallow the next line."""
    text = print_cuda(kernel("k", [], []), ["first\nsecond", "path\\", ""]).text
    assert text.startswith("// SPDX-License-Identifier: MIT-0\n// first\n// second\n// path\\ .\n")


def test_only_half_precision_needs_a_header() -> None:
    """NVRTC has no headers, so none is included without need."""
    assert "#include" not in print_cuda(EXAMPLES["arithmetic_f32"]).text
    assert print_cuda(EXAMPLES["arithmetic_f16"]).text.count("#include <cuda_fp16.h>") == 1


def test_names_are_legal_in_cpp() -> None:
    """Keywords, CUDA's names, leading underscores, other alphabets and the C library's functions are avoided."""
    program = kernel(
        "index",
        [parameter("float", 64), parameter("threadIdx", 64, role="out")],
        [assign("größe", 3), assign("_new", op("+", "größe", 1)), assign("min", op("*", "_new", 2)),
         assign("stream", op("-", "min", "größe")), store("threadIdx", "stream", load("float", "stream"))],
    )  # fmt: skip
    source = print_cuda(program)
    assert source.entry == "index_kernel"
    assert source.arguments == ("float", "threadIdx")
    for name in ("float_", "threadIdx_", "v_new", "min_", "stream_"):
        assert name in source.text
    assert source.text.isascii()
    if available_tools():
        compile_cuda(source.text)


def test_a_range_is_evaluated_once() -> None:
    """A bound that the body changes is fixed before the loop; it grows beyond what the ranges can tell from an int."""
    lines = body_of(assign("n", 3), loop("i", "n", assign("n", op("+", "n", "i"))), store("p", "n", data(1.0)))
    assert lines[1:3] == ["const long long i_stop = n;", "for (int i = 0; i < i_stop; ++i) {"]


def test_a_shuffle_out_of_range_reads_its_own_lane() -> None:
    """A delta that may leave the warp is not left to the hardware, which would wrap it."""
    safe = body_of(assign("v", shuffle(data(1.0), 31, "up")), store("p", 0, var("v", F32)))
    assert safe[0] == "const float v = __shfl_up_sync(0xffffffffu, 1.0f, 31);"
    far = body_of(assign("v", shuffle(data(1.0), 40, "up")), store("p", 0, var("v", F32)))
    assert "? lane_id - 40 : lane_id)" in " ".join(far)
    assert "__shfl_up_sync" not in " ".join(far)


def test_shared_arrays_keep_their_dimensions() -> None:
    """Shared and local arrays are C arrays, parameters are flat."""
    lines = body_of(
        array("s", 4, 5, memory="shared"), store("s", 1, 2, load("q", 3, 4)), store("p", 0, load("s", 1, 2)),
        parameters=[parameter("q", 7, 9)],
    )  # fmt: skip
    assert lines == ["__shared__ float s[4][5];", "s[1][2] = q[3 * 9 + 4];", "p[0] = s[1][2];"]


# ---- mistakes --------------------------------------------------------------------------------------------------


def test_a_loop_variable_read_after_its_loop_is_an_error() -> None:
    """C++ has no such variable."""
    program = kernel("k", [parameter("p", 64, role="out")], [loop("k", 3), store("p", "k", data(1.0))])
    with pytest.raises(SwizzleError) as error:
        print_cuda(program)
    assert str(error.value) == (
        "test.py:1:1: error: 'k' is read where nothing assigns it\n"
        "  expected: a variable, array or accumulator of this kernel; a loop variable lives only inside its loop\n"
        "  fix: assign 'k' before it is read"
    )


def test_a_step_of_unknown_sign_is_an_error() -> None:
    """Neither `<` nor `>` would be right."""
    with pytest.raises(SwizzleError, match="the loop's step may be positive or negative"):
        body_of(loop("k", 3, step=op("-", where("blockIdx"), 1)))


def test_two_arrays_of_one_name_must_agree() -> None:
    """A second declaration with another shape is refused at its place."""
    with pytest.raises(SwizzleError, match="'a' is declared twice"):
        body_of(array("a", 2), array("a", 3))


def test_a_sketch_is_not_printed() -> None:
    """Holes must be filled first."""
    sketch = ir.Program("k", (), (), (ir.Hole("h", "part", 2, (), HERE),), (32, 1, 1), (1, 1, 1), 32, HERE)
    with pytest.raises(AssertionError, match="without holes"):
        print_cuda(sketch)
