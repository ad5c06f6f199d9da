"""Pairs of halves and bf16 computed as such: each half is the number that it is, its bits are those of its rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.swizzle.strangers.proving.proved import proof_of

PAIRS = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
// swizzle prove: --launch 1,32 --args {kind}[64],{kind}[64],{kind}.inout[64]
__global__ void axpy(const {pair}* a, const {pair}* x, {pair}* y) {{
  int i = threadIdx.x;
  {body}
}}
"""
TYPES = {"f16": "__half2", "bf16": "__nv_bfloat162"}


def axpy(a: Any, x: Any, y: Any) -> Any:
    return a * x + y


def doubled_or_not(a: Any, x: Any, y: Any) -> Any:
    return np.maximum(x.reshape(32, 2)[:, ::-1].reshape(-1), -a) - np.abs(y)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("body", "specification", "verdict"),
    [
        ("y[i] = __hfma2(a[i], x[i], y[i]);", axpy, "equal"),
        ("y[i] = __hadd2(__hmul2(x[i], a[i]), y[i]);", axpy, "equal"),
        ("y[i].x = __hfma(a[i].x, x[i].x, y[i].x); y[i].y = a[i].y * x[i].y + y[i].y;", axpy, "equal"),
        ("float2 u = __{}22float2(a[i]), v = __{}22float2(x[i]), w = __{}22float2(y[i]);\n"
         "  y[i] = __floats2{}2_rn(fmaf(u.x, v.x, w.x), fmaf(u.y, v.y, w.y));", axpy, "equal"),
        ("y[i] = __hfma2(__lowhigh2highlow(a[i]), x[i], y[i]);", axpy, "different"),
        ("y[i] = __hfma2(a[i], x[i], __low2{}2(y[i]));", axpy, "different"),
        ("y[i].x = __hfma(a[i].x, x[i].x, y[i].x);", axpy, "different"),
        ("y[i] = __hsub2(__hmax2(__lowhigh2highlow(x[i]), __hneg2(a[i])), __habs2(y[i]));", doubled_or_not, "equal"),
        ("y[i] = __hsub2(__hmin2(__lowhigh2highlow(x[i]), __hneg2(a[i])), __habs2(y[i]));", doubled_or_not,
         "different"),
    ],
)  # fmt: skip
def test_pairs(tmp_path: Path, kind: str, body: str, specification: Any, verdict: str) -> None:
    """Halves stay in their places, whether pairs or single numbers are computed."""
    body = body.replace("{}", "half" if kind == "f16" else "bfloat16")
    found = proof_of(tmp_path, PAIRS.format(kind=kind, pair=TYPES[kind], body=body), specification)
    assert found.verdict == verdict, found.explained()
    if verdict == "equal" and "float" not in body:
        assert f"arithmetic in {kind} counts as that of real numbers" in found.assumed


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least", "most"), [("f16", 0.0, 1e-3), ("bf16", 1e-3, 1e-2)])
def test_what_halves_lose_is_measured(tmp_path: Path, kind: str, least: float, most: float) -> None:
    """The run on numbers rounds each half to its type."""
    text = PAIRS.format(kind=kind, pair=TYPES[kind], body="y[i] = __hfma2(a[i], x[i], y[i]);")
    assert least < proof_of(tmp_path, text, axpy).errors[0].error < most


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("other", "equal"), [("__hadd2(a[i], __hadd2(b[i], c[i]))", False), ("__hadd2(__hadd2(a[i], b[i]), c[i])", True)]
)
def test_bits_are_those_of_a_computation(tmp_path: Path, kind: str, other: str, equal: bool) -> None:
    """Equal real numbers that were rounded in another order have other bits."""
    text = f"""#include <cuda_fp16.h>
#include <cuda_bf16.h>
// swizzle prove: --launch 1,32 --args {kind}[64],{kind}[64],{kind}[64],u32.out[32]
__global__ void bits(const {TYPES[kind]}* a, const {TYPES[kind]}* b, const {TYPES[kind]}* c, unsigned* y) {{
  int i = threadIdx.x;
  {TYPES[kind]} one = __hadd2(__hadd2(a[i], b[i]), c[i]), two = {other};
  y[i] = *reinterpret_cast<unsigned*>(&one) ^ *reinterpret_cast<unsigned*>(&two);
}}
"""
    assert bool(proof_of(tmp_path, text, lambda a, b, c: np.zeros(32, np.uint32))) == equal


@pytest.mark.slow
def test_rounding_to_bf16_is_no_arithmetic_of_floats(tmp_path: Path) -> None:
    """What is rounded on the way is another number than the sum in floats."""
    text = """#include <cuda_bf16.h>
// swizzle prove: --launch 1,32 --args f32[32],f32[32],f32.out[32]
__global__ void add(const float* a, const float* b, float* y) {
  int i = threadIdx.x;
  y[i] = __bfloat162float(__floats2bfloat162_rn(a[i] + b[i], 0.f).x);
}
"""
    assert proof_of(tmp_path, text, lambda a, b: a + b).verdict in ("different", "undecided")
