"""Arrays whose elements a launch is given by value: every text, the call from Python, and what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from cuda_out.compile.launch import structure
from cuda_out.compile.toolchain import available_tools, compile_cuda
from cuda_out.emulate.host import calls, wrong_calls
from cuda_out.numba.module_text import read_module
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted
from swizzle import Solution, load, solve
from swizzle.answers.checking import emitted
from swizzle.answers.emit.emitters import cuda_source, numba_source
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.errors import SwizzleError
from tests.cuda_out.numba_stand_in import module
from tests.swizzle.commands.test_check_and_run import checked

TEXT = """
@spec
def filtered(x, w, shift, scale):
    return [scale[0] * (w[0, 1] * x[i] + w[1, 0] * x[i + 1]) + f32(shift[2]) for i in range(len(x) - 1)]

@sketch(spec=filtered, block=32, grid=2, x=f32[65], w=f32.by_value[2, 2], shift=i16.by_value[3], scale=f32.by_value[1],
        y=f32.out[64])
def taps(x, w, shift, scale, y):
    i = cuda.grid(1)
    sum = f32(0.0)
    for k in range(2):
        sum = sum + w[k, 1 - k] * x[i + k]
    y[i] = scale[0] * sum + f32(shift[2])
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("by_value") / "taps.swz"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def solution(file: Path) -> Solution:
    (sketch,) = load(file, None, {})
    return solve(sketch).best


@pytest.mark.skipif(
    not available_tools() or not (shutil.which("g++") or shutil.which("clang++")), reason="needs both compilers"
)
@pytest.mark.slow
def test_the_text_is_validated(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every length, and its host function: a structure of an array, one of halfwords, one that is a number."""
    monkeypatch.setattr("cuda_out.compile.report.report.__defaults__", (("sm_90",),))
    monkeypatch.setattr(emitted, "available_tools", lambda: available_tools()[:1])
    status, out = checked(file, emitted=True)
    assert status == 0, out
    assert "no local memory" in out and "for every block of every length" in out
    assert re.search("host function, in both forms: grid, block, stream, arguments and errors are right", out)


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
def test_a_host_function_that_passes_other_bytes_is_found(solution: Solution) -> None:
    """The first element, the last one, and all of them."""
    source = cuda_source(solution.program)
    (call, *_) = calls(source)
    launch = "32, 1, 1), 0, stream>>>(x, w, shift"
    assert launch in source.text and not wrong_calls(source, source.text, [call])
    for wrong in ("taps_w{{w.at[1], w.at[1], w.at[2], w.at[3]}}", "taps_w{{w.at[0], w.at[1], w.at[2], 0}}", "{}"):
        text = source.text.replace(launch, launch.replace(" w,", f" {wrong},"))
        assert "w is " in wrong_calls(source, text, [call])[0]


def test_another_element_is_found_in_the_ptx(solution: Solution) -> None:
    """By number, where the structure is read at the bytes of the next element."""
    source, program = cuda_source(solution.program), solution.program
    if not available_tools():
        pytest.skip("no CUDA compiler")
    ptx = compile_cuda(source.text, "sm_90").ptx
    given = {p.name: np.arange(1, 1 + np.prod(p.shape)).reshape(p.shape).astype(NUMPY_DTYPES[p.dtype])
             for p in program.parameters}  # fmt: skip
    found = []
    for text in (ptx, ptx.replace("taps_param_1+8]", "taps_param_1+12]")):
        arguments = [structure(given[p.name]) if p.by_value else given[p.name].copy() for p in program.parameters]
        interpret(text, source.entry, program.grid, program.block, arguments)
        found.append(arguments[-1])
    np.testing.assert_array_equal(found[0], 2 * given["x"][:-1] + 3 * given["x"][1:] + 3)
    np.testing.assert_array_equal(found[1], 2 * given["x"][:-1] + 4 * given["x"][1:] + 3)
    with pytest.raises(NotInterpreted, match="none of its fields"):
        text = ptx.replace("taps_param_1+8]", "taps_param_1+6]")
        interpret(text, source.entry, program.grid, program.block, arguments)


def test_the_structures_are_in_the_text(solution: Solution) -> None:
    """With the type and the number of elements; what is read of them are constants of the launch."""
    source = cuda_source(solution.program)
    assert "struct taps_w {\n  float at[4];\n};" in source.text
    assert "    const taps_shift shift,  // by value: i16[3]\n" in source.text
    assert "inline cudaError_t launch_taps(const float* x, const taps_w& w, const taps_shift& shift," in source.text
    assert dict(source.by_value) == {"w": 16, "shift": 6, "scale": 4}
    if available_tools():
        loads = re.findall(r"ld\.param\S+\s+%\w+, \[taps_param_1(\+\d+)?\]", compile_cuda(source.text, "sm_90").ptx)
        assert sorted(set(loads)) == ["+4", "+8"]


def test_the_call_from_python(solution: Solution) -> None:
    """At another length than the sketch's; the arrays are copied as they are at the call."""
    x, w = np.arange(101, dtype=np.float32), np.array([[9, 2], [3, 9]], np.float32)
    shift, scale, y = np.array([7, 8, -5], np.int16), np.array([2], np.float32), np.zeros(100, np.float32)
    solution(x, w.T[::-1, ::-1].T, shift, scale, y)
    np.testing.assert_array_equal(y, 2 * (3 * x[:-1] + 2 * x[1:]) - 5)
    with pytest.raises(SwizzleError, match=r"the array for w has the shape \[3, 2\]"):
        solution(x, np.zeros((3, 2), np.float32), shift, scale, y)
    with pytest.raises(SwizzleError, match="the array for shift holds int32"):
        solution(x, w, shift.astype(np.int32), scale, y)
    with pytest.raises(SwizzleError, match=r"the array for scale is a builtins\.float"):
        solution(x, w, shift, 2.0, y)


def test_the_module_for_numba_takes_arrays(solution: Solution) -> None:
    """numba passes no arrays by value."""
    program = replace(optimize(solution.program), min_blocks=32)
    source = print_numba(program)
    read_module(source.text, source, program)
    x, y = np.arange(65, dtype=np.float32), np.zeros(64, np.float32)
    w, shift = np.array([[9, 2], [3, 9]], np.float32), np.array([7, 8, -5], np.int16)
    module(source.text.replace("@cuda.jit(max_registers=64)", "@cuda.jit"))[source.launcher](
        x, w, shift, np.ones(1, np.float32), y
    )
    np.testing.assert_array_equal(y, 2 * x[:-1] + 3 * x[1:] - 5)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("f32.by_value[2, 2]", "f32.by_value[1024, 2]", "w takes 8192 bytes by value, with the others 8202"),
        ("f32.by_value[2, 2]", "cuda.float2.by_value[2]", "cuda.float2 has no role `by_value`"),
        ("sum = f32(0.0)", "w[0, 0] = f32(1.0)", "a store to the read-only parameter w"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, found: str) -> None:
    """More than fits, vectors, and stores."""
    path = tmp_path / "wrong.swz"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(SwizzleError, match=re.escape(found)):
        load(path, None, {})


def test_an_array_that_grows_with_the_length_keeps_its_size(tmp_path: Path) -> None:
    """The structure has a size, so the kernel is for the sketch's own."""
    path = tmp_path / "scaled.swz"
    path.write_text("""
@spec
def scaled(x, a):
    return [a[i] * x[i] for i in range(len(x))]

@sketch(spec=scaled, block=32, grid=2, x=f32[64], a=f32.by_value[64], y=f32.out[64])
def each(x, a, y):
    i = cuda.grid(1)
    y[i] = a[i] * x[i]
""")
    (sketch,) = load(path, None, {})
    best = solve(sketch).best
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    best(x, x, y)
    np.testing.assert_array_equal(y, x * x)
    with pytest.raises(SwizzleError, match=r"a, which is passed by value, would grow with the length"):
        best(x[:32], x, y[:32])


def test_an_index_that_is_known_at_run_time_is_refused(tmp_path: Path) -> None:
    """Of more elements than a thread chooses among, with the place of the read; numba's array is in memory anyway."""
    path = tmp_path / "scaled.swz"
    path.write_text("""
@spec
def scaled(x, a):
    return [a[i % 96] * x[i] for i in range(len(x))]

@sketch(spec=scaled, block=96, grid=2, x=f32[192], a=f32.by_value[96], y=f32.out[192])
def each(x, a, y):
    y[cuda.grid(1)] = x[cuda.grid(1)] * a[cuda.threadIdx.x]
""")
    (sketch,) = load(path, None, {})
    program = solve(sketch).best.program
    with pytest.raises(SwizzleError, match=r"a is passed by value, and which element is read here") as caught:
        cuda_source(program)
    assert (caught.value.place.line, caught.value.place.column) == (8, 41) and ".const" in caught.value.fix
    assert "a[" in numba_source(program).text
