"""Translation validation: equal for what is right, with evidence for what is wrong, unknown for what is not known."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from msgspec.structs import replace

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import KIND_OF, untyped
from cuda_out.ptx.running.arguments import LaunchArray
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.run import interpret, kernel_of, launch_shape
from cuda_out.ptx.running.validate import validate
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType, Parameter, Program
from tests.cuda_out.build import HERE
from tests.cuda_out.examples import EXAMPLES, conv1d
from tests.cuda_out.ptx.instructions.evaluate import Evaluated
from tests.cuda_out.ptx.kernels import compiled, machine_terms
from tests.cuda_out.random_programs import RandomKernel

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

# Data that steers: floor_div and fmod of data branch or test it.
DIVIDES = ("arithmetic_f16", "arithmetic_f32", "arithmetic_f64", "arithmetic_i64", "arithmetic_u64")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in DIVIDES])
def test_examples_are_what_the_machine_says(name: str) -> None:
    """What the compiler made of a printed kernel gives the machine's terms, for all inputs."""
    program, terms = EXAMPLES[name], Terms()
    source, ptx = compiled(program, "sm_75" if len(name) % 2 else "sm_100")
    found = validate(program, ptx, source.entry, machine_terms(program, terms), terms)
    assert (found.verdict, found.findings) == ("equal", ())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", DIVIDES)
def test_data_that_is_divided_is_not_called_wrong_for_certain(name: str) -> None:
    """A quotient is a branch on data, or another term: never equal by mistake, never undefined."""
    program, terms = EXAMPLES[name], Terms()
    source, ptx = compiled(program)
    found = validate(program, ptx, source.entry, machine_terms(program, terms), terms)
    assert found.verdict in ("unknown", "different") and not found.broken
    assert found.verdict == "different" or "depends on data" in found.findings[0]


@pytest.mark.parametrize("seed", range(5))
def test_terms_of_random_kernels_have_the_values_of_the_run(seed: int) -> None:
    """A symbolic run, its terms evaluated, is the concrete run: every instruction has one meaning in both."""
    program = RandomKernel(900 + seed).program()
    source, ptx = compiled(program)
    rng, terms = np.random.default_rng(seed), Terms()
    data = {p.name: rng.integers(-9, 9, p.shape).astype(np.int32) for p in program.parameters}
    given = []
    for p in program.parameters:
        atoms = [terms.atom(p.name, i) for i in range(prod(p.shape))]
        bits = untyped(data[p.name].reshape(-1), KIND_OF[p.dtype])
        given.append(
            LaunchArray(p.name, "s32", bits, np.array(atoms) if p.role == "in" else np.zeros(len(atoms), np.int64),
                     True, p.role == "out")
        )  # fmt: skip
    machine = PtxMachine(
        kernel_of(ptx, source.entry), launch_shape(source.grid, source.block), given,
        Notes(Normal(terms, {"x": "s32"})),
    )  # fmt: skip
    machine.run()
    arrays = [data[name].copy() for name in source.arguments]
    interpret(ptx, source.entry, source.grid, source.block, arrays)
    value, (bits, found) = Evaluated(terms, data), machine.contents("y")
    wanted = untyped(arrays[1].reshape(-1), "s32")
    for cell, want in enumerate(wanted.tolist()):
        term = int(found[cell])
        assert (value.value(term) if term else int(bits[cell])) == want, (cell, terms.show(term))


@pytest.mark.parametrize("seed", range(4))
def test_random_kernels_are_what_the_machine_says(seed: int) -> None:
    """Where no data is divided, random kernels are equal too; where it is, at worst not shown equal."""
    program, terms = RandomKernel(700 + seed).program(), Terms()
    source, ptx = compiled(program)
    wanted = machine_terms(program, terms)
    found = validate(program, ptx, source.entry, wanted, terms)
    divides = any(op == "//" for op, _ in terms.nodes)
    assert found.verdict == "equal" or (divides and not found.broken), found.findings


def altered(program: Program, old: str, new: str) -> tuple[str, tuple[str, ...]]:
    """Validate a printed text with one change."""
    source, _ = compiled(program)
    assert old in source.text
    terms = Terms()
    ptx = compile_to_ptx(source.text.replace(old, new, 1))
    wanted = machine_terms(program, terms)
    found = validate(program, ptx, source.entry, wanted, terms, alignment=source.alignment)
    return found.verdict, found.findings


def test_a_mismatch_names_everything() -> None:
    """The output, what it is and should be, who stored it with which instruction."""
    verdict, findings = altered(conv1d(), "w[k]", "w[0]")
    assert verdict == "different" and len(findings) == 3
    assert re.fullmatch(
        r"y\[0\] is w\[0\]\*x\[0\] \+ w\[0\]\*x\[1\] \+ w\[0\]\*x\[2\], "
        r"the specification says w\[0\]\*x\[0\] \+ w\[1\]\*x\[1\] \+ w\[2\]\*x\[2\] "
        r"\(stored by block \(0, 0, 0\), thread \(0, 0, 0\), lane 0, line \d+: st\.global\.\w+ \[%rd\d+\], %\w+\)",
        findings[0],
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("y[i] = out;", "if (i > 3) y[i] = out;", r"y\[0\] is never written, .* \(no thread stores it\)"),
        ("y[i] = out;", "y[i + 1] = out;", r"writes y\[128\], out of bounds"),
        ("0xffffffffu", "1u", "not in its own mask"),
        ("y[i] = out;", "y[i] = out; if (i == 3) y[5] = 0.0f;", r"race on y\[5\]"),
        ("out += v * w[k];", "out += v * __int_as_float(__float_as_int(w[k]) + k);", r"float\.32\(1 \+ bits32\(w\[1\]"),
        ("y[i] = out;", "y[i] = out * 1.0001f;", "1.00"),
    ],
)
def test_defects_are_found(old: str, new: str, complaint: str) -> None:
    """Lost, misplaced, raced, reinterpreted and slightly scaled outputs."""
    verdict, findings = altered(conv1d(), old, new)
    assert verdict == "different" and re.search(complaint, findings[0]), findings


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out += v * w[k];", "out = fmaf(w[k], v, out);"),
        ("out += v * w[k];", "out -= -v * w[k];"),
        ("y[i] = out;", "y[i] = 2.0f * out - out;"),
        ("y[i] = out;", "if (y != nullptr) y[i] = out;"),
        ("y[i] = out;", "float s = out; for (const float* p = w; p != w + i % 3; ++p) s += *p - *p; y[i] = s;"),
    ],
)
def test_the_laws_of_real_numbers_are_no_difference(old: str, new: str) -> None:
    """Contraction, signs, collected terms."""
    assert altered(conv1d(), old, new)[0] == "equal"


TWO = "y[i] = out + (two.x - two.x) + (two.y - two.y);"


@pytest.mark.parametrize(
    ("new", "verdict", "complaint"),
    [
        ("if (((unsigned long long)y & 8) == 0) y[i] = out;", "unknown", "and of the address of y"),
        ("if ((const void*)x < (const void*)y) y[i] = out;", "unknown", "setp.* of the address of"),
        ("if (x != w) y[i] = out;", "unknown", "setp.* of the address of"),
        ("if ((unsigned long long)(y - x) != 4) y[i] = out;", "unknown", "sub of the address of x|y"),
        ("if ((unsigned long long)y != 1ull << 50) y[i] = out;", "unknown", "setp.* of the address of y"),
        ("if ((unsigned)(unsigned long long)y != 4) y[i] = out;", "unknown", "cvt.u32.u64 of the address of y"),
        ('unsigned a, b; asm("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(y)); if (b) y[i] = out;',
         "unknown", "a part of an array's address"),
        (f"const float2 two = *reinterpret_cast<const float2*>(&x[i & ~1]); {TWO}", "different", "x at once, .* to 4"),
        (f"__shared__ float t[64]; t[i % 64] = inp[0]; __syncthreads(); "
         f"const float2 two = *reinterpret_cast<const float2*>(&t[lane & ~1]); {TWO}", "different", "at once, .* to 4"),
    ],
)  # fmt: skip
def test_where_arrays_stand_is_not_known(new: str, verdict: str, complaint: str) -> None:
    """A text that asks what number an address is, or moves more bytes at once than it is a multiple of."""
    found, findings = altered(conv1d(), "y[i] = out;", new)
    assert found == verdict and re.search(complaint, findings[0]), findings


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("__int_as_float(__float_as_int(s))", "equal"),
        ("__int_as_float(__float_as_int(s) ^ __float_as_int(r) ^ __float_as_int(r))", "equal"),
        ("__int_as_float(__float_as_int(s) ^ __float_as_int(r) ^ __float_as_int(t))", "different"),
        ("__int_as_float(__float_as_int(s) + (__float_as_int(r) == __float_as_int(t)))", "different"),
        ("__int_as_float(__float_as_int(s) + __float_as_int(r) - __float_as_int(t))", "different"),
        ("s + (r - t)", "equal"),
    ],
)
def test_equal_reals_are_not_equal_bits(words: str, verdict: str) -> None:
    """Where bits go on as integers, a sum in another order is another number."""
    text = (
        'extern "C" __global__ void k(const float* x, float* y) {\n  const float* a = x + threadIdx.x;\n'
        f"  const float s = a[0], r = (a[0] + a[1]) + a[2], t = a[0] + (a[1] + a[2]);\n"
        f"  y[threadIdx.x] = {words};\n}}\n"
    )
    parameters = (Parameter("x", DType.F32, (34,), "in", HERE), Parameter("y", DType.F32, (32,), "out", HERE))
    program, terms = Program("k", parameters, (), (), (32, 1, 1), (1, 1, 1), 32, HERE), Terms()
    wanted = {"y": [terms.atom("x", i) for i in range(32)]}
    assert validate(program, compile_to_ptx(text), "k", wanted, terms).verdict == verdict


C_NAMES = {
    DType.I32: "int", DType.U32: "unsigned", DType.I64: "long long", DType.U64: "unsigned long long",
    DType.F32: "float", DType.F64: "double", DType.F16: "__half",
}  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", C_NAMES, ids=lambda dtype: dtype.value)
@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("min", "a < b ? a : b"), ("min", "a <= b ? a : b"), ("min", "b < a ? b : a"), ("min", "!(b < a) ? a : b"),
        ("max", "a > b ? a : b"), ("max", "a < b ? b : a"), ("max", "a >= b ? a : b"),
    ],
)  # fmt: skip
def test_extremes_by_comparison_are_recognised(dtype: DType, op: str, words: str) -> None:
    """`setp` and `selp`, of floats and integers, with the comparison turned round; and not the other one."""
    half, name = "#include <cuda_fp16.h>\n" if dtype is DType.F16 else "", C_NAMES[dtype]
    text = (
        f'{half}extern "C" __global__ void k(const {name}* x, {name}* y) {{\n'
        f"  const {name} a = x[threadIdx.x], b = x[threadIdx.x + 32];\n  y[threadIdx.x] = {words};\n}}\n"
    )
    parameters = (Parameter("x", dtype, (64,), "in", HERE), Parameter("y", dtype, (32,), "out", HERE))
    program = Program("k", parameters, (), (), (32, 1, 1), (1, 1, 1), 32, HERE)
    ptx = compile_to_ptx(text, "sm_75" if op == "min" else "sm_100")
    for wanted in ("min", "max"):
        terms = Terms()
        pairs = [terms.apply(wanted, (terms.atom("x", i), terms.atom("x", i + 32))) for i in range(32)]
        assert (validate(program, ptx, "k", {"y": pairs}, terms).verdict == "equal") == (wanted == op)


@pytest.mark.parametrize(
    ("given", "result", "words", "verdict"),
    [
        (DType.F64, DType.F64, "(double)(float)a", "different"),
        (DType.F64, DType.F64, "a + ((double)(float)b - b)", "different"),
        (DType.F64, DType.F32, "a < b ? (float)a : (float)a", "equal"),
        (DType.F64, DType.F32, "(float)(a - (float)b) + (float)b", "different"),
        (DType.F32, DType.F64, "(double)(float)((double)a + (double)b) - b", "different"),  # what f32 computes
        (DType.F32, DType.F64, "(double)(float)((double)a * b + (double)b) - ((double)a * b + b) + a", "different"),
        (DType.F32, DType.F32, "(float)fmin((double)a, fmax((double)b, (double)a))", "different"),
        (DType.F32, DType.F32, "(float)(double)a", "equal"),
        (DType.F32, DType.F32, "__half2float(__float2half(a))", "different"),
        (DType.F32, DType.F32, "__bfloat162float(__float2bfloat16(a))", "different"),
        (DType.F16, DType.F32, "__half2float(__float2half(__half2float(a)))", "equal"),
        (
            DType.F16,
            DType.F32,
            "__half2float(__float2half(__half2float(a) + __half2float(b))) - __half2float(b)",
            "different",
        ),
        (DType.I32, DType.F64, "(double)(float)a", "different"),
        (DType.I32, DType.F32, "(float)(double)a", "equal"),
        (
            DType.I32,
            DType.F64,
            "(double)(a & 0xffff0000) + (double)(float)(a & 65535) - (double)(a & 0xffff0000) - "
            "(double)(a & 65535) + (double)a",
            "equal",
        ),
        (DType.I16, DType.F64, "(double)(float)a", "equal"),
    ],
)
def test_a_number_that_is_rounded_on_the_way_is_another_one(
    given: DType, result: DType, words: str, verdict: str
) -> None:
    """Conversions to fewer bits are functions: not of numbers that have no more, nor of what f32 computes anyway, nor
    where an output rounds in the end."""
    names = {**C_NAMES, DType.I16: "short"}
    text = (
        ("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n" if "half" in words or "bf" in words else "")
        + f'extern "C" __global__ void k(const {names[given]}* x, {names[result]}* y) {{\n'
        f"  const {names[given]} a = x[threadIdx.x], b = x[threadIdx.x + 32];\n  y[threadIdx.x] = {words};\n}}\n"
    )
    parameters = (Parameter("x", given, (64,), "in", HERE), Parameter("y", result, (32,), "out", HERE))
    program, terms = Program("k", parameters, (), (), (32, 1, 1), (1, 1, 1), 32, HERE), Terms()
    wanted = {"y": [terms.atom("x", i) for i in range(32)]}
    found = validate(program, compile_to_ptx(with_opaque_calls(text), "sm_80"), "k", wanted, terms)
    assert found.verdict == verdict, found.findings


def test_a_loop_that_data_ends_is_not_known() -> None:
    """The verdict is 'unknown', with the instruction."""
    verdict, (finding,) = altered(conv1d(), "y[i] = out;", "while (out > 1.0f) out *= 0.5f; y[i] = out;")
    assert verdict == "unknown"
    assert re.search(r"not interpreted: line \d+: @%p\d+ bra .*a loop whose end depends on data", finding)


def test_another_signature_is_not_known() -> None:
    """A kernel that takes more than the program's parameters needs their values."""
    program, terms = conv1d(), Terms()
    source, _ = compiled(program)
    text = source.text.replace("__restrict__ y)", "__restrict__ y, long long n)").replace("y[i] =", "if (i < n) y[i] =")
    wanted, ptx = machine_terms(program, terms), compile_to_ptx(text)
    assert "with 3 arguments: it takes 4" in validate(program, ptx, source.entry, wanted, terms).findings[0]
    assert validate(program, ptx, source.entry, wanted, terms, scalars=[128]).verdict == "equal"
    assert validate(program, ptx, source.entry, wanted, terms, scalars=[127]).verdict == "different"
    wider = replace(program, grid=(1, 1, 1))
    assert "y[64] is never written" in validate(wider, ptx, source.entry, wanted, terms, scalars=[128]).findings[0]
