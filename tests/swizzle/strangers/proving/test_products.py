"""Kernels with tensor cores are proved to be the products that they are, and their mutants are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.proving.prove import prove
from tests.slow_cases import slow_unless
from tests.swizzle.strangers.proving.proved import proof_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
PRODUCTS = Path(__file__).parent / "products"


def product(A: Any, B: Any) -> Any:
    return A.astype(np.float32) @ B.astype(np.float32)


def of_bytes(A: Any, B: Any) -> Any:
    return A.astype(np.int32) @ B.astype(np.int32).T


def of_doubles(A: Any, B: Any) -> Any:
    return A @ B


def doubled(A: Any, B: Any) -> Any:
    return 2 * product(A, B)


SPECIFICATIONS = {
    "f16": product, "bf16": product, "tf32": of_doubles, "f64": of_doubles, "s8": of_bytes, "tile": product,
    "wmma": doubled, "wmma_bytes": of_bytes, "f16_sums": of_doubles,
}  # fmt: skip
CUT = "factors of matrix products count as they are, and are cut to tf32"
HALVES = "arithmetic in f16 counts as that of real numbers"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_a_product_is_proved(name: str) -> None:
    """Of all inputs; what tf32 and sums of halves leave out is said, and measured."""
    found = prove(PRODUCTS / f"{name}.cu", SPECIFICATIONS[name])
    assert found, found
    least = {"tf32": 1e-5, "s8": 0.0, "wmma_bytes": 0.0, "f16_sums": 1e-5}.get(name, 1e-18)
    assert least <= max((each.error for each in found.errors), default=0.0) < 1e-2
    assert (CUT in found.assumed) == (name == "tf32")
    assert (HALVES in found.assumed) == (name == "f16_sums")


MUTANTS = [
    ("f16", '"r"(a[1]), "r"(a[2])', '"r"(a[2]), "r"(a[1])', "different"),
    ("f16", '"r"(b[0]), "r"(b[1])', '"r"(b[1]), "r"(b[0])', "different"),
    ("f16", "(g + i / 2 * 8) * 8", "(g + i % 2 * 8) * 8", "different"),
    ("f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32", "different"),
    ("bf16", "f32.bf16.bf16.f32", "f32.f16.f16.f32", "different"),
    ("bf16", "<< 16", "<< 15", "different"),
    ("s8", "s32.s8.s8.s32", "s32.u8.s8.s32", "different"),
    ("s8", "r / 2 * 16", "r / 2 * 8", "different"),
    ("tf32", "t + r / 2 * 4", "t + r % 2 * 4", "different"),
    ("f64", "t * 8 + g", "g * 4 + t", "different"),
    ("tile", ".x4.trans", ".x4", "different"),
    ("tile", "row / 2 % 4", "row % 4", "equal"),
    ("tile", "at(a, t / 4, t % 4)", "at(a, t / 4, 0)", "race"),
    ("tile", "lane % 16, k / 8 + lane / 16", "lane % 16, k / 8", "different"),
    ("tile", "top + lane % 16", "lane % 16", "different"),
    ("tile", "  __syncthreads();\n", "", "race"),
    ("tile", '  asm volatile("cp.async.wait_group 0;");\n', "", "undefined"),
    ("tile", "wait_group 0", "wait_group 1", "undefined"),
    ("tile", "n[2 * j]", "n[j]", "different"),
    ("wmma", "_b, 16, 16, 16, __half, wmma::row", "_b, 16, 16, 16, __half, wmma::col", "different"),
    ("wmma", "A + k, 32", "A + k, 16", "different"),
    ("wmma", "mem_row_major", "mem_col_major", "different"),
    ("wmma", "c.x[i] *= alpha", "c.x[i] *= i ? alpha : 1", "undefined"),
    ("wmma", "A + k, 32", "A + k, 33", "undefined"),
    ("wmma", "A + k, 32", "A + 8 * (threadIdx.x & 1), 32", "undefined"),
    ("wmma", "__align__(32) ", "", "undefined"),
    ("wmma", "    __syncwarp();\n    wmma", "    wmma", "race"),
    ("wmma", "    __syncwarp();\n    for", "    for", "race"),
    ("wmma_bytes", "32, 16, signed char, wmma::col", "32, 16, signed char, wmma::row", "different"),
]  # fmt: skip
"""A kernel, what is changed of its text and into what, and the verdict; another swizzle is no mistake."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "old", "new", "verdict"), slow_unless(MUTANTS, MUTANTS[::4].__contains__))
def test_a_mutant_has_its_verdict(tmp_path: Path, name: str, old: str, new: str, verdict: str) -> None:
    """Swapped registers, rows and types; a barrier or a wait that is missing; strides of WMMA."""
    text = (PRODUCTS / f"{name}.cu").read_text()
    assert text.count(old) >= 1
    found = proof_of(tmp_path, text.replace(old, new, 1), SPECIFICATIONS[name])
    assert found.verdict == verdict, found
    assert (found.numbers is not None) == (verdict == "different")


BY_PLACES = """  int lane = threadIdx.x;
  for (int i = 0; i < 8; ++i) C[(lane / 4 + i / 2 % 2 * 8) * 16 + lane % 4 * 2 + i % 2 + i / 4 * 8] = c.x[i];
"""


def test_places_of_fragments_are_not_relied_on(tmp_path: Path) -> None:
    """Where the hardware of today has them: the answer is not that of the layout, but that there is none."""
    text = (PRODUCTS / "wmma.cu").read_text()
    store = "  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);\n"
    assert store in text
    found = proof_of(tmp_path, text.replace(store, BY_PLACES), doubled)
    assert found.verdict == "undefined" and "where WMMA's fragments lie" in str(found)
