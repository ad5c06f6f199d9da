"""Integers of 8 and 16 bits, in all that a sketch becomes."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import Validator, WrittenOut
from swizzle import Limits, Sketch, Solution, SwizzleError, solve
from swizzle.answers.checking.trial import trials
from swizzle.answers.checking.validator import numeric_difference
from swizzle.answers.emit.emitters import cuda_source, origin
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.audit.random_check import disagreement
from symbolic.algebra.numbers import NUMPY_DTYPES
from tests.cuda_out.numba_stand_in import module

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = """\
@spec
def dot_spec(a, w, s):
    return [sum(a[i, k] * w[k] for k in range(8)) + s[i] for i in range(32)]

@sketch(spec=dot_spec, block=32, a=i8[32, 8], w=i8.const[8], s=i16[32], y=i32.out[32])
def dot(a, w, s, y):
    i = cuda.grid(1)
    mine = cuda.local.array(8, i8)
    for k in range(8):
        mine[k] = a[i, k]
    out = accumulator(i32, outer="+", inner="*")
    for k in range(8):
        out.accumulate(i32(mine[k]), i32(w[?sw_xform(k, 8)]))
    y[i] = out.value + i32(s[i])

@spec
def clamped_spec(x, z, f):
    y = [minimum(maximum(x[i ^ 1] + z[i] * 3, 0), 255) for i in range(32)]
    return y, [x[i] * f[i] for i in range(32)], [z[31 - i] for i in range(32)], [x[i] * x[i] for i in range(32)]

@sketch(spec=clamped_spec, block=32, x=u8[32], z=i16[32], f=f32[32], y=u8.out[32], g=f32.out[32], h=i16.out[32],
        p=u16.out[32])
def clamped(x, z, f, y, g, h, p):
    tile = cuda.shared.array(32, i16)
    i = cuda.grid(1)
    v = cuda.shfl_sync(-1, x[i], ?sw_xform(cuda.laneid, 32))
    v = cuda.shfl_xor_sync(-1, v if i < 40 else u8(3), 1)
    y[i] = u8(min(max(i32(v) + i32(z[i]) * 3, 0), 255))
    g[i] = f32(x[i]) * f[i]
    tile[i] = z[i]
    cuda.syncthreads()
    h[i] = tile[31 - i]
    p[i] = u16(i32(x[i]) * i32(x[i]))

@spec
def overflowing_spec(x):
    return [minimum(maximum(sum(x[(i + k) % 32] * x[(i + k) % 32] for k in range(3)), 0), 255) for i in range(32)]

@sketch(spec=overflowing_spec, block=32, x=i16[32], y=u8.out[32])
def overflowing(x, y):
    i = cuda.laneid
    a = i32(x[?sw_xform(i, 32)])
    b = i32(x[(i + 1) % 32])
    c = i32(x[(i + 2) % 32])
    y[i] = u8(min(max(a * a + b * b + c * c, 0), 255))
"""


def sketches() -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in read_swz(TEXT, "narrow.swz", Parameters())}


SKETCHES = sketches()
BEST: dict[str, Solution] = {}


def best(name: str) -> Solution:
    if name not in BEST:
        result = solve(SKETCHES[name], Limits(certify=True))
        assert all(claim["verdict"] == "confirmed" for claim in result.certificate["confirmed"])
        BEST[name] = result.best
    return BEST[name]


@pytest.mark.parametrize("name", SKETCHES)
def test_it_is_solved_and_numbers_agree(name: str) -> None:
    """The machine on numbers, the check modulo a prime and the second reading agree with the terms."""
    program, spec = best(name).program, SKETCHES[name].spec
    assert disagreement(program, spec) == "" and numeric_difference(program, spec) is None


def test_what_is_cut_off_before_the_end_is_another_number() -> None:
    """Only an output's last conversion is none: a conversion on the way changes the value."""
    text = TEXT.replace("u8(min(max(i32(v)", "u8(min(max(i32(u8(i32(v) + i32(v)))").replace(
        "x[i ^ 1] +", "2 * x[i ^ 1] +"
    )
    assert solve(read_swz(text, "narrow.swz", Parameters())[1]).status == "unsat"


@pytest.mark.parametrize(
    ("says", "stores", "status"),
    [
        ("u8(v)", "u8(x[i])", "sat"),
        ("v", "u8(i16(x[i]))", "sat"),
        ("u8(u16(v))", "u8(u8(x[i]))", "sat"),
        ("u8(i8(v) % 3)", "u8(x[i] % 3)", "unsat"),
    ],
)
def test_what_an_output_cuts_off_anyway_may_be_cut_off_before(says: str, stores: str, status: str) -> None:
    """In the specification and in the kernel, and for the second reading; before a computation it is another number."""
    text = (
        f"@spec\ndef low_spec(x):\n    return [{says} for v in x]\n\n"
        "@sketch(spec=low_spec, block=32, x=i32[32], y=u8.out[32])\n"
        f"def low(x, y):\n    i = cuda.laneid\n    y[i] = {stores}\n"
    )
    (sketch,) = read_swz(text, "low.swz", Parameters())
    assert solve(sketch).status == status
    assert status == "unsat" or disagreement(sketch.program, sketch.spec) == ""


CONVERTED = """\
@spec
def converted_spec(x, z, f):
    total = f32(sum(z[k] * z[k + 1] for k in range(4))) / 4
    return [f32(x[i]) * f[i] + total for i in range(32)], [i32(f[i] * 2) + x[i] for i in range(32)]

@sketch(spec=converted_spec, block=32, x=i32[32], z=i8[32], f=f32[32], y=f32.out[32], w=i32.out[32])
def converted(x, z, f, y, w):
    i = cuda.laneid
    s = i32(0)
    for k in range(4):
        s += i32(z[k]) * i32(z[k + 1])
    y[i] = f32(x[?sw_xform(i, 32)]) * f[i] + f32(s) / 4
    w[i] = i32(f[i] * 2) + x[i]
"""


def test_a_specification_converts_as_a_kernel_does() -> None:
    """Numbers agree, and another conversion is another number; a value of two types has none."""
    (sketch,) = read_swz(CONVERTED, "converted.swz", Parameters())
    best = solve(sketch).best
    assert disagreement(best.program, sketch.spec) == "" and numeric_difference(best.program, sketch.spec) is None
    (other,) = read_swz(CONVERTED.replace("i32(f[i] * 2) + x[i]", "i32(f[i]) * 2 + x[i]", 1), "other.swz", Parameters())
    assert solve(other).status == "unsat"
    (mixed,) = read_swz(CONVERTED.replace("i32(f[i] * 2)", "i32(f[i] * x[i])", 1), "mixed.swz", Parameters())
    with pytest.raises(SwizzleError, match="converts a value of f32 and i32 to i32"):
        solve(mixed)


def test_a_specification_computes_with_numbers() -> None:
    """They are numbers of 32 bits; an output keeps the low bits."""
    given = {"x": np.full(32, 200, "u1"), "z": np.full(32, -300, "i2"), "f": np.full(32, 2, "f4")}
    found = numbers(SKETCHES["clamped"].program, SKETCHES["clamped"].spec, given)
    assert (found["y"] == 0).all() and (found["g"] == 400).all() and (found["p"] == 40000).all()
    assert {name: array.dtype.str for name, array in found.items()} == {"y": "|u1", "g": "<f4", "h": "<i2", "p": "<u2"}


@needs_gcc
@pytest.mark.parametrize("name", SKETCHES)
def test_the_printed_text_computes_the_specification(name: str) -> None:
    solution, sketch = best(name), SKETCHES[name]

    def wanted(given: Any) -> Any:
        return numbers(solution.program, sketch.spec, given)

    for trial in trials(solution.program, wanted, lambda given: solution(*given), 0):
        assert trial.equal, trial


@pytest.mark.parametrize("name", SKETCHES)
def test_the_numba_module_computes_the_specification(name: str) -> None:
    rng, program = np.random.default_rng(0), best(name).program
    given = {p.name: rng.integers(0, 100, p.shape).astype(NUMPY_DTYPES[p.dtype]) for p in program.parameters}
    want = numbers(program, SKETCHES[name].spec, given)
    module(best(name).to_numba())[f"launch_{name}"](*given.values())
    for each, array in want.items():
        np.testing.assert_array_equal(given[each], array)


@needs_cuda
@pytest.mark.parametrize("name", SKETCHES)
def test_the_ptx_is_the_specification(name: str) -> None:
    """Four bytes move at once, and their products are `dp4a`; other bytes, or others cut off, are not equal."""
    program, meaning = best(name).program, Meaning.of(best(name).program, SKETCHES[name].spec)
    source = cuda_source(program, origin(program))
    validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters))

    def verdict(old: str, new: str, arch: str = "sm_80") -> str:
        text, count = re.subn(old, new, source.text)
        assert count, source.text
        ptx = compile_to_ptx(text, arch)
        assert name != "dot" or old != "^" or ("dp4a" in ptx and "char4" in text)
        return validator.validate(ptx, source.entry).verdict

    assert verdict("^", "") == verdict("^", "", "sm_100") == "equal"
    changes = {
        "dot": [
            (r"a_4\.z", "a_4.y"),
            (r"const short\*", "const unsigned short*"),
            (r"int\(w\[k\]\)", "int(w[k ^ 1])"),
        ],
        "clamped": [
            ("255", "254"),
            ("const unsigned char", "const signed char"),
            (r"tile\[31 - i\]", "tile[30 ^ i]"),
        ],
        "overflowing": [("255", "254"), ("const short", "const unsigned short")],
    }
    for old, new in changes[name]:
        assert verdict(old, new) != "equal", (old, new)
