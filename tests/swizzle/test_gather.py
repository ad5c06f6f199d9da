"""`gather(x, c)`, an element of a read-only array at an index that is data, in all that a sketch becomes."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.every_length.tiles import TileValidator
from cuda_out.ptx.running.validate import Validator, WrittenOut
from cuda_out.tiling.tiling import Tiling
from swizzle import Limits, Sketch, Solution, SwizzleError, gather, i32, load, solve
from swizzle.answers.checking.trial import trials
from swizzle.answers.checking.validator import numeric_difference
from swizzle.answers.emit.emitters import cuda_source, origin
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.audit.random_check import disagreement
from swizzle.solving.cache.key import key
from swizzle.solving.problem.problem import Problem
from symbolic.ir.program import DType
from tests.cuda_out.numba_stand_in import module

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

TEXT = """\
@spec
def ell_spec(values, columns, x):
    return [sum(values[k, i] * gather(x, columns[k, i]) for k in range(3)) for i in range(columns.shape[1])]

@sketch(spec=ell_spec, block=16, grid=2, warp_size=16, values=f32[3, 32], columns=i32.below(50)[3, 32],
        x=f32[50], y=f32.out[32])
def ell(values, columns, x, y):
    i = cuda.grid(1)
    out = accumulator(f32, outer="+", inner="*")
    for k in range(3):
        out.accumulate(values[k, i], gather(x, columns[?sw_xform(k, 3), i]))
    y[i] = out.value

@spec
def table_spec(m, ids):
    return [[gather(m, ids[i], j) + gather(m, min(ids[i] + 1, 6), 0) for j in range(8)] for i in range(4)]

@sketch(spec=table_spec, block=(8, 4), m=i32[7, 8], ids=u32.below(7)[4], y=i32.out[4, 8])
def table(m, ids, y):
    j, i = cuda.grid(2)
    c = cuda.shfl_sync(-1, ids[i], cuda.laneid)
    y[i, j] = gather(m, c, ?sw_xform(j, 8)) + gather(m, min(c + 1, 6), 0)

@cuda.jit(device=True)
def pick(table, c, j):
    return gather(table, c, j)

@spec
def narrow_spec(t, c):
    return [gather(t, c[i], i % 4) + gather(t, c[31 - i], 0) for i in range(32)]

@sketch(spec=narrow_spec, block=32, t=f32.const[8, 4], c=u8.below(8)[32], y=f32.out[32])
def narrow(t, c, y):
    i = cuda.laneid
    y[i] = pick(t, c[i], i % 4) + pick(t, c[?sw_xform(i, 32)], 0)

@spec
def chain_spec(x, order, a, b):
    return [gather(x, gather(order, where(a[i] < b[i], a[i], b[i]))) * 2 for i in range(32)]

@sketch(spec=chain_spec, block=32, x=f64[20], order=i64.below(20)[16], a=i32.below(16)[32], b=i32.below(10)[32],
        y=f64.out[32])
def chain(x, order, a, b, y):
    mine = cuda.local.array(2, i32)
    t = cuda.laneid
    mine[0] = a[t]
    mine[1] = b[t]
    low = mine[?sw_part(2, t)]
    high = mine[?sw_part(2, t)]
    y[t] = gather(x, gather(order, where(low < high, low, high))) * 2
"""


def sketches() -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in read_swz(TEXT, "gathers.swz", Parameters())}


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


def data(name: str, seed: int = 0) -> dict[str, Any]:
    """Return whole numbers for each array of a sketch."""
    rng = np.random.default_rng(seed)
    kinds = {DType.F32: "f4", DType.F64: "f8", DType.I32: "i4", DType.U32: "u4", DType.I64: "i8", DType.U8: "u1"}
    return {
        p.name: rng.integers(0, p.below or 9, p.shape).astype(kinds[p.dtype]) for p in SKETCHES[name].program.parameters
    }


@pytest.mark.parametrize("name", SKETCHES)
def test_it_is_solved_and_numbers_agree(name: str) -> None:
    """The machine on numbers, the check modulo a prime and the second reading agree with the terms."""
    solution, sketch = best(name), SKETCHES[name]
    assert (
        disagreement(solution.program, sketch.spec) == "" and numeric_difference(solution.program, sketch.spec) is None
    )
    result = solve(sketch, Limits(certify=True))
    assert all(claim["verdict"] == "confirmed" for claim in result.certificate["confirmed"])
    assert result.certificate["assumed"] and "Assumed: each element of" in solution.to_cuda()


def test_the_place_decides() -> None:
    """Of equal data the elements are equal, of other data they are not known to be: there is no other filling."""
    text = TEXT.replace("values[k, i] * gather(x, columns[k, i])", "values[k, i] * gather(x, columns[2 - k, i])")
    (ell, *_) = read_swz(text, "gathers.swz", Parameters())
    found = solve(ell, Limits(all_solutions=True))
    assert [hole.formula for one in found.solutions for hole in one.holes] == ["2 - k"]
    text = TEXT.replace("gather(m, ids[i], j)", "gather(m, ids[3 - i], j)")
    assert solve(read_swz(text, "gathers.swz", Parameters())[1]).status == "unsat"


def test_columns_stay_in_their_row() -> None:
    """An index among the data is checked like any other, also where a hole gives it."""
    text = TEXT.replace("?sw_xform(j, 8)", "?sw_xform(j, 8) + i // 2")
    sketch = read_swz(text, "gathers.swz", Parameters())[1]
    assert solve(sketch).status == "unsat"
    text = TEXT.replace("?sw_xform(j, 8)", "j + i")
    sketch = read_swz(text, "gathers.swz", Parameters())[1]
    with pytest.raises(SwizzleError, match=r"m\[\.\.\., 8\] is out of bounds: m has shape \(7, 8\)"):
        Problem.of(sketch.program, sketch.spec)


@pytest.mark.parametrize("name", ["ell", "narrow"])
def test_it_is_drawn(name: str) -> None:
    picture = best(name).show()
    assert "<svg" in picture.svg and "<html" in picture.html


def test_specifications_gather_numbers_and_lists_of_numbers() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert gather(x, np.int32(2), 1) == 9.0 and gather(x[1], 3) == 7.0
    for given, wrong in (
        (((x, 3, 0)), "extent of 3"),
        ((x, -1, 0), "extent of 3"),
        ((x, 1), "1 index for an array of 2"),
    ):
        with pytest.raises(SwizzleError, match=wrong):
            gather(*given)
    with pytest.raises(SwizzleError, match="gather from a list"):
        gather([1, 2], 0)


@needs_gcc
@pytest.mark.parametrize("name", SKETCHES)
def test_the_printed_text_computes_the_specification(name: str) -> None:
    """On random data of every kind, by calls of the solution."""
    solution, sketch = best(name), SKETCHES[name]
    for trial in trials(
        solution.program, lambda given: numbers(solution.program, sketch.spec, given), lambda given: solution(*given), 0
    ):
        assert trial.equal, trial


@needs_gcc
def test_a_call_refuses_other_data() -> None:
    given = data("ell")
    for wrong in (-1, 50):
        given["columns"][1, 2] = wrong
        with pytest.raises(SwizzleError, match=f"the array for columns holds {wrong}[\\s\\S]*from 0 to 49"):
            best("ell")(*given.values())


def test_the_numba_module_computes_the_specification() -> None:
    for name in ("ell", "table"):
        given = data(name)
        want = numbers(best(name).program, SKETCHES[name].spec, given)["y"]
        module(best(name).to_numba())[f"launch_{name}"](*given.values())
        np.testing.assert_array_equal(given["y"], want)


def test_lengths_follow_the_index_data_only() -> None:
    """What is gathered from keeps its extent, as the range is declared for it."""
    _, sizes = printed("ell")
    assert isinstance(sizes, Tiling) and sizes.spans["x"] == (None,)
    text = TEXT.replace("out.accumulate(values", "out.accumulate(x[i] * 0 + values").replace("below(50)", "below(32)")
    (ell, *_) = read_swz(text.replace("x=f32[50]", "x=f32[32]"), "gathers.swz", Parameters())
    fixed = sizes_of(solve(ell).best.program, ell)
    assert "x grows along x, and data whose range is declared chooses its elements" in str(fixed)


@needs_cuda
@pytest.mark.parametrize("name", SKETCHES)
def test_the_ptx_is_the_specification(name: str) -> None:
    """And is not, where another element is loaded, or one that may be outside."""
    source, sizes = printed(name)
    program, meaning = best(name).program, Meaning.of(best(name).program, SKETCHES[name].spec)
    written = WrittenOut(meaning.terms, program.parameters)
    validator: Any = Validator(program, meaning.wanted, written)
    if isinstance(sizes, Tiling):
        validator = TileValidator(program, sizes, meaning.wanted, written)

    def verdict(old: str, new: str) -> str:
        text, count = re.subn(old, new, source.text)
        assert count, source.text
        return str(validator.validate(compile_to_ptx(text, "sm_80"), source.entry).verdict)

    assert verdict("^", "") == "equal"
    changes = {
        "ell": [(r"columns_1 \+ i\]", "columns_1 + i] / 2"), (r"columns\[begin \+ k", "columns[begin + (k + 1) % 3")],
        "table": [(r"\[c \* 8 \+ j\]", "[c * 8 + (j ^ 1)]"), (r"c \* 8 \+ j", "c * 8 + 8 + j"), (r"c \* 8", "c * 7")],
        "narrow": [(r"c_1\) \* 4", "c_1) * 2"), (r"\+ j\]", "+ j + 4]")],
        "chain": [(r"x\[order\[(.*?)\]\]", r"x[order[\1] / 2]"), (r"order\[", "order[1 + ")],
    }
    for old, new in changes[name]:
        assert verdict(old, new) != "equal", (old, new)


def test_arrays_in_another_order_are_another_question() -> None:
    """The key of a kept answer knows which array is gathered from."""
    text = """
@spec
def taken(a, b, c):
    return [gather(a, c[i]) for i in range(8)]

@sketch(spec=taken, block=8, warp_size=8, a=f32[8], b=f32[8], c=i32.below(8)[8], y=f32.out[8])
def one(a, b, c, y):
    y[cuda.laneid] = gather(a, c[?sw_xform(cuda.laneid, 8)])
"""
    other = text.replace("gather(a, c[?", "gather(b, c[?")
    renamed = text.replace("gather(a", "gather(p").replace("(a, b, c", "(p, b, c").replace("a=f32", "p=f32")
    keys = []
    for each in (text, other, renamed):
        (sketch,) = read_swz(each, "keys.swz", Parameters())
        keys.append(key(sketch, Meaning.of(sketch.program, sketch.spec), Limits()))
    assert keys[0] == keys[2] != keys[1]


KERNEL = """
@spec
def unknown(x, c, d):
    return [0 for i in range(32)]

@sketch(spec=unknown, block=32, x=i32[8], c=i32.below(5)[32], d=i32[32], y=i32.out[32])
def kernel(x, c, d, y):
    t = cuda.laneid
    mine = cuda.local.array(2, i32)
    v = i32(3)
    {}
"""
INSIDE = (
    "for k in range(7, -1, -1):\n        y[t] = gather(x, max(i32(k), i32(-9)))",
    "for k in range(0, 8, 3):\n        y[t] = gather(x, i32(k) + 1)",
    "mine[0] = c[t]\n    mine[1] = 7 - c[t]\n    y[t] = gather(x, mine[t % 2])",
    "for k in range(9):\n        v = min(v + 1, 7)\n    y[t] = gather(x, v)",
    "v = d[t] if t < 0 else c[t]\n    y[t] = gather(x, v) + gather(x, v | 3) + gather(x, v ^ 7)",
    "y[t] = gather(x, i32(t if t < 8 else 31 - t if t > 23 else 0))",
    "out = accumulator(i32, outer='+', final=lambda w: gather(x, w & 7))\n    y[t] = out.value",
)
HANDED_ON = "\n        ".join(f"v{n} = v{n - 1}" for n in range(20, 0, -1))
OUTSIDE = (
    "for k in range(9):\n        y[t] = gather(x, max(i32(k), i32(-9)))",
    "mine[0] = c[t]\n    mine[1] = 8 - c[t]\n    y[t] = gather(x, mine[t % 2])",
    "for k in range(9):\n        y[t] = gather(x, v)\n        v = v + 1",
    "for k in range(9):\n        y[t] = gather(x, v)\n        mine[0] = d[t]\n        v = mine[0]",
    "\n    ".join(f"v{n} = i32(3)" for n in range(21))
    + f"\n    for k in range(32):\n        y[t] = gather(x, v20)\n        {HANDED_ON}\n        v0 = d[t]",
    "y[t] = gather(x, (d[t] & 7) << 30)",
    "y[t] = gather(x, (c[t] - 2) % 9)",
    "y[t] = gather(x, abs(d[t]) >> 28)",
    "out = accumulator(i32, outer='+', final=lambda v: gather(x, v))\n    out.accumulate(d[t])\n    y[t] = out.value",
)


def test_what_the_text_says_of_ranges() -> None:
    """Loops, arrays, choices and functions of an accumulator, at the edges: within an array of 8, or not for sure."""
    for line in INSIDE:
        read_swz(KERNEL.format(line), "inside.swz", Parameters())
    for line in OUTSIDE:
        with pytest.raises(SwizzleError, match=r"the index .* of gather may be .*"):
            read_swz(KERNEL.format(line), "outside.swz", Parameters())


def test_python_declares_ranges() -> None:
    assert i32.below(64)[130].limit == 64
    for wrong in (0, 2**31 + 1, 1.5, True):
        with pytest.raises(SwizzleError, match="an int from 1 to 2147483648"):
            i32.below(wrong)  # type: ignore[arg-type]


def test_files_in_python(tmp_path: Any) -> None:
    head = "from swizzle import accumulator, cuda, f32, gather, i32, sketch, spec, sw_xform\n\n"
    text = TEXT[: TEXT.index("@spec\ndef table")].replace("?", "")
    (tmp_path / "ell.py").write_text(head + text)
    (sketch,) = load(tmp_path / "ell.py")
    assert [p.below for p in sketch.program.parameters] == [0, 50, 0, 0]
    assert solve(sketch).best.holes[0].formula == "k"
