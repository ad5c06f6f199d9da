"""Atomic additions to an element that data chooses: histograms, and sums by a label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.swizzle.strangers.proving.proved import proof_of

HISTOGRAM = """// swizzle prove: --launch 2,16 --args i32[28]<5,i32.inout[5],i32=28
__global__ void histogram(const int* x, int* bins, int n) {
  __shared__ int own[5];
  if (threadIdx.x < 5) own[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&own[x[i]], 1);
  __syncthreads();
  if (threadIdx.x < 5) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
"""
LABELS = """// swizzle prove: --launch 1,8 --args i32[8]<4,f32[8],f32.inout[2,4]
__global__ void by_label(const int* label, const float* x, float* sums) {
  atomicAdd(&sums[4 + label[threadIdx.x]], 0.5f * x[threadIdx.x]);
}
"""


def histogram(x: Any, bins: Any) -> Any:
    return bins + (x[:, None] == np.arange(5)).sum(axis=0)


def by_label(label: Any, x: Any, sums: Any) -> Any:
    added = np.where(label[:, None] == np.arange(4), 0.5 * x[:, None], 0.0).sum(axis=0)
    return np.stack([sums[0], sums[1] + added])


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("", "", "equal"), ("own[x[i]], 1", "own[x[i]], 2", "different"), ("i < n", "i < n - 1", "different"),
        ("own[x[i]]", "own[x[i] + 1]", "different"), ("own[threadIdx.x] = 0;", ";", "undefined"),
        ("  __syncthreads();\n  int", "  int", "race"), ("own[x[i]]", "own[4 - x[i]]", "different"),
        ("atomicAdd(&own[x[i]], 1)", "own[x[i]] += 1", "undecided"),
        ("atomicAdd(&own[x[i]], 1)", "bins[0] = atomicAdd(&own[x[i]], 1)", "undecided"),
    ],
)  # fmt: skip
def test_a_histogram(tmp_path: Path, old: str, new: str, verdict: str) -> None:
    """Each cell that data may choose gets what is added, where it is that one."""
    assert old in HISTOGRAM
    found = proof_of(tmp_path, HISTOGRAM.replace(old, new) if old else HISTOGRAM, histogram)
    assert found.verdict == verdict, found.explained()


@pytest.mark.parametrize(("first", "verdict"), [("4", "equal"), ("3", "different")])
def test_sums_by_labels(tmp_path: Path, first: str, verdict: str) -> None:
    """Floats in global memory, at an offset."""
    assert proof_of(tmp_path, LABELS.replace("[4 +", f"[{first} +"), by_label).verdict == verdict
