"""Roundings between two computations count: an intermediate value of fewer bits is another number."""

from __future__ import annotations

import pytest

from swizzle import solve
from swizzle.language.parameters import Parameters
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.audit.random_check import disagreement
from tests.sketches import sketch_of

TEXT = """\
@spec
def wanted(x, v):
    return [{said} for i in range(32)]

@sketch(spec=wanted, block=32, x={given}[32], v={given}[32], y={result}.out[32])
def k(x, v, y):
    i = cuda.laneid
    {body}
"""
SUM = """out = accumulator({of}, outer="+")
    for k in range(4):
        out.accumulate({each})
    y[i] = {result}(out.value)"""


def is_equal(said: str, body: str, given: str = "f16", result: str = "f32") -> bool:
    sketch = sketch_of(TEXT.format(said=said, body=body, given=given, result=result))
    found = verify(sketch.program, sketch.spec).equal
    if found:  # the check modulo a prime knows the same of conversions
        assert disagreement(sketch.program, sketch.spec) == ""
    return found


@pytest.mark.sampled(9)
@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize(("said", "body", "equal"), [
    ("f32(h(f32(x[i]) * f32(x[i]))) * f32(v[i])", "y[i] = f32(h(f32(x[i]) * f32(x[i]))) * f32(v[i])", True),
    ("f32(h(f32(x[i]) * f32(x[i]))) * f32(v[i])", "y[i] = f32(x[i] * x[i]) * f32(v[i])", True),
    ("f32(h(f32(x[i]) * f32(x[i]))) * f32(v[i])", "y[i] = f32(x[i]) * f32(x[i]) * f32(v[i])", False),
    ("f32(h(f32(x[i]) * f32(x[i]))) * f32(v[i])", "y[i] = f32(x[i] * x[i] * v[i])", False),
    ("x[i] * x[i] * v[i]", "y[i] = f32(h(f32(x[i]) * f32(x[i]))) * f32(v[i])", False),
    ("x[i] * x[i] * v[i]", "y[i] = f32(x[i] * x[i] * v[i])", False),
    ("f32(x[i] * x[i]) * f32(v[i])", "y[i] = f32(x[i] * x[i]) * f32(v[i])", True),
    ("x[i] * v[i]", "y[i] = f32(h(f32(x[i]))) * f32(h(f32(v[i])))", True),
    ("f32(h(max(f32(x[i]), 0.5))) - v[i]", "y[i] = max(f32(x[i]), 0.5) - f32(v[i])", True),
    ("f32(h(-f32(x[i]))) - v[i]", "y[i] = -f32(x[i]) - f32(v[i])", True),
    ("f32(h(0.1 - f32(x[i])))", "y[i] = 0.1 - f32(x[i])", False),
    ("sum(x[(i + k) % 32] for k in range(4))", SUM.format(of="h", each="x[(i + k) % 32]", result="f32"), False),
    ("sum(x[(i + k) % 32] for k in range(4))", SUM.format(of="f32", each="f32(x[(i + k) % 32])", result="f32"), True),
    ("f32(sum(x[(i + k) % 32] for k in range(4)))", SUM.format(of="h", each="x[(i + k) % 32]", result="f32"), True),
])  # fmt: skip
def test_what_is_rounded_on_the_way_counts(half: str, said: str, body: str, equal: bool) -> None:
    said, body = (text.replace("max(", "maximum(") if text is said else text for text in (said, body))
    names = [text.replace("h(", f"{half}(").replace("accumulator(h", f"accumulator({half}") for text in (said, body)]
    assert is_equal(*names, given=half) == equal


@pytest.mark.parametrize(("said", "body", "given", "result", "equal"), [
    ("f32(f16(x[i] * x[i])) * v[i]", "y[i] = f32(f16(x[i] * x[i])) * v[i]", "f32", "f32", True),
    ("f32(f16(x[i] * x[i])) * v[i]", "y[i] = x[i] * x[i] * v[i]", "f32", "f32", False),
    ("x[i] * v[i]", "y[i] = f64(x[i] * v[i])", "f32", "f64", False),
    ("f64(x[i] * v[i])", "y[i] = f64(x[i] * v[i])", "f32", "f64", True),
    ("x[i] * v[i]", "y[i] = f64(x[i]) * f64(v[i])", "f32", "f64", True),
    ("i32(x[i] + v[i])", "y[i] = i32(x[i] + v[i])", "f16", "i32", True),
    ("i32(x[i] + v[i])", "y[i] = i32(f32(x[i]) + f32(v[i]))", "f16", "i32", False),
    ("i32(f32(x[i]) * 0.5 + f32(v[i]))", "y[i] = i32(f32(x[i]) * 0.5 + f32(v[i]))", "i8", "i32", True),
    ("x[i] + v[i]", "y[i] = x[i] + v[i]", "f16", "f16", True),
    ("x[i] + v[i]", "y[i] = f16(f32(x[i]) + f32(v[i]))", "f16", "f16", True),
])  # fmt: skip
def test_of_other_types_too(said: str, body: str, given: str, result: str, equal: bool) -> None:
    assert is_equal(said, body, given, result) == equal


def test_a_hole_behind_a_widening_is_found() -> None:
    """A shuffle of halves is widened: elements are the same in each type, and 'none' is said of what is rounded."""
    body = "y[i] = f32(cuda.shfl_sync(-1, {what}, ?sw_xform(i, 32)))"
    for what, said, status in (
        ("x[i]", "x[i ^ 1]", "sat"),
        ("x[i] * x[i]", "f32(x[i ^ 1] * x[i ^ 1])", "sat"),
        ("x[i] * x[i]", "x[i ^ 1] * x[i ^ 1]", "unsat"),
    ):
        text = TEXT.format(said=said, body=body.format(what=what), given="f16", result="f32")
        (sketch,) = read_swz(text, "k.swz", Parameters())
        assert solve(sketch).status == status


KAHAN = """\
@spec
def wanted(x):
    return [sum(x[i, k] for k in range(4)) for i in range(32)]

@spec
def compensated(x):
    found = []
    for i in range(32):
        s, c = x[i, 0], 0
        for k in range(1, 4):
            w = x[i, k] - c
            t = s + w
            s, c = t, (t - s) - w
        found.append(s)
    return found

@sketch(spec={spec}, block=32, x={kind}[32, 4], y={kind}.out[32])
def k(x, y):
    i = cuda.laneid
    s = x[i, 0]
    c = {kind}(0)
    for k in range(1, 4):
        w = x[i, k] - {taken}
        t = s + w
        c = {compensation}
        s = t
    y[i] = s
"""


@pytest.mark.parametrize(("spec", "kind", "kernel", "cancels"), [
    ("wanted", "f32", False, False), ("wanted", "f32", True, True), ("compensated", "f32", False, True),
    ("wanted", "f64", True, True), ("wanted", "i32", True, False), ("wanted", "f16", True, True),
])  # fmt: skip
def test_a_compensation_that_counts_as_0_is_said(spec: str, kind: str, kernel: bool, cancels: bool) -> None:
    """Kahan's sum is a plain one as real numbers, on whichever side it stands; of integers that is so."""
    parts = ("c", "(t - s) - w") if kernel else (f"{kind}(0)", "c")
    sketch = sketch_of(KAHAN.format(spec=spec, kind=kind, taken=parts[0], compensation=parts[1]))
    found = verify(sketch.program, sketch.spec)
    assert (found.equal, found.cancels) == (True, cancels)


TAKEN_OFF = """\
@spec
def wanted(x):
    return [{said} for i in range(32)]

@sketch(spec=wanted, block=32, x={kind}[32], y={kind}.out[32])
def k(x, y):
    i = cuda.laneid
    y[i] = {kernel}
"""


@pytest.mark.parametrize(("kind", "said", "kernel", "cancels"), [
    ("f32", "x[i]", "(x[i] + 12582912.0) - 12582912.0", True),
    ("f32", "(x[i] + 12582912.0) - 12582912.0", "x[i]", True),
    ("f32", "x[i] + 0.5", "(x[i] + 12582912.5) - 12582912", True),
    ("f16", "2 * x[i]", "2 * (x[i] + 1024) - 2048", True),
    ("f32", "2 * x[i]", "(x[i] - 1e9) + (1e9 + x[i])", True),
    ("f32", "x[i] + 3", "x[i] + 1 + 2", False), ("f32", "x[i] + 9", "x[i] + 10 - 1", False),
    ("i32", "x[i]", "(x[i] + 12582912) - 12582912", False),
])  # fmt: skip
def test_a_number_that_is_taken_off_again_is_said(kind: str, said: str, kernel: str, cancels: bool) -> None:
    """Adding a large number and taking it off rounds to its last place: 12582912 makes whole numbers of singles."""
    sketch = sketch_of(TAKEN_OFF.format(kind=kind, said=said, kernel=kernel))
    found = verify(sketch.program, sketch.spec)
    assert (found.equal, found.cancels) == (True, cancels)


WHOLE = """\
@spec
def wanted(a, b, x):
    return [f32(a[i]) for i in range(32)]

@sketch(spec=wanted, block=32, a=i32[32], b=i32[32], x=f32[32], y=f32.out[32])
def k(a, b, x, y):
    i = cuda.laneid
    y[i] = {kernel}
"""


@pytest.mark.parametrize(("kernel", "cancels"), [
    ("f32(a[i]) + f32(b[i]) - f32(b[i])", True), ("f32(a[i] + b[i] - b[i])", False),
    ("f32(a[i] + i32(x[i]) - i32(x[i]))", False),
])  # fmt: skip
def test_what_cancels_is_of_the_type_it_was_converted_to(kernel: str, cancels: bool) -> None:
    sketch = sketch_of(WHOLE.format(kernel=kernel))
    found = verify(sketch.program, sketch.spec)
    assert (found.equal, found.cancels) == (True, cancels)


NOTED = """\
@spec
def wanted(h, x):
    return [{said} for i in range(32)]

@sketch(spec=wanted, block=32, h={kind}[32], x=f32[32], y=f32.out[32])
def k(h, x, y):
    i = cuda.laneid
    y[i] = {kernel}
"""


@pytest.mark.parametrize(("kind", "said", "kernel", "unrounded"), [
    ("f16", "x[i] + i", "x[i] + f32(f16(i + 2048) - f16(2048))", ["f16(2049) is 2049"]),
    ("f32", "x[i] + i", "x[i] + (f32(16777216 + i) - f32(16777216))", ["f32(16777217) is 16777217"]),
    ("bf16", "x[i] + 1", "x[i] + f32(bf16(257) - bf16(256))", ["bf16(257) is 257"]),
    ("f32", "x[i] + 33554433", "x[i] + 33554433", ["f32(33554433) is 33554433"]),
    ("f32", "x[i] + i * 0.5 + 0.1", "x[i] + f32(i) * 0.5 + 0.1", []),
    ("f16", "where(h[i] * h[i] < 2, 1, 0)", "where(h[i] * h[i] < 2, f32(1), f32(0))",
     ["what is compared in f16 is not rounded first"]),
    ("bf16", "where(h[i] + 1 == x[i], 1, 0)", "where(f32(h[i]) + 1 == x[i], f32(1), f32(0))", []),
    ("f16", "where(h[i] < 2, 1, 0)", "where(h[i] < 2, f32(1), f32(0))", []),
])  # fmt: skip
def test_what_a_type_rounds_and_counts_as_it_stands_is_said(
    kind: str, said: str, kernel: str, unrounded: list[str]
) -> None:
    """Whole numbers that a float type does not have, and comparisons of halves that were computed."""
    sketch = sketch_of(NOTED.format(kind=kind, said=said, kernel=kernel))
    found = verify(sketch.program, sketch.spec)
    assert (found.equal, sorted(found.unrounded)) == (True, unrounded)
