"""CUDA that computes something else than its specification, although real numbers do not tell: never 'equal'."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import Validation, validate
from symbolic.algebra.datum import Datum, symbolic_input
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType, Parameter, Program
from tests.cuda_out.build import HERE

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

C_NAMES = {DType.F16: "__half", DType.F32: "float", DType.F64: "double", DType.I32: "int"}
INF, NAN = "__int_as_float(0x7f800000)", "__int_as_float(0x7fffffff)"


def verdict(
    body: str, spec: Callable[..., Any], given: DType = DType.F32, result: DType = DType.F32, before: str = "",
    arch: str = "sm_80", pointer: str = "",
) -> Validation:  # fmt: skip
    """Validate a kernel of one block of 32 threads with arrays x and z of 32 elements; `spec` gives an element of y.

    `pointer` is what the PTX says of the parameter x.
    """
    arrays = f"const {C_NAMES[given]}* x, const {C_NAMES[given]}* z, {C_NAMES[result]}* y"
    text = (
        f"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n{before}\n"
        f'extern "C" __global__ void k({arrays}) {{ int i = threadIdx.x; {body} }}\n'
    )
    parameters = (
        Parameter("x", given, (32,), "in", HERE),
        Parameter("z", given, (32,), "in", HERE),
        Parameter("y", result, (32,), "out", HERE),
    )
    program, terms = Program("k", parameters, (), (), (32, 1, 1), (1, 1, 1), 32, HERE), Terms()
    terms.types = {"x": given, "z": given}
    x, z = (symbolic_input(terms, name, (32,)) for name in "xz")
    said = [spec(x, z, i) for i in range(32)]
    wanted = {"y": [each.term if isinstance(each, Datum) else terms.const(each) for each in said]}
    made = compile_to_ptx(with_opaque_calls(text), arch)
    ptx = re.sub(r"(\.param \.u64) .*(k_param_0)", rf"\1 {pointer} \2", made, count=1)
    return validate(program, ptx, "k", wanted, terms, alignment=(1, 1, 1) if pointer else None)


def element(x: Any, z: Any, i: int) -> Any:
    return x[i]


def total(x: Any, z: Any, i: int) -> Any:
    return sum(x[k] for k in range(1, 32)) + x[0]


def largest(x: Any, z: Any, i: int) -> Any:
    return x[i].reduce_with("max", z[i])


@pytest.mark.parametrize("given", [DType.F16, DType.F32, DType.F64])
@pytest.mark.parametrize("promised", [0, 1, 2, 4, 8, 16])
def test_an_address_is_a_multiple_of_no_more_than_its_elements_are(given: DType, promised: int) -> None:
    """What PTX says of a pointer is what compilers build on: without a number it is 4 bytes."""
    align = f".align {promised}" if promised else ""
    found = verdict("y[i] = x[i];", element, given, given, pointer=f".ptr .global {align}")
    right = (promised or 4) <= {DType.F16: 2, DType.F32: 4, DType.F64: 8}[given]
    assert found.verdict == ("equal" if right else "unknown"), found
    assert right or "said to be a multiple of" in found.findings[0]


@pytest.mark.parametrize(("threads", "bounds"), [(256, ""), (257, ""), (512, ""), (512, "__launch_bounds__(512)")])
def test_a_large_block_says_how_large_it_is(threads: int, bounds: str) -> None:
    """Else a compiler may give each thread more registers than there are for all, and the launch fails."""
    shape, terms = (threads,), Terms()
    parameters = (Parameter("x", DType.I32, shape, "in", HERE), Parameter("y", DType.I32, shape, "out", HERE))
    program = Program("k", parameters, (), (), (threads, 1, 1), (1, 1, 1), 32, HERE)
    ptx = compile_to_ptx(
        f'extern "C" __global__ void {bounds} k(const int* x, int* y) {{ y[threadIdx.x] = x[threadIdx.x]; }}'
    )
    wanted = {"y": [terms.atom("x", i) for i in range(threads)]}
    found = validate(program, ptx, "k", wanted, terms)
    assert found.verdict == ("equal" if bounds or threads == 256 else "unknown"), found


@pytest.mark.parametrize("body", [
    f"y[i] = (x[i] + {INF}) - {INF};",
    f"y[i] = x[i] + (x[i] * 0.f) * {INF};",
    f"y[i] = x[i] + 0.f * (x[i] * {INF});",
    f"float q = x[i] * {NAN}; y[i] = x[i] + q - q;",
    f"float m = fmaxf(x[i], {INF}); y[i] = x[i] + (m - m);",
    f"float m = fminf(x[i], -{INF}); y[i] = x[i] + (m - m);",
    f"float m = fmaxf(x[i], z[i] * {INF}); y[i] = x[i] + (m - m);",
    f"float m = fmaxf(x[i] * {INF}, -{INF}); y[i] = x[i] + (m - x[i] * {INF});",
    f"float q = fabsf(x[i]) < 1.f ? {INF} : x[i]; y[i] = x[i] + (q - q);",
    f"float q = x[i] * {INF}; y[i] = q == q ? x[i] : 0.f;",
    f"float q = x[i] * {NAN}; y[i] = !(q < 0.f) ? x[i] : 0.f;",
    f"float q = x[i] * {INF} - z[i] * {INF}; y[i] = isnan(q) ? 0.f : x[i];",
    "float q = x[i] / 0.f; y[i] = x[i] + (q - q);",
    f"float q = 1.f / ({INF} * z[i]); y[i] = x[i] + (q - q);",
    f"float q = expf(x[i] * {INF}); y[i] = x[i] + (q - q);",
    "float h = __half2float(__float2half(1e6f)) * z[i]; y[i] = x[i] + (h - h);",
])  # fmt: skip
def test_infinities_and_nan_do_not_cancel(body: str) -> None:
    assert verdict(body, element).verdict != "equal"


@pytest.mark.parametrize(("body", "spec"), [
    (f"float m = -{INF}; m = fmaxf(m, x[i]); y[i] = fmaxf(m, z[i]);", largest),
    (f"float m = -{INF}; if (x[i] > m) m = x[i]; if (z[i] > m) m = z[i]; y[i] = m;", largest),
    (f"y[i] = fminf(x[i], {INF});", element),
    (f"y[i] = fmaxf(-fminf({INF}, -x[i]), z[i]);", largest),
])  # fmt: skip
def test_what_extremes_start_from_changes_nothing(body: str, spec: Callable[..., Any]) -> None:
    assert verdict(body, spec).verdict == "equal"


HALF_SUMS = [
    "__half s = __float2half(0.f); for (int k = 0; k < 32; ++k) s = __hadd(s, {load}); y[i] = {stored};",
    "__half s = {load0}; for (int k = 1; k < 32; ++k) s = __hadd(s, {load}); y[i] = {stored};",
    "__half s = {load0}; for (int k = 1; k < 32; ++k) s = __hfma({load}, __float2half(1.f), s); y[i] = {stored};",
    "float s = 0.f; for (int k = 0; k < 32; ++k) s = __half2float(__float2half(s + __half2float({load}))); y[i] = s;",
]


@pytest.mark.parametrize("body", HALF_SUMS)
@pytest.mark.parametrize("given", [DType.F16, DType.F32])
def test_a_sum_in_half_precision_is_no_sum_in_single_precision(body: str, given: DType) -> None:
    load = "x[{}]" if given is DType.F16 else "__float2half(x[{}])"
    text = body.format(load=load.format("k"), load0=load.format(0), stored="__half2float(s)")
    assert verdict(text, total, given).verdict != "equal"


@pytest.mark.parametrize("body", HALF_SUMS[:3])
def test_a_sum_in_half_precision_is_one_where_halves_are_said(body: str) -> None:
    """It is a real number within its type, and rounds where it leaves it, as the specification says."""
    text = body.format(load="x[k]", load0="x[0]", stored="__half2float(s)")
    as_said = lambda x, z, i: total(x, z, i).converted_to(DType.F32)  # noqa: E731
    assert verdict(text, as_said, DType.F16).verdict == "equal"
    assert verdict(text.replace("__half2float(s)", "s"), total, DType.F16, DType.F16).verdict == "equal"


def rounded_square(x: Any, z: Any, i: int) -> Any:
    wide = x[i].converted_to(DType.F32)
    return (wide * wide).converted_to(DType.F16).converted_to(DType.F32) * z[i].converted_to(DType.F32)


def unrounded_square(x: Any, z: Any, i: int) -> Any:
    return x[i] * x[i] * z[i]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("body", "spec", "equal"), [
    ("y[i] = f(h(f(x[i]) * f(x[i]))) * f(z[i]);", rounded_square, True),
    ("y[i] = f(__hmul(x[i], x[i])) * f(z[i]);", rounded_square, True),
    ("y[i] = f(x[i]) * f(x[i]) * f(z[i]);", rounded_square, False),
    ("y[i] = f(x[i]) * f(x[i]) * f(z[i]);", unrounded_square, True),
    ("y[i] = f(h(f(x[i]) * f(x[i]))) * f(z[i]);", unrounded_square, False),
    ("y[i] = f(__hmul(x[i], x[i])) * f(z[i]);", unrounded_square, False),
    ("y[i] = f(__hmul(__hmul(x[i], x[i]), z[i]));", unrounded_square, False),
    ("y[i] = f(__hmul(__hmul(x[i], x[i]), z[i]));", rounded_square, False),
])  # fmt: skip
@pytest.mark.parametrize("arch", ["sm_75", "sm_100"])
def test_an_intermediate_value_that_rounds_is_another_one(
    body: str, spec: Callable[..., Any], equal: bool, arch: str
) -> None:
    before = "#define f(a) __half2float(a)\n#define h(a) __float2half(a)"
    assert (verdict(body, spec, DType.F16, DType.F32, before, arch).verdict == "equal") == equal


@pytest.mark.parametrize(("body", "equal"), [
    ("y[i] = (double)(x[i] + z[i]);", False),
    ("y[i] = (double)x[i] + (double)z[i];", True),
    ("y[i] = (double)(x[i] * z[i]) + 0.0;", False),
])  # fmt: skip
def test_a_sum_in_single_precision_is_none_in_double_precision(body: str, equal: bool) -> None:
    spec = lambda x, z, i: x[i] + z[i]  # noqa: E731
    assert (verdict(body, spec, DType.F32, DType.F64).verdict == "equal") == equal


@pytest.mark.parametrize(("before", "body", "equal"), [
    ("__constant__ float c[4];", "y[i] = x[i] + c[0];", False),
    ("__constant__ float c[4];", "y[i] = x[i] + c[i & 3] * z[i];", False),
    ("static __constant__ float c;", "y[i] = x[i] + c;", False),
    ("__device__ float c;", "y[i] = x[i] + c;", False),
    ("__device__ int c;", "y[i] = x[i + c];", False),
    ("__device__ int c;", "y[i] = c ? z[i] : x[i];", False),
    ("__constant__ unsigned char c[4];", "y[i] = x[i + c[3]];", False),
    ("__constant__ float c;", "y[i] = x[i] + c - c;", True),
    ("static __constant__ const float c[2] = {0.f, 1.f};", "y[i] = x[i] + c[0];", True),
    ("static __constant__ const int c[4] = {1, 0, 3, 2};", "y[i] = x[c[c[i & 3]] | i & 28];", True),
])  # fmt: skip
def test_what_the_host_may_set_is_not_zero(before: str, body: str, equal: bool) -> None:
    assert (verdict(body, element, before=before).verdict == "equal") == equal


@pytest.mark.parametrize(("words", "equal"), [(12288, True), (12289, False), (20000, False)])
def test_more_static_shared_memory_than_ptxas_takes_is_refused(words: int, equal: bool) -> None:
    body = f"__shared__ float s[{words}]; s[i + {words - 32}] = x[i]; y[i] = s[i + {words - 32}];"
    found = verdict(body, element)
    assert (found.verdict == "equal") == equal
    if not equal:
        assert f"{4 * words} bytes of static shared memory: ptxas allows 49152" in found.findings[0]
    halves = f"__shared__ volatile float s[{words // 2}], t[{words - words // 2}];"
    body = f"{halves} s[i] = x[i]; t[i] = z[i]; y[i] = s[i] + t[i] - z[i];"
    assert (verdict(body, element).verdict == "equal") == equal


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("given", "body", "number", "equal"), [
    (DType.F32, "y[i] = 0.5f * x[i];", 0.5, True),
    (DType.F32, "y[i] = 0.49999997f * x[i];", 0.5, False),
    (DType.F32, "y[i] = 0.50000006f * x[i];", 0.5, False),
    (DType.F32, "y[i] = x[i] + 0.49999997f - 0.5f + 0.5f * x[i] - 0.5f * x[i];", 1, False),
    (DType.F32, "y[i] = 0.1f * x[i];", 0.1, True),
    (DType.F32, "y[i] = 0.10000001f * x[i];", 0.1, False),
    (DType.F32, "y[i] = 0.09999999f * x[i];", 0.1, False),
    (DType.F32, "y[i] = 0.11111111f * x[i];", 1 / 9, True),
    (DType.F32, "y[i] = 0.111111104f * x[i];", 1 / 9, False),
    (DType.F32, "y[i] = fmaf(0.5f, x[i], 1e-9f * z[i]);", 0.5, False),
    (DType.F16, "y[i] = __hmul(__float2half(0.1f), x[i]);", 0.1, True),
    (DType.F16, "y[i] = __float2half(0.1f * __half2float(x[i]));", 0.1, True),
    (DType.F16, "y[i] = __float2half(0.49999997f * __half2float(x[i]));", 0.5, False),
    (DType.F16, "y[i] = __float2half(0.4999f * __half2float(x[i]));", 0.5, False),
    (DType.F16, "y[i] = __float2half(0.09999f * __half2float(x[i]));", 0.1, False),
    (DType.F64, "y[i] = 0.1 * x[i];", 0.1, True),
    (DType.F64, "y[i] = 0.1f * x[i];", 0.1, False),
    (DType.F64, "y[i] = 0.10000000000000002 * x[i];", 0.1, False),
])  # fmt: skip
def test_a_constant_is_the_float_that_is_said(given: DType, body: str, number: float, equal: bool) -> None:
    assert (verdict(body, lambda x, z, i: x[i] * number, given, given).verdict == "equal") == equal
