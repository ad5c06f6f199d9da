"""Bounds of rounding errors: no right computation is farther off, in whatever order; what is exact is exact."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from swizzle.answers.checking.rounding import Rounding
from swizzle.answers.checking.trial import SLACK, Array, Arrays, RandomRun, trials
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.algebra.terms import Term, Terms
from symbolic.ir.program import Binary, Const, DType, Load, Program, Store
from tests.swizzle.answers.checking.test_trial import HERE, kernel

SIZE = 64


def some_term(terms: Terms, rng: random.Random, depth: int) -> Term:
    """Make a term of sums, products, quotients, extremes over x[0] to x[63]."""
    if depth == 0 or rng.random() < 0.2:
        return (
            terms.const(rng.choice((3, 0.3125, -7, 0.25)))
            if rng.random() < 0.2
            else terms.atom("x", rng.randrange(SIZE))
        )
    parts = [some_term(terms, rng, depth - 1) for _ in range(rng.choice((2, 2, 3, 5)))]
    match rng.choice("+++*/ma"):
        case "/":
            return terms.apply("/", (parts[0], terms.const(rng.choice((3, 9, 0.7)))))
        case "m":
            return terms.apply(rng.choice(("min", "max")), tuple(parts))
        case "a":
            return terms.apply("abs", (parts[0],))
        case op:
            return terms.apply(op, tuple(parts[: 2 if op == "*" else 5]))


def computed(terms: Terms, term: Term, x: Array, rng: random.Random) -> Any:
    """Compute a term in the type of x, sums and products in some order, some with a product fused."""
    op, args = terms.nodes[term]
    kind = x.dtype.type
    if op == "atom":
        return x[args[1]]
    if op == "const":
        return kind(float(args[0]))
    values = [computed(terms, arg, x, rng) for arg in args]
    if op in ("+", "*"):
        rng.shuffle(values)
        while len(values) > 1:
            a, b = values.pop(), values.pop(rng.randrange(len(values)))
            values.append(kind(a + b) if op == "+" else kind(a * b))
        return values[0]
    if op == "/":
        return kind(values[0] / values[1]) if rng.random() < 0.5 else kind(values[0] * kind(kind(1) / values[1]))
    return abs(values[0]) if op == "abs" else (min if op == "min" else max)(values)


def in_doubles(terms: Terms, term: Term, x: Array) -> Any:
    """Compute a term in double precision, constants as they are."""
    return computed(terms, term, x.astype(np.float64), random.Random(0))


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
@pytest.mark.parametrize("scale", [1.0, 2.0**-8, 8.0, 0.0])
def test_no_order_is_farther_off_than_the_bound(dtype: DType, scale: float) -> None:
    """Random expressions on random numbers (scale 0: small whole ones), in random orders."""
    exact = 0
    for seed in range(60):
        rng, terms = random.Random(seed), Terms()
        term, numbers = some_term(terms, rng, 3), np.random.default_rng(seed)
        whole = numbers.integers(-3, 3, SIZE).astype(float)
        x = (scale * numbers.standard_normal(SIZE) if scale else whole).astype(NUMPY_DTYPES[dtype])
        found = Rounding(kernel(dtype), Meaning(terms, {"y": [term] * SIZE})).bounds({"x": x})
        assert found is not None
        bound, want = float(found["y"].bound[0]), float(in_doubles(terms, term, x))
        exact += bound == 0
        for _ in range(8):
            with np.errstate(all="ignore"):
                got = float(computed(terms, term, x, rng))
            assert bound == np.inf or got == want or abs(got - want) <= SLACK * bound, (
                seed,
                got,
                want,
                bound,
                terms.show(term),
            )
    assert exact >= (10 if scale == 0 else 1)


def test_unknown_operations_have_no_bound() -> None:
    terms = Terms()
    term = terms.apply("floor", (terms.atom("x", 0),))
    assert Rounding(kernel(DType.F32), Meaning(terms, {"y": [term]})).bounds({"x": np.zeros(SIZE)}) is None


def thirds(terms: Terms) -> list[Term]:
    """The specification y[i] = (x[i] + x[i + 1] + x[i + 2]) / 3."""
    atoms = [terms.atom("x", i) for i in range(SIZE)]
    sums = [terms.apply("+", tuple(atoms[(i + k) % SIZE] for k in range(3))) for i in range(SIZE)]
    return [terms.apply("/", (total, terms.const(3))) for total in sums]


def third(inputs: Arrays) -> Arrays:
    x = inputs["x"]
    return {"y": (x + np.roll(x, -1) + np.roll(x, -2)) / 3}


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32, DType.F64])
def test_quotients_are_told_apart(dtype: DType) -> None:
    """Whole numbers are exact, as they are multiples of 3; another divisor, even the next number, is found at once."""
    terms = Terms()
    rounding = Rounding(kernel(dtype), Meaning(terms, {"y": thirds(terms)}))
    assert rounding.divisor() == 3
    kind = NUMPY_DTYPES[dtype]

    def dividing(by: Any) -> Any:
        def run(arguments: list[Array]) -> None:
            x, y = arguments
            with np.errstate(all="ignore"):
                y[...] = (np.roll(x, -2) + x + np.roll(x, -1)) / by

        return run

    right = list(trials(kernel(dtype), third, dividing(kind(3)), 1, rounding))
    assert [run.data for run in right if run.equal] == [
        "whole numbers", "arbitrary numbers", "small numbers", "large numbers", "infinities",
    ]  # fmt: skip
    assert right[0].tolerance == 0 and all(0 < run.tolerance < 0.1 for run in right[1:4])
    for by in (kind(3.04), np.nextafter(kind(3), kind(4)), kind(-3)):
        wrong = list(trials(kernel(dtype), third, dividing(by), 1, rounding))
        assert not wrong[0].equal, by


def dividing_kernel(dtype: DType, *, last: bool, ieee: bool = False) -> Program:
    """A kernel that stores a quotient by 3, or a sum of one."""
    i, one = Const(0, DType.INDEX, HERE), Const(1.0, dtype, HERE)
    quotient = Binary("/", Load("x", (i,), dtype, HERE), Const(3.0, dtype, HERE), dtype, HERE)
    stored = quotient if last else Binary("+", quotient, one, dtype, HERE)
    return replace(kernel(dtype, Store("y", (i,), stored, HERE)), ieee_division=ieee)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32, DType.F64])
def test_products_with_a_reciprocal(dtype: DType) -> None:
    """Where the quotient is stored, whole numbers are exact: the quotient, or the product as the text rounds it.

    A wrong reciprocal is found, be it a few units off. Elsewhere rounding is allowed for.
    """
    terms = Terms()
    meaning = Meaning(terms, {"y": thirds(terms)})
    kind, wide = NUMPY_DTYPES[dtype], np.float32 if dtype is DType.F16 else NUMPY_DTYPES[dtype]
    reciprocal = wide(1) / wide(3)

    def times(factor: Any, first: bool = False) -> Any:
        def run(arguments: list[Array]) -> None:
            x, y = (np.asarray(a).astype(wide) for a in arguments)
            parts = (np.roll(x, -2), x, np.roll(x, -1))
            with np.errstate(all="ignore"):
                y = sum(part * factor for part in parts) if first else sum(parts) * factor
                arguments[1][...] = y.astype(kind)

        return run

    def first_trial(program: Program, run: Any) -> RandomRun:
        return next(trials(program, third, run, 1, Rounding(program, meaning)))

    last, inside = dividing_kernel(dtype, last=True), dividing_kernel(dtype, last=False)
    assert first_trial(last, times(reciprocal)).equal and first_trial(last, times(reciprocal)).tolerance == 0
    if dtype is not DType.F16:  # whose products in single precision hide the next one
        for wrong in (1 - 8 * np.finfo(wide).eps, 1 + 8 * np.finfo(wide).eps):
            assert not first_trial(last, times(wide(reciprocal * wrong))).equal
    assert not first_trial(last, times(wide(0.3))).equal and not first_trial(inside, times(wide(0.3))).equal
    assert first_trial(inside, times(reciprocal, first=True)).equal
    ieee = dividing_kernel(dtype, last=True, ieee=True)
    assert first_trial(ieee, times(wide(reciprocal * (1 + 8 * np.finfo(wide).eps)))).equal == (dtype is DType.F16)


def test_what_only_magnitudes_or_infinities_show_is_found() -> None:
    """A constant that is added to be taken away again, and a maximum that begins with the largest finite number."""
    terms = Terms()
    rounding = Rounding(kernel(DType.F32), Meaning(terms, {"y": thirds(terms)}))

    def absorbed(arguments: list[Array]) -> None:
        x, y = arguments
        y[...] = (np.roll(x, -2) + x + np.roll(x, -1)) / np.float32(3) + np.float32(64) - np.float32(64)

    found = {run.data: run.equal for run in trials(kernel(DType.F32), third, absorbed, 1, rounding)}
    assert found["whole numbers"] and not found["small numbers"]

    def clamped(arguments: list[Array]) -> None:
        x, y = arguments
        largest = np.finfo(np.float32).max
        y[...] = np.clip((np.roll(x, -2) + x + np.roll(x, -1)) / np.float32(3), -largest, largest)

    with np.errstate(all="ignore"):
        found = {run.data: run.equal for run in trials(kernel(DType.F32), third, clamped, 1, rounding)}
    assert found["whole numbers"] and found["large numbers"] and not found["infinities"]


CANCELLED = """
@spec
def wanted(x):
    return [x[i] + x[i + 1] - x[i + 2] - x[i + 3] for i in range(64)]

@sketch(spec=wanted, block=64, x=f32[67], y=f32.out[64])
def boxes(x, y):
    i = cuda.laneid + 32 * cuda.warpid
    before = accumulator(f32, outer="+")
    for k in range(3):
        before.accumulate(x[i + k])
    y[i] = before.value - (x[i + 3] + x[i + 2] + max(x[i + 2], x[i + 2]))
"""


def test_what_the_terms_cancel_still_rounds() -> None:
    """Of a kernel that adds more than the specification: its own errors bound it, and are no excuse for wrong ones."""
    (sketch,) = read_swz(CANCELLED, "boxes.swz", Parameters())
    meaning = Meaning.of(sketch.program, sketch.spec)
    assert verify(sketch.program, sketch.spec).equal

    def told(wrong: float) -> list[RandomRun]:
        def run(arrays: list[Array]) -> None:
            x, y = arrays
            y[...] = (x[:-3] + x[1:-2] + x[2:-1]) - (x[3:] + x[2:-1] + x[2:-1])
            y[3] += np.float32(wrong) * np.abs(x[5])

        def specification(given: Arrays) -> Arrays:
            x = given["x"]
            return {"y": x[:-3] + x[1:-2] - x[2:-1] - x[3:]}

        rounding = Rounding(sketch.program, meaning)
        return list(islice(trials(sketch.program, specification, run, 3, rounding), 4))  # no infinities

    assert all(each.equal for each in told(0))
    assert not any(each.equal for each in told(1e-5)[1:])
    bounds = Rounding(sketch.program, meaning).computed({"x": np.ones(67)})["y"]
    assert (bounds >= 2**-24).all() and (bounds < 30 * 2**-24).all()


ROUNDED = """
@spec
def wanted(x):
    return [u8(i32(math.rint(x[i] * 255))) + where(x[i] * 3 < 1, 1, 0) for i in range(64)]

@sketch(spec=wanted, block=64, x=f32[64], y=i32.out[64])
def levels(x, y):
    i = cuda.threadIdx.x
    y[i] = i32(u8(i32(math.rint(x[i] * 255)))) + i32(where(x[i] * 3 < 1, 1, 0))
"""


def test_whole_numbers_that_rounding_decides_are_left_out() -> None:
    """A number that is rounded in single precision may be another whole one than that of double precision. All others
    are compared exactly."""
    (sketch,) = read_swz(ROUNDED, "levels.swz", Parameters())
    rounding = Rounding(sketch.program, Meaning.of(sketch.program, sketch.spec))

    def values(x: Array) -> Array:
        levels = (np.rint(x * x.dtype.type(255)).astype(np.int64) & 255).astype(np.int32)
        return levels + (x * x.dtype.type(3) < 1)

    def told(wrong: int) -> dict[str, RandomRun]:
        def run(arrays: list[Array]) -> None:
            arrays[1][...] = values(arrays[0]) + wrong

        return {r.data: r for r in trials(sketch.program, lambda given: {"y": values(given["x"])}, run, 3, rounding)}

    right, wrong = told(0), told(1)
    assert all(each.equal for each in right.values())
    assert right["whole numbers"].compared == 64 and right["arbitrary numbers"].compared > 60
    assert right["large numbers"].open > 40 and "are decided by rounding" in str(right["large numbers"])
    assert not wrong["whole numbers"].equal and not wrong["arbitrary numbers"].equal
    third, near = np.float32(1 / 3), np.full(64, 0.25, np.float32)
    near[:2] = third, 0.5 / 255
    assert rounding.undecided({"x": near})["y"].tolist() == [True, True] + [False] * 62


CONVERTED = """
@spec
def wanted(x):
    return [f32(x[i] * 3) * 1.3 + x[i] for i in range(64)]

@sketch(spec=wanted, block=64, x=f64[64], y=f64.out[64])
def rounded(x, y):
    i = cuda.threadIdx.x
    y[i] = f64(f32(x[i] * 3)) * 1.3 + x[i]
"""


def test_what_is_computed_with_a_converted_number_is_rounded_no_more() -> None:
    (sketch,) = read_swz(CONVERTED, "rounded.swz", Parameters())
    meaning = Meaning.of(sketch.program, sketch.spec)

    def told(factor: float) -> list[RandomRun]:
        def run(arrays: list[Array]) -> None:
            x, y = arrays
            y[...] = (x * factor).astype(np.float32).astype(np.float64) * 1.3 + x

        specification = lambda given: numbers(sketch.program, sketch.spec, given)  # noqa: E731
        return list(trials(sketch.program, specification, run, 3, Rounding(sketch.program, meaning)))

    assert all(each.equal for each in told(3))
    assert not any(each.equal for each in told(3.0001))
