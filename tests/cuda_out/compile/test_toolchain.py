"""Every compiler that is here gives PTX, a cubin and ptxas's figures, and refuses what is not clean."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cuda_out.compile.toolchain import CompileError, Tool, available_tools, compile_cuda, uses_local
from symbolic.errors import SwizzleError
from tests.slow_cases import slow_unless

TOOLS = available_tools()
pytestmark = pytest.mark.skipif(not TOOLS, reason="neither nvcc nor NVRTC is installed")
each_tool = pytest.mark.parametrize("tool", slow_unless(TOOLS, lambda tool: tool == TOOLS[0]))

ROTATE = """
extern "C" __global__ void __launch_bounds__(32) rotate(const float* __restrict__ x, float* __restrict__ y)
{
  const int lane = threadIdx.x & 31;
  y[lane] = __shfl_sync(0xffffffffu, x[lane], (lane + 1) & 31);
}
extern "C" __global__ void reverse(float* x)
{
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
#if !defined(__CUDACC_RTC__)
#include <cuda_runtime.h>
inline cudaError_t launch(const float* x, float* y, cudaStream_t stream) {
  rotate<<<1, 32, 0, stream>>>(x, y);
  return cudaGetLastError();
}
#endif
"""

# A register array whose index the compiler cannot know.
DYNAMIC = """
extern "C" __global__ void pick(const float* x, const int* which, float* y)
{
  float r[40];
  for (int i = 0; i < 40; ++i) r[i] = x[i * 32 + threadIdx.x];
  for (int i = 0; i < 40; ++i) r[which[i]] += r[which[i + 40]];
  y[threadIdx.x] = r[which[threadIdx.x]];
}
"""


@each_tool
@pytest.mark.parametrize("arch", ["sm_80", pytest.param("sm_90", marks=pytest.mark.slow)])
def test_registers_stack_and_shared_memory(tool: Tool, arch: str) -> None:
    """A kernel with static indices has no stack frame and no local memory; each kernel has its own figures."""
    compiled = compile_cuda(ROTATE, arch, tool=tool)
    assert compiled.tool == tool
    assert f".target {arch}" in compiled.ptx and "shfl.sync.idx" in compiled.ptx
    assert compiled.cubin[:4] == b"\x7fELF"
    assert not uses_local(compiled.ptx)
    assert set(compiled.kernels) == {"rotate", "reverse"}
    for kernel in compiled.kernels.values():
        assert kernel.stack_bytes == kernel.spill_store == kernel.spill_load == 0
        assert 0 < kernel.registers < 64
    assert [compiled.kernels[name].shared_bytes for name in ("rotate", "reverse")] == [0, 256]


@each_tool
def test_a_dynamic_index_shows(tool: Tool) -> None:
    """Dynamically indexed registers live in local memory, which PTX and the stack frame both show."""
    compiled = compile_cuda(DYNAMIC, tool=tool)
    assert uses_local(compiled.ptx)
    assert compiled.kernels["pick"].stack_bytes >= 160


@each_tool
def test_a_warning_is_refused_with_its_line(tool: Tool) -> None:
    """Text that compiles only with a warning is an error of ours; the message quotes the line."""
    text = 'extern "C" __global__ void k(float* x)\n{\n  int unused = 3;\n  x[0] = 1.0f;\n}\n'
    with pytest.raises(CompileError, match=r"3 >   int unused = 3;") as caught:
        compile_cuda(text, tool=tool, name="mine.cu")
    assert "mine.cu(3)" in caught.value.log and caught.value.text == text


@each_tool
def test_an_error_is_reported_with_its_line(tool: Tool) -> None:
    """What does not compile at all is reported in the same way."""
    with pytest.raises(CompileError, match=r"2 > broken"):
        compile_cuda("__global__ void k() {\nbroken\n}\n", tool=tool)


@each_tool
def test_half_precision_needs_a_header_that_is_found(tool: Tool) -> None:
    """cuda_fp16.h is found beside the compiler or in the wheels."""
    text = '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half* x) { x[0] = __hadd(x[1], x[2]); }\n'
    assert "k" in compile_cuda(text, tool=tool).kernels


@each_tool
def test_an_unknown_architecture_is_the_users_mistake(tool: Tool) -> None:
    """One that the tool does not know, and one that is none at all."""
    with pytest.raises(SwizzleError, match="does not compile for sm_20"):
        compile_cuda(ROTATE, "sm_20", tool=tool)
    with pytest.raises(SwizzleError, match="GPU architecture 'ampere'"):
        compile_cuda(ROTATE, "ampere", tool=tool)


def test_auto_takes_the_preferred_tool() -> None:
    """NVRTC goes first where both are there."""
    assert compile_cuda(ROTATE).tool == TOOLS[0]


def test_host_code_is_compiled_by_nvcc() -> None:
    """A mistake in the launch wrapper, which NVRTC never sees, does not pass nvcc."""
    if "nvcc" not in TOOLS:
        pytest.skip("nvcc is not installed")
    with pytest.raises(CompileError, match="cudaOops"):
        compile_cuda(ROTATE.replace("cudaGetLastError", "cudaOops"), tool="nvcc")


def test_a_machine_without_compilers_gets_told_what_to_install() -> None:
    """Neither tool: the message names both ways to get one."""
    script = """
import os, sys
os.environ["PATH"] = ""
sys.modules["cuda.bindings"] = None
from cuda_out.compile.toolchain import available_tools, compile_cuda
from symbolic.errors import SwizzleError
assert available_tools() == []
for tool in ("auto", "nvcc", "nvrtc"):
    try:
        compile_cuda("", tool=tool)
    except SwizzleError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    for found in ("no CUDA compiler on this machine", "no nvcc on this machine", "no nvrtc on this machine"):
        assert found in done.stdout
    assert "pip install 'swizzle-inventor[nvrtc]'" in done.stdout


@pytest.mark.parametrize(
    ("ptx", "expected"),
    [
        (".local .align 4 .b8 \t__local_depot0[160];", True),
        ("ld.local.f32 %f1, [%rd1];", True),
        ("ld.global.f32 %f1, [%rd1];", False),
        ("ld.shared.f32 %f1, [localized];", False),
    ],
)
def test_local_memory_in_ptx(ptx: str, expected: bool) -> None:
    """Both the depot and an access to it are seen; names are not mistaken for it."""
    assert uses_local(ptx) is expected
