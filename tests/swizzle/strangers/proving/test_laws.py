"""Laws of numbers that somebody's kernel and its specification are written by in two ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.swizzle.strangers.proving.proved import proof_of

TEXT = """#include <cfloat>
// swizzle prove: --launch 1,32 --args {args}
__global__ void k({parameters}, float* y) {{
  int i = threadIdx.x;
  {body}
}}
"""
FLOATS = "const float* x, float a", "f32[64],f32=0.9,f32.out[32]"
BYTES = "const unsigned char* q, const float* d", "u8[32],f32[32],f32.out[32]"


def greatest(x: Any, a: float) -> Any:
    return np.maximum(x[:32], x[32:])


def distance(x: Any, a: float) -> Any:
    square = x[:32] * x[:32] + x[32:] * x[32:] + 0.5
    return x[:32] / (square * np.sqrt(square))


def slope(x: Any, a: float) -> Any:
    return (1 - np.tanh(2 * x[:32]) ** 2) * x[32:]


def moved(x: Any, a: float) -> Any:
    return (1 - a) * x[:32] / a + x[32:]


def nibbles(q: Any, d: Any) -> Any:
    whole = q.astype(np.int32)
    return d * ((whole & 15) - 8) + (whole >> 4) * 3


def sizes(x: Any, a: float) -> Any:
    return np.abs(x[:32]) - np.abs(x[32:])


def shares(x: Any, a: float) -> Any:
    return np.exp(x[:32]) / np.exp(x).sum()


LARGEST = "float m = {}; for (int j = 0; j < 2; ++j) if (x[i + 32 * j] > m) m = x[i + 32 * j]; y[i] = m;"
ROOTS = "float r = rsqrtf(x[i] * x[i] + x[i + 32] * x[i + 32] + 0.5f); y[i] = x[i] * {};"
HYPERBOLIC = "float c = coshf({} * x[i]); y[i] = x[i + 32] * (1.0f / (c * c));"
MOVED = "y[i] = (x[i] - {} * x[i]) / a + x[i + 32];"
CLEARED = "y[i] = sqrtf(x[i] * x[i]) - __int_as_float(__float_as_int(x[i + 32]) & {});"
TURNED = "y[i] = fabsf(x[i]) + __int_as_float((__float_as_int(x[i + 32]) & 0x7fffffff) ^ {});"
DOUBLES = "double s = {}; for (int j = 0; j < 64; ++j) s += expf(x[j]); y[i] = expf(x[i]) / (float)s;"
NIBBLES = "y[i] = d[i] * (int(q[i] & 15) - {}) + 3 * (q[i] >> 4);"


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("body", "specification", "verdict"),
    [
        (LARGEST.format("-FLT_MAX"), greatest, "equal"), (LARGEST.format("FLT_MIN"), greatest, "different"),
        (LARGEST.format("-1.f"), greatest, "different"),
        (ROOTS.format("(r * r * r)"), distance, "equal"), (ROOTS.format("r * r"), distance, "different"),
        (HYPERBOLIC.format("2.f"), slope, "equal"), (HYPERBOLIC.format("1.f"), slope, "different"),
        (MOVED.format("a"), moved, "equal"), (MOVED.format("0.8f"), moved, "different"),
        (CLEARED.format("0x7fffffff"), sizes, "equal"), (CLEARED.format("0x3fffffff"), sizes, "different"),
        (TURNED.format("0x80000000"), sizes, "equal"), (TURNED.format("0"), sizes, "different"),
        (DOUBLES.format("0.0"), shares, "equal"), (DOUBLES.format("1.0"), shares, "different"),
        (NIBBLES.format("8"), nibbles, "equal"), (NIBBLES.format("7"), nibbles, "different"),
    ],
)  # fmt: skip
def test_laws(tmp_path: Path, body: str, specification: Any, verdict: str) -> None:
    """Greatest numbers of a type, powers of roots, squares of sums of exponentials, numbers as the launch passes them,
    absolute values by roots and by bits, sums in doubles, and whole numbers of few bits."""
    parameters, args = BYTES if specification is nibbles else FLOATS
    found = proof_of(tmp_path, TEXT.format(args=args, parameters=parameters, body=body), specification)
    assert found.verdict == verdict, found.explained()


MOMENTS = """// swizzle prove: --launch 1,32 --args f32[{n}],f32.out[{n}],i32={n}
__global__ void k(const float* x, float* y, int n) {{
  float s = 0.f, q = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) {{ s += x[i]; q += x[i] * x[i]; }}
  for (int o = 16; o > 0; o /= 2) {{
    s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o);
  }}
  float mean = s / n, scale = rsqrtf(q / n - mean * {} + 10.f);
  for (int i = threadIdx.x; i < n; i += 32) y[i] = (x[i] - mean) * scale;
}}
"""


def test_variance_by_moments(tmp_path: Path) -> None:
    """Of rows that are so long that the square of a sum is not written out."""
    normalised = lambda x: (x - x.mean()) / np.sqrt(x.var() + 10)  # noqa: E731
    assert proof_of(tmp_path, MOMENTS.format("mean", n=96), normalised).verdict == "equal"
    assert proof_of(tmp_path, MOMENTS.format("1.f", n=96), normalised).verdict == "different"
