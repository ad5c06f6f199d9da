"""Functions of mathematics in text by hand: calls, wherever they stand, in a text that stays as it is."""

from __future__ import annotations

import re

import pytest

from cuda_out.compile.opaque import with_called_functions, with_standard_names
from cuda_out.compile.toolchain import ByHand, available_tools, compile_to_ptx

HALVES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


BEFORE = """
template <class T> __device__ T sigmoid(T v) { return T(1) / (T(1) + exp(-v)); }
__device__ float apply(float (*f)(float), float v) { return f(v); }
#define GELU(v) (0.5f * (v) * (1.f + tanhf(v)))
"""
CALLED = [
    ("x[i] = expf(x[i]) + ::expf(x[i]) + exp(x[i]) + std::exp(x[i]);", {"expf"}),
    ("d[i] = exp(d[i]) + std::exp(d[i]) + log(i);", {"exp", "log"}),
    ("x[i] = __expf(x[i]) * __logf(x[i]);", {"__expf", "__logf"}),
    ("x[i] = powf(x[i], 2.f) + pow(x[i], 2) + std::pow(x[i], x[i]);", {"powf"}),
    ("d[i] = pow(d[i], 2) + pow(d[i], d[i]);", {"pow"}),
    ("x[i] = rsqrtf(x[i]) + tanhf(x[i]) + erff(x[i]) + exp2f(x[i]) + log2f(x[i]);",
     {"rsqrtf", "tanhf", "erff", "exp2f", "log2f"}),
    ("float s, c; sincosf(x[i], &s, &c); x[i] = s + c + sinf(x[i]) + __cosf(x[i]);", {"sinf", "cosf", "__cosf"}),
    ("x[i] = normcdff(x[i]) + coshf(x[i]) + tanf(x[i]) + exp10f(x[i]);", {"erff", "expf", "sinf", "cosf"}),
    ("h[i] = hexp(h[i]); b[i] = hexp(b[i]) + hlog(b[i]); h[i + 32] = htanh(h[i + 32]);", {"expf", "logf", "tanhf"}),
    ("__half2 v = h2exp(*(__half2*)(h + 2 * i)); *(__half2*)(h + 2 * i) = v;", {"expf"}),
    ("x[i] = sqrtf(x[i]) + fabsf(x[i]) + fmaxf(x[i], 1) + __fdividef(x[i], 3) + fmaf(x[i], x[i], 1);", set()),
    ("x[i] = std::sqrt(x[i]) + std::abs(x[i]) + std::max(x[i], 1.f) + std::min(x[i], 2.f) + std::floor(x[i]);",
     set()),
    ("float expo = x[i], log_ = 2; x[i] = expo * log_; /* expf(x) */", set()),
    (
        "x[i] = sigmoid(x[i]) + apply(logf, x[i]) + GELU(x[i]); d[i] = sigmoid(d[i]);",
        {"expf", "exp", "logf", "tanhf"},
    ),
]  # fmt: skip
"""Statements on float* x, double* d, __half* h and __nv_bfloat16* b, and the functions that they call."""


@pytest.mark.parametrize("tool", [tool for tool in ("nvrtc", "nvcc") if tool in available_tools()])
def test_functions_are_calls(tool: str) -> None:
    kernels = "".join(
        f'extern "C" __global__ void k{number}(float* x, double* d, __half* h, __nv_bfloat16* b) '
        f"{{ int i = threadIdx.x; {body} }}\n"
        for number, (body, _) in enumerate(CALLED)
    )
    text = with_called_functions(f"{HALVES}{BEFORE}{kernels}")
    ptx = compile_to_ptx(text, by_hand=ByHand(), tool=tool)  # type: ignore[arg-type]
    parts = re.split(r"\.entry k(\d+)\(", ptx)[1:]
    for number, code in zip(parts[::2], parts[1::2], strict=True):
        body, wanted = CALLED[int(number)]
        assert set(re.findall(r"^\s*swizzle_opaque_(\w+),", code, re.M)) == wanted, body


@pytest.mark.parametrize("tool", [tool for tool in ("nvrtc", "nvcc") if tool in available_tools()])
def test_lines_are_those_of_the_text(tool: str) -> None:
    text = 'extern "C" __global__ void k(float* x) {\n  x[0] = expf(x[1]);\n  x[2] = normcdff(x[3]);\n}\n'
    ptx = compile_to_ptx(with_called_functions(text), by_hand=ByHand(), tool=tool)  # type: ignore[arg-type]
    own = [number for number, name in re.findall(r'\.file\s+(\d+) "([^"]*)"', ptx) if name.endswith("kernel.cu")]
    lines = {line for file, line in re.findall(r"\.loc\s+(\d+) (\d+)", ptx) if file in own}
    assert lines and lines <= {"1", "2", "3", "4"}


@pytest.mark.parametrize("tool", [tool for tool in ("nvrtc", "nvcc") if tool in available_tools()])
def test_functions_are_calls_in_headers_of_the_text(tool: str) -> None:
    header = "#pragma once\n__device__ inline float gelu(float v) { return v * normcdff(v); }\n"
    text = '#include "own.h"\nextern "C" __global__ void k(float* x) { x[0] = gelu(x[1]); }\n'
    by_hand = ByHand(headers={"own.h": header})
    made = with_called_functions(text, [header])
    ptx = compile_to_ptx(made, by_hand=by_hand, tool=tool)  # type: ignore[arg-type]
    assert re.findall(r"^\s*swizzle_opaque_(\w+),", ptx, re.M) == ["erff"]


@pytest.mark.parametrize("tool", [tool for tool in ("nvrtc", "nvcc") if tool in available_tools()])
def test_standard_names_are_there_without_calls(tool: str) -> None:
    text = 'extern "C" __global__ void k(float* x) { x[0] = std::exp(x[1]) + std::max(x[2], std::sqrt(x[3])); }\n'
    ptx = compile_to_ptx(with_standard_names(text), by_hand=ByHand(), tool=tool)  # type: ignore[arg-type]
    assert "ex2.approx" in ptx and "swizzle" not in ptx.replace("swizzle-", "")


def test_text_without_functions_of_mathematics_is_left_alone() -> None:
    text = "__global__ void k(float* x) { x[0] = 1; /* expf */ }"
    assert with_called_functions(text) == text
