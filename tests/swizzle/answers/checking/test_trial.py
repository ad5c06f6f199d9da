"""Trials of a printed kernel: what they accept, and that they catch what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from swizzle.answers.checking.trial import Array, Arrays, random_argument, stays_whole, trials
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.errors import Place
from symbolic.ir.program import Assign, Binary, Const, DType, Parameter, Program, Role, Stmt

HERE = Place("kernel.py", 1, 1)


def parameter(name: str, role: Role, dtype: DType = DType.F32, size: int = 64) -> Parameter:
    return Parameter(name, dtype, (size,), role, HERE)


def kernel(dtype: DType, *body: Stmt) -> Program:
    """A kernel y = f(x); its body only says whether whole numbers stay whole, the runner computes."""
    parameters = (parameter("x", "in", dtype), parameter("y", "out", dtype))
    return Program("kernel", parameters, body, (), (32, 1, 1), (2, 1, 1), 32, HERE)


def sums(inputs: Arrays) -> Arrays:
    """The specification of these tests: each element plus its right neighbour, around the corner."""
    return {"y": inputs["x"] + np.roll(inputs["x"], -1)}


def right(arguments: list[Array]) -> None:
    x, y = arguments
    y[...] = np.roll(x, -1) + x


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32, DType.F64])
def test_a_right_float_kernel_is_equal_on_both_kinds_of_data(dtype: DType) -> None:
    """Whole numbers exactly, arbitrary ones within a tolerance that is not 0."""
    whole, arbitrary = trials(kernel(dtype), sums, right, seed=1)
    assert (whole.data, whole.equal, whole.tolerance, whole.compared) == ("whole numbers", True, 0.0, 64)
    assert (arbitrary.data, arbitrary.equal, arbitrary.compared) == ("arbitrary numbers", True, 64)
    assert 0 < arbitrary.tolerance < 0.1


@pytest.mark.parametrize("dtype", [DType.I32, DType.U32, DType.I64, DType.U64])
def test_integers_are_tried_bit_for_bit(dtype: DType) -> None:
    """Small ones, and ones of every magnitude, which wrap."""
    seen: list[Array] = []

    def remember(arguments: list[Array]) -> None:
        seen.append(np.abs(arguments[0].astype(object)))
        right(arguments)

    small, large = trials(kernel(dtype), sums, remember, seed=1)
    assert (small.data, small.equal, large.data, large.equal) == ("whole numbers", True, "all magnitudes", True)
    assert small.tolerance == large.tolerance == 0.0
    bits = 8 * np.dtype(NUMPY_DTYPES[dtype]).itemsize
    assert seen[0].max() <= 100 and seen[1].min() < 1 << bits // 4 and seen[1].max() > 1 << bits - 6


@pytest.mark.parametrize("dtype", [DType.I32, DType.U64])
def test_what_only_high_bits_show_is_seen(dtype: DType) -> None:
    """A kernel that computes in 16 bits."""

    def narrow(arguments: list[Array]) -> None:
        right(arguments)
        arguments[-1][...] = arguments[-1].astype(np.int16)

    small, large = trials(kernel(dtype), sums, narrow, seed=1)
    assert small.equal and not large.equal


def test_the_tolerance_is_that_of_the_largest_output() -> None:
    """Among outputs far below 1 too; where they may be small differences of numbers near 1, what is said tells so."""
    one = Const(1.0, DType.F32, HERE)
    cancels = Assign("a", Binary("-", one, one, DType.F32, HERE), HERE)

    def scaled(by: float, *body: Stmt) -> tuple[bool, float]:
        def run(arguments: list[Array]) -> None:
            arguments[1][...] = arguments[0].astype(np.float64) * by

        _, arbitrary = trials(kernel(DType.F32, *body), lambda inputs: {"y": inputs["x"] * 1e-6}, run, seed=1)
        return arbitrary.equal, arbitrary.tolerance

    tight = 64 * float(np.finfo(np.float32).eps)
    assert scaled(1e-6) == scaled(1e-6, cancels) == (True, tight)
    assert scaled(3e-6) == (False, tight)
    equal, tolerance = scaled(3e-6, cancels)
    assert equal and tolerance > 1


@pytest.mark.parametrize("dtype", [DType.F32, DType.I32])
def test_one_wrong_element_is_found_and_named(dtype: DType) -> None:
    """The first wrong element is in the report, with both values."""

    def wrong(arguments: list[Array]) -> None:
        right(arguments)
        arguments[1][7] += 1

    for trial in trials(kernel(dtype), sums, wrong, seed=1):
        assert trial.wrong == 1
        assert trial.first_wrong.startswith("y[7] is ")


@pytest.mark.parametrize("dtype", [DType.F32, DType.I32])
def test_an_output_that_was_never_written_is_wrong(dtype: DType) -> None:
    """Outputs start as a value that no specification gives for long."""

    def lazy(arguments: list[Array]) -> None:
        kept = arguments[1][3]
        right(arguments)
        arguments[1][3] = kept

    assert not any(trial.equal for trial in trials(kernel(dtype), sums, lazy, seed=1))


def test_an_input_that_the_kernel_changed_does_not_reach_the_specification() -> None:
    """The specification reads its own copy of the inputs."""

    def spoils(arguments: list[Array]) -> None:
        arguments[0][...] = 0
        right(arguments)

    assert not any(trial.equal for trial in trials(kernel(DType.F32), sums, spoils, seed=1))


def test_rounding_is_tolerated_only_on_arbitrary_numbers() -> None:
    """One unit in the last place is a mistake on whole numbers and rounding on the others."""

    def rounds(arguments: list[Array]) -> None:
        right(arguments)
        arguments[1][...] = np.nextafter(arguments[1], np.float32(np.inf))

    whole, arbitrary = trials(kernel(DType.F32), sums, rounds, seed=1)
    assert (whole.equal, arbitrary.equal) == (False, True)


def test_division_ends_the_comparison_bit_for_bit() -> None:
    """A kernel that divides is compared within the tolerance, on whole numbers too."""
    one = Const(1.0, DType.F32, HERE)
    divides = kernel(DType.F32, Assign("a", Binary("/", one, one, DType.F32, HERE), HERE))
    fraction = kernel(DType.F32, Assign("a", Const(0.5, DType.F32, HERE), HERE))
    whole = kernel(DType.F32, Assign("a", one, HERE))
    assert [stays_whole(program) for program in (divides, fraction, whole)] == [False, False, True]
    assert next(trials(divides, sums, right, seed=1)).tolerance > 0


def test_the_seed_decides_the_data() -> None:
    """Equal seeds give equal data, other seeds other data."""
    seen: list[Array] = []

    def remember(arguments: list[Array]) -> None:
        seen.append(arguments[0].copy())
        right(arguments)

    for seed in (1, 1, 2):
        next(trials(kernel(DType.I32), sums, remember, seed))
    assert (seen[0] == seen[1]).all()
    assert (seen[0] != seen[2]).any()


def test_data_has_the_parameters_type_and_shape() -> None:
    """Every dtype and role gets an array of its own type."""
    rng = np.random.default_rng(0)
    for dtype in (DType.F16, DType.F32, DType.F64, DType.I32, DType.U32, DType.I64, DType.U64):
        array = random_argument(parameter("x", "in", dtype, 10), rng, "whole numbers")
        assert (array.shape, array.dtype.name.replace("float", "f").replace("uint", "u").replace("int", "i")) == (
            (10,),
            dtype.value,
        )


def test_bytes_beside_floats_have_all_their_numbers() -> None:
    """A sum of bytes that is cut off before it becomes a float is seen, as no magnitude of a byte is too large."""
    rng = np.random.default_rng(0)
    for kind in ("arbitrary numbers", "large numbers"):
        array = random_argument(parameter("x", "in", DType.U8, 1000), rng, kind)
        assert array.max() > 250
