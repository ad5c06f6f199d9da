"""Kernels for the doctor: those of the folder beside this file, and short ones written in a test."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from swizzle.strangers.doctor.diagnosis import Diagnosis, Doctor
from swizzle.strangers.reading.text import CudaText

KERNELS = Path(__file__).parent / "kernels"
TRANSPOSE = (KERNELS / "transpose.cu").read_text()


def doctor(text: str, kernel: str | None = None, launch: str | None = None, args: str | None = None) -> Doctor:
    return Doctor(CudaText("kernel.cu", text), kernel, launch, args)


@lru_cache
def diagnosed(text: str, kernel: str | None = None, launch: str | None = None, args: str | None = None) -> Diagnosis:
    """Return what the doctor says of a text."""
    return doctor(text, kernel, launch, args).diagnose()


def one_warp(body: str, declared: str = "__shared__ float tile[32][32];") -> str:
    """Return a kernel of one warp: `t` is the lane, x the input and y the output."""
    return (
        f"// swizzle doctor: --launch 1,32 --args f32[32,32],f32.out[32,32]\n"
        f"__global__ void k(const float* x, float* y) {{\n  {declared}\n  int t = threadIdx.x;\n  {body}\n}}\n"
    )


ROWS_IN = "for (int r = 0; r < 32; ++r) tile[r][t] = x[32 * r + t];"
COLUMNS_OUT = "for (int r = 0; r < 32; ++r) y[32 * r + t] = tile[t][r];"
