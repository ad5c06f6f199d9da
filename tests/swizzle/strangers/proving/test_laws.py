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


ARGMAX = """// swizzle prove: --launch 1,16 --args f32[40],i32.out[1],f32.out[1],i32=40
__global__ void k(const float* x, int* place, float* most, int n) {
  __shared__ float values[16];
  __shared__ int places[16];
  int t = threadIdx.x, at = -1;
  float best = -INFINITY;
  for (int i = t; i < n; i += 16) if (x[i] > best) { best = x[i]; at = i; }
  values[t] = best; places[t] = at;
  __syncthreads();
  for (int s = 8; s > 0; s /= 2) {
    if (t < s && (values[t + s] > values[t] || (values[t + s] == values[t] && places[t + s] < places[t]))) {
      values[t] = values[t + s]; places[t] = places[t + s];
    }
    __syncthreads();
  }
  if (t == 0) { *place = places[0]; *most = values[0]; }
}
"""
ARGMIN = """// swizzle prove: --launch 1,16 --args f32[16,5],i32.out[16]
__global__ void k(const float* x, int* y) {
  int place = 0;
  float least = x[5 * threadIdx.x];
  for (int i = 1; i < 5; ++i) if (x[5 * threadIdx.x + i] < least) { least = x[5 * threadIdx.x + i]; place = i; }
  y[threadIdx.x] = place;
}
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "verdict"),
    [
        (ARGMAX, "", "", "equal"),
        (ARGMAX, "x[i] > best", "x[i] >= best", "different"),
        (ARGMAX, " || (values[t + s] == values[t] && places[t + s] < places[t])", "", "different"),
        (ARGMAX, "places[t + s] < places[t]", "places[t + s] > places[t]", "different"),
        (ARGMIN, "", "", "equal"),
        (ARGMIN, "place = i", "place = 4 - i", "different"),
        (ARGMIN, "i] < least", "i] <= least", "different"),
        (ARGMIN, "place = 0", "place = 1", "different"),
    ],
)
def test_places_of_extremes(tmp_path: Path, text: str, old: str, new: str, verdict: str) -> None:
    """Of equal numbers it is the first one's; how the numbers are put together makes no difference."""
    meant = (lambda x: ([x.argmax()], [x.max()])) if text == ARGMAX else (lambda x: x.argmin(axis=1))
    found = proof_of(tmp_path, text.replace(old, new) if old else text, meant)
    assert found.verdict == verdict, found.explained()


@pytest.mark.parametrize(
    ("kind", "condition", "specification", "verdict"),
    [
        ("unsigned char", "m[i]", lambda m, x: np.where(m == 0, 0, x), "equal"),
        ("unsigned char", "m[i] > 200", lambda m, x: np.where(m > 200, x, 0), "equal"),
        ("unsigned char", "m[i] > 200", lambda m, x: np.where(m > 100, x, 0), "different"),
        ("signed char", "m[i] < -3", lambda m, x: np.where(m < -3, x, 0), "equal"),
        ("signed char", "(unsigned char)m[i] == 255", lambda m, x: np.where(m == 255, x, 0), "different"),
        ("unsigned short", "(short)m[i] == -1", lambda m, x: np.where(m == -1, x, 0), "different"),
    ],
)
def test_masks_of_few_bits(tmp_path: Path, kind: str, condition: str, specification: Any, verdict: str) -> None:
    """They are compared in registers of 16 bits, and in a specification as the numbers that they are."""
    dtype = {"unsigned char": "u8", "signed char": "i8", "unsigned short": "u16"}[kind]
    text = TEXT.format(args=f"{dtype}[32],f32[32],f32.out[32]", parameters=f"const {kind}* m, const float* x",
                       body=f"y[i] = {condition} ? x[i] : 0.f;")  # fmt: skip
    found = proof_of(tmp_path, text, specification)
    assert found.verdict == verdict, found.explained()
