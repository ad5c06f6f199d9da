"""Run a printed kernel on random data and compare every output element with the specification.

Two kinds of data for floats: small whole numbers, on which sums and products are exact in any order, so that the
comparison is exact; and arbitrary numbers, compared with the specification in double precision within a
tolerance that is stated. Integers are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.ir.program import Binary, Const, DType, Parameter, Program

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Arrays: TypeAlias = Mapping[str, Array]
Specification: TypeAlias = Callable[[Arrays], Arrays]
"""From the inputs by name (in, const, inout) to the outputs by name (out, inout)."""
Runner: TypeAlias = Callable[[list[Array]], None]
"""Runs the printed kernel on its arguments, in the order of the parameters, changing outputs in place."""
Kind: TypeAlias = Literal["whole numbers", "arbitrary numbers"]

LARGEST = {DType.F16: 3, DType.F32: 8}
"""The largest whole number to draw, small enough for exact sums; 100 for the other types."""


class RandomRun(Struct, frozen=True):
    """One run: `tolerance` is relative to the largest expected magnitude, 0 means exactly equal; `first_wrong` names
    the first element that differs, '' when none does."""

    data: Kind
    compared: int
    wrong: int
    tolerance: float
    first_wrong: str

    @property
    def equal(self) -> bool:
        return self.wrong == 0

    def __str__(self) -> str:
        how = f"within {self.tolerance:.1e} of the largest" if self.tolerance else "exactly"
        if self.equal:
            return f"{self.data}: {self.compared} of {self.compared} outputs are the specification's, {how}"
        return f"{self.data}: {self.wrong} of {self.compared} outputs are wrong; {self.first_wrong}"


def trials(program: Program, specification: Specification, run: Runner, seed: int) -> Iterator[RandomRun]:
    """Run `program`'s printed text once per kind of data that its element types ask for, each when it is asked for."""
    for number, kind in enumerate(_kinds(program)):
        yield _trial(program, specification, run, np.random.default_rng([seed, number]), kind)


def _kinds(program: Program) -> tuple[Kind, ...]:
    if any(parameter.dtype.is_float for parameter in program.parameters):
        return ("whole numbers", "arbitrary numbers")
    return ("whole numbers",)


def first_difference(program: Program, specification: Specification, run: Runner, seed: int) -> str:
    """Return what is wrong on the first kind of data that shows a wrong element, '' when none does."""
    return next((trial.first_wrong for trial in trials(program, specification, run, seed) if not trial.equal), "")


def _trial(
    program: Program, specification: Specification, run: Runner, rng: np.random.Generator, kind: Kind
) -> RandomRun:
    arguments = [random_argument(parameter, rng, kind) for parameter in program.parameters]
    named = list(zip(program.parameters, arguments, strict=True))
    inputs = {p.name: array for p, array in named if p.role != "out"}
    exact = kind == "whole numbers" and stays_whole(program)
    if not exact:
        inputs = {name: _widened(array) for name, array in inputs.items()}
    wanted = specification(inputs)
    run(arguments)
    compared, wrong, first = 0, 0, ""
    tolerance = 0.0
    for parameter, got in named:
        if parameter.role not in ("out", "inout"):
            continue
        want = np.asarray(wanted[parameter.name])
        if exact or not parameter.dtype.is_float:
            different = got != want.astype(got.dtype)
        else:
            tolerance = max(tolerance, 64 * float(np.finfo(got.dtype).eps))
            scale = max(1.0, float(np.max(np.abs(want.astype(np.float64)), initial=0.0)))
            error = np.abs(got.astype(np.float64) - want.astype(np.float64))
            different = ~(error <= 64 * float(np.finfo(got.dtype).eps) * scale)
        compared += got.size
        wrong += int(np.count_nonzero(different))
        if not first and different.any():
            at = tuple(int(i) for i in np.argwhere(different)[0])
            first = f"{parameter.name}[{', '.join(map(str, at))}] is {got[at]}, the specification says {want[at]}"
    return RandomRun(kind, compared, wrong, tolerance, first)


def random_argument(parameter: Parameter, rng: np.random.Generator, kind: Kind) -> Array:
    """Return data for one parameter; what the kernel must overwrite starts as a value that no output should keep."""
    dtype: np.dtype[Any] = np.dtype(NUMPY_DTYPES[parameter.dtype])
    if parameter.role == "out":
        return np.full(parameter.shape, np.nan if parameter.dtype.is_float else np.iinfo(dtype).max, dtype)
    if kind == "arbitrary numbers" and parameter.dtype.is_float:
        return rng.standard_normal(parameter.shape).astype(dtype)
    largest = LARGEST.get(parameter.dtype, 100)
    smallest = 0 if parameter.dtype in (DType.U32, DType.U64) else -largest
    return rng.integers(smallest, largest, parameter.shape, endpoint=True).astype(dtype)


def stays_whole(program: Program) -> bool:
    """Tell whether whole data gives whole results: no division of floats, no constant with a fraction."""
    for node in _nodes(program.body):
        match node:
            case Binary(op="/"):
                return False
            case Const(value=float(value)) if not value.is_integer():
                return False
    return True


def _nodes(value: object) -> Iterator[object]:
    """Yield every node of a tree of nodes and tuples."""
    match value:
        case tuple():
            for item in value:
                yield from _nodes(item)
        case _ if isinstance(value, Struct):
            yield value
            for name in value.__struct_fields__:
                yield from _nodes(getattr(value, name))


def _widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array
