"""Asynchronous copies, in all that a kernel becomes."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource
from cuda_out.compile.toolchain import available_tools, compile_to_ptx, least_architecture
from cuda_out.emulate.emulate import EmulationError, emulate
from cuda_out.ptx.running.validate import Validator, WrittenOut
from cuda_out.tiling.tiling import Tiling
from swizzle import Sketch, SwizzleError, solve
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.any_length.conditions import FixedSize, any_length
from swizzle.answers.emit.any_length.reductions import along_loops
from swizzle.answers.emit.emitters import cuda_source, numba_source
from swizzle.answers.emit.filled import FilledKernel
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

@sketch(spec=total, block=32, x=f32[4, 64], y=f32.out[64])
def looped(x, y):
    tile = cuda.shared.array((4, 64), f32)
    t = cuda.threadIdx.x
    for k in range(4):
        for h in range(2):
            column = t + 32 * h
            cuda.copy_async(tile[k, column], x[k, column])
    cuda.commit_copies()
    cuda.wait_copies(0)
    cuda.syncthreads()
    for h in range(2):
        i = t + 32 * h
        y[i] = tile[0, i] + tile[1, i] + tile[2, i] + tile[3, i]

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


def test_what_loops_add_to_an_address_is_apart(solved: dict[str, Program]) -> None:
    assert re.search(r"&\(&x\[\w+\]\)\[k \* 64 \+ h \* 32\]", cuda_source(solved["looped"]).text)


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


LONG = """\
@spec
def rows(x):
    return [sum(f32(x[i, k]) for k in range(len(x[0]))) for i in range(len(x))]

@cuda.jit(device=True)
def fetch(tile, x, k):
    t = cuda.threadIdx.x
    cuda.copy_async(tile[k % 3, t // 2, t % 2 * 4], x[cuda.blockIdx.x * 16 + t // 2, k * 8 + t % 2 * 4], count=4)

@sketch(spec=rows, block=32, grid=2, x=f16[32, 24], y=f32.out[32])
def triple(x, y):
    tile = cuda.shared.array((3, 16, 8), f16)
    t = cuda.threadIdx.x
    s = f32(0)
    fetch(tile, x, 0)
    cuda.commit_copies()
    fetch(tile, x, 1)
    cuda.commit_copies()
    for k in range(3):
        cuda.wait_copies(1)
        cuda.syncthreads()
        if k + 2 < 3:
            fetch(tile, x, k + 2)
        cuda.commit_copies()
        if t < 16:
            for e in range(8):
                s += f32(tile[k % 3, t, e])
    if t < 16:
        y[cuda.blockIdx.x * 16 + t] = s

@spec
def same(x):
    return [x[i] for i in range(len(x))]

@sketch(spec=same, block=32, grid=2, x=f32[256], y=f32.out[256])
def along(x, y):
    tile = cuda.shared.array(128, f32)
    t = cuda.threadIdx.x
    cuda.copy_async(tile[4 * t], x[cuda.blockIdx.x * 128 + 4 * t], count=4)
    cuda.commit_copies()
    cuda.wait_copies(0)
    cuda.syncthreads()
    for e in range(4):
        y[cuda.blockIdx.x * 128 + 32 * e + t] = tile[32 * e + t]
"""


def lengths_of(sketch: Sketch) -> Tiling | FixedSize:
    """Return at which lengths a kernel without holes may run."""
    return along_loops(sketch.program, sketch.spec, any_length(sketch.program, sketch.spec))


@pytest.mark.slow
def test_three_stages_run_along_any_length() -> None:
    """Also where rows have no multiple of what is copied at once, and where the last chunk is cut."""
    sketch = sketches(LONG)["triple"]
    sizes = lengths_of(sketch)
    assert isinstance(sizes, Tiling) and [axis.axis for axis in sizes.axes] == ["x", "k"]
    source = cuda_source(sketch.program, sizes=sizes)
    assert "copy_async_or_zero_8(" in source.text and "wait_copies<1>();" in source.text
    if not shutil.which("g++"):
        return
    for rows, columns in ((32, 24), (17, 41), (16, 4), (1, 7), (33, 64)):
        x = np.arange(rows * columns, dtype=np.float16).reshape(rows, columns) % 31
        y = np.zeros(rows, np.float32)
        lengths = [np.int64(rows), np.int64(columns)]
        emulate(source.text, source.entry, (-(-rows // 16), 1, 1), (32, 1, 1), [x, y, *lengths], order=3)
        np.testing.assert_array_equal(y, x.astype(np.float32).sum(axis=1))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("tile[k % 3, t, e]", "tile[(k + 2) % 3, t, e]", "a trip"),
        pytest.param("if k + 2 < 3:", "if k < 1:", "", marks=pytest.mark.slow),
        ("if k + 2 < 3:", "if k != 1 and k != 2:", "line 22"),
    ],
)
def test_trips_that_are_not_alike_keep_their_length(old: str, new: str, why: str) -> None:
    """One that reads what other trips have left, one that asks for a later trip by number, or in another way."""
    sketch = sketches(LONG.replace(old, new))["triple"]
    sizes = lengths_of(sketch)
    kept = sizes.kept if isinstance(sizes, Tiling) else sizes.why
    assert why in kept and bool(kept) == bool(why)


@needs_cuda
def test_validated_for_every_length() -> None:
    sketch = sketches(LONG)["along"]
    filled = FilledKernel(sketch.program, sketch.spec, (), any_length(sketch.program, sketch.spec))
    source = cuda_source(sketch.program, sizes=filled.sizes)
    for change, verdict in ((("", ""), "equal"), (("wait_copies<0>();", "wait_copies<1>();"), "different")):
        ptx = compile_to_ptx(source.text.replace(*change), "sm_80")
        found = SizesValidator(sizes_to_try(filled, source), source).validate(ptx, source.entry)
        assert found.verdict == verdict and found.everywhere == (verdict == "equal")
