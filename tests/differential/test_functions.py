"""Functions on data (`math.exp`, `where`) in random sketches: against Python thread by thread, printed text and PTX."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import emulate, missing_compiler
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.running.validate import validate
from swizzle import solve
from swizzle.answers.emit.emitters import cuda_source
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.audit.random_check import disagreement
from symbolic.algebra.numbers import Numbers
from symbolic.ir.functions import FUNCTIONS
from symbolic.machine.machine import Machine
from symbolic.values import mapped
from tests.sketches import sketch_of
from tests.slow_cases import slow_unless

SMOOTH = ("exp", "sin", "cos", "tanh", "erf", "atan", "expm1")  # of every number, and nothing grows without bounds
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def expression(random: Random, depth: int, leaves: tuple[str, ...]) -> str:
    if depth == 0 or random.random() < 0.15:
        return random.choice((*leaves, str(random.choice((0.5, 1.25, -2.0)))))
    inner = [expression(random, depth - 1, leaves) for _ in range(4)]
    match random.randrange(6):
        case 0:
            return f"({inner[0]} {random.choice('+-*')} {inner[1]})"
        case 1:
            return f"math.{random.choice(SMOOTH)}(math.tanh({inner[0]}) + {random.choice(leaves)})"
        case 2:
            return f"math.fma({inner[0]}, {inner[1]}, {random.choice(leaves)})"
        case 3:
            return f"math.pow(math.exp(math.sin({inner[0]} + {random.choice(leaves)})), math.cos({inner[1]} * {random.choice(leaves)}))"  # noqa: E501
        case _:
            condition = f"{inner[0]} + {random.choice(leaves)} {random.choice(COMPARISONS)} {inner[1]}"
            if random.random() < 0.3:
                condition = f"({condition}) {random.choice('&|')} ({random.choice(leaves)} < {inner[3]})"
            return f"where({condition}, {inner[2]} + {random.choice(leaves)}, {inner[3]})"


TEXT = """
@spec
def wanted(x, z):
    y = zeros({lanes})
    for i in range({lanes}):
        a, b = x[{source}], z[i]
        y[i] = {wanted}
    return y

@sketch(spec=wanted, block={lanes}, warp_size={lanes}, x={kind}[{lanes}], z={kind}[{lanes}], y={kind}.out[{lanes}])
def k(x, z, y):
    lane = cuda.laneid
    a = cuda.shfl_sync(cuda.FULL_MASK, x[lane], {lane})
    b = z[lane]
    y[lane] = {wanted}
"""


def drawn(seed: int, kind: str = "f32", hole: bool = False, lanes: int = 32) -> tuple[str, Sketch]:
    text = expression(Random(seed), 3, ("a", "b"))
    return text, written(text, kind, hole, lanes, 1 + seed % 5)


def written(text: str, kind: str = "f32", hole: bool = False, lanes: int = 32, shift: int = 1) -> Sketch:
    lane = f"?sw_xform(lane, {lanes})" if hole else f"(lane + {shift}) % {lanes}"
    return sketch_of(TEXT.format(wanted=text, kind=kind, source=f"(i + {shift}) % {lanes}", lane=lane, lanes=lanes))


class PythonMath:
    """What the functions are, said once more with Python's own."""

    fma = staticmethod(lambda a, b, c: a * b + c)

    def __getattr__(self, name: str) -> Any:
        return getattr(math, name)


def by_python(text: str, seed: int, arrays: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Evaluate an expression thread by thread, with Python's floats and Python's `math`."""
    code = compile(text, "expression", "eval")
    given: dict[str, Any] = {"math": PythonMath(), "where": lambda c, x, y: x if c else y}
    x, z = (array.tolist() for array in arrays)
    return np.array([eval(code, given | {"a": x[(i + 1 + seed % 5) % 32], "b": z[i]}) for i in range(32)])


def data(seed: int, kind: type) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [rng.choice((-2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5), 32).astype(kind) for _ in range(2)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_sketches_are_what_python_computes(seed: int) -> None:
    """The machine on numbers, the specification on numbers, and, on terms, both equal for all inputs."""
    text, sketch = drawn(seed, "f64")
    arrays = data(seed, np.float64)
    wanted = by_python(text, seed, arrays)
    run = Machine(sketch.program, Numbers(), dict(zip("xz", arrays, strict=True))).run()
    np.testing.assert_allclose(run.memories["y"].data, wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.array(sketch.spec(*arrays), float), wanted, rtol=1e-9, atol=1e-9)
    assert verify(sketch.program, sketch.spec).equal
    assert disagreement(sketch.program, sketch.spec) == ""
    other = drawn(seed + 1000, "f64")[1]
    if drawn(seed + 1000)[0] != text:
        assert not verify(other.program, sketch.spec).equal


@pytest.mark.parametrize("few", [1, mapped.FEW])
@pytest.mark.parametrize("seed", slow_unless(range(8), (5).__gt__))
def test_a_hole_inside_of_a_function_is_found(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a function is given is asked for argument by argument, with values told apart or asked item by item."""
    monkeypatch.setattr(mapped, "FEW", few)
    text, sketch = drawn(seed, hole=True, lanes=4)
    result = solve(sketch)
    if few == 1 and result.status == "unknown":  # where items may cancel, some fillings are left out, and none is said
        return
    assert result.status == "sat" and verify(result.best.program, sketch.spec).equal, text


def test_the_sizes_of_a_product_and_of_a_sum_are_two_things(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product in a sum is one item of the sum and two of the product: taken for one another, they refuse answers."""
    monkeypatch.setattr(mapped, "FEW", 1)
    text = "abs(a * (a + b)) * abs((a + b) * (a - b)) + b"
    assert solve(written(text, hole=True, lanes=4)).status == "sat"


@pytest.mark.skipif(bool(missing_compiler()), reason="no C++ compiler")
@pytest.mark.parametrize("seed", range(3))
def test_printed_text_computes_the_specification(seed: int) -> None:
    text, sketch = drawn(seed, "f64")
    arrays, found = data(seed, np.float64), np.zeros(32)
    source = cuda_source(sketch.program, (), None)
    emulate(source.text, source.entry, (1, 1, 1), (32, 1, 1), [*arrays, found])
    np.testing.assert_allclose(found, by_python(text, seed, arrays), rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize("seed", slow_unless(range(4), (1, 3).__contains__))
def test_ptx_is_the_specification_and_no_other(seed: int) -> None:
    """Validated on terms and run on numbers; another function, another comparison or another order is not equal."""
    text, sketch = drawn(seed)
    source, meaning = cuda_source(sketch.program, (), None), Meaning.of(sketch.program, sketch.spec)

    def verdict(changed: str) -> str:
        ptx = compile_to_ptx(with_opaque_calls(changed))
        found = validate(sketch.program, ptx, source.entry, meaning.wanted, meaning.terms)
        return found.verdict

    assert verdict(source.text) == "equal", text
    for old, new in (("expf(", "exp2f("), ("sinf(", "cosf("), (" <= ", " < "), (" < ", " <= "), ("tanhf(", "sinf(")):
        if old in source.text.partition("__global__")[2] and "min" not in text:
            assert verdict(source.text.replace(old, new)) == "different", (text, old, new)
    arrays, found = data(seed, np.float32), np.zeros(32, np.float32)
    interpret(compile_to_ptx(with_opaque_calls(source.text)), source.entry, (1, 1, 1), (32, 1, 1), [*arrays, found])
    np.testing.assert_allclose(found, by_python(text, seed, arrays), rtol=1e-3, atol=1e-3)


def test_every_function_is_spelled_as_cuda_knows_it() -> None:
    """Each row's names compile, in both precisions, and are what NumPy computes where the host has them."""
    lines = [f"y[{n}] = {name}({', '.join(['0.5f'] * len(row.operands))});"
             for row in FUNCTIONS.values() for n, name in enumerate(row.cuda.values())]  # fmt: skip
    text = 'extern "C" __global__ void k(double* y) {\n' + "\n".join(lines) + "\n}\n"
    if available_tools():
        compile_to_ptx(text)
    for row in FUNCTIONS.values():
        assert np.isfinite(row.on_numbers([0.5] * len(row.operands)))
        assert row.defined is not None or row.ulp
    given = [-2.5, -0.5, 0.5, 1.5, 2.7]
    assert [FUNCTIONS["rint"].on_numbers([v]) for v in given] == [-2, 0, 0, 2, 3] == list(map(round, given))
    assert [FUNCTIONS["trunc"].on_numbers([v]) for v in given] == list(map(math.trunc, given))


CHOICES = """
@spec
def wanted(x, z):
    best, at = x[0], 0
    for i in range(1, 32):
        at = where(x[i] < best, i, at)
        best = where(x[i] < best, x[i], best)
    return [where(x[i] <= 3, z[i], where((x[i] < z[i]) | (z[i] == 5), 7, x[i])) for i in range(32)], [at]

@sketch(spec=wanted, block=32, x={kind}[32], z={kind}[32], y={kind}.out[32], first=i32.out[1])
def k(x, z, y, first):
    lane = cuda.laneid
    small, other = x[lane], z[lane]
    below = small < other or other == 5
    y[lane] = where(small <= 3, other, where(below, 7, small))
    best, at = x[0], i32(0)
    for i in range(1, 32):
        less = x[i] < best
        best = where(less, x[i], best)
        at = where(less, i32(i), at)
    if lane == 0:
        first[0] = at
"""


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize("kind", ["i32", "u32", "i64", "f64"])
def test_choices_of_every_type_and_argmin_are_validated(kind: str) -> None:
    """Comparisons with numbers, two conditions of one choice, and the place of the least element."""
    sketch = sketch_of(CHOICES.format(kind=kind))
    assert verify(sketch.program, sketch.spec).equal
    source, meaning = cuda_source(sketch.program, (), None), Meaning.of(sketch.program, sketch.spec)
    for text, verdict in ((source.text, "equal"), (source.text.replace(" <= 3", " < 3"), "different")):
        assert text != source.text or verdict == "equal"
        found = validate(sketch.program, compile_to_ptx(text), source.entry, meaning.wanted, meaning.terms)
        assert found.verdict == verdict, found.findings
