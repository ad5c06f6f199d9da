"""Atomic additions, in all that a kernel becomes."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import EmulationError, emulate
from cuda_out.ptx.running.validate import Validator, WrittenOut
from swizzle import Sketch, SwizzleError, solve
from swizzle.answers.checking.trial import compare, on_cpu, sizes_to_try
from swizzle.answers.checking.validator import numeric_difference
from swizzle.answers.emit.any_length.conditions import FixedSize, any_length
from swizzle.answers.emit.emitters import cuda_source, numba_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import explain_mismatch, verify
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.audit.random_check import disagreement
from swizzle.solving.solution.in_words import assumed
from symbolic.algebra.numbers import NUMPY_DTYPES
from tests.cuda_out.numba_stand_in import module
from tests.cuda_out.reference import run as reference

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = """\
@spec
def sums_spec(x, y, total):
    return [[y[c, 0] + sum(x[r, c] for r in range(4))] for c in range(64)], [total[0] + sum(sum(row) for row in x)]

@sketch(spec=sums_spec, block=64, grid=4, x=i32[4, 64], y=i32.inout[64, 1], total=i32.inout[1])
def sums(x, y, total):
    part = cuda.shared.array(64, i32)
    t = cuda.threadIdx.x
    v = x[cuda.blockIdx.x, t]
    part[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(part, t // 2, v)
    cuda.syncthreads()
    if t < 32:
        cuda.atomic.add(total, 0, part[t])
    cuda.atomic.add(y, (t, 0), v)

@spec
def mean_spec(x, m):
    return [m[0] + sum(v / 128 for v in x)]

@sketch(spec=mean_spec, block=64, grid=2, x=f32[128], m=f32.inout[1])
def mean(x, m):
    for k in range(1):
        cuda.atomic.add(m, k, x[cuda.grid(1)] / 128)
"""


def sketches(text: str = TEXT) -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in read_swz(text, "atomics.swz", Parameters())}


SKETCHES = sketches()


@pytest.mark.parametrize("name", SKETCHES)
def test_the_terms_are_the_specification_s_and_numbers_agree(name: str) -> None:
    sketch = SKETCHES[name]
    assert verify(sketch.program, sketch.spec).equal
    assert disagreement(sketch.program, sketch.spec) == "" and numeric_difference(sketch.program, sketch.spec) is None
    assert isinstance(any_length(sketch.program, sketch.spec), FixedSize)
    assert assumed(sketch.program) == (
        [] if name == "sums" else ["m is summed in another order in each run, which is of no matter"]
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cuda.atomic.add(y, (t, 0), v)", "y[t, 0] += v", "blocks do not wait for each other"),
        ("    part[t] = 0\n    cuda.syncthreads()\n", "", "part[0] is added to before it is written"),
        (
            "cuda.atomic.add(part, t // 2, v)\n    cuda.syncthreads()",
            "cuda.atomic.add(part, t // 2, v)",
            "race on part",
        ),
        ("(t, 0), v)", "(t, 0), v + v)", "y[0, 0] is "),
        ("(t, 0), v)", "(t + 1, 0), v)", "out of bounds"),
    ],
)
def test_what_is_wrong_is_said(old: str, new: str, said: str) -> None:
    """What other threads do at the same time, cells without a value, other sums."""
    old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
    assert old in TEXT
    sketch = sketches(TEXT.replace(old, new))["sums"]
    assert said in "\n".join(explain_mismatch(sketch.program, sketch.spec))


def test_an_addition_reads_what_was_rounded() -> None:
    (sketch,) = read_swz(
        "@spec\ndef s(x, y):\n    return [x[i] + 1 for i in range(32)]\n\n"
        "@sketch(spec=s, block=32, x=f64[32], y=f32.inout[32])\ndef k(x, y):\n"
        "    y[cuda.laneid] = f32(x[cuda.laneid])\n    cuda.atomic.add(y, cuda.laneid, 1)\n",
        "rounded.swz", Parameters(),
    )  # fmt: skip
    assert "y[0] is 1 + to_f32(x[0])" in "\n".join(explain_mismatch(sketch.program, sketch.spec))


def test_a_hole_decides_nothing_of_it() -> None:
    (sketch,) = read_swz(
        TEXT[: TEXT.index("@spec\ndef mean")].replace("(y, (t, 0)", "(y, (?sw_xform(t, 64), 0)"), "h.swz", Parameters()
    )
    with pytest.raises(SwizzleError, match="an atomic addition to y depends on a hole"):
        solve(sketch)


@needs_gcc
@pytest.mark.parametrize("name", SKETCHES)
def test_the_printed_text_adds_up(name: str) -> None:
    """In every order of blocks; sums of floats need not be alike."""
    sketch = SKETCHES[name]
    filled = FilledKernel(sketch.program, sketch.spec, ())
    source = cuda_source(sketch.program)
    found = compare(sizes_to_try(filled, source), on_cpu(source), 0)
    assert found.status == 0, found.lines
    if name == "mean":
        text = source.text.replace("atomicAdd(&m[0], ", "m[0] = (m[0] + ")
        with pytest.raises(EmulationError, match="race on"):
            emulate(text, source.entry, (2, 1, 1), (64, 1, 1), [np.ones(128, np.float32), np.zeros(1, np.float32)])


def test_the_numba_module_adds_up() -> None:
    program = SKETCHES["sums"].program
    given = {p.name: np.ones(p.shape, NUMPY_DTYPES[p.dtype]) for p in program.parameters}
    module(solve(SKETCHES["sums"]).best.to_numba())["launch_sums"](*given.values())
    assert (given["y"] == 5).all() and given["total"][0] == 257


@needs_cuda
@pytest.mark.parametrize("name", SKETCHES)
def test_the_ptx_is_the_specification(name: str) -> None:
    program, meaning = SKETCHES[name].program, Meaning.of(SKETCHES[name].program, SKETCHES[name].spec)
    source = cuda_source(program)
    validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters))
    plain = source.text.replace("atomicAdd(&y[t], ", "y[t] += (").replace("atomicAdd(&m[0], ", "m[0] += (")
    assert plain != source.text
    for text, verdict in ((source.text, "equal"), (plain, "different")):
        assert validator.validate(compile_to_ptx(text), source.entry).verdict == verdict


JOINS = """\
@spec
def ends_spec(x, least, most, both, some, odd):
    small, big, every, one, parity = least[0], most[0], both[0], some[0], odd[0]
    for v in x:
        small, big, every = min(small, v), max(big, v), every & v
        one, parity = one | v, parity ^ v
    return [small], [big], [every], [one], [parity]

@sketch(spec=ends_spec, block=32, grid=1, x=i32[8], least=i32.inout[1], most=i32.inout[1],
        both=i32.inout[1], some=i32.inout[1], odd=i32.inout[1])
def ends(x, least, most, both, some, odd):
    t = cuda.laneid
    if t < 8:
        v = x[t]
        cuda.atomic.min(least, 0, v)
        cuda.atomic.max(most, 0, v)
        cuda.atomic.and_(both, 0, v)
        cuda.atomic.or_(some, 0, v)
        cuda.atomic.xor(odd, 0, v)
"""


def test_minima_and_bits_are_joined() -> None:
    """To terms, on the CPU, in numba's text, and in PTX."""
    sketch = sketches(JOINS)["ends"]
    program = sketch.program
    assert verify(program, sketch.spec).equal
    source = cuda_source(program)
    x = np.array([5, -3, 12, 7, -9, 1, 0, 6], np.int32)
    wanted = [min(2, *x), max(2, *x), np.bitwise_and.reduce(x) & 2, np.bitwise_or.reduce(x) | 2]
    wanted.append(np.bitwise_xor.reduce(x) ^ 2)
    if shutil.which("g++"):
        arrays = [np.array([2], np.int32) for _ in wanted]
        emulate(source.text, source.entry, program.grid, program.block, [x, *arrays], order=1)
        assert [int(each[0]) for each in arrays] == [int(each) for each in wanted]
    given = {p.name: np.array([2], np.int32) for p in program.parameters[1:]} | {"x": x}
    assert [int(each[0]) for each in list(reference(program, given).values())[1:]] == [int(each) for each in wanted]
    text = numba_source(program).text
    assert all(f"cuda.atomic.{name}(" in text for name in ("min", "max", "and_", "or_", "xor"))
    if available_tools():
        meaning = Meaning.of(program, sketch.spec)
        validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters), source.alignment)
        assert validator.validate(compile_to_ptx(source.text, "sm_80"), source.entry).verdict == "equal"


def test_two_kinds_of_joins_race() -> None:
    sketch = sketches(JOINS.replace("max(most", "max(least"))["ends"]
    assert "race on least[0]" in verify(sketch.program, sketch.spec).violations[0].message
    with pytest.raises(SwizzleError, match=r"cuda\.atomic\.m.. on f32 data"):
        sketches(JOINS.replace("i32", "f32"))
