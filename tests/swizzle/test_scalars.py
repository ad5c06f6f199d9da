"""Scalar parameters, `a=f32.scalar`: one number, passed by value, in all that is made of a sketch."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.host import NotRun, calls, wrong_calls
from cuda_out.ptx.every_length.tiles import TileValidator
from cuda_out.ptx.running.validate import Validator, WrittenOut
from cuda_out.tiling.tiling import Tiling
from swizzle import Sketch, Solution, f32, load, solve
from swizzle.answers.checking.trial import trials
from swizzle.answers.emit.emitters import cuda_source, origin
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.sketches.swz_file import read_swz
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType
from tests.cuda_out.numba_stand_in import module

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = """\
@spec
def gemm_spec(alpha, u, v, beta, y):
    return [[alpha * sum(u[r, k] * v[k, c] for k in range(4)) + beta * y[r, c] for c in range(8)] for r in range(4)]

@sketch(spec=gemm_spec, block=(8, 4), alpha=f32.scalar, u=f32[4, 4], v=f32[4, 8], beta=f32.scalar, y=f32.inout[4, 8])
def gemm(alpha, u, v, beta, y):
    c, r = cuda.grid(2)
    out = accumulator(f32, outer="+", inner="*")
    for k in range(4):
        out.accumulate(u[r, k], v[k, c])
    y[r, c] = alpha * out.value + beta * y[r, c]

@cuda.jit(device=True)
def scaled(v, by):
    by += 1
    return v * by

@spec
def conv_spec(alpha, x, beta, w):
    return [alpha * sum(w[k] * x[i + k] for k in range(3)) + x[i] * (beta + 1) for i in range(len(x) - 2)]

@sketch(spec=conv_spec, block=64, grid=2, alpha=f32.scalar, x=f32[130], beta=f32.scalar, w=f32.const[3], y=f32.out[128])
def conv1d(alpha, x, beta, w, y):
    lane, i = cuda.laneid, cuda.grid(1)
    inp = cuda.local.array(2, f32)
    warp_load(x, inp, offset=i - lane, rounds=2)
    out = accumulator(f32, outer="+", inner="*")
    for k in range(3):
        v = cuda.shfl_sync(cuda.FULL_MASK, inp[?sw_part(2, lane, k)], ?sw_xform(lane, 32, k))
        out.accumulate(v, w[?sw_xform(k, 3, lane)])
    y[i] = alpha * out.value + scaled(x[i], beta)

@spec
def norm_spec(x, a, b):
    return [math.sqrt(a * sum(x[4 * i + k] * x[4 * i + k] for k in range(4)) + b) for i in range(32)]

@sketch(spec=norm_spec, block=32, x=f32[128], a=f32.scalar, b=f32.scalar, y=f32.out[32])
def norm(x, a, b, y):
    i = cuda.laneid
    out = accumulator(f32, outer="+", inner="*", final=lambda s: math.sqrt(s * a + b))
    for k in range(4):
        out.accumulate(x[4 * i + k], x[4 * i + ?sw_xform(k, 4)])
    y[i] = out.value

@spec
def every_type(h, i, u, l, m, f, d, a, b, c, e):
    small = [a[k] * i + u - u for k in range(32)]
    return [v * h for v in b], small, [v + l for v in c], [v * d for v in e], [m for _ in c], [f for _ in b]

@sketch(spec=every_type, block=32, h=f16.scalar, i=i32.scalar, u=i32.scalar, l=i64.scalar, m=u64.scalar,
        f=f32.scalar, d=f64.scalar, a=i32[32], b=f16[32], c=i64[32], e=f64[32], p=f16.out[32], q=i32.out[32],
        r=i64.out[32], s=f64.out[32], t=u64.out[32], v=f32.out[32])
def types(h, i, u, l, m, f, d, a, b, c, e, p, q, r, s, t, v):
    k = cuda.laneid
    p[k] = b[k] * h
    q[k] = a[k] * i + u - u
    r[k] = c[k] + l
    s[k] = e[k] * d
    t[k] = m
    v[k] = f
"""


def sketches() -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in read_swz(TEXT, "scalars.swz", Parameters())}


SKETCHES = sketches()
BEST: dict[str, Solution] = {}


def best(name: str) -> Solution:
    if name not in BEST:
        BEST[name] = solve(SKETCHES[name]).best
    return BEST[name]


def printed(name: str) -> tuple[CudaSource, Any]:
    solution = best(name)
    sizes = sizes_of(solution.program, SKETCHES[name])
    return cuda_source(solution.program, origin(solution.program), sizes), sizes


def test_both_kinds_of_files_make_the_same_program(tmp_path: Path) -> None:
    text = TEXT[: TEXT.index("@cuda.jit")]
    (tmp_path / "gemm.py").write_text(f"from swizzle import accumulator, cuda, f32, sketch, spec\n\n{text}")
    (sketch,) = load(tmp_path / "gemm.py")
    found, wanted = (
        [(p.name, p.dtype, p.shape, p.role) for p in each.program.parameters] for each in (sketch, SKETCHES["gemm"])
    )
    assert found == wanted and [p.is_scalar for p in sketch.program.parameters] == [True, False, False, True, False]
    with pytest.raises(SwizzleError, match=r"a shape for f32\.scalar, which is one number"):
        f32.scalar[3]


@pytest.mark.parametrize("name", SKETCHES)
def test_a_specification_is_given_a_number(name: str) -> None:
    """On symbols one datum, in terms by its bare name; on NumPy's numbers one of them."""
    sketch = SKETCHES[name]
    meaning = Meaning.of(sketch.program, sketch.spec)
    said = {t for terms in meaning.wanted.values() for t in terms}
    scalars = [p.name for p in sketch.program.parameters if p.is_scalar]
    assert any(re.search(rf"\b{scalars[0]}\b(?!\[)", meaning.terms.show(term)) for term in said)
    arrays = {p.name: np.ones(p.shape, "f4" if p.dtype.is_float else "i4") for p in sketch.program.parameters}
    assert all(np.asarray(array).shape for array in numbers(sketch.program, sketch.spec, arrays).values())


def test_the_kernel_takes_it_by_value() -> None:
    source, sizes = printed("conv1d")
    assert isinstance(sizes, Tiling) and sizes.spans["alpha"] == ()
    assert "    float alpha,  // scalar f32\n" in source.text and "= alpha * out" in source.text
    assert "launch_conv1d(float alpha, const float* x, float beta, const float* w, float* y," in source.text
    assert source.scalars == {"alpha": DType.F32, "beta": DType.F32}
    with pytest.raises(SwizzleError, match=r"numba\.cuda has no f16"):
        best("types").to_numba()


@needs_gcc
@pytest.mark.parametrize("name", SKETCHES)
def test_the_printed_text_computes_the_specification(name: str) -> None:
    """On random data of every kind, by calls of the solution."""
    solution, sketch = best(name), SKETCHES[name]

    def run(arrays: list[Any]) -> None:
        solution(*arrays)

    for trial in trials(solution.program, lambda given: numbers(solution.program, sketch.spec, given), run, 0):
        assert trial.equal, trial


@needs_gcc
def test_a_call_takes_numbers() -> None:
    """Python's and NumPy's, at any length; what does not fit is said."""
    solution = best("conv1d")
    x, w, y = np.arange(72, dtype=np.float32), np.array([1, 2, 4], np.float32), np.empty(70, np.float32)
    for alpha, beta in ((2, 0.5), (np.float32(2), np.array(0.5)), (np.int64(2), np.float64(0.5))):
        solution(alpha, x, beta, w, y)
        np.testing.assert_array_equal(y, 2 * (x[:-2] + 2 * x[1:-1] + 4 * x[2:]) + 1.5 * x[:-2])
    for given, complaint in ((x, "shape (72,)"), ("2", "is a str"), (True, "is a bool"), (None, "is a NoneType")):
        with pytest.raises(SwizzleError, match=f"the scalar alpha is .*{re.escape(complaint.split()[-1])}"):
            solution(given, x, 1, w, y)
    with pytest.raises(SwizzleError, match=r"called with 4 arguments[\s\S]*alpha f32 \(a number\), x f32\[130\]"):
        solution(x, 1, w, y)
    whole = [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        *(np.zeros(32, t) for t in ("i4", "f2", "i8", "f8", "f2", "i4", "i8", "f8", "u8", "f4")),
    ]
    for place, value, complaint in ((1, 2.5, "is 2.5"), (1, 2**31, "from -2147483648"), (4, -1, "from 0 to")):
        with pytest.raises(SwizzleError, match=re.escape(complaint)):
            best("types")(*whole[:place], value, *whole[place + 1 :])


def test_the_numba_module_computes_the_specification() -> None:
    """A Python number gets the kernel's type in the launch function."""
    source = best("gemm").to_numba()
    rng = np.random.default_rng(0)
    u, v, y = (rng.integers(-4, 4, shape).astype(np.float32) for shape in ((4, 4), (4, 8), (4, 8)))
    want = 3 * (u @ v) + 2 * y
    module(source)["launch_gemm"](3, u, v, 2.0, y)
    np.testing.assert_array_equal(y, want)
    assert "    alpha = float32(alpha)\n" in source


WRONG_HOSTS = {
    "scalars turned": (r"(>>>\()alpha, x, beta", r"\1beta, x, alpha"),
    "one for both": (r"(>>>\()alpha, x, beta", r"\1alpha, x, alpha"),
    "rounded": (r"(>>>\()alpha", r"\1float(int(alpha))"),
    "of eleven bits": (r"(>>>\()alpha", r"\1__half2float(__float2half(alpha))"),
    "the sign of zero": (r"(>>>\()alpha", r"\1alpha + 0.0f"),
}


@pytest.mark.sampled(2)
@needs_gcc
@pytest.mark.parametrize("name", WRONG_HOSTS)
def test_wrong_host_functions_are_found(name: str) -> None:
    source, _ = printed("conv1d")
    text, count = re.subn(*WRONG_HOSTS[name], source.text)
    assert count == 1
    text = "#include <cuda_fp16.h>\n" + text
    assert not wrong_calls(source, source.text, list(calls(source)))
    assert wrong_calls(source, text, list(calls(source)))


@needs_gcc
@pytest.mark.parametrize("kind", ["double", "int", "long long", "const float*"])
def test_a_host_function_of_another_type_is_not_right(kind: str) -> None:
    """Its width is wrong, and so what it takes; it is not said to be right."""
    source, _ = printed("conv1d")
    text = source.text.replace("launch_conv1d(float alpha", f"launch_conv1d({kind} alpha")
    with pytest.raises((NotRun, Exception), match=r"(?s)conver|deleted"):
        wrong_calls(source, text, list(calls(source)))


@needs_cuda
@pytest.mark.parametrize("name", ["gemm", "norm", "types"])
def test_the_ptx_is_the_specification(name: str) -> None:
    """And is not, where a scalar is another one, or of another width."""
    source, _ = printed(name)
    program, meaning = best(name).program, Meaning.of(best(name).program, SKETCHES[name].spec)
    validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters))

    def verdict(old: str, new: str) -> str:
        text, count = re.subn(old, new, source.text)
        assert count, source.text
        return validator.validate(compile_to_ptx(with_opaque_calls(text), "sm_80"), source.entry).verdict

    assert verdict("^", "") == "equal"
    if name == "norm":
        assert verdict(r"\* a \+ b", "* b + a") == "different"
    elif name == "gemm":
        assert verdict(r"= alpha \* out", "= beta * out") == "different"
        assert verdict(r"(float) alpha,(.*\n.*\n.*\n.*)float beta", r"\1 beta,\2float alpha") == "different"
        assert verdict("float alpha", "double alpha") == "unknown"
    else:
        assert verdict(r"float f,", "int f,") != "equal"
        assert verdict(r"= m;", "= unsigned(m);") != "equal"


@needs_cuda
def test_every_block_of_every_length() -> None:
    source, sizes = printed("conv1d")
    program, meaning = best("conv1d").program, Meaning.of(best("conv1d").program, SKETCHES["conv1d"].spec)
    tiles = TileValidator(program, sizes, meaning.wanted, WrittenOut(meaning.terms, program.parameters))
    for arch in ("sm_75", "sm_100"):
        found = tiles.validate(compile_to_ptx(source.text, arch), source.entry)
        assert (found.verdict, found.everywhere) == ("equal", True), found
    turned = source.text.replace("alpha * out", "beta * out")
    assert tiles.validate(compile_to_ptx(turned, "sm_80"), source.entry).verdict == "different"
