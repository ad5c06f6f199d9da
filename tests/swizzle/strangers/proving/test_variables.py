"""Variables of the module that the host sets: inputs by their names, behind the parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle.strangers.proving.proof import KernelProof
from swizzle.strangers.proving.prove import prove
from symbolic.errors import SwizzleError
from tests.swizzle.strangers.proving.proved import proof_of

CONVOLUTION = """__constant__ float weights[3], scale;
__device__ int shift;
__global__ void convolve(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.f;
  for (int j = 0; j < 3; ++j)
    if (i + j >= shift && i + j - shift < n) sum += weights[j] * x[i + j - shift];
  y[i] = scale * sum;
}
"""
ARGUMENTS = "f32[40],f32.out[40],i32=40,weights:f32[3],scale:f32,shift:i32=1"


def convolve(x: Any, weights: Any, scale: Any) -> Any:
    wide = np.pad(x, 1)
    return scale * (weights[0] * wide[:-2] + weights[1] * wide[1:-1] + weights[2] * wide[2:])


def convolved(folder: Path, text: str = CONVOLUTION, args: str = ARGUMENTS, **more: Any) -> KernelProof:
    return proof_of(folder, text, convolve, launch="2,32", args=args, **more)


def test_what_the_host_sets_is_an_input(tmp_path: Path) -> None:
    """An array in constant memory, a number that may be any, and one that is given: for every length, too."""
    found = convolved(tmp_path)
    assert found.verdict == "equal" and found.covers == "every length", found.explained()
    assert "weights[3]" in found.assumed[-2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("text", "args"),
    [
        (CONVOLUTION.replace("weights[j]", "weights[2 - j]"), ARGUMENTS),
        (CONVOLUTION, ARGUMENTS.replace("shift:i32=1", "shift:i32=0")),
        (CONVOLUTION.replace("scale * sum", "sum"), ARGUMENTS),
    ],
)
def test_a_wrong_use_is_different(tmp_path: Path, text: str, args: str) -> None:
    """With numbers, and a host program that puts them where the kernel looks."""
    found = convolved(tmp_path, text, args, output=tmp_path / "shown")
    assert found.verdict == "different" and found.numbers is not None, found.explained()
    program = (tmp_path / "shown" / "convolve_reproduce.cu").read_text()
    assert "cudaMemcpyToSymbol(weights, &weights_host, sizeof weights_host);" in program
    assert ("static float weights_host[3];" in program) and "cudaMalloc(&weights" not in program


@pytest.mark.slow
def test_past_the_end_of_constant_memory(tmp_path: Path) -> None:
    """The variable has the elements that it is declared with."""
    found = convolved(tmp_path, CONVOLUTION.replace("j < 3", "j < 4"))
    assert found.verdict == "undefined" and "weights" in found.findings[0].where, found.explained()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("args", "message"),
    [("weights:f32[4],scale:f32,shift:i32=1", "a variable of 12 bytes that the host sets, as one of 16 bytes"),
     ("weights:f32.out[3],scale:f32,shift:i32=1", "as an output"),
     ("weight:f32[3],scale:f32,shift:i32=1", "--args has 4 words")],
)  # fmt: skip
def test_words_that_do_not_fit(tmp_path: Path, args: str, message: str) -> None:
    with pytest.raises(SwizzleError) as refused:
        convolved(tmp_path, args=f"f32[40],f32.out[40],i32=40,{args}")
    assert message in str(refused.value)


@pytest.mark.slow
def test_one_that_nobody_sets(tmp_path: Path) -> None:
    """Says how it is made an input."""
    found = convolved(tmp_path, args="f32[40],f32.out[40],i32=40,weights:f32[3],shift:i32=1")
    assert found.verdict == "undecided" and "behind the parameters in --args: scale:f32" in found.why


def test_against_another_kernel(tmp_path: Path) -> None:
    """Both have variables of the same names, or in the same order."""
    (tmp_path / "other.cu").write_text(
        CONVOLUTION.replace("weights", "w").replace("__global__", "// swizzle prove: --launch 1,64 --args "
        + ARGUMENTS.replace("weights", "w") + "\n__global__")
    )  # fmt: skip
    (tmp_path / "kernel.cu").write_text(CONVOLUTION)
    assert prove(tmp_path / "kernel.cu", against=tmp_path / "other.cu", launch="2,32", args=ARGUMENTS)
