"""Floats of 16 bits, f16 and bf16, in all that a sketch becomes."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import Validator, WrittenOut
from swizzle import Limits, Sketch, SwizzleError, solve
from swizzle.answers.checking.rounding import Rounding
from swizzle.answers.checking.trial import trials
from swizzle.answers.checking.validator import numeric_difference
from swizzle.answers.emit.emitters import cuda_source, origin
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.audit.random_check import disagreement
from symbolic.algebra.numbers import as_numbers, from_memory, in_memory
from symbolic.ir.program import DType

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = """\
@spec
def mixed_spec(x, a, c):
    each = [maximum(x[i] * a + x[i ^ 1] - 0.5, x[i]) / 3 + abs(-x[i]) + math.exp(x[i]) for i in range(32)]
    few = [where(x[i] < x[i ^ 1], sum(x[(i + k) % 32] for k in range(4)), gather(x, c[i])) for i in range(32)]
    return each, few, [x[i] * x[i] for i in range(32)]

@sketch(spec=mixed_spec, block=32, x=half[32], a=half.scalar, c=i32.below(32)[32], y=half.out[32], z=half.out[32],
        w=half.out[32])
def mixed(x, a, c, y, z, w):
    i = cuda.laneid
    n = cuda.shfl_sync(-1, x[i], ?sw_xform(i, 32))
    n = cuda.shfl_xor_sync(-1, n, 1) if i < 40 else half(i)
    n = cuda.shfl_xor_sync(-1, n + 0.0, 1)
    y[i] = max(x[i] * a + cuda.shfl_xor_sync(-1, n, 1) - 0.5, x[i]) / 3 + abs(-x[i]) + math.exp(x[i])
    out = accumulator(half, outer="+")
    for k in range(4):
        out.accumulate(x[(i + k) % 32])
    z[i] = where(x[i] < x[i ^ 1], out.value, gather(x, c[i]))
    tile = cuda.shared.array(32, half)
    tile[i] = x[i]
    cuda.syncthreads()
    w[i] = half(f32(tile[i]) * f32(x[i]))

@spec
def means_spec(x):
    return [sum(x[i, k] for k in range(4)) / 4 for i in range(32)]

@sketch(spec=means_spec, block=32, x=half[32, 4], y=half.out[32])
def means(x, y):
    i = cuda.grid(1)
    mine = cuda.local.array(2, half)
    s = f32(0)
    for j in range(2):
        for k in range(2):
            mine[k] = x[i, 2 * j + k]
        s += f32(mine[0]) + f32(mine[1])
    y[i] = half(s / 4)
"""
HALVES = ("f16", "bf16")


def sketches(half: str, text: str = TEXT) -> dict[str, Sketch]:
    text = re.sub(r"\bhalf\b", half, text)
    return {sketch.name: sketch for sketch in read_swz(text, "half.swz", Parameters())}


SKETCHES = {(half, name): sketch for half in HALVES for name, sketch in sketches(half).items()}
BEST: dict[tuple[str, str], Any] = {}


def best(half: str, name: str) -> Any:
    if (half, name) not in BEST:
        result = solve(SKETCHES[half, name], Limits(certify=True))
        assert all(claim["verdict"] == "confirmed" for claim in result.certificate["confirmed"])
        BEST[half, name] = result.best
    return BEST[half, name]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("half", "name"), SKETCHES)
def test_it_is_solved_and_numbers_agree(half: str, name: str) -> None:
    """The machine on numbers, the check modulo a prime and the second reading agree with the terms."""
    program, spec = best(half, name).program, SKETCHES[half, name].spec
    assert disagreement(program, spec) == "" and numeric_difference(program, spec) is None


@pytest.mark.parametrize("half", HALVES)
def test_what_is_rounded_before_the_end_is_another_number(half: str) -> None:
    """Only an output's last conversion is none."""
    text = TEXT.replace("half(s / 4)", "half(f32(half(s)) / 4)")
    assert solve(sketches(half, text)["means"]).status == "unsat"


@pytest.mark.parametrize(
    ("body", "equal"),
    [
        ("y[i] = half(f32(x[i]) * 2 + f32(y[i]))", True),
        ("y[i] = half(f32(x[i]) * 2)\n    y[i] = half(f32(y[i]) + f32(x[i]))", False),
        ("for k in range(2):\n        y[i] = half(f32(y[i]) + f32(x[i]))", False),
    ],
)
def test_what_is_read_again_is_rounded(body: str, equal: bool) -> None:
    """What a kernel has stored to an inout array, and reads, is rounded to the proof, too; in f32 nothing is."""
    said = {True: "2 * x[i] + y[i]", False: "2 * x[i] + x[i]" if "k" not in body else "y[i] + 2 * x[i]"}[equal]
    text = (
        f"@spec\ndef s(x, y):\n    return [{said} for i in range(32)]\n\n"
        f"@sketch(spec=s, block=32, x=half[32], y=half.inout[32])\ndef k(x, y):\n    i = cuda.laneid\n    {body}\n"
    )
    for half, wanted in (("bf16", equal), ("f32", True)):
        sketch = sketches(half, text)["k"]
        assert verify(sketch.program, sketch.spec).equal == wanted


@needs_gcc
@pytest.mark.parametrize(("half", "name"), [pytest.param("f16", "means", marks=pytest.mark.slow), ("bf16", "mixed")])
def test_the_printed_text_computes_the_specification(half: str, name: str) -> None:
    """Within the rounding of 16 bits; of what is computed in f32, of the last conversion alone."""
    solution, sketch = best(half, name), SKETCHES[half, name]

    def wanted(given: Any) -> Any:
        return numbers(solution.program, sketch.spec, given)

    rounding = Rounding(solution.program, Meaning.of(solution.program, sketch.spec))

    def run(given: list[Any]) -> None:
        pairs = zip(solution.program.parameters, given, strict=True)
        solution(*(from_memory(array, p.dtype) if p.is_scalar else array for p, array in pairs))

    found = list(trials(solution.program, wanted, run, 0, rounding))
    assert all(each.equal for each in found), found
    if name == "means":
        assert 0 < max(each.tolerance for each in found) < 0.0006


@needs_gcc
def test_arrays_of_bf16_are_words_of_two_bytes() -> None:
    """Their bits, or arrays of another package's type of two bytes; arrays of floats are refused."""
    solution, rng = best("bf16", "means"), np.random.default_rng(0)
    x = as_numbers(rng.standard_normal((32, 4)), DType.BF16)
    bits, found = in_memory(x, DType.BF16), np.zeros(32, np.uint16)
    solution(bits, found)
    assert np.array_equal(from_memory(found, DType.BF16), as_numbers(x.sum(1) / 4, DType.BF16))
    other = np.zeros(32, "V2")
    solution(bits.view("V2"), other)
    assert np.array_equal(other.view(np.uint16), found)
    with pytest.raises(SwizzleError, match="the array for x holds float32"):
        solution(x, found)


@pytest.mark.parametrize("half", HALVES)
def test_numba_has_no_such_type(half: str) -> None:
    with pytest.raises(SwizzleError, match=f"numba.cuda has no {half}"):
        best(half, "means").to_numba()


CHANGES = {
    "mixed": [("0\\.5f", "0.25f"), (r"\(x\[i\]", "(x[i ^ 2]"), ("expf", "exp2f")],
    "means": [(r"\.y\b", ".x"), (r"4\.0f|0\.25f", "0.3f")],
}


@needs_cuda
@pytest.mark.parametrize(("half", "name"), SKETCHES)
def test_the_ptx_is_the_specification(half: str, name: str) -> None:
    """On the oldest architecture, which has no instructions for bf16, and a new one; other elements are not equal."""
    program = best(half, name).program
    meaning = Meaning.of(program, SKETCHES[half, name].spec)
    source = cuda_source(program, origin(program))
    validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters))

    def verdict(text: str, arch: str = "sm_75") -> str:
        return validator.validate(compile_to_ptx(with_opaque_calls(text), arch), source.entry).verdict

    assert verdict(source.text) == verdict(source.text, "sm_100") == "equal"
    for old, new in CHANGES[name]:
        text, count = re.subn(old, new, source.text, count=1)
        assert count, (old, source.text)
        assert verdict(text) != "equal", (old, new)
