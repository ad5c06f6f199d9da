"""The kernels that are not printed: they compile without warnings, compute and measure what they say."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from bench.gpu import aos, conv, multiply
from bench.gpu.__main__ import all_cases
from bench.gpu.backend import Emulation
from bench.gpu.contenders import Setup
from bench.gpu.device import compiled
from bench.gpu.kernels import Kernel, by_hand
from bench.gpu.measure import Arrays
from bench.gpu.missing import Missing
from bench.gpu.problem import Case
from bench.gpu.roofline import OPERATIONS_PER_LOOP, RATES, copy_kernel, measure_roofline, rate_kernel
from bench.gpu.solved import Sketch, Store
from cuda_out.compile.report import disassembler, instruction_counts
from cuda_out.compile.toolchain import available_tools, compile_cuda, uses_local

pytestmark = pytest.mark.slow

needs_compiler = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")
needs_cpp = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)


class NothingSolved(Store):
    """A store without kernels, so that only the rivals are there."""

    def kernel(self, wanted: Sketch) -> Kernel:
        raise Missing("not asked for")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Case]:
    setup = Setup(NothingSolved(tmp_path_factory.mktemp("store") / "kernels.json"), {})
    return {case.name: case for case in all_cases(setup)}


CHOSEN = [
    "AoS load-store, 1",
    "AoS load-store, 3",
    "AoS load-sum, 12",
    "2D convolution, filter side, 3",
    "1D convolution, weights, 17",
    "1D stencil (moving average), width, 5",
    "Multiplication of polynomials, coefficients, 64",
    "2D stencil (window average), window side, 3",
    "Transposition, rows, 32",
    "Matrix times vector, columns, 64",
    "Field multiplication, degree, 32",
    "Field multiplication, degree, 96",
]


def kernels(case: Case) -> list[Kernel]:
    return [k for c in case.contenders() for v in c.variants for k in v.kernels if k.includes is None]


def test_every_group_has_its_rows(cases: Mapping[str, Case]) -> None:
    """Struct sizes 1 to 16, filters 3 to 17, degrees 32 to 384; a name belongs to one case."""
    assert len(cases) == 2 * 16 + 3 * 8 + 3 + 2 + 8
    assert {case.at for case in cases.values() if case.group == "AoS load-sum"} == set(range(1, 17))
    assert {case.at for case in cases.values() if case.group.startswith("Field")} == set(multiply.EXPONENTS)


@needs_compiler
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_tools_compile(arch: str) -> None:
    """The fills, comparisons, conversions and ceilings; nothing of theirs is in local memory."""
    for kernel in (
        copy_kernel(),
        rate_kernel("rate_fma", 256),
        by_hand("tools.cu", "to_limbs", 32, "xy", (1,), WORDS=64),
        by_hand("conv2d.cu", "shared_2d", (32, 8), "xwy", (32, 8), K=17, X=32, Y=8),
        by_hand("aos.cu", "shared_store", 256, "xy", (256,), AOS_WORDS=12, AOS_THREADS=256, V=4, PAD=1),
        by_hand("multiply.cu", "field", 128, "abc", (4,), D=64, R=4, S=3, T=1),
    ):
        made = compile_cuda(kernel.text, arch)
        assert kernel.entry in made.kernels
        assert not uses_local(made.ptx)


@needs_compiler
@pytest.mark.parametrize("name", CHOSEN)
def test_the_rivals_compile(cases: Mapping[str, Case], name: str) -> None:
    """Every variant, without warnings and without local memory: a rival that spills would be a poor one."""
    for text, entry in {(kernel.text, kernel.entry) for kernel in kernels(cases[name])}:
        made = compile_cuda(text, "sm_90")
        assert made.kernels[entry].stack_bytes == 0, (entry, made.kernels[entry])


@needs_compiler
@pytest.mark.skipif(disassembler() is None, reason="no nvdisasm")
@pytest.mark.parametrize(
    ("operation", "opcode"),
    [("multiply-adds", "FFMA"), ("and-xors", "LOP3"), ("integer multiply-adds", "IMAD"), ("shuffles", "SHFL")],
)
def test_a_rate_is_of_the_operation_that_it_names(operation: str, opcode: str) -> None:
    """The compiler left every operation of a loop in, and next to nothing besides."""
    entry, *_ = RATES[operation]
    counts = instruction_counts(compile_cuda(rate_kernel(entry, 256).text, "sm_90").cubin, entry)
    assert counts is not None
    rounds, rest = divmod(counts[opcode], OPERATIONS_PER_LOOP)
    assert rounds >= 1 and rest < 24
    assert sum(counts.values()) < 1.8 * counts[opcode] + 60


@needs_cpp
@pytest.mark.parametrize("name", CHOSEN)
def test_the_rivals_compute_the_specification(cases: Mapping[str, Case], name: str) -> None:
    """NumPy's numbers, at lengths that blocks do not divide, bit for bit; each variant on its own."""
    case, backend = cases[name], Emulation()
    lengths = case.small[1]
    with Arrays(backend, case.problem(lengths)) as arrays:
        wanted = case.expected(arrays.inputs()).reshape(arrays.problem.output.shape)
        for contender in case.contenders():
            for variant in contender.variants:
                if any(kernel.includes is not None for kernel in variant.kernels):
                    continue
                try:
                    backend.poison(arrays.output)
                    bound = variant.bind(backend, arrays.problem, arrays.buffers)
                except Missing:  # a library for GPUs
                    continue
                bound.run()
                bound.finish()
                tolerance = arrays.problem.tolerance
                np.testing.assert_allclose(arrays.output, wanted, rtol=0, atol=tolerance, err_msg=variant.label)


@needs_cpp
def test_differences_are_counted() -> None:
    """One word, one float, and a number that is none, wherever they stand; equal arrays have none."""
    backend = Emulation()
    for problem in (aos.problem("sum", 3, {"x": 3000}), conv.problem_1d(3, {"x": 3000})):
        with Arrays(backend, problem) as arrays:
            arrays.output[...] = 1
            wanted = arrays.output.copy()
            assert arrays.differences(wanted, 0.0) == 0
            arrays.output[2999] = 2
            assert arrays.differences(wanted, 0.0) == 1
            if problem.output.dtype == "float32":
                assert arrays.differences(wanted, 1.5) == 0
                arrays.output[1] = np.nan
                assert arrays.differences(wanted, 1.5) == 1


@needs_cpp
def test_data_is_made_on_the_device() -> None:
    """Words of all kinds; small whole numbers where they are floats; other numbers in each array."""
    backend = Emulation()
    with Arrays(backend, conv.problem_1d(5, {"x": 5000})) as arrays:
        inputs = arrays.inputs()
        assert set(np.unique(inputs["x"])) == set(range(-4, 5))
        assert len(np.unique(inputs["w"])) > 1
    with Arrays(backend, multiply.problem(32, True, {"x": 4096})) as arrays:
        inputs = arrays.inputs()
        assert len(np.unique(inputs["a"])) > 4000 and (inputs["a"] != inputs["b"]).mean() > 0.99


@needs_cpp
def test_the_ceilings_run() -> None:
    """On the emulation they are run and give no numbers."""
    assert measure_roofline(Emulation(), 4096, 1, blocks=1, loops=1) is None


@needs_nvcc
def test_cub_compiles(tmp_path: Path) -> None:
    """With the toolkit's own headers; what is compiled once is kept."""
    kernel = by_hand("aos_cub.cu", "cub_store", 256, "xy", (256,), includes=(), AOS_WORDS=3, AOS_THREADS=256)
    first = compiled(kernel, "sm_90", tmp_path)
    assert first[:4] == b"\x7fELF" and compiled(kernel, "sm_90", tmp_path) == first
    assert len(list(tmp_path.glob("cub_store-sm_90-*.cubin"))) == 1


@needs_nvcc
def test_a_checkout_that_does_not_fit_is_missing(tmp_path: Path) -> None:
    """Not given, another folder, or headers that do not compile: a reason in words each."""
    setup = Setup(NothingSolved(tmp_path / "kernels.json"), {"trove": tmp_path})
    reasons = {c.name: c.missing for c in aos.contenders(setup, "sum", 3)}
    assert reasons["trove"] == f"{tmp_path} has no trove/aos.h"
    (tmp_path / "trove").mkdir()
    (tmp_path / "trove" / "aos.h").write_text("#error not today\n")
    (trove,) = (c for c in aos.contenders(setup, "sum", 3) if c.name == "trove")
    (variant,) = trove.variants
    with pytest.raises(Missing, match=r"does not compile here: .*not today"):
        compiled(variant.kernels[0], "sm_90", tmp_path)
    with pytest.raises(Missing, match=r"no checkout was given \(--field-mult DIR\)"):
        multiply.ben_sasson(setup, 64, True, "register")
