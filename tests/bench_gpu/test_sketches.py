"""The sketches of bench/gpu: solved, proved, printed for any length, and checked down to PTX."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from bench.gpu.__main__ import all_cases
from bench.gpu.backend import Emulation
from bench.gpu.contenders import Setup, solved
from bench.gpu.kernels import Lengths
from bench.gpu.measure import Arrays
from bench.gpu.problem import Case
from bench.gpu.solved import Store, sketch
from cuda_out.compile.toolchain import available_tools, compile_cuda, uses_local
from swizzle import load, solve
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.calling import solution_sizes
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from tests.slow_cases import slow_unless

SKETCHES = Path(__file__).resolve().parents[2] / "bench" / "gpu" / "sketches"
SMALL = [
    ("aos.py:store", "AoS load-store, 12", {"struct_size": 12, "vector": 4, "structs": 1, "warps": 2}),
    ("aos.py:store", "AoS load-store, 3", {"struct_size": 3, "vector": 1, "structs": 2, "warps": 1}),
    ("aos.py:load_sum", "AoS load-sum, 10", {"struct_size": 10, "vector": 2, "structs": 1, "warps": 1}),
    ("conv1d.py:convolution", "1D convolution, weights, 5", {"K": 5, "columns": 2, "warps": 2}),
    ("conv1d.py:average", "1D stencil (moving average), width, 3", {"K": 3, "columns": 4, "warps": 1}),
    ("conv1d.py:packed", "1D convolution, weights, 3", {"K": 3, "columns": 4, "warps": 1}),
    ("conv1d.py:packed_average", "1D stencil (moving average), width, 3", {"K": 3, "columns": 4, "warps": 1}),
    ("conv2d.py:average", "2D stencil (window average), window side, 3", {"rows": 2, "columns": 2, "warps": 1}),
    ("transpose.py:several", "Transposition, rows, 32", {"rows": 8}),
    ("gemv.py:packed", "Matrix times vector, columns, 64", {"each": 2}),
    ("aos.py:store", "AoS load-store, 6", {"struct_size": 6, "vector": 2, "structs": 1, "warps": 1, "direct": 1}),
    ("conv2d.py:spread", "2D convolution, filter side, 3", {"K": 3, "rows": 2, "columns": 2, "warps": 1}),
    ("conv2d.py:packed", "2D convolution, filter side, 3", {"K": 3, "rows": 2, "columns": 4, "warps": 1}),
]
needs_cpp = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(Store(tmp_path_factory.mktemp("solved") / "kernels.json"), {})


def named(setup: Setup, name: str) -> Case:
    return next(case for case in all_cases(setup) if case.name == name)


@needs_cpp
@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(
    ("target", "case", "parameters"),
    slow_unless(SMALL, lambda case: case[0] == "conv1d.py:convolution" or case[2].get("struct_size") == 3),
    ids=lambda value: str(value).partition(",")[0],
)
def test_a_sketch_is_solved_and_its_text_is_right(
    setup: Setup, target: str, case: str, parameters: dict[str, int]
) -> None:
    """The kernel of the benchmarks computes NumPy's numbers at ragged lengths, and keeps nothing in local memory."""
    found = named(setup, case)
    contender = solved(setup, "ours", [sketch(f"bench/gpu/sketches/{target}", **parameters)])
    (variant,) = contender.variants
    (kernel,) = variant.kernels
    for arch in ("sm_75", "sm_80", "sm_90", "sm_100"):
        made = compile_cuda(kernel.text, arch)
        assert not uses_local(made.ptx) and made.kernels[kernel.entry].stack_bytes == 0
    backend = Emulation()
    sizes: tuple[Lengths, ...] = found.small[:2]
    for lengths in sizes:
        with Arrays(backend, found.problem(lengths)) as arrays:
            wanted = found.expected(arrays.inputs()).reshape(arrays.problem.output.shape)
            backend.poison(arrays.output)
            variant.bind(backend, arrays.problem, arrays.buffers).run()
            np.testing.assert_allclose(arrays.output, wanted, rtol=0, atol=arrays.problem.tolerance)


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(
    ("target", "parameters"),
    [
        ("aos.py:store", {"struct_size": 6, "vector": 2, "structs": 1, "warps": 1, "grid": 1}),
        ("conv1d.py:convolution", {"K": 3, "columns": 2, "warps": 1, "grid": 1}),
        pytest.param("conv2d.py:packed", {"K": 3, "rows": 1, "columns": 2, "warps": 1}, marks=pytest.mark.slow),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_ptx_is_the_specification(target: str, parameters: dict[str, int]) -> None:
    """What the compiler made is the specification for all inputs, also where blocks are cut."""
    file, _, name = target.partition(":")
    (posed,) = load(SKETCHES / file, name, parameters)
    best = solve(posed).best
    filled = FilledKernel(best.program, posed.spec, (), solution_sizes(best))
    source = cuda_source(filled.program, (), filled.sizes)
    made = compile_cuda(source.text, "sm_90")
    found = SizesValidator(sizes_to_try(filled, source), source).validate(made.ptx, source.entry)
    assert (found.verdict, found.findings) == ("equal", ())
