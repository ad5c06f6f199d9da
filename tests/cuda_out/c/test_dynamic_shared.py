"""More than 48 KiB of shared memory: printed as dynamic, run, validated, and launched with the attribute set."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from cuda_out.analysis.placement import dynamic_shared
from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import EmulationError, emulate
from cuda_out.emulate.host import calls, wrong_calls
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.validate import validate
from swizzle import SwizzleError
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning
from swizzle.sketches.swz_file import read_swz

TEXT = """
@spec
def wanted(x):
    return [x[(t + 1) % 32] + x[31 - t] for t in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32])
def turn(x, y):
    a = cuda.shared.array((9, 1001), f32)
    b = cuda.shared.array(2049, f64)
    t = cuda.laneid
    a[t % 8, 1000 - t] = x[t]
    b[2 * t] = f64(x[31 - t])
    cuda.syncthreads()
    y[t] = a[(t + 1) % 32 % 8, 1000 - (t + 1) % 32] + f32(b[2 * t])
"""
(SKETCH,) = read_swz(TEXT, "inline.swz", Parameters())
PROGRAM = optimize(SKETCH.program)
BYTES = 36048 + 2049 * 8
needs_compiler = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")


@pytest.fixture(scope="module")
def source() -> CudaSource:
    return print_cuda(PROGRAM)


def test_where_arrays_are(source: CudaSource) -> None:
    """One behind the other, each at a multiple of 16 bytes; what fits into 48 KiB is declared as ever."""
    assert dynamic_shared(PROGRAM).offsets == {"a": 0, "b": 36048}
    assert source.shared_bytes == dynamic_shared(PROGRAM).bytes == BYTES
    assert "double (&b)[2049] = *reinterpret_cast<double (*)[2049]>(shared_memory + 36048);" in source.text
    (small,) = read_swz(TEXT.replace("2049", "1024"), "inline.swz", Parameters())
    assert print_cuda(optimize(small.program)).shared_bytes == 0


def emulated(source: CudaSource, text: str, shared_bytes: int) -> np.ndarray:  # type: ignore[type-arg]
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    emulate(text, source.entry, source.grid, source.block, [x, y], shared_bytes=shared_bytes)
    return y


@needs_compiler
def test_it_runs(source: CudaSource) -> None:
    """In the emulation, which finds what is outside of an array, and outside of what the launch gives."""
    x = np.arange(32)
    np.testing.assert_array_equal(emulated(source, source.text, BYTES), np.roll(x, -1) + x[::-1])
    with pytest.raises(EmulationError, match="index 9 is outside its array"):
        emulated(source, source.text.replace("  a[t & 7]", "  a[(t & 7) + 2]"), BYTES)
    with pytest.raises(EmulationError, match="dynamic shared memory"):
        emulated(source, source.text, 36048)


@needs_compiler
def test_the_host_function(source: CudaSource) -> None:
    """It gives the size, and sets the attribute before, in both forms; a text that does not is found."""
    tried = list(calls(source))
    for text in (source.text, print_cuda(PROGRAM, form="header").text):
        assert wrong_calls(source, text, tried) == []
    for wrong in (
        source.text.replace(f"Size, {BYTES}", "Size, 49152"),
        source.text.replace(f", {BYTES}, st", ", 0, st"),
    ):
        assert wrong != source.text
        assert f"the shared memory is 0, and must be {BYTES}" in wrong_calls(source, wrong, tried)[0]
    another = source.text.replace("(&turn)", "(&launch_turn)")
    assert f"the shared memory is 0, and must be {BYTES}" in wrong_calls(source, another, tried)[0]
    more = source.text.replace(f"Size, {BYTES}", f"Size, {BYTES + 4}")  # than the device may have
    assert "it launches 0 times" in wrong_calls(source, more, tried)[0]
    for instead, complaint in (("return cudaSuccess;", "returns cudaSuccess"), (";", "must not launch")):
        hides = source.text.replace("return allowed;", instead)
        assert complaint in wrong_calls(source, hides, tried)[0] and len(wrong_calls(source, hides, tried)) == 1


@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler")
def test_its_ptx_is_validated(source: CudaSource) -> None:
    """With the launch's bytes it is equal to the specification, with fewer it is out of bounds."""
    meaning = Meaning.of(SKETCH.program, SKETCH.spec)
    ptx = compile_to_ptx(source.text)
    found = [
        validate(SKETCH.program, ptx, source.entry, meaning.wanted, meaning.terms, shared_bytes=size)
        for size in (BYTES, BYTES - 16384)
    ]
    assert [each.verdict for each in found] == ["equal", "different"] and found[1].broken


def test_numba_has_none() -> None:
    """Its module is refused, as numba sets no attribute."""
    with pytest.raises(SwizzleError, match=f"{BYTES} bytes of shared memory"):
        print_numba(PROGRAM)
