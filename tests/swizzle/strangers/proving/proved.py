"""Kernels for proofs: those of the folder beside this file, their specifications, and mutants of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from swizzle.strangers.proving.proof import KernelProof
from swizzle.strangers.proving.prove import prove

KERNELS = Path(__file__).parent / "kernels"


def proof_of(folder: Path, text: str, specification: Any, **given: Any) -> KernelProof:
    """Write a text into a file and prove it."""
    file = folder / "kernel.cu"
    file.write_text(text)
    return prove(file, specification, **given)


def _product(A: Any, B: Any) -> Any:
    rows, inner, columns = len(A), len(B), len(B[0])
    return [[sum(A[i][k] * B[k][j] for k in range(inner)) for j in range(columns)] for i in range(rows)]


def saxpy(a: Any, x: Any, y: Any) -> Any:
    return [a * x[i] + y[i] for i in range(len(x))]


def grid_stride(x: Any, a: Any) -> Any:
    return [a * x[i] for i in range(len(x))]


def gemv(A: Any, x: Any) -> Any:
    return [sum(A[r][k] * x[k] for k in range(80)) for r in range(len(A))]


def gemm_naive(A: Any, B: Any) -> Any:
    return _product(A, B)


def gemm_tiled(A: Any, B: Any) -> Any:
    return _product(A, B)


def transpose(x: Any) -> Any:
    return [[x[r][c] for r in range(len(x))] for c in range(len(x[0]))]


def blur(x: Any, n: int) -> Any:
    at = lambda i: x[i] if 0 <= i < n else 0  # noqa: E731
    return [(at(i - 1) + 2 * x[i] + at(i + 1)) / 4 for i in range(n)]


def block_sum(x: Any) -> Any:
    return [sum(x[i] for i in range(b * 128, min(250, b * 128 + 128))) for b in range(2)]


def block_scan(x: Any) -> Any:
    return [sum(x[i] for i in range(n + 1)) for n in range(64)]


def stencil(u: Any, v: Any) -> Any:
    inner = range(1, len(u) - 1)
    return [
        [
            (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) / 4 if i in inner and j in inner else v[i][j]
            for j in range(len(u))
        ]
        for i in range(len(u))
    ]


def split_k(A: Any, B: Any, C: Any) -> Any:
    product = _product(A, B)
    return [[C[i][j] + product[i][j] for j in range(4)] for i in range(4)]


def vector_scale(x: Any, s: Any) -> Any:
    return [x[i] * s[i] for i in range(len(x))]


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def elu(x: Any) -> Any:
    return np.where(x > 0, x, np.exp(x) - 1)


def two_sums(x: Any) -> Any:
    return [sum(x[i] for i in range(128))]


SPECIFICATIONS = {
    name: each for name, each in globals().items() if (KERNELS / f"{name}.cu").exists()
}  # fmt: skip
CHAINS = {"two_sums": ("partial", "total")}

MUTANTS: list[tuple[str, str, str, str]] = [
    ("saxpy", "a * x[i] + y[i]", "a * x[i] - y[i]", "different"),
    ("saxpy", "i < n", "i <= n", "undefined"),
    ("saxpy", "i < n", "i < n - 1", "different"),
    ("grid_stride", "i += gridDim.x * blockDim.x", "i += blockDim.x", "race"),
    ("grid_stride", "i += gridDim.x * blockDim.x", "i += 2 * gridDim.x * blockDim.x", "different"),
    ("gemv", "offset = 16", "offset = 8", "different"),
    ("gemv", "k += 32", "k += 33", "different"),
    ("gemv", "threadIdx.x == 0", "threadIdx.x == 1", "different"),
    ("gemm_naive", "k < K", "k < K - 1", "different"),
    ("gemm_naive", "B[k * N + col]", "B[k * M + col]", "different"),
    ("gemm_naive", "row >= M || col >= N", "row >= M", "undefined"),
    ("gemm_tiled", "    __syncthreads();\n  }", "  }", "race"),
    ("gemm_tiled", "b[k][threadIdx.x]", "b[threadIdx.x][k]", "different"),
    ("gemm_tiled", "a[TILE][TILE]", "a[TILE][TILE - 1]", "undefined"),
    ("transpose", "[threadIdx.y + j][threadIdx.x] = in", "[threadIdx.x][threadIdx.y + j] = in", "undefined"),
    ("transpose", "x < h && y + j < w", "x < h", "undefined"),
    ("transpose", "  __syncthreads();\n", "", "race"),
    ("blur", "i > 0 ? x[i - 1] : 0.f", "x[i - 1]", "undefined"),
    ("blur", "0.5f * s[threadIdx.x + 1]", "0.5f * s[threadIdx.x]", "different"),
    ("block_sum", "i + 64 < n", "i + 63 < n", "undefined"),
    ("block_sum", "half = 32", "half = 16", "different"),
    ("block_scan", "lane >= step", "lane > step", "different"),
    ("block_scan", "  __syncthreads();\n", "", "race"),
    ("stencil", "i < 1 ||", "", "undefined"),
    ("stencil", "u[i * n + j - 1]", "u[i * n + j]", "different"),
    ("split_k", "atomicAdd(&C[row * 4 + col], sum)", "C[row * 4 + col] += sum", "race"),
    ("split_k", "blockIdx.z + 1", "blockIdx.z", "different"),
    ("vector_scale", "a.z * b.z", "a.z * b.w", "different"),
    ("softmax", "expf(row[i] - m) / s", "expf(row[i]) / s", "different"),
    ("softmax", "s += expf(row[i] - m)", "s += expf(row[i])", "different"),
    ("elu", "v > 0", "v > 1", "different"),
    ("elu", "expf(v) - 1.f", "expf(v) + 1.f", "different"),
    ("two_sums", "s[2] + s[3]", "s[2] + s[2]", "different"),
    ("two_sums", "  __syncthreads();\n", "", "race"),
]  # fmt: skip
"""A kernel, what is changed of its text and into what, and the verdict."""
