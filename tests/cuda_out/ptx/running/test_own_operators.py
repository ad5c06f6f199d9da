"""Operators of one's own in printed text: a function that is called, known in PTX by its law and tried on numbers."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import emulate_checked
from cuda_out.numba.compiling import why_not_compiled
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.running.validate import Validation, validate
from swizzle import Operator, SwizzleError, f32, f64, i32, i64, operator, u32, u64
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import numbers, postcondition
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from symbolic.algebra.terms import Terms
from tests.cuda_out.numba.test_printer import flat
from tests.slow_cases import slow_unless

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

EUCLID = """
while (b != 0) {
  const T rest = a % b;
  a = b;
  b = rest;
}
return a;
"""


@operator(order="set", identity=0, absorber=1, types=(u32, u64), numpy="gcd", cuda=EUCLID)
def gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@operator(identity=0, absorber=2**32 - 1, types=u32, cuda="return a + b < a ? ~T(0) : a + b;")
def satadd(a: int, b: int) -> int:
    return min(a + b, 4294967295)


@operator(order="set", identity=-1, types=(i32, u32, i64), cuda="return a & b;")
def common(a: int, b: int) -> int:
    return a & b


@operator(order="parity", identity=0, types=(i32, i64), cuda="return a ^ b;")
def nim(a: int, b: int) -> int:
    return a ^ b


@operator(types=(f32, f64), numpy="hypot", cuda="return sqrt(a * a + b * b);", numba="""
from math import sqrt
from tests.slow_cases import slow_unless
def hypot(a, b):
    return sqrt(a * a + b * b)
""")  # fmt: skip
def hypot(a: float, b: float) -> float:
    return (a * a + b * b) ** 0.5  # type: ignore[no-any-return]


OWN = {made.name: made for made in (gcd, satadd, common, nim, hypot)}

REDUCED = """
@spec
def wanted(x):
    return [{spec} for i in range(32)]

@sketch(spec=wanted, block=32, x={dtype}[96], y={dtype}.out[32])
def k(x, y):
    lane = cuda.laneid
    out = accumulator({dtype}, outer="{name}"{init})
    for k in range(3):
        out.accumulate(x[3 * lane + k])
    y[lane] = {result}
"""


def sketch_of(text: str, own: dict[str, Operator] = OWN) -> Sketch:
    (found,) = read_swz(text, "own.swz", Parameters(operators=own))
    return found


def reduced(name: str, dtype: str, init: str = "", result: str = "out.value") -> Sketch:
    first = f"[{init[7:]}] + " if init else ""
    own, next_one = "[x[3 * i + 2 - k] for k in range(3)]", "[x[(3 * i + 3 + k) % 96] for k in range(3)]"
    spec = f"{name}({first}{own})"
    if "shfl" in result:
        spec = f"{name}({first}{next_one} + {first}{own})"
    return sketch_of(REDUCED.format(spec=spec, name=name, dtype=dtype, init=init, result=result))


CASES = [
    ("gcd", "u32", ""), ("gcd", "u64", ""), ("gcd", "u32", ", init=12"), ("satadd", "u32", ""), ("common", "i32", ""),
    ("common", "u32", ""), ("common", "i32", ", init=255"), ("nim", "i32", ""), ("nim", "i64", ""),
    ("hypot", "f32", ", init=0"), ("hypot", "f64", ", init=0"),
]  # fmt: skip
TOGETHER = "{name}(out.value, cuda.shfl_sync(cuda.FULL_MASK, out.value, (lane + 1) % 32))"


def judged(sketch: Sketch, source: CudaSource, text: str = "", arch: str = "sm_80") -> Validation:
    terms = Terms()
    wanted = postcondition(sketch.program, sketch.spec, terms)
    ptx = compile_to_ptx(text or source.text, arch)
    return validate(sketch.program, ptx, source.entry, wanted, terms)


def random_data(dtype: str) -> np.ndarray[Any, Any]:
    kind: Any = {"u": np.uint32, "i": np.int32, "f": np.float32}[dtype[0]]
    kind = np.dtype(f"{np.dtype(kind).kind}{int(dtype[1:]) // 8}").type
    drawn = np.random.default_rng(5).integers(0 if dtype[0] == "u" else -(2**31), 2**31, 96)
    return (drawn / 2**28 if dtype[0] == "f" else drawn).astype(kind)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "dtype", "init", "together"),
    slow_unless(
        ((*case, together) for together in (False, True) for case in CASES),
        lambda case: (
            (not case[3] and (case[1] != "u32" or case[0] == "satadd"))
            or case[:3] in (("gcd", "u64", ""), ("common", "i32", ", init=255"), ("hypot", "f32", ", init=0"))
        ),
    ),
)
def test_what_is_printed_is_the_operator_for_all_inputs(name: str, dtype: str, init: str, together: bool) -> None:
    """Of every type and order, with and without an identity: terms are equal, and so are numbers, on the CPU and in
    PTX that runs."""
    sketch = reduced(name, dtype, init, TOGETHER.format(name=name) if together else "out.value")
    assert verify(sketch.program, sketch.spec).equal
    source = print_cuda(optimize(sketch.program))
    assert source.text.count("__noinline__") == 1
    for arch in ("sm_75", "sm_100"):
        found = judged(sketch, source, arch=arch)
        assert (found.verdict, found.findings) == ("equal", ())
    x = random_data(dtype)
    want = numbers(sketch.program, sketch.spec, {"x": x})["y"]
    for run in (emulate_checked, lambda text, *rest: interpret(compile_to_ptx(text), *rest)):
        y = np.zeros(32, x.dtype)
        run(source.text, source.entry, (1, 1, 1), (32, 1, 1), [x, y])
        np.testing.assert_allclose(y, want, rtol=1e-5 if dtype[0] == "f" else 0)


@pytest.mark.sampled(3)
@pytest.mark.skipif(why_not_compiled() != "", reason=why_not_compiled())
@pytest.mark.parametrize(("name", "dtype", "init"), CASES)
def test_the_module_for_numba_computes_it_too(
    name: str, dtype: str, init: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function's own text, or the one that was given, as numba compiles it; its PTX is run on numbers."""
    from numba import cuda, from_dtype

    # To compile a device function numba asks which GPU is here.
    device = SimpleNamespace(compute_capability=(8, 0))
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: device)
    sketch, scope = reduced(name, dtype, init), dict[str, Any]()
    source, x = print_numba(optimize(sketch.program)), random_data(dtype)
    exec(compile(source.text, "printed", "exec"), scope)
    ptx, _ = cuda.compile_ptx(scope[source.kernel].py_func, (from_dtype(x.dtype)[::1],) * 2, cc=(8, 0))
    (entry,) = re.findall(r"\.entry\s+(\w+)", ptx)
    y = np.zeros(32, x.dtype)
    interpret(ptx, entry, (1, 1, 1), (32, 1, 1), [*flat(x), *flat(y)])
    want = numbers(sketch.program, sketch.spec, {"x": x})["y"]
    np.testing.assert_allclose(y, want, rtol=1e-5 if dtype[0] == "f" else 0)


def test_a_single_update_keeps_its_function() -> None:
    """Where every call has the identity on its left, the compiler may know it in the body too; the terms are equal."""
    text = REDUCED.replace("range(3)", "range(1)")
    sketch = sketch_of(text.format(spec="x[3 * i]", name="gcd", dtype="u32", init="", result="out.value"))
    found = judged(sketch, print_cuda(optimize(sketch.program)))
    assert (found.verdict, found.findings) == ("equal", ())


MUTANTS = [
    ("another body", "return a;", "return a | 1;"),
    ("a body that differs above 2^31 only", "return a;", "return a & 0x7fffffffu;"),
    ("a body that differs for zero only", "while (b != 0) {", "if (a == 0 && b == 0) return 1;\n  while (b != 0) {"),
    ("a body that asks which thread it is", "return a;", "return a + (threadIdx.x > 40 ? 1 : 0);"),
    ("a body that reads memory", "return a;", "return a + *(const T*)(0x1000ull + a);"),
    ("a call with one argument twice", "gcd_u32(out, x[lane * 3 + k_2])", "gcd_u32(out, out)"),
    ("a call with another element", "gcd_u32(out, x[lane * 3 + k_2])", "gcd_u32(out, x[lane * 3])"),
    ("a call of a second function", "gcd_u32(out, x", "other(out, x"),
    ("a call of a second function of the same name elsewhere", "gcd_u32(out, x", "inner::gcd_u32(out, x"),
    ("no call at all", "gcd_u32(out, x[lane * 3 + k_2])", "out | x[lane * 3 + k_2]"),
]
SECOND = """
static __device__ __noinline__ unsigned int other(unsigned int a, unsigned int b) {
  return a > b ? a - b : b - a;
}
namespace inner {
static __device__ __noinline__ unsigned int gcd_u32(unsigned int a, unsigned int b) { return a < b ? a : b; }
}
"""


@pytest.mark.parametrize(("what", "old", "new"), MUTANTS, ids=[what for what, _, _ in MUTANTS])
def test_an_edited_text_is_not_equal(what: str, old: str, new: str) -> None:
    """Another body, another function, other arguments: never equal; a body that was tried and is wrong says where."""
    sketch = reduced("gcd", "u32")
    source = print_cuda(optimize(sketch.program))
    assert old in source.text, source.text
    more = source.text.replace("namespace swizzle_k {\n", f"namespace swizzle_k {{\n{SECOND}")
    text = more.replace(old, new)
    assert judged(sketch, source, more).verdict == "equal"
    found = judged(sketch, source, text)
    assert found.verdict != "equal", found
    if "body" in what and "asks" not in what and "reads" not in what:
        witness = r"gcd_u32\w* is not the operator gcd: gcd\(\d+, \d+\) is \d+, and here"
        assert found.broken and re.search(witness, found.findings[0])
    if "same name" in what:
        assert found.broken and "is not the operator gcd" in found.findings[0]


def test_a_function_that_is_no_operator_is_a_function() -> None:
    """On numbers it is run; on terms it is opaque, and equal to itself on equal operands only."""
    text = REDUCED.format(spec="x[3 * i]", name="gcd", dtype="u32", init="", result="x[3 * lane]")
    sketch = sketch_of(text)
    source = print_cuda(optimize(sketch.program))
    edited = source.text.replace("namespace swizzle_k {\n", "namespace swizzle_k {\n" + SECOND)
    edited = re.sub(r"y\[lane\] = [^;]*;", "y[lane] = x[3 * lane] + other(x[0], x[1]) - other(x[0], x[1]);", edited)
    assert judged(sketch, source, edited).verdict == "equal"
    wrong = edited.replace("- other(x[0], x[1])", "- other(x[1], x[0])")
    assert judged(sketch, source, wrong).verdict == "different"  # nothing is known of its order
    x, y = random_data("u32"), np.zeros(32, np.uint32)
    interpret(compile_to_ptx(wrong), source.entry, (1, 1, 1), (32, 1, 1), [x, y])
    assert (y == x[::3]).all()


def test_the_header_form_prints_the_same_function() -> None:
    """It is there once, as in the `.cu`."""
    program = optimize(reduced("gcd", "u32").program)
    texts = print_cuda(program).text, print_cuda(program, form="header").text
    assert [text.count("gcd_u32(unsigned int a") for text in texts] == [1, 1]


def test_names_of_functions_are_not_taken_by_variables() -> None:
    """A kernel's own `gcd_u32`, and in Python its own `gcd`, get other names."""
    text = REDUCED.replace("lane = cuda.laneid", "lane = cuda.laneid\n    gcd_u32 = x[lane]\n    T = gcd_u32")
    sketch = sketch_of(text.format(spec="gcd(x[i], x[i])", name="gcd", dtype="u32", init="", result="gcd(gcd_u32, T)"))
    found = judged(sketch, print_cuda(sketch.program))
    assert (found.verdict, found.findings) == ("equal", ())


def test_what_has_no_text_is_not_printed() -> None:
    """One error, with what to write."""
    silent = operator(max, name="silent", types=u32, order="set", identity=0)
    program = sketch_of(
        REDUCED.format(spec="silent(x[i], 0)", name="silent", dtype="u32", init="", result="out.value"),
        {"silent": silent},
    ).program
    with pytest.raises(SwizzleError, match="the operator silent has no CUDA text"):
        print_cuda(program)
    with pytest.raises(SwizzleError, match=r"the operator silent has no text for numba\.cuda"):
        print_numba(program)
