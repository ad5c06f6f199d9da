"""Two kernels compared with each other, each with a launch of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.proving.prove import prove
from symbolic.errors import SwizzleError

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
PLAIN = """// swizzle prove: --launch 1,16 --args f32[16,8],f32[8],f32.out[16]
__global__ void plain(const float* A, const float* x, float* y) {
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += A[threadIdx.x * 8 + k] * x[k];
  y[threadIdx.x] = sum;
}
"""
FAST = """// swizzle prove: --launch 4,32 --args f32[16,8],f32[8],f32.out[16]
__global__ void fast(const float* A, const float* x, float* y) {
  int row = blockIdx.x * 4 + threadIdx.x / 8, k = threadIdx.x % 8;
  float v = A[row * 8 + k] * x[k];
  for (int o = 4; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o, 8);
  if (k == 0) y[row] = v;
}
"""


def write(folder: Path, **texts: str) -> dict[str, Path]:
    for name, text in texts.items():
        (folder / f"{name}.cu").write_text(text)
    return {name: folder / f"{name}.cu" for name in texts}


def test_each_has_its_own_launch(tmp_path: Path) -> None:
    """Launches of comments, and of flags: the last ones are the reference's."""
    files = write(tmp_path, plain=PLAIN, fast=FAST)
    found = prove(files["fast"], against=files["plain"])
    assert found and (found.kernel, found.against, found.outputs) == ("fast", "plain", 16)
    assert prove(files["plain"], against=f"{files['fast']}:fast", launch=["1,16", "4,32"])


def test_a_mutant_is_different_with_numbers(tmp_path: Path) -> None:
    """Both kernels' numbers are told."""
    files = write(tmp_path, plain=PLAIN, fast=FAST.replace("int o = 4", "int o = 2"))
    found = prove(files["fast"], against=files["plain"])
    assert found.verdict == "different" and found.numbers is not None
    assert found.numbers.found != found.numbers.wanted and "plain says" in str(found)


def test_another_order_and_other_names(tmp_path: Path) -> None:
    """Arrays agree by their names, where all do, and else by their order."""
    other = PLAIN.replace("const float* A, const float* x", "const float* x, const float* A").replace(
        "f32[16,8],f32[8]", "f32[8],f32[16,8]"
    )
    renamed = PLAIN.replace("A", "matrix").replace("x[k]", "v[k]").replace("float* x", "float* v")
    files = write(tmp_path, plain=PLAIN, other=other, renamed=renamed)
    assert prove(files["plain"], against=files["other"])
    assert prove(files["plain"], against=files["renamed"])


def test_a_reference_that_is_broken_or_does_not_fit(tmp_path: Path) -> None:
    """A race of the reference says nothing of the kernel; other arrays are a mistake."""
    files = write(tmp_path, fast=FAST, plain=PLAIN.replace("y[threadIdx.x] =", "y[threadIdx.x / 2] ="))
    found = prove(files["fast"], against=files["plain"])
    assert found.verdict == "undecided" and "plain is no reference" in found.why and "race" in found.why
    small = PLAIN.replace("f32[16,8]", "f32[16,9]")
    with pytest.raises(SwizzleError, match="plain takes A f32"):
        prove(files["fast"], against=write(tmp_path, small=small)["small"])


def test_what_both_leave_undefined(tmp_path: Path) -> None:
    """Two kernels that read what was never written are not equal, even if they do the same."""
    broken = FAST.replace("float v = A", "__shared__ float s[64]; float v = s[threadIdx.x] + A")
    files = write(tmp_path, fast=broken, other=broken.replace("fast", "other"))
    found = prove(files["fast"], against=files["other"])
    assert found.verdict == "undefined" and "reads before it is written" in str(found), found
