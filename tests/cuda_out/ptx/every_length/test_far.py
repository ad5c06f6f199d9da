"""Blocks far out, where nothing is proved of every block: right texts are equal there, what overflows is not."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest

from cuda_out.c.printer import CudaSource
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.emitters import cuda_source
from tests.cuda_out.ptx.kernels import filled_kernel
from tests.slow_cases import slow_unless

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

OWN = {
    "rows": """\
@spec
def s(x):
    return [sum(row) for row in x]

@sketch(spec=s, block=32, grid=2, x=i32[64, 12], y=i32.out[64])
def rows(x, y):
    i = cuda.grid(1)
    acc = i32(0)
    for k in range(12):
        acc += x[i, k]
    y[i] = acc
""",
    "edges": """\
@spec
def s(x):
    return [x[max(i - 1, 0)] + x[min(i + 1, len(x) - 1)] for i in range(len(x))]

@sketch(spec=s, block=32, grid=3, x=i32[96], y=i32.out[96])
def edges(x, y):
    i = cuda.grid(1)
    y[i] = x[max(i - 1, 0)] + x[min(i + 1, 95)]
""",
}


@lru_cache
def printed(target: str) -> tuple[CudaSource, SizesValidator]:
    filled = filled_kernel(target, OWN)
    source = cuda_source(filled.program, filled.head, filled.sizes)
    return source, SizesValidator(sizes_to_try(filled, source), source)


RIGHT = [
    ("rows", "", ""),
    ("edges", "", ""),
    ("stencil2d", "", ""),
    ("rows", r"blockIdx.x \* 32ll", "((long long)blockIdx.x << 5)"),
    ("rows", r"n_x - begin_x >= 32", "blockIdx.x + 1 < gridDim.x"),
]
WRONG = [
    ("rows", r"blockIdx.x \* 32ll", "blockIdx.x * 32", "not in it"),
    ("rows", r"blockIdx.x \* 32ll", "(int)(blockIdx.x * 32)", "not in it|out of bounds"),
    ("rows", r"blockIdx.x \* 32ll", "(blockIdx.x & 0xfffff) * 32ll", "not in it"),
    ("rows", r"begin_x \* x_1;", "(unsigned)begin_x * (unsigned)x_1;", "not in it"),
    ("rows", r"y \+= begin_x;", "y += (unsigned)begin_x;", "not in it"),
    ("rows", r"y\[i\] = ", "if (n_x < (1ll << 32)) y[i] = ", "never written"),
    ("edges", r"blockIdx.x \* 32ll", "blockIdx.x * 32", "not in it|out of bounds"),
    ("stencil2d", r"const long long (\w+) = n_x", r"const int \1 = n_x", "not in it|out of bounds"),
    ("stencil2d", r" && n_x <= \d+", "", "not in it|out of bounds"),
    ("stencil2d", r"n_x <= \d+", "n_x <= 2147483647", "not in it|out of bounds"),
]


def far(target: str, old: str, new: str) -> tuple[str, str, tuple[str, ...]]:
    """Return what is said of a text with one change, where nothing is proved of every block: by fiat, as if their
    blocks could be cut in too many ways."""
    source, validator = printed(target)
    text, count = re.subn(old, new, source.text) if old else (source.text, 1)
    assert count, source.text
    validator.why_not = "too many ways"
    found = validator.validate(compile_to_ptx(text, "sm_80"), source.entry)
    return found.verdict, " ".join(found.findings), found.far


@pytest.mark.parametrize(("target", "old", "new"), slow_unless(RIGHT, {RIGHT[1], RIGHT[4]}.__contains__))
def test_right_texts_are_equal_far_out(target: str, old: str, new: str) -> None:
    """Blocks so far out that offsets pass 2^32 are tried, and named."""
    verdict, findings, blocks = far(target, old, new)
    assert (verdict, findings) == ("equal", "") and re.fullmatch(r"block \(\d{8,}, 0, 0\)", blocks[0])


@pytest.mark.parametrize(("target", "old", "new", "complaint"), slow_unless(WRONG, WRONG[2:7:2].__contains__))
def test_what_goes_wrong_far_out_only_is_not(target: str, old: str, new: str, complaint: str) -> None:
    """Offsets of 32 bits, masked block numbers: all are equal at the lengths that are named."""
    verdict, findings, _ = far(target, old, new)
    assert verdict == "different" and re.match(r"in block \(\d+, \d+, 0\), ", findings), findings
    assert re.search(complaint, findings), findings


def test_a_comparison_with_a_length_is_decided_far_out() -> None:
    """Where the proof says that it does not know, a block far out may show that it is wrong."""
    source, validator = printed("edges")
    validator.why_not = ""
    text, count = re.subn(r"y\[begin", "if (n < (1ll << 33)) y[begin", source.text)
    assert count
    found = validator.validate(compile_to_ptx(text, "sm_80"), source.entry)
    assert found.verdict == "different" and "never written" in found.findings[0], found
