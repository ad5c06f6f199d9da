"""Every case study's printed text, checked down to PTX: no local memory, equal for all inputs, no mutant unseen."""

from __future__ import annotations

import shutil
from functools import lru_cache

import pytest

from cuda_out.c.kernel_text import instantiated
from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.compile.every_compiler import Form, first_readings, other_readings
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.report import report
from cuda_out.compile.toolchain import ARCHITECTURES, available_tools, compile_cuda, compile_to_ptx, uses_local
from cuda_out.passes.distribute import distribute
from cuda_out.passes.shuffles import legal_shuffles
from cuda_out.passes.simplify import inline_finals, simplify
from swizzle.answers.checking.emitted import try_mutants
from swizzle.answers.checking.trial import LaunchSize, most_ragged, sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.specs.specification import Remembered
from tests.slow_cases import slow_unless
from tests.test_case_studies import SLOW, SOLVED, answer
from tests.test_field import composed

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
needs_cpp = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)


AT_MOST = 20  # mutants of one text, evenly spread
QUICK = ("mult32:register",)
NEARLY_ALL = 42  # only Mult-64 has more, of statements that are much alike


def smallest() -> dict[str, dict[str, int]]:
    """Return each solved sketch with the parameters of its smallest warp in the list of the case studies."""
    found: dict[str, dict[str, int]] = {}
    for target, _, _, parameters in sorted([*SOLVED, *SLOW], key=lambda case: case[3].get("warp_size", 32)):
        found.setdefault(target, parameters)
    return found


@lru_cache
def solved(target: str, parameters: tuple[tuple[str, int], ...]) -> FilledKernel:
    filled = answer(target, dict(parameters))[1]
    assert filled is not None
    return filled


@lru_cache
def written(target: str, parameters: tuple[tuple[str, int], ...]) -> tuple[CudaSource, tuple[LaunchSize, ...]]:
    """The text that `swizzle solve` writes, and where it is tried."""
    filled = solved(target, parameters)
    source = cuda_source(filled.program, filled.head, filled.sizes)
    return source, sizes_to_try(filled, source)


def spelled(value: object) -> str:
    """Name a test by what is checked: the file and the parameters."""
    return " ".join(f"{k}={v}" for k, v in value) if isinstance(value, tuple) else str(value)


CASES = [(target, tuple(parameters.items())) for target, _, _, parameters in SOLVED]
SMALLEST = [(target, tuple(parameters.items())) for target, parameters in smallest().items()]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine: only NVRTC's PTX is validated")
@pytest.mark.parametrize(("target", "parameters"), slow_unless(CASES, lambda case: case[0] in QUICK), ids=spelled)
def test_every_compiler_reads_the_same_kernel(target: str, parameters: tuple[tuple[str, int], ...]) -> None:
    """NVRTC and nvcc, both forms, each architecture, the very bytes: the same PTX, or PTX that is equal as well."""
    source, sizes = written(target, parameters)
    filled = solved(target, parameters)
    header = cuda_source(filled.program, filled.head, filled.sizes, form="header").text
    reports, missing = report(source.text, source.entry)
    assert not missing and [each.architecture for each in reports] == list(ARCHITECTURES)
    first = {each.architecture: each for each in first_readings(reports, source.entry)}
    forms: dict[Form, str] = {
        "source": source.text,
        "header": instantiated(header, source.entry, source.namespace),
    }
    others = list(other_readings(available_tools(), reports, forms, source.entry, source.namespace))
    assert len({(each.tool, each.form) for each in others}) == 2 * len(available_tools()) - 1
    validator = SizesValidator(sizes, source)
    for each in others:
        if each.kernel != first[each.architecture].kernel:
            found = validator.validate(each.ptx, each.entry)
            assert found.verdict == "equal", (each.tool, each.form, each.architecture, found.findings)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("target", "parameters"), CASES, ids=spelled)
def test_the_ptx_is_the_specification(target: str, parameters: tuple[tuple[str, int], ...]) -> None:
    """What the compiler made is the specification for all inputs, also where blocks are cut; no local memory."""
    source, sizes = written(target, parameters)
    compiled = compile_cuda(source.text, "sm_80" if len(target) % 2 else "sm_100")
    assert not uses_local(compiled.ptx)
    taken = compiled.kernels[source.entry]
    assert (taken.stack_bytes, taken.spill_store, taken.spill_load) == (0, 0, 0)
    opaque = with_opaque_calls(source.text)
    ptx = compiled.ptx if opaque == source.text else compile_to_ptx(opaque)
    found = SizesValidator(sizes, source).validate(ptx, source.entry)
    assert (found.verdict, found.findings, found.everywhere) == ("equal", (), True)
    assert source.tiling is not None and most_ragged(sizes, source) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["register", "shared"])
def test_long_sums_are_validated(name: str) -> None:
    """Multiplication in GF(2^64): 4096 products for each element, in sums of up to 64, at three lengths."""
    sketch = composed(name, 64)
    spec = Remembered(sketch.spec)
    filled = FilledKernel(sketch.program, spec, (), sizes_of(sketch.program, sketch, spec))
    source = cuda_source(filled.program, filled.head, filled.sizes)
    sizes = sizes_to_try(filled, source)
    found = SizesValidator(sizes, source).validate(compile_to_ptx(source.text), source.entry)
    assert (found.verdict, found.findings, found.outputs) == ("equal", (), 128)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("target", "parameters"), SMALLEST, ids=spelled)
def test_the_distribution_pass_is_what_avoids_local_memory(
    target: str, parameters: tuple[tuple[str, int], ...]
) -> None:
    """Printed without it, a kernel whose register arrays it rewrites keeps them in local memory."""
    before = simplify(legal_shuffles(inline_finals(solved(target, parameters).program)))
    rewritten = distribute(before) != before
    assert uses_local(compile_to_ptx(print_cuda(before).text)) == rewritten


@needs_cpp
@pytest.mark.parametrize(
    ("target", "parameters", "at_most"),
    [
        *((*case, AT_MOST) for case in SMALLEST if case[0] in QUICK),
        *(pytest.param(*case, NEARLY_ALL, marks=pytest.mark.slow) for case in SMALLEST),
    ],
    ids=spelled,
)
def test_no_change_of_a_swizzle_goes_unnoticed(
    target: str, parameters: tuple[tuple[str, int], ...], at_most: int
) -> None:
    """Each mutant of the text is seen by translation validation and by emulation, or proved to change nothing."""
    source, sizes = written(target, parameters)
    ragged = most_ragged(sizes, source)
    assert ragged is not None
    outcome = try_mutants(source, (sizes[0], ragged), at_most)
    # Real numbers do not overflow: the exponentials of a softmax may have less than the maximum taken off, for them.
    unseen = [said for _, said in outcome.unseen if not (target == "softmax" and "emulation: y[0, 0] is nan" in said)]
    assert unseen == [], outcome.lines()
    assert outcome.killed >= 10 and outcome.killed > 5 * len(outcome.same), outcome.lines()
