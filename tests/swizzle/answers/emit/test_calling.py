"""`solution(x, w, y)`: NumPy arrays without a GPU, device arrays with one, and every way to call it wrongly."""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.launch import gpu_available
from swizzle import Solution, load, solve
from symbolic.errors import SwizzleError

CASES = Path(__file__).parents[4] / "case_studies"
AVAILABLE, REASON = gpu_available()
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
F32 = np.float32


@lru_cache
def solved(file: str, name: str | None = None, **parameters: int) -> Solution:
    (sketch,) = load(CASES / f"{file}.py", name, parameters)
    return solve(sketch).best


def arrays(n: int) -> tuple[Any, Any, Any]:
    """Return x, w and y of a convolution of n outputs."""
    return np.arange(n + 2, dtype=F32), np.array([1, 2, 4], F32), np.full(n, np.nan, F32)


def device(array: Any, **changes: Any) -> Any:
    """Return something that looks like device memory; nothing is read from it."""
    interface = {**array.__array_interface__, "version": 3, "strides": None, **changes}
    return SimpleNamespace(__cuda_array_interface__=interface)


@needs_gcc
@pytest.mark.parametrize("n", [128, 1000, 1, 63])
def test_a_call_fills_the_outputs(n: int) -> None:
    """At the sketch's own length and at others."""
    x, w, y = arrays(n)
    solved("conv1d")(x, w, y)
    np.testing.assert_array_equal(y, x[:-2] + 2 * x[1:-1] + 4 * x[2:])


@needs_gcc
def test_a_call_in_two_dimensions() -> None:
    """Both lengths of a convolution over an image are read off the arrays."""
    image, w = np.random.default_rng(0).integers(-8, 8, (9, 15)).astype(F32), np.eye(3, dtype=F32)
    y = np.zeros((7, 13), F32)
    solved("conv2d", warp_size=4)(image, w, y)
    np.testing.assert_array_equal(y, image[:-2, :-2] + image[1:-1, 1:-1] + image[2:, 2:])


def test_arrays_without_elements_need_no_launch() -> None:
    """A length of 0 is allowed, as in the launch function."""
    solved("conv1d")(*arrays(0))


def test_a_solution_keeps_what_it_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text and the proof for other lengths are made once; emulation sees the same text again."""

    texts: list[str] = []
    monkeypatch.setattr("swizzle.answers.emit.calling.emulate", lambda text, *_, **__: texts.append(text))
    monkeypatch.setattr("swizzle.answers.emit.calling.gpu_available", lambda: (False, ""))
    (sketch,) = load(CASES / "conv1d.py", None, {"warp_size": 4})
    best = solve(sketch).best
    for n in (7, 9):
        best(*arrays(n))
    assert texts[0] is texts[1] and "long long n" in texts[0]


WRONG: list[tuple[str, Any, str]] = [
    ("two arrays", lambda x, w, y: (x, w), "with 2 arrays\n  expected: 3, in this order: x f32[130], w f32[3]"),
    ("a list", lambda x, w, y: ([1.0], w, y), "the array for x is a builtins.list"),
    ("a scalar", lambda x, w, y: (x, F32(3), y), "the array for w is a numpy.float32"),
    ("doubles", lambda x, w, y: (x, w.astype("f8"), y), "for w holds float64\n  expected: f32 (float32)"),
    ("other bytes", lambda x, w, y: (x.astype(">f4"), w, y), "holds float32 of the other byte order"),
    ("every second", lambda x, w, y: (np.zeros(260, F32)[::2], w, y), "the array for x is not contiguous"),
    ("device strides", lambda x, w, y: (device(x, strides=(8,)), device(w), device(y)), "x is not contiguous"),
    ("read-only", lambda x, w, y: (x, w, np.frombuffer(bytes(512), F32)), "for y is read-only, but"),
    ("shared", lambda x, w, y: (x, w, x[2:]), "the array for y shares memory with x"),
    ("mixed", lambda x, w, y: (device(x), w, y), "NumPy arrays (w, y) and device arrays (x)"),
    ("too short", lambda x, w, y: (x[1:], w, y), "called with x[129], w[3], y[128]\n  expected: x[n + 2], w[3], y[n]"),
    ("more weights", lambda x, w, y: (x, x[:4].copy(), y), "expected: x[n + 2], w[3], y[n]"),
    ("2D", lambda x, w, y: (x.reshape(2, 65), w, y), "called with x[2, 65], w[3], y[128]"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_wrong_call_is_one_clear_error(wrong: Any, message: str) -> None:
    """It names the array, what it is and what it should be; the outputs stay."""
    x, w, y = arrays(128)
    with pytest.raises(SwizzleError) as caught:
        solved("conv1d")(*wrong(x, w, y))
    assert message in str(caught.value)
    assert np.isnan(y).all()


def test_a_stream_is_for_device_arrays() -> None:
    """NumPy arrays are done with when the call returns."""
    with pytest.raises(SwizzleError, match="stream= with NumPy arrays"):
        solved("conv1d")(*arrays(128), stream=0)


def test_a_kernel_of_fixed_size_says_why() -> None:
    """Where no other lengths are shown to be right, or the specification is not at hand."""
    best = solved("transpose", warp_size=4)
    shapes = [parameter.shape for parameter in best.program.parameters]
    wrong = [np.zeros([extent + 1 for extent in shape], F32) for shape in shapes]
    with pytest.raises(SwizzleError, match="is called with"):
        best(*wrong)
    conv = solved("conv1d", warp_size=4)
    alone = Solution(conv.program, conv.holes, conv.cost, conv.sketch)
    with pytest.raises(SwizzleError) as caught:
        alone(*arrays(9))
    assert caught.value.fix == "declare other sizes in the sketch and solve it again"


def test_lengths_of_whole_steps() -> None:
    """A length that is not a multiple of the step is refused, with the step."""
    best = solved("mult32", "register", warp_size=8)
    a, c = np.zeros(12, np.uint32), np.zeros(24, np.uint32)
    with pytest.raises(SwizzleError) as caught:
        best(a, a.copy(), c)
    assert caught.value.expected == "a[n], b[n], c[2 * n]; n a multiple of 8"


def test_misaligned_device_arrays_are_named() -> None:
    """Where the kernel loads vectors, an array has to begin at a multiple of their size."""
    from swizzle import cuda, f32, sketch

    @sketch(spec=lambda x: x, block=64, grid=1, x=f32[128], y=f32.out[128])
    def pairs(x: Any, y: Any) -> None:
        pair = cuda.local.array(2, f32)
        for j in range(2):
            pair[j] = x[2 * cuda.laneid + 64 * cuda.warpid + j]
        for j in range(2):
            y[2 * cuda.laneid + 64 * cuda.warpid + j] = pair[j]

    x = np.arange(128, dtype=F32)
    address = x.__array_interface__["data"][0]
    with pytest.raises(SwizzleError, match="the array for x starts at an address that is not a multiple of 8 bytes"):
        solve(pairs).best(device(x, data=(address // 8 * 8 + 4, False)), device(np.zeros_like(x)))


@pytest.mark.skipif(AVAILABLE, reason="this machine has a GPU")
def test_device_arrays_without_a_gpu() -> None:
    """They pass every check, and then the missing GPU is named."""
    with pytest.raises(SwizzleError) as caught:
        solved("conv1d")(*map(device, arrays(1000)))
    assert REASON in str(caught.value)


@pytest.mark.gpu
@pytest.mark.skipif(not AVAILABLE, reason=REASON)
def test_device_arrays_on_a_stream() -> None:
    """numba's arrays, used where they lie."""
    from numba import cuda

    x, w, y = arrays(1000)
    stream = cuda.stream()
    given = [cuda.to_device(each) for each in (x, w, y)]
    solved("conv1d")(*given, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(given[2].copy_to_host(), x[:-2] + 2 * x[1:-1] + 4 * x[2:])
