"""Which lengths a proof covers: all those at which blocks are cut, multiples of a tile, or the launch alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.proving.prove import prove
from tests.slow_cases import slow_unless
from tests.swizzle.strangers.proving.proved import KERNELS, SPECIFICATIONS, proof_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "covers", "arrays"),
    slow_unless(
        [
            (
                "saxpy",
                "every length",
                "n <= 268435456, in as many blocks as cover them: grid x = ceil(n / 64); x[n], y[n]",
            ),
            ("vector_scale", "every multiple of 128", "grid x = ceil(nx / 128); x[nx], s[nx], y[nx]"),
            ("blur", "every length", "grid x = ceil(n / 32); x[n], y[n]"),
            ("transpose", "every length of w and h", "grid x = ceil(w / 8), y = ceil(h / 8); in[h, w], out[w, h]"),
            ("gemm_naive", "every length of N and M at K = 10", "A[M, 10], B[10, N], C[M, N]"),
            ("gemv", "every length of nx at n = 80", "A[nx, 80], x[80], y[nx]"),
            ("softmax", "every length of nx at n = 64", "x[nx, 64], y[nx, 64]"),
            ("elu", "every length", "x[n], y[n]"),
            ("grid_stride", "launch", ""),
            ("block_scan", "launch", ""),
        ],
        lambda case: case[0] != "gemm_naive",
    ),
)
def test_what_is_covered(name: str, covers: str, arrays: str) -> None:
    """The claim names the arrays and the grid that it is about, and numbers that stay what they are."""
    found = prove(KERNELS / f"{name}.cu", SPECIFICATIONS[name])
    assert found and found.covers == covers, found
    assert any(arrays in each for each in found.assumed)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    slow_unless(
        [
            ("saxpy", "i < n", "i < 200"),
            ("saxpy", "i < n", "i < n && i < 100000"),
            ("saxpy", "x[i]", "x[i % 4096]"),
            ("transpose", "x < h", "x < 10"),
            ("transpose", "(y + j) * h + x", "(y + j) * 10 + x"),
            ("blur", "i + 1 < n", "i + 1 < 90"),
            ("gemm_naive", "C[row * N + col]", "C[row * 14 + col]"),
        ],
        lambda case: case[0] != "gemm_naive",
    ),
)
def test_what_holds_at_this_launch_only(tmp_path: Path, name: str, old: str, new: str) -> None:
    """It is equal at the launch, and no more is said."""
    text = (KERNELS / f"{name}.cu").read_text()
    assert old in text
    found = proof_of(tmp_path, text.replace(old, new), SPECIFICATIONS[name])
    assert found and found.covers == "launch", found


def test_whole_blocks(tmp_path: Path) -> None:
    """Without its guard a kernel is right where no block is cut."""
    text = (KERNELS / "saxpy.cu").read_text().replace("if (i < n) ", "").replace("200", "256")
    found = proof_of(tmp_path, text, SPECIFICATIONS["saxpy"])
    assert found and found.covers == "every multiple of 64"
    text = (KERNELS / "saxpy.cu").read_text().replace("i < n", "i < n || i == 5000")
    assert proof_of(tmp_path, text, SPECIFICATIONS["saxpy"]).covers == "every multiple of 64"


def test_a_specification_for_one_length(tmp_path: Path) -> None:
    """What cannot be asked at another length says nothing of it, nor does one that changes with the length."""
    text = (KERNELS / "saxpy.cu").read_text()
    assert proof_of(tmp_path, text, lambda a, x, y: [a * x[i] + y[i] for i in range(200)]).covers == "launch"
    odd = lambda a, x, y: [a * x[i] + y[i] * (2 if len(x) == 128 else 1) for i in range(len(x))]  # noqa: E731
    assert proof_of(tmp_path, text, odd).covers == "launch"


def test_equal_lengths(tmp_path: Path) -> None:
    """Sides that are equal are still two; where an array might follow one or be as long, the answer says what to
    change."""
    text = (
        "// swizzle prove: --launch 2x2,8x8 --args f32[16,16],f32.out[16,16],i32=16,i32=16\n"
        "__global__ void copy(const float* x, float* y, int w, int h) {\n"
        "  int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;\n"
        "  if (i < w && j < h) y[j * w + i] = 2.f * x[j * w + i];\n}\n"
    )
    found = proof_of(tmp_path, text, lambda x: 2 * x)
    assert found.covers == "every length of w and h" and any("x[h, w], y[h, w]" in each for each in found.assumed)
    text = (KERNELS / "gemm_naive.cu").read_text().replace("14", "10")
    found = proof_of(tmp_path, text, SPECIFICATIONS["gemm_naive"])
    assert found and found.covers == "launch"
    assert any("are 10, and only different values tell lengths apart" in line for line in found.lines()), found


def test_a_number_that_counts_pairs(tmp_path: Path) -> None:
    """Arrays are twice as long as the number that a guard asks; one that guards single elements is another."""
    text = (
        "// swizzle prove: --launch 2,32 --args f32[80],f32.out[80],i32=40\n"
        "__global__ void twice(const float2* x, float2* y, int n) {\n"
        "  int i = blockIdx.x * 32 + threadIdx.x;\n"
        "  if (i < n) y[i] = make_float2(2.f * x[i].x, 2.f * x[i].y);\n}\n"
    )
    found = proof_of(tmp_path, text, lambda x: 2 * x)
    assert found.covers == "every length" and any("x[2 * n], y[2 * n]" in each for each in found.assumed), found
    assert (
        proof_of(tmp_path, text.replace("i < n", "i < n || i == 5000"), lambda x: 2 * x).covers
        == "every multiple of 32"
    )


SQUARE = """// swizzle prove: --launch 2x2,8x8 --args f32[12,12],f32.out[12,12],i32=12
__global__ void transpose(const float* in, float* out, int N) {
  __shared__ float tile[8][9];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < N && y < N) tile[threadIdx.y][threadIdx.x] = in[y * N + x];
  __syncthreads();
  x = blockIdx.y * 8 + threadIdx.x; y = blockIdx.x * 8 + threadIdx.y;
  if (x < N && y < N) out[y * N + x] = tile[threadIdx.x][threadIdx.y];
}
"""
PLANES = """// swizzle prove: --launch 2x2x3,8x8 --args f32[3,12,12],f32.out[3,12,12],i32=12
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y, at = (blockIdx.z * n + j) * n + i;
  if (i < n && j < n) y[at] = 2.f * x[at];
}
"""


@pytest.mark.parametrize(
    ("text", "specification", "old", "new", "covers"),
    [
        (SQUARE, lambda x: x.T, "", "", "every length"),
        (SQUARE, lambda x: x.T, "out[y * N + x]", "out[y * 12 + x]", "launch"),
        (SQUARE, lambda x: x.T, "if (x < N && y < N) out", "if (x < N && y < 12) out", "launch"),
        (SQUARE.replace("12", "16"), lambda x: x.T, "if (x < N && y < N)", "if (x < N)", "every multiple of 8"),
        (PLANES, lambda x: 2 * x, "", "", "every length of n and nz"),
        (PLANES, lambda x: 2 * x, "j < n", "j < n + blockIdx.z / 3", "launch"),
    ],
)
def test_one_number_for_two_lengths(
    tmp_path: Path, text: str, specification: Any, old: str, new: str, covers: str
) -> None:
    """A square's sides are one number: what a kernel asks of it is asked of either side."""
    found = proof_of(tmp_path, text.replace(old, new) if old else text, specification)
    assert found and found.covers == covers, found.explained()
    if text == SQUARE and not old:
        said = "grid x = ceil(N / 8), y = ceil(N / 8); in[N, N], out[N, N]"
        assert any(each.startswith("N <= ") and said in each for each in found.assumed), found.explained()
