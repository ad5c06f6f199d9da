"""Votes, parts of warps, shifts, counts of bits, and small spellings, in all that a kernel becomes."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import emulate
from cuda_out.ptx.running.validate import Validator, WrittenOut
from swizzle import Sketch, SwizzleError
from swizzle.answers.emit.emitters import cuda_source
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import run_canonical, verify
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.terms import Terms
from tests.cuda_out.reference import run as reference
from tests.slow_cases import slow_unless

FULL = "cuda.FULL_MASK"
CASES: dict[str, tuple[str, str, str, str]] = {
    "ballot of data": (
        "f32", "u32", f"cuda.ballot_sync({FULL}, x[t] > 0)", "sum(where(x[j] > 0, 1, 0) << j for j in L)",
    ),
    "ballot of indices": (
        "u32", "u32", f"x[t] + cuda.ballot_sync({FULL}, t % 3 == 1)", "x[i] + sum(2**j for j in L if j % 3 == 1)",
    ),
    "any": ("i32", "i32", f"cuda.any_sync({FULL}, x[t] == 7)", "max(where(x[j] == 7, 1, 0) for j in L)"),
    "count": (
        "i32", "i32", f"cuda.popc(cuda.ballot_sync({FULL}, x[t] == 7))", "sum(where(x[j] == 7, 1, 0) for j in L)",
    ),
    "all": ("i32", "i32", f"cuda.all_sync({FULL}, x[t] < 7)", "min(where(x[j] < 7, 1, 0) for j in L)"),
    "count of indices": ("i32", "i32", "x[t] * i32(cuda.popc(cuda.ballot_sync(-1, t % 5 == 0)))", "x[i] * 7"),
    "any of indices": (
        "i32", "i32", f"x[t] if cuda.any_sync({FULL}, t > 30) and not cuda.any_sync({FULL}, t > 31) else 0", "x[i]",
    ),
    "all of indices": (
        "i32", "i32", f"x[t] if cuda.all_sync({FULL}, t < 32) and not cuda.all_sync({FULL}, t < 31) else 0", "x[i]",
    ),
    "index, width": ("i32", "i32", f"cuda.shfl_sync({FULL}, x[t], t + 1, 8)", "x[i // 8 * 8 + (i + 1) % 8]"),
    "up, width": ("i32", "i32", f"cuda.shfl_up_sync({FULL}, x[t], 3, width=8)", "x[i - 3 if i % 8 > 2 else i]"),
    "down, width": ("i32", "i32", f"cuda.shfl_down_sync({FULL}, x[t], 3, width=8)", "x[i + 3 if i % 8 < 5 else i]"),
    "xor, width": ("i32", "i32", f"cuda.shfl_xor_sync({FULL}, x[t], 9, width=8)", "x[i ^ 9 if i & 8 else i]"),
    "shift by lanes": ("u32", "u32", "x[t] >> t", "x[i] >> i"),
    "shift up by lanes": ("i32", "i32", "x[t] << t % 7", "x[i] << i % 7"),
    "popc": ("u32", "i32", "cuda.popc(x[t])", "sum((x[i] >> k) & 1 for k in L)"),
    "popc of i32": ("i32", "i32", "cuda.popc(x[t])", "sum((x[i] >> k) & 1 for k in L)"),
    "brev": ("u32", "u32", "cuda.brev(x[t])", "sum(((x[i] >> k) & 1) << (31 - k) for k in L)"),
    "brev of lanes": ("i32", "i32", "x[cuda.brev(t) >> 27]", "x[sum((i >> k & 1) << 4 - k for k in range(5))]"),
    "clz": ("i32", "i32", "x[t] + i32(cuda.clz(t))", "x[i] + 32 - i.bit_length()"),
    "bit_length": ("i32", "i32", "x[t.bit_length()]", "x[i.bit_length()]"),
    "rank": (
        "i32", "i32", f"x[cuda.popc(cuda.ballot_sync({FULL}, t % 3 == 0) & ((1 << t) - 1))]", "x[(i + 2) // 3]",
    ),
    "rank from above": (
        "i32", "i32", f"x[cuda.popc((31 << t) & cuda.ballot_sync({FULL}, t < 30))]", "x[max(0, min(30, i + 5) - i)]",
    ),
    "popc of lanes": ("i32", "i32", "x[cuda.popc(t)]", "x[sum(i >> k & 1 for k in range(5))]"),
}  # fmt: skip


def sketch_of(case: str) -> Sketch:
    given, made, kernel, spec = CASES[case]
    text = (
        f"L = range(32)\n@spec\ndef wanted(x):\n    return [{spec} for i in L]\n"
        f"@sketch(spec=wanted, block=32, x={given}[32], y={made}.out[32])\n"
        f"def k(x, y):\n    t = cuda.laneid\n    y[t] = {kernel}\n"
    )
    (found,) = read_swz(text, "warps.swz", Parameters())
    return found


def numbers(sketch: Sketch) -> np.ndarray[Any, Any]:
    dtype = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}[sketch.program.parameters[0].dtype.value]
    some = np.random.default_rng(5).integers(-9, 10, 32).astype(dtype)
    return np.where(np.arange(32) % 3 == 0, np.array(7, dtype), some).astype(dtype)


@pytest.mark.parametrize("case", CASES)
def test_the_machine_and_the_plain_interpreter_agree(case: str) -> None:
    """The kernel is its specification, and a plain interpreter has the same numbers as the printed text."""
    sketch = sketch_of(case)
    assert verify(sketch.program, sketch.spec).equal


def outputs(sketch: Sketch) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = numbers(sketch)
    y = np.zeros(32, {"i32": np.int32, "u32": np.uint32}[sketch.program.parameters[1].dtype.value])
    return x, y


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
@pytest.mark.parametrize("case", slow_unless(CASES, lambda case: case in ("ballot of data", "shift by lanes")))
def test_the_printed_text_computes_the_same(case: str) -> None:
    sketch = sketch_of(case)
    source, (x, y) = cuda_source(sketch.program), outputs(sketch)
    emulate(source.text, source.entry, (1, 1, 1), (32, 1, 1), [x, y])
    if "where" not in CASES[case][2] and ">" not in CASES[case][2] and "x[t] " not in CASES[case][2]:
        found = reference(sketch.program, {"x": x, "y": y * 0})
        np.testing.assert_array_equal(y, found["y"])


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize("case", slow_unless(CASES, lambda case: case in ("count", "up, width", "popc", "clz")))
def test_the_ptx_is_validated(case: str) -> None:
    sketch = sketch_of(case)
    program, source = sketch.program, cuda_source(sketch.program)
    meaning = Meaning.of(program, sketch.spec)
    validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters), source.alignment)
    assert validator.validate(compile_to_ptx(source.text, "sm_80"), source.entry).verdict == "equal"


SOME = """\
@spec
def wanted(x):
    return [x[15 - i] if i < 16 else x[i] for i in range(32)]

@sketch(spec=wanted, block=32, x=i32[32], y=i32.out[32])
def k(x, y):
    t = cuda.laneid
    v = x[t]
    if t < 16:
        v = cuda.shfl_sync(0xffff, v, ?sw_xform(t, 16))
    y[t] = v
"""


def test_lanes_that_a_constant_mask_names_shuffle_alone() -> None:
    """With a hole; where other lanes get there, some do not, or one asks a lane that is not named, that is said."""
    from swizzle import solve

    (sketch,) = read_swz(SOME, "some.swz", Parameters())
    assert solve(sketch, Limits(certify=True)).best is not None
    plain = SOME.replace("?sw_xform(t, 16)", "15 - t")
    for old, new, words in (
        ("", "", ""),
        ("t < 16:", "t < 17:", "lane 16 gets here, and is not named by the mask 0xffff"),
        ("t < 16:", "t < 15:", "lane 15 is named by the mask 0xffff, and does not get here"),
        ("15 - t)", "16 - t)", "lane 0 asks lane 16, which the mask 0xffff does not name"),
    ):
        (sketch,) = read_swz(plain.replace(old, new, 1), "some.swz", Parameters())
        said = [each.message for each in run_canonical(sketch.program, Terms()).violations]
        assert any(words in each for each in said) if words else not said


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("x[t] >> t * 5", "`>>` of u32 data by 35"),
        ("x[t] << t - 1", "`<<` of u32 data by -1"),
        (f"cuda.shfl_sync({FULL}, x[t], 0, width=6)", "a width of 6"),
        ("cuda.ballot_sync(0x7, x[t] > 0)", "a vote of the lanes that 7 names"),
        ("cuda.clz(x[t])", "cuda.clz of u32 data"),
    ],
)
def test_what_is_refused(kernel: str, words: str) -> None:
    CASES["refused"] = ("u32", "u32", kernel, "x[i]")
    with pytest.raises(SwizzleError) as error:
        run_canonical(sketch_of("refused").program, Terms())
    del CASES["refused"]
    assert words in error.value.found


SPELLINGS = """\
@spec
def wanted(x, w):
    return [x[i] + w[(i + 4) % 128] + (2 if i // 4 == 3 else 0) for i in range(128)]

@sketch(spec=wanted, block=32, x=f32[128], w=f32[128], y=f32.out[128])
def k(x, w, y):
    x4, w4 = x.view(cuda.float4), w.view(cuda.float4)
    y4 = y.view(cuda.float4)
    t = cuda.laneid
    n = f32(0)
    for j in range(2):
        n += t == 3
    v, u = x4[t], w4[t]
    u = cuda.shfl_sync(cuda.FULL_MASK, u, (t + 1) % 32)
    y4[t] = cuda.float4(v.x + u.x + n, v.y + u.y + n, v.z + u.z + n, v.w + u.w + n)
"""


def test_several_views_vectors_that_are_shuffled_and_comparisons_that_are_added() -> None:
    (sketch,) = read_swz(SPELLINGS, "spellings.swz", Parameters())
    assert verify(sketch.program, sketch.spec).equal
