"""Kernels that look equal to their specification and are not, or of which that cannot be said: none is called equal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from symbolic.errors import SwizzleError
from tests.swizzle.strangers.proving.proved import proof_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


def same(x: Any) -> Any:
    return [x[i] for i in range(32)]


def summed(x: Any) -> Any:
    return [sum(x[i] for i in range(32)) for _ in range(32)]


def one_warp(
    body: str, before: str = "", kind: str = "float", given: str = "f32[32],f32.out[32]", launch: str = "1,32"
) -> str:
    return (
        f"// swizzle prove: --launch {launch} --args {given}\n#include <cuda_fp16.h>\n{before}\n"
        f"__global__ void k(const {kind}* x, float* y) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  {body}\n}}\n"
    )


INF, NAN = "__int_as_float(0x7f800000)", "__int_as_float(0x7fc00000)"
UNDEFINED = {
    "a cell that is never written": "__shared__ float s[64]; s[i] = x[i]; y[i] = s[i] + 0.f * s[i + 32];",
    "such a cell that cancels": "__shared__ volatile float s[64]; s[i] = x[i]; y[i] = s[i] + s[i + 32] - s[i + 32];",
    "an output that is read": "y[i] = y[i] * 0.f + x[i];",
    "an element behind the array": "y[i] = x[i + 32 * (i > 30)];",
    "an element before the array": "float q = x[i - 1]; y[i] = x[i] + (q - q);",
    "more shared memory than there is": "__shared__ float s[20000]; s[i + 19000] = x[i]; y[i] = s[i + 19000];",
    "a vector that is not aligned": "float2 q = *(const float2*)(x + 1); y[i] = x[i] + 0.f * (q.x + q.y);",
    "a barrier that not all reach": "if (i < 16) __syncthreads(); y[i] = x[i]; __syncthreads();",
    "a shuffle from a lane elsewhere": "if (i < 16) y[i] = x[i] + __shfl_xor_sync(~0u, x[i], 16); else y[i] = x[i];",
}
RACES = {
    "two blocks, one cell": ("y[i % 32] = x[i % 32];", "2,32"),
    "no barrier between two warps": (
        "__shared__ float s[64]; s[i] = x[i % 32]; if (i < 32) y[31 - i] = s[63 - i];", "1,64",
    ),
    "a fence is no barrier": (
        "if (blockIdx.x) { y[i - 32] = x[i - 32]; __threadfence(); } else y[i] += 0.f * ((volatile float*)y)[i];",
        "2,32",
    ),
}  # fmt: skip
NOT_EQUAL = {
    "infinities that cancel": f"y[i] = (x[i] + {INF}) - {INF};",
    "zero times infinity": f"y[i] = x[i] + (x[i] * 0.f) * {INF};",
    "what is no number cancels": f"float q = x[i] * {NAN}; y[i] = x[i] + q - q;",
    "the greatest of infinity cancels": f"float m = fmaxf(x[i], {INF}); y[i] = x[i] + (m - m);",
    "a quotient by zero": "float q = 1.f / (x[i] - x[i]); y[i] = x[i] + (q - q);",
    "a number that is rounded to 16 bits": "y[i] = __half2float(__float2half(x[i]));",
    "a whole number": "y[i] = (float)(int)x[i];",
    "digits that are lost": "y[i] = (x[i] + 1e8f) - 1e8f;",
    "the number of an SM": 'unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); y[i] = x[i] + s * 0.f;',
    "a clock": "long long a = clock64(); y[i] = x[i] + (float)(a - a);",
    "an address as a number": "y[i] = x[i] + (float)((size_t)x & 1023);",
    "a loop that data ends": "float s = 0; for (int k = 0; k < (int)x[0]; ++k) s += x[i]; y[i] = s + x[i];",
    "a smallest number that is flushed": "y[i] = x[i] * 1e-30f * 1e-30f * 1e30f * 1e30f;",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_undefined(tmp_path: Path, name: str) -> None:
    """It is said with its line, whatever the numbers would be."""
    found = proof_of(tmp_path, one_warp(UNDEFINED[name]), same)
    assert found.verdict == "undefined", found


@pytest.mark.parametrize("name", RACES)
def test_a_race(tmp_path: Path, name: str) -> None:
    """Two threads that write the same race, too."""
    body, launch = RACES[name]
    found = proof_of(tmp_path, one_warp(body, launch=launch), same)
    assert found.verdict == "race", found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NOT_EQUAL)
def test_what_is_not_equal(tmp_path: Path, name: str) -> None:
    """It is different, or undecided."""
    found = proof_of(tmp_path, one_warp(NOT_EQUAL[name]), same)
    assert found.verdict in ("different", "undecided"), found
    assert found.why or found.numbers


@pytest.mark.parametrize(
    ("before", "name"),
    [("__constant__ float c[4];", "c[0]"), ("__device__ float c;", "c"), ("__device__ float c[4];", "c[i % 4]")],
)
def test_data_that_the_host_sets(tmp_path: Path, before: str, name: str) -> None:
    """It is not 0, whatever a module that was just loaded has there; with an initialiser it is what that says."""
    found = proof_of(tmp_path, one_warp(f"y[i] = x[i] + {name};", before), same)
    assert found.verdict == "undecided" and "uses c, which the host may have set" in found.why
    given = before.replace(";", " = {1, 1, 1, 1};" if "[4]" in before else " = 1;")
    found = proof_of(tmp_path, one_warp(f"y[i] = x[i] + {name} - 1;", given), same)
    assert found and "c holds what the file says, and the host sets nothing else" in found.assumed, found


@pytest.mark.parametrize("kind", ["float", "__half"])
def test_sums_of_halves(tmp_path: Path, kind: str) -> None:
    """A sum that is rounded to 16 bits at each step is no sum of 32 bits."""
    value = "__float2half(x[k])" if kind == "float" else "x[k]"
    body = f"__half s = __float2half(0.f); for (int k = 0; k < 32; ++k) s = __hadd(s, {value}); y[i] = __half2float(s);"
    given = f"{'f32' if kind == 'float' else 'f16'}[32],f32.out[32]"
    found = proof_of(tmp_path, one_warp(body, kind=kind, given=given), summed)
    assert found.verdict in ("different", "undecided"), found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("expression", "python"),
    [("x[i] / 2", lambda x: x // 2), ("x[i] % 4", lambda x: x % 4), ("(int)(x[i] * 2u) / 2", lambda x: x),
     ("x[i] >> 1", lambda x: (x - 1) // 2), ("(int)(signed char)x[i]", lambda x: x), ("(int)(float)x[i]", lambda x: x)],
)  # fmt: skip
def test_integers(tmp_path: Path, expression: str, python: Any) -> None:
    """Integers round toward 0 and wrap: numbers show where they differ."""
    text = one_warp(f"y[i] = {expression};", kind="int", given="i32[32],i32.out[32]").replace("float* y", "int* y")
    found = proof_of(tmp_path, text, lambda x: [python(x[i]) for i in range(32)])
    assert found.verdict == "different", found


@pytest.mark.slow
def test_registers_that_a_block_does_not_have(tmp_path: Path) -> None:
    """A launch that the driver refuses computes nothing."""
    body = "float v[96], s = 0; for (int k = 0; k < 96; ++k) v[k] = ((const volatile float*)x)[(i + k) % 32];\n"
    body += "  __syncthreads(); for (int k = 95; k >= 0; --k) s = 0.5f * s + v[k]; if (i < 32) y[i] = s;"
    text = one_warp(body, launch="1,1024")
    weighted = lambda x: [sum(0.5**k * x[(i + k) % 32] for k in range(96)) for i in range(32)]  # noqa: E731
    found = proof_of(tmp_path, text, weighted)
    assert found.verdict == "undecided" and "registers" in found.why, found
    assert proof_of(tmp_path, text.replace("1,1024", "1,256"), weighted)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [("atomicExch(y, x[i]);", "undecided"), ("atomicExch(y + i, x[i]);", "equal"),
     ("atomicExch(y, 0.f); if (i == 31) atomicExch(y, 1.f);", "undecided")],
)  # fmt: skip
def test_exchanges(tmp_path: Path, body: str, wanted: str) -> None:
    """Which of several values is the last one in a cell is nobody's to say; of one thread it is."""
    count = 32 if "y + i" in body else 1
    last = lambda x: [x[31]]  # noqa: E731
    meant = same if count == 32 else (lambda x: [1]) if "1.f" in body else last
    found = proof_of(tmp_path, one_warp(body, given=f"f32[32],f32.out[{count}]"), meant)
    assert found.verdict == wanted, found


def test_doubles_that_are_rounded(tmp_path: Path) -> None:
    """What a double loses by way of a float is a difference of numbers."""
    text = one_warp("y[i] = (float)x[i];", kind="double", given="f64[32],f64.out[32]").replace("float* y", "double* y")
    assert proof_of(tmp_path, text, same).verdict == "different"


def test_an_index_that_is_data(tmp_path: Path) -> None:
    """Whether it is within bounds is not the kernel's to say, and nothing is claimed."""
    text = one_warp("y[i] = x[(int)x[i]];")
    found = proof_of(tmp_path, text.replace("const float* x", "const int* x").replace("f32[32]", "i32[32]", 1), same)
    assert found.verdict == "undecided", found
    text = "// swizzle prove: --launch 1,32 --args i32[32],f32[64],f32.out[32]\n"
    text += "__global__ void k(const int* at, const float* x, float* y) { y[threadIdx.x] = x[at[threadIdx.x]]; }\n"
    found = proof_of(tmp_path, text, lambda at, x: x[at])
    assert found.verdict == "undecided" and "out of bounds" in found.why, found


@pytest.mark.parametrize(
    ("launch", "limit"),
    [("1x65536,1", "65535 blocks along y"), ("1x1x65536,1", "65535 blocks along z"), ("1,1x1x65", "64 threads along z"),
     ("2147483648,1", "2147483647 blocks along x"), ("1,33x32", "1024 threads")],
)  # fmt: skip
def test_a_launch_that_cuda_refuses(tmp_path: Path, launch: str, limit: str) -> None:
    """It computes nothing, whatever the kernel says."""
    with pytest.raises(SwizzleError) as refused:
        proof_of(tmp_path, one_warp("y[threadIdx.x % 32] = x[threadIdx.x % 32];", launch=launch), same)
    assert limit in refused.value.expected and launch in refused.value.found


@pytest.mark.parametrize(("bytes_", "asked"), [(49152, False), (49156, True), (65536, True)])
def test_shared_memory_that_the_host_allows(tmp_path: Path, bytes_: int, asked: bool) -> None:
    """More than 48 KiB are launched only after an attribute of the function is set."""
    body = "extern __shared__ float s[]; s[i] = x[i]; __syncthreads(); y[i] = s[i];"
    found = proof_of(tmp_path, one_warp(body, launch=f"1,32,{bytes_}"), same)
    said = [each for each in found.assumed if "cudaFuncAttributeMaxDynamicSharedMemorySize" in each]
    assert found and bool(said) == asked and all(str(bytes_) in each for each in said), found


def test_what_neither_kernel_writes(tmp_path: Path) -> None:
    """What two kernels leave as it is they have in common, and it is told."""
    text = one_warp("y[i] = x[i];", given="f32[32],f32.out[34]")
    (tmp_path / "other.cu").write_text(text)
    found = proof_of(tmp_path, text, None, against=tmp_path / "other.cu")
    assert found and "nobody reads y[32] and 1 more, which neither side writes" in found.assumed, found


@pytest.mark.parametrize(("kind", "given"), [("__half", "bf16"), ("__nv_bfloat16", "f16"), ("__half2", "bf16")])
def test_the_other_float_of_16_bits(tmp_path: Path, kind: str, given: str) -> None:
    """The same bits are other numbers in the other one."""
    text = one_warp("y[i] = 0.f;", before="#include <cuda_bf16.h>", kind=kind, given=f"{given}[32],f32.out[32]")
    with pytest.raises(SwizzleError) as refused:
        proof_of(tmp_path, text, same)
    assert refused.value.fix == f"{'bf16' if given == 'f16' else 'f16'}[32]"


def test_integers_of_another_sign(tmp_path: Path) -> None:
    """What the flag says holds, and that it is not what the text says is told; floats are no matter there."""
    text = one_warp("y[i] = x[i];", kind="unsigned", given="i32[32],i32.out[32]").replace("float* y", "unsigned* y")
    found = proof_of(tmp_path, text, same)
    assert found and "x, which the kernel has as u32, holds what i32 says" in found.assumed, found
    assert not found.errors and "floats" not in str(found)


@pytest.mark.parametrize(
    ("body", "told"),
    [("y[i] = floorf(x[i] * 3.f);", True), ("y[i] = x[i] + 1.f > 0.3f ? 1.f : 0.f;", True),
     ("y[i] = x[i] > 0.5f ? 1.f : 0.f;", False), ("y[i] = fmaxf(x[i] * 3.f, 0.f);", False)],
)  # fmt: skip
def test_results_that_jump(tmp_path: Path, body: str, told: bool) -> None:
    """Rounding before a comparison or before a whole number may come out on the other side."""
    meant = {
        "f": lambda x: np.floor(x * 3), "1": lambda x: np.where(x + 1 > 0.3, 1, 0),
        "5": lambda x: np.where(x > 0.5, 1, 0), "x": lambda x: np.maximum(x * 3, 0),
    }["f" if "floor" in body else "1" if "+ 1" in body else "5" if "0.5f" in body else "x"]  # fmt: skip
    found = proof_of(tmp_path, one_warp(body), meant)
    assert any("jumps" in each for each in found.assumed) == told, found


@pytest.mark.parametrize(
    ("body", "helps"),
    [("y[i] = __half2float(__float2half_rz(x[i]));", "__float2half_rn(x) is read")],
)  # fmt: skip
def test_what_is_not_read_has_a_place_and_a_way_out(tmp_path: Path, body: str, helps: str) -> None:
    found = proof_of(tmp_path, one_warp(body, before="#include <cuda_bf16.h>"), same)
    assert found.verdict == "undecided" and helps in found.why and "kernel.cu:6:" in found.why, found


@pytest.mark.parametrize(
    ("body", "specification"),
    [
        ("y[i] = 0.99951f * x[i];", lambda x: x),
        ("y[i] = x[i] + 2e-5f;", lambda x: x),
        ("y[i] = 0.5f * x[i] * (1 + tanhf(0.7978846f * (x[i] + 0.04715f * x[i] * x[i] * x[i])));",
         lambda x: 0.5 * x * (1 + np.tanh(0.7978846 * (x + 0.044715 * x**3)))),
    ],
)  # fmt: skip
def test_a_small_difference_has_numbers(tmp_path: Path, body: str, specification: Any) -> None:
    """What a few roundings do not explain is different, with inputs that show it."""
    found = proof_of(tmp_path, one_warp(body), specification, output=tmp_path / "shown")
    assert found.verdict == "different" and found.numbers is not None, found
    allowed = re.search(r"off <= (\S+) ", (tmp_path / "shown" / "k_reproduce.cu").read_text())
    assert allowed is not None and 0 < float(allowed[1]) < abs(found.numbers.found - found.numbers.wanted)


@pytest.mark.parametrize(
    ("body", "specification"),
    [
        ("y[i] = sinf(2 * x[i]);", lambda x: 2 * np.sin(x) * np.cos(x)),
        ("y[i] = (sinf(2 * x[i]) + 300.f) - 300.f;", lambda x: 2 * np.sin(x) * np.cos(x)),
    ],
)
def test_rounding_is_no_difference(tmp_path: Path, body: str, specification: Any) -> None:
    """Of what no law makes equal, numbers that are off by roundings alone decide nothing."""
    found = proof_of(tmp_path, one_warp(body), specification)
    assert found.verdict == "undecided" and "agree up to rounding" in found.why, found


def test_an_initialiser_of_zeros(tmp_path: Path) -> None:
    """PTX does not tell it from none: the text does. What the host sets has none."""
    body = "if (i == 0) count += 1; y[i] = x[i] + offsets[1];"
    variables = "__device__ int count = 0; __constant__ float offsets[2] = {};"
    found = proof_of(tmp_path, one_warp(body, variables), same)
    assert found and "offsets holds what the file says, and the host sets nothing else" in found.assumed
    for before in (
        variables.replace(" = {}", ""),
        variables.replace(" = {}", "; void host() { int offsets[2] = {}; }"),
    ):
        found = proof_of(tmp_path, one_warp(body, before.replace(";;", ";")), same)
        assert (
            found.verdict == "undecided"
            and "offsets, which the host may have set, as it has no initialiser" in found.why
        )


def test_a_vector_that_is_not_aligned(tmp_path: Path) -> None:
    """The answer says how the array is declared, and on which line."""
    body = (
        "__shared__ float s[128];\n  *reinterpret_cast<float4*>(&s[4 * i]) = make_float4(x[i], 0, 0, 0);\n"
        "  y[i] = s[4 * i];"
    )
    found = proof_of(tmp_path, one_warp(body), same)
    assert found.verdict == "undefined" and found.findings[0].line == 7, found
    assert found.findings[0].found.endswith(
        "add __align__(16), where it is declared (line 6): __shared__ __align__(16) ... s[...]"
    )
    assert proof_of(tmp_path, one_warp(body.replace("__shared__ ", "__shared__ __align__(16) ")), same)


def test_constants_that_differ_in_the_last_place(tmp_path: Path) -> None:
    """They are no equal ones, which the answer names; of larger differences it says no such thing."""
    body = "y[i] = 0.5f * x[i] * (1 + tanhf({} * x[i]));"
    specification = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x))  # noqa: E731
    assert proof_of(tmp_path, one_warp(body.format("0.797884561f")), specification)
    found = proof_of(tmp_path, one_warp(body.format("0.797884524f")), specification)
    assert found.verdict == "undecided" and "in constants only" in found.why and "-1.59576904" in found.why
    found = proof_of(tmp_path, one_warp(body.format("0.797886f")), specification)
    assert "in constants only" not in found.why
