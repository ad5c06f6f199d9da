"""What a kernel takes on each architecture: counted, measured, or said to be missing."""

from __future__ import annotations

import pytest

from cuda_out.compile import report as module
from cuda_out.compile.report import COUNTED, disassembler, report
from cuda_out.compile.toolchain import ARCHITECTURES, CompileError, available_tools
from symbolic.errors import SwizzleError

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

REVERSE = """
extern "C" __global__ void reverse(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = __shfl_xor_sync(0xffffffffu, x[t], 1);
  __syncthreads();
  y[t] = s[63 - t];
}
extern "C" __global__ void other(float* x) { x[threadIdx.x] += 1.0f; x[threadIdx.x + 32] += 2.0f; }
"""
DYNAMIC = """
extern "C" __global__ void pick(const int* x, int* y) {
  int r[40];
  for (int i = 0; i < 40; ++i) r[i] = x[i];
  for (int i = 0; i < 40; ++i) r[x[i]] += r[x[i + 40]];
  y[threadIdx.x] = r[x[threadIdx.x]];
}
"""


@pytest.mark.skipif(disassembler() is None, reason="nvdisasm is not installed")
@pytest.mark.slow
def test_counts_on_every_architecture() -> None:
    """One shuffle, one load and store of each memory, one barrier: wherever it is compiled for."""
    found, missing = report(REVERSE, "reverse")
    assert [each.architecture for each in found] + [m.split()[-1] for m in missing] == list(ARCHITECTURES)
    for each in found:
        counts = each.counts()
        assert {op: counts[op] for op in COUNTED} == {
            "SHFL": 1, "LDS": 1, "STS": 1, "LDG": 1, "STG": 1, "LDL": 0, "STL": 0, "BAR": 1,
        }  # fmt: skip
        assert sum(COUNTED.count(op) and n for op, n in counts.items()) < counts["total"] < 100
        assert (each.resources.shared_bytes, each.resources.stack_bytes, each.local_memory) == (256, 0, False)
        assert each.constant_bytes >= 2 * 8  # the parameters
        assert "256 bytes shared" in str(each) and "1 SHFL, 1 LDS" in str(each)


def test_another_kernel_of_the_text_does_not_count() -> None:
    """Each kernel has its own figures."""
    ((one,), _), ((two,), _) = (report(REVERSE, entry, ["sm_80"]) for entry in ("reverse", "other"))
    assert (one.resources.shared_bytes, two.resources.shared_bytes) == (256, 0)
    assert one.constant_bytes == two.constant_bytes + 8
    if disassembler():
        assert (two.counts()["LDG"], two.counts()["BAR"]) == (2, 0)


def test_local_memory_shows() -> None:
    """In the text of the report, the stack frame and the counts."""
    ((each,), _) = report(DYNAMIC, "pick", ["sm_90"])
    assert each.local_memory and each.resources.stack_bytes >= 160
    assert "uses local memory" in str(each)
    if disassembler():
        assert each.counts()["LDL"] > 0 and each.counts()["STL"] > 0


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An architecture that the compiler does not know is no error; neither is a missing disassembler."""
    monkeypatch.setattr(module, "disassembler", lambda: None)
    (each,), missing = report(REVERSE, "reverse", ["sm_80", "sm_20"])
    assert each.instructions is None and each.counts() == {} and "instructions" not in str(each)
    assert len(missing) == 1 and "does not compile for sm_20" in missing[0]
    with pytest.raises(SwizzleError, match="GPU architecture 'volta'"):
        report(REVERSE, "reverse", ["volta"])


def test_warnings_are_errors() -> None:
    """What compiles only with a warning has no report."""
    with pytest.raises(CompileError, match="never referenced"):
        report('extern "C" __global__ void k() { int unused = 1; }', "k", ["sm_80"])
