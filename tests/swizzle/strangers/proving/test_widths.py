"""Integers that wrap at other widths in a kernel than in NumPy: none is called equal, and what is right still is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.proving.proof import KernelProof
from tests.swizzle.strangers.proving.proved import proof_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

C_NAMES = {
    "i8": "signed char", "u8": "unsigned char", "i16": "short", "u16": "unsigned short", "i32": "int",
    "u32": "unsigned", "i64": "long long", "u64": "unsigned long long", "f32": "float",
}  # fmt: skip


def proof(folder: Path, body: str, specification: Any, given: str) -> KernelProof:
    """Prove a kernel of one warp that reads x (and w) and writes y, at i."""
    words, names = re.split(r",(?![^\[]*\])", given), iter(("x", "w"))
    parameters = []
    for word in words:
        kind = C_NAMES[word.partition("[")[0].partition(".")[0]]
        parameters.append(f"{kind}* y" if ".out" in word else f"const {kind}* {next(names)}")
    text = f"// swizzle prove: --launch 1,32 --args {given}\n"
    text += f"__global__ void k({', '.join(parameters)}) {{\n  int i = threadIdx.x;\n  {body}\n}}\n"
    return proof_of(folder, text, specification)


SUM = "{0} s = 0; for (int j = 0; j < 8; ++j) s += {1}; if (i == 0) *y = "
I32, U32, BOTH = "i32[32],i32.out[32]", "u32[32],u32.out[32]", "u32[32],u32[32],u32.out[32]"
WRONG: dict[str, tuple[str, Any, str]] = {
    "half of a sum": (
        SUM.format("unsigned", "x[j] & 0x7fffffff") + "(int)s >> 1;",
        lambda x: np.array([(x & 0x7FFFFFFF).sum() >> 1]), "i32[8],i32.out[1]",
    ),
    "a mean of large masks": (
        SUM.format("unsigned", "x[j] & 0x3fffffff") + "s >> 3;",
        lambda x: np.array([(x & 0x3FFFFFFF).astype(np.uint64).sum() >> 3]), "u32[8],u32.out[1]",
    ),
    "squares of i16": (
        SUM.format("int", "(unsigned)(x[j] * x[j])") + "s >> 4;",
        lambda x: np.array([(x.astype(np.int64) * x).sum() >> 4]), "i16[8],i32.out[1]",
    ),
    "a sum by scalars": (
        SUM.format("unsigned", "x[j]") + "s / 2;",
        lambda x: [sum(x[j].astype(np.uint64) for j in range(8)) // 2], "u32[8],u32.out[1]",
    ),
    "a half": ("y[i] = (x[i] + 1u) / 2u;", lambda x: ((x.astype(np.uint64) + 1) // 2).astype(np.uint32), U32),
    "a third": ("y[i] = (x[i] + 1u) / 3u;", lambda x: ((x.astype(np.uint64) + 1) // 3).astype(np.uint32), U32),
    "a remainder": ("y[i] = (x[i] + 1u) % 3u;", lambda x: ((x.astype(np.uint64) + 1) % 3).astype(np.uint32), U32),
    "moved down": (
        "y[i] = (int)((unsigned)x[i] + 1u) >> 1;", lambda x: ((x.astype(np.int64) + 1) >> 1).astype(np.int32), I32,
    ),
    "a comparison": (
        "y[i] = x[i] + 1u > 5u;", lambda x: ((x.astype(np.uint64) + 1) > 5).astype(np.int32), "u32[32],i32.out[32]",
    ),
    "a choice": (
        "y[i] = x[i] + 1u > w[i] ? 7 : 8;", lambda x, w: np.where(x.astype(np.int64) + 1 > w, 7, 8), BOTH,
    ),
    "a maximum": (
        "y[i] = max(x[i] + 1u, w[i]);", lambda x, w: np.maximum(x.astype(np.uint64) + 1, w).astype(np.uint32), BOTH,
    ),
    "an absolute value": (
        "y[i] = abs((int)((unsigned)x[i] * 2u));", lambda x: np.abs(2 * x.astype(np.int64)).astype(np.int32), I32,
    ),
    "a float": (
        "y[i] = (int)((unsigned)x[i] + 1u);", lambda x: (x.astype(np.int64) + 1).astype(np.float32),
        "i32[32],f32.out[32]",
    ),
    "a product that NumPy cuts off": ("y[i] = (long long)x[i] * x[i];", lambda x: x * x, "i32[32],i64.out[32]"),
    "one that is widened too late": (
        "y[i] = (long long)x[i] * x[i];", lambda x: (x * x).astype(np.int64), "i32[32],i64.out[32]",
    ),
    "one that a wider operand widens": (
        "y[i] = (long long)x[i] * x[i] + w[i];", lambda x, w: x * x + w, "i32[32],i64[32],i64.out[32]",
    ),
    "a negative": ("y[i] = -(long long)x[i];", lambda x: -x, "u32[32],i64.out[32]"),
    "an inverse": ("y[i] = ~(long long)x[i];", lambda x: ~x, "u32[32],i64.out[32]"),
    "a shift that NumPy cuts off": (
        "y[i] = ((long long)x[i] << 8) >> 8;", lambda x: (x << 8) >> 8, "i32[32],i64.out[32]",
    ),
    "a scalar's square": (
        "y[i] = (long long)x[i] * x[i];", lambda x: [x[j] * x[j] for j in range(32)], "i32[32],i64.out[32]",
    ),
    "scalars of NumPy's": (
        "y[i] = (int)((unsigned)x[i] * 3u) >> 1;", lambda x: [(np.int64(3) * v) >> 1 for v in x], I32,
    ),
    "Python's integers": (
        "y[i] = (int)((unsigned)x[i] * (unsigned)x[i]);", lambda x: [v * v for v in x.tolist()], "i32[32],i64.out[32]",
    ),
    "a sum that is cut off again": (
        SUM.format("long long", "x[j]") + "(int)(s >> 1);",
        lambda x: np.array([x.sum().astype(np.int32) >> 1]), "i32[8],i32.out[1]",
    ),
    "a sum written into int32": (
        SUM.format("long long", "x[j]") + "(int)(s >> 1);",
        lambda x: np.full(1, x.sum(), np.int32) >> 1, "i32[8],i32.out[1]",
    ),
    "bytes that are cut off": (
        "y[i] = (x[i] + w[i]) / 2;", lambda x, w: (x.astype(np.uint8) + w.astype(np.uint8)) // 2,
        "u8[32],u8[32],u8.out[32]",
    ),
    "a prefix sum's half": (
        "unsigned s = 0; for (int j = 0; j <= i; ++j) s += x[j]; y[i] = (int)s >> 1;",
        lambda x: np.cumsum(x) >> 1, I32,
    ),
    "the greatest of sums": (
        "y[i] = max((int)((unsigned)x[i] + 1u), (int)((unsigned)x[31 - i] + 1u));",
        lambda x: np.stack([x.astype(np.int64) + 1, x[::-1].astype(np.int64) + 1]).max(axis=0), I32,
    ),
}  # fmt: skip
RIGHT: dict[str, tuple[str, Any, str]] = {
    "a product of bytes": (
        "int s = 0; for (int j = 0; j < 8; ++j) s += x[8 * (i / 8) + j] * w[8 * j + i % 8]; y[i] = s;",
        lambda x, w: x.astype(np.int32) @ w.astype(np.int32), "i8[4,8],i8[8,8],i32.out[4,8]",
    ),
    "a quantised product": (
        "int s = 0; for (int j = 0; j < 8; ++j) s += x[8 * (i / 8) + j] * w[8 * j + i % 8];"
        " y[i] = min(max(s >> 6, -128), 127);",
        lambda x, w: np.clip((x.astype(np.int32) @ w.astype(np.int32)) >> 6, -128, 127).astype(np.int8),
        "i8[4,8],i8[8,8],i8.out[4,8]",
    ),
    "an average of bytes": (
        "y[i] = (x[i] + w[i] + 1) / 2;", lambda x, w: (x.astype(np.int32) + w.astype(np.int32) + 1) // 2,
        "u8[32],u8[32],u8.out[32]",
    ),
    "a sum of few bytes in 64 bits": (
        SUM.format("int", "x[j]") + "s >> 3;",
        lambda x: np.array([x.astype(np.int32).sum() >> 3]), "u8[8],i32.out[1]",
    ),
    "a mean in 64 bits": (
        SUM.format("unsigned long long", "x[j]") + "(unsigned)(s >> 3);",
        lambda x: np.array([x.sum() >> 3]), "u32[8],u32.out[1]",
    ),
    "a signed mean in 64 bits": (
        SUM.format("long long", "x[j]") + "(int)(s >> 3);", lambda x: np.array([x.sum() >> 3]), "i32[8],i32.out[1]",
    ),
    "a sum in 32 bits": (
        SUM.format("unsigned", "x[j]") + "s;", lambda x: np.array([x.sum()]), "i32[8],i32.out[1]",
    ),
    "a hash": (
        "unsigned h = x[i] * 1664525u + 1013904223u; h ^= h >> 16; h *= 2246822507u; y[i] = h >> 3;",
        lambda x: _hash(x), U32,
    ),
    "a hash by scalars": (
        "unsigned h = x[i] * 1664525u + 1013904223u; y[i] = h >> 16;",
        lambda x: [(x[j] * 1664525 + 1013904223) >> 16 for j in range(32)], U32,
    ),
    "a product that is widened first": (
        "y[i] = (long long)x[i] * x[i];", lambda x: x.astype(np.int64) * x, "i32[32],i64.out[32]",
    ),
    "a product that both cut off": (
        "y[i] = (int)((unsigned)x[i] * (unsigned)x[i]);", lambda x: x * x, "i32[32],i64.out[32]",
    ),
    "a prefix sum": (
        "unsigned s = 0; for (int j = 0; j <= i; ++j) s += x[j]; y[i] = s;", lambda x: np.cumsum(x), I32,
    ),
    "a histogram": (
        "int s = 0; for (int j = 0; j < 8; ++j) s += (x[j] & 31) == i; y[i] = s;",
        lambda x: [((x & 31) == j).sum() for j in range(32)], "u32[8],i32.out[32]",
    ),
    "a half that both cut off": ("y[i] = (x[i] + 1u) / 2u;", lambda x: (x + 1) // 2, U32),
    "a float of an int": (
        "y[i] = 0.5f * (x[i] & 0xffff);", lambda x: (x & 0xFFFF).astype(np.float32) * 0.5, "i32[32],f32.out[32]",
    ),
    "an absolute value of 16 bits": (
        "y[i] = abs(x[i]);", lambda x: np.abs(x.astype(np.int32)), "i16[32],i32.out[32]",
    ),
}  # fmt: skip


def _hash(x: Any) -> Any:
    h = x * 1664525 + 1013904223
    h = h ^ (h >> 16)
    return (h * 2246822507) >> 3


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", WRONG)
def test_another_width_is_different(tmp_path: Path, name: str) -> None:
    """Inputs at the ends of the types show it."""
    found = proof(tmp_path, *WRONG[name])
    assert found.verdict == "different" and found.numbers is not None, found


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", RIGHT)
def test_the_same_width_is_equal(tmp_path: Path, name: str) -> None:
    found = proof(tmp_path, *RIGHT[name])
    assert found and not any("do not wrap" in each for each in found.assumed), found


@pytest.mark.parametrize(
    ("body", "python"),
    [("y[i] = x[i] + x[31 - i];", lambda x: x + x[::-1]), ("y[i] = x[i] << 4;", lambda x: x << 4),
     ("y[i] = x[i] + x[31 - i];", lambda x: [x[j] + x[31 - j] for j in range(32)]),
     ("y[i] = (x[i] + 1) / 2;", lambda x: (np.stack([x]) + 1)[0] // 2)],
)  # fmt: skip
def test_bytes_that_do_not_wrap_are_said(tmp_path: Path, body: str, python: Any) -> None:
    """NumPy would compute in 8 bits, a specification in 32: an assumption."""
    found = proof(tmp_path, body, python, "u8[32],i32.out[32]")
    assert found and any(each.startswith("x of 8 and 16 bits are int32") for each in found.assumed), found


def test_a_width_that_no_numbers_show(tmp_path: Path) -> None:
    """It is undecided, and the answer says what to write."""
    wide = lambda x: (((x.astype(np.uint64) * 65537 ^ 0x9E3779B9) // 5 == 0) * 1).astype(np.uint32)  # noqa: E731
    found = proof(tmp_path, "y[i] = (x[i] * 65537u ^ 0x9e3779b9u) / 5u == 0u;", wide, U32)
    assert found.verdict == "undecided" and "compute in int64 in the kernel" in found.why, found
