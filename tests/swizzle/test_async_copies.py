"""Asynchronous copies, in all that a kernel becomes."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource
from cuda_out.compile.architectures import least_architecture
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import EmulationError, emulate
from cuda_out.ptx.running.validate import Validator, WrittenOut
from swizzle import Sketch, SwizzleError, solve
from swizzle.answers.emit.emitters import cuda_source, numba_source
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.solution import Limits
from symbolic.ir.program import Program
from tests.sketches import kernel

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = """\
@spec
def total(x):
    return [sum(x[k, i] for k in range(4)) for i in range(64)]

@spec
def edge(x):
    return [x[63 - i] if 63 - i < 60 else 0 for i in range(64)]

@cuda.jit(device=True)
def fetch(tile, x, k):
    t = cuda.threadIdx.x
    cuda.copy_async(tile[k % 3, t], x[k, t])
    cuda.commit_copies()

@sketch(spec=total, block=64, x=f32[4, 64], y=f32.out[64])
def stages(x, y):
    tile = cuda.shared.array((3, 64), f32)
    t = cuda.threadIdx.x
    fetch(tile, x, 0)
    fetch(tile, x, 1)
    s = f32(0)
    for k in range(4):
        if k < 3:
            cuda.wait_copies(1)
        else:
            cuda.wait_copies(0)
        cuda.syncthreads()
        if k < 2:
            fetch(tile, x, k + 2)
        s += tile[k % 3, 63 - t]
    y[?sw_xform(t, 64)] = s

@sketch(spec=total, block=32, x=f16[4, 64], y=f16.out[64])
def halves(x, y):
    tile = cuda.shared.array((4, 64), f16)
    t = cuda.threadIdx.x
    cuda.copy_async(tile[t // 8, t % 8 * 8], x[t // 8, t % 8 * 8], count=8)
    cuda.commit_copies()
    cuda.wait_copies(0)
    cuda.syncthreads()
    for e in range(2):
        y[2 * t + e] = tile[0, 2 * t + e] + tile[1, 2 * t + e] + tile[2, 2 * t + e] + tile[3, 2 * t + e]

@sketch(spec=edge, block=32, x=f32[64], y=f32.out[64])
def edges(x, y):
    tile = cuda.shared.array(32, cuda.float2)
    x2 = x.view(cuda.float2)
    t = cuda.threadIdx.x
    cuda.copy_async(tile[?sw_xform(t, 32)], x2[t] if t < 30 else cuda.float2(0, 0))
    cuda.commit_copies()
    cuda.wait_copies()
    cuda.syncthreads()
    v = tile[t]
    y[2 * t] = v.y
    y[2 * t + 1] = v.x
"""


def sketches(text: str = TEXT) -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in read_swz(text, "copies.swz", Parameters())}


SKETCHES = sketches()


@pytest.fixture(scope="module")
def solved() -> dict[str, Program]:
    return {name: solve(sketch).best.program for name, sketch in SKETCHES.items()}


def test_where_nobody_waits_no_filling_exists() -> None:
    """And the second reading confirms it."""
    body = "tile = cuda.shared.array(8, i32)\nt = cuda.laneid\ncuda.copy_async(tile[?sw_xform(t, 8)], x[t])\n"
    body += "cuda.commit_copies()\ncuda.wait_copies({})\ncuda.syncthreads()\ny[t] = tile[t]"
    spec = "[x[7 - i] for i in range(8)]"
    assert solve(kernel(body.format(0), spec=spec, warp_size=8)).best is not None
    result = solve(kernel(body.format(1), spec=spec, warp_size=8), Limits(certify=True))
    assert result.status == "unsat" and not result.solutions
    claims = result.certificate["confirmed"]
    assert claims and all(claim["verdict"] == "confirmed" for claim in claims)


def validated(program: Program, sketch: Sketch, arch: str = "sm_80", change: tuple[str, str] = ("", "")) -> Any:
    """Return what validation says of a program's PTX, with a change of its text."""
    source = cuda_source(program)
    assert change[0] in source.text
    ptx = compile_to_ptx(source.text.replace(*change, 1), arch)
    meaning = Meaning.of(program, sketch.spec)
    validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters), source.alignment)
    return validator.validate(ptx, source.entry)


def emulated(source: CudaSource, program: Program, order: int = 0) -> np.ndarray[Any, Any]:
    dtype = np.float16 if "half" in source.text else np.float32
    x = np.arange(np.prod(program.parameters[0].shape), dtype=dtype)
    y = np.zeros(64, dtype)
    emulate(source.text, source.entry, program.grid, program.block, [x, y], order=order)
    return y


@pytest.mark.parametrize("name", SKETCHES)
def test_holes_are_found_and_the_printed_text_is_right(name: str, solved: dict[str, Program]) -> None:
    """Right at once, by terms; on the CPU, in two orders; by the PTX."""
    program, sketch = solved[name], SKETCHES[name]
    assert verify(program, sketch.spec).equal
    source = cuda_source(program)
    if shutil.which("g++"):
        x = np.arange(np.prod(program.parameters[0].shape)).reshape(program.parameters[0].shape)
        wanted = np.array([float(v) for v in sketch.spec(x)])
        for order in (0, 2):
            np.testing.assert_array_equal(emulated(source, program, order), wanted)
    if available_tools():
        assert validated(program, sketch).verdict == "equal"


@needs_gcc
@needs_cuda
@pytest.mark.parametrize(
    "change",
    [("wait_copies<1>();", "wait_copies<2>();"), ("__syncthreads();", ""), ("wait_copies<0>();", "wait_copies<1>();")],
)
def test_a_printed_text_that_waits_too_little_is_told(change: tuple[str, str], solved: dict[str, Program]) -> None:
    """By the emulation, in some order, and by the validation of PTX."""
    program = solved["stages"]
    source = cuda_source(program)
    right = emulated(source, program)
    wrong = CudaSource(source.text.replace(*change, 1), *(getattr(source, f) for f in source.__struct_fields__[1:]))
    assert validated(program, SKETCHES["stages"], change=change).verdict == "different"
    try:
        assert any((emulated(wrong, program, order) != right).any() for order in range(4))
    except EmulationError as error:
        assert "race" in str(error)


def test_the_architecture_that_is_needed(solved: dict[str, Program]) -> None:
    assert least_architecture(cuda_source(solved["stages"]).text) == ("sm_80", "cp.async")


def test_numba_has_none(solved: dict[str, Program]) -> None:
    with pytest.raises(SwizzleError, match=r"numba\.cuda has no asynchronous copies"):
        numba_source(solved["stages"])
