"""Operators of one's own: made of functions, tried on numbers, used in kernels and specifications."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbolic.extensions
from swizzle import Operator, SwizzleError, f32, f64, i32, i64, load, operator, solve, u32, u64
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import numbers
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from symbolic.algebra.counterexample import edges
from symbolic.algebra.numbers import Numbers
from symbolic.errors import Place
from symbolic.ir.program import DType
from symbolic.machine.machine import Machine

gcd: Operator = operator(math.gcd, order="set", identity=0, absorber=1, types=(u32, u64), numpy="gcd")


@operator(identity=0, types=u32)
def satadd(a: int, b: int) -> int:
    """Add, and stay at the greatest number."""
    return min(a + b, 2**32 - 1)


@operator(types=(i32, u32, i64))
def mulmod(a: int, b: int) -> int:
    """Multiply modulo a prime; there is no identity on all integers."""
    return a * b % 97


@operator(order="parity", identity=0)
def nim(a: int, b: int) -> int:
    return a ^ b


@operator(types=(f32, f64), numpy="hypot", identity=None)
def hypot(a: float, b: float) -> float:
    return math.hypot(a, b)


OWN = {made.name: made for made in (gcd, satadd, mulmod, nim, hypot)}


def swz(text: str, own: dict[str, Any] = OWN) -> Sketch:
    (found,) = read_swz(text, "test.swz", Parameters(operators=own))
    return found


REDUCED = """
@spec
def wanted(x):
    return [{spec} for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, x={dtype}[24], y={dtype}.out[8])
def k(x, y):
    lane = cuda.laneid
    out = accumulator({dtype}, outer="{name}"{init})
    for k in range(3):
        out.accumulate(x[8 * k + ?sw_xform(lane, 8, k)])
    y[lane] = out.value
"""


@pytest.mark.parametrize(
    ("name", "dtype", "init"),
    [("gcd", "u32", ""), ("satadd", "u32", ""), ("mulmod", "i32", ", init=1"), ("nim", "i64", ""),
     ("hypot", "f32", ", init=0")],
)  # fmt: skip
def test_a_reduction_is_solved_and_right_on_numbers(name: str, dtype: str, init: str) -> None:
    """The accumulator and the specification's list are one reduction; the machine computes what the function says."""
    begin = f"[{init[7:]}] + " if init else ""
    spec = f"{name}({begin}[x[8 * j + (i + j) % 8] for j in range(3)])"
    sketch = swz(REDUCED.format(spec=spec, name=name, dtype=dtype, init=init))
    best = solve(sketch).best
    assert verify(best.program, sketch.spec).equal
    rng = np.random.default_rng(3)
    kind = {"u32": np.uint32, "i32": np.int32, "i64": np.int64, "f32": np.float32}[dtype]
    x = rng.integers(0 if dtype == "u32" else -1000, 1000, 24).astype(kind)
    got = Machine(best.program, Numbers(), {"x": x}).run().memories["y"].data
    want = [OWN[name]([*([int(init[7:])] if init else []), *(x[8 * j + (i + j) % 8].item() for j in range(3))])
            for i in range(8)]  # fmt: skip
    assert np.allclose(got.astype(np.float64), want, rtol=1e-6)
    assert np.allclose(numbers(best.program, sketch.spec, {"x": x})["y"].astype(np.float64), want, rtol=1e-6)


def test_calls_in_kernel_and_specification() -> None:
    """Two values or more, in any order; what is equal once order and repetition do not count is equal."""
    text = """
@spec
def wanted(x):
    return [gcd(x[i], x[(i + 1) % 8], 6) for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, x=u32[8], y=u32.out[8])
def k(x, y):
    v = x[cuda.laneid]
    w = cuda.shfl_sync(cuda.FULL_MASK, v, (cuda.laneid + 1) % 8)
    y[cuda.laneid] = gcd(w, 6, gcd(v, w))
"""
    sketch = swz(text)
    assert verify(sketch.program, sketch.spec).equal
    assert not verify(swz(text.replace("gcd(w, 6, gcd(v, w))", "gcd(w, gcd(v, w))")).program, sketch.spec).equal
    other = swz(text.replace("gcd", "satadd"))
    assert not verify(other.program, other.spec).equal  # there an item that is there twice counts twice


def refused(make: Callable[[], Any]) -> str:
    with pytest.raises(SwizzleError) as error:
        make()
    return str(error.value)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: operator(lambda a, b: a - b, name="minus", types=i32), "minus(0, -2147483648) is 2147483648, which is no"),
    (lambda: operator(lambda a, b: a, name="first"), "not commutative: first(0, 1) is 0, first(1, 0) is 1 (i32)"),
    (lambda: operator(lambda a, b: abs(a - b), name="apart", types=u32),
     "not associative: apart(apart(1, 1), 4294967295) is 4294967295, apart(1, apart(1, 4294967295))"),
    (lambda: operator(lambda a, b: a | b, name="union", identity=1), "1 is no identity: union(0, 1) is 1"),
    (lambda: operator(lambda a, b: a | b, name="union", absorber=0), "0 is no absorber: union(1, 0) is 1"),
    (lambda: operator(lambda a, b: min(a + b, 2**32 - 1), name="capped", order="set", types=u32),
     "not idempotent, as a set asks for: capped(1, 1) is 2"),
    (lambda: operator(lambda a, b: a | b, name="union", order="parity", identity=0),
     "two of a kind do not cancel, as a parity asks for: union(1, 1) is 1"),
    (lambda: operator(lambda a, b: a | b, name="union", order="parity"), "has the order 'parity' and no identity"),
    (lambda: operator(math.gcd, name="gcd"), "gcd(0, -2147483648) is 2147483648, which is no i32"),
    (lambda: operator(math.lcm, name="lcm", types=u32), "which is no u32"),
    (lambda: operator(math.gcd, types=u32, numpy="maximum"), "its NumPy meaning differs: gcd("),
    (lambda: operator(math.gcd, types=u32, numpy=lambda a, b: a[:3]), "its NumPy meaning fails: AssertionError"),
    (lambda: operator(math.gcd, types=u32, numpy="gdc"), "its NumPy meaning fails: AttributeError"),
    (lambda: operator(lambda a, b: a // b, name="over", types=u32), "over(0, 0) fails: ZeroDivisionError"),
    (lambda: operator(lambda a, b: min(max(a + b, -2**31), 2**31 - 1), name="clamped", types=i32), "not associative"),
    (lambda: operator(math.hypot, name="hypot", types=f32, identity=0), "0 is no identity: hypot(-1.0, 0) is 1.0"),
    (lambda: operator(math.gcd, order="linear", types=u32), "the order of gcd is 'linear'"),
    (lambda: operator(math.gcd, types=()), "the types of gcd are ()"),
    (lambda: operator(math.gcd, types=u32, identity="0"), "the identity of gcd is '0'"),
    (lambda: operator(math.gcd, types=u32, absorber=-1), "the absorber -1 is no u32"),
    (lambda: operator(max, name="max"), "an operator is called 'max'"),
    (lambda: operator(lambda a, b: a + b), "an operator is called '<lambda>'"),
    (lambda: operator(lambda a, *b: a, name="rest"), "rest is not a function of two numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_is_evidently_wrong_is_refused_with_its_witness(make: Callable[[], Any], message: str) -> None:
    """Each law that is tried can fail, and says on which numbers; the place is the line that made the operator."""
    assert message in (said := refused(make)), said
    assert "test_operators.py:" in said


def test_the_numbers_that_are_tried_are_the_same_in_every_run() -> None:
    """A witness that no edge number gives is found, twice the same."""
    edge = set(edges(DType.U64))
    odd = lambda a, b: max(a, b) if {a, b} & edge else a  # noqa: E731
    first, second = (refused(lambda: operator(odd, name="odd", types=u64)) for _ in range(2))
    assert first == second and "not commutative" in first


@pytest.mark.parametrize(("name", "dtype", "message"), [
    ("gdc", "u32", "did you mean gcd?"),
    ("gcd", "f32", "the outer operator gcd on f32 data"),
    ("mulmod", "i32", "an accumulator by mulmod, which has no identity, without init"),
])  # fmt: skip
def test_a_mistake_in_a_kernel_has_its_place(name: str, dtype: str, message: str) -> None:
    """An unknown name is told with the one that is meant."""
    said = refused(lambda: swz(REDUCED.format(spec="x[0]", name=name, dtype=dtype, init="")))
    assert message in said and "test.swz:9:" in said


def test_mistakes_in_calls() -> None:
    """Of indices, of other types, of one value; in a specification of a wrong name."""
    text = """
@spec
def wanted(x):
    return [{spec} for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, x={dtype}[8], y={dtype}.out[8])
def k(x, y):
    v = x[cuda.laneid]
    y[cuda.laneid] = {value}
"""

    def said(value: str, dtype: str = "u32", spec: str = "x[i]") -> str:
        def make() -> None:
            sketch = swz(text.format(value=value, dtype=dtype, spec=spec))
            verify(sketch.program, sketch.spec)

        return refused(make)

    assert "`gcd` on i32 data" in said("gcd(v, v)", "i32") and "u32 u64" in said("gcd(v, v)", "i32")
    assert "`gcd` on indices" in said("u32(gcd(cuda.laneid, 4))")
    assert "gcd(...) with 2 arguments or more" in said("gcd(v)")
    assert "did you mean gcd?" in said("gdc(v, v)")
    assert "did you mean gcd?" in said("v", spec="gdc(x[i], x[i])")
    assert "mulmod of nothing, and it has no identity" in said("v", "i32", spec="mulmod([])")
    assert "gcd(a, b)" in said("v", spec="gcd(x[i], b=x[i])")


def test_two_operators_of_one_name_are_refused_in_one_sketch_and_live_apart_in_two() -> None:
    """The law travels with the program: there is no table in which one takes the place of another."""
    other = operator(lambda a, b: math.gcd(a, b), name="gcd", identity=0, types=(u32, u64))
    text = REDUCED.format(spec="gcd(x[i], x[i + 8], x[i + 16])", name="gcd", dtype="u32", init="")
    first, second = swz(text), swz(text, {"gcd": other})
    assert solve(first).status == solve(second).status == "sat"
    mixed = Sketch("k", first.program, second.spec, {}, Place("test.swz", 1, 1))
    assert "two operators are called gcd" in refused(lambda: solve(mixed))


def test_an_installed_operator_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `.swz` as a function and in quotes, in `.py` in quotes; what is no operator, or has another name, is said."""
    (tmp_path / "own_gcd.py").write_text(
        "import math\nfrom swizzle import operator, u32\n"
        "gcd = operator(math.gcd, order='set', identity=0, types=u32)\nnothing = 5\n"
    )
    info = tmp_path / "own_gcd-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-gcd\nVersion: 1\n")
    names = "gcd = own_gcd:gcd\nnothing = own_gcd:nothing\nother = own_gcd:gcd\n"
    (info / "entry_points.txt").write_text(f"[swizzle.operators]\n{names}")
    monkeypatch.syspath_prepend(tmp_path)
    symbolic.extensions._found.cache_clear()
    text = REDUCED.format(spec="gcd(x[i], x[i + 8], x[i + 16])", name="gcd", dtype="u32", init="")
    assert solve(swz(text, {})).status == "sat"
    assert "is a int" in refused(lambda: swz(text.replace('"gcd"', '"nothing"'), {}))
    assert "calls itself 'gcd'" in refused(lambda: swz(text.replace('"gcd"', '"other"'), {}))
    assert "did you mean gcd?" in refused(lambda: swz(text.replace('"gcd"', '"gdc"'), {}))
    (tmp_path / "use.py").write_text(
        "from own_gcd import gcd\nfrom swizzle import accumulator, cuda, sketch, spec, sw_xform, u32\n"
        + text.replace("?sw", "sw")
    )
    (sketch,) = load(tmp_path / "use.py")
    assert solve(sketch).status == "sat"
    symbolic.extensions._found.cache_clear()
