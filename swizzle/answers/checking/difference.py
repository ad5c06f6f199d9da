"""Inputs on which a kernel and its specification differ, tried where their terms differ.

Terms are equal up to the order and grouping of sums and products, so kernels that are equal for other reasons
(`x * (y + z)` and `x * y + x * z`) have different terms. Running both on numbers settles 'not equal'; agreement
settles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.specs.specification import inputs, numbers, outputs
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES, Lanes, Numbers, as_numbers, bounds_of
from symbolic.ir.index import cell_name
from symbolic.ir.program import DType, FunctionName, Parameter, Program
from symbolic.machine.machine import Machine

Array: TypeAlias = npt.NDArray[Any]
Kind: TypeAlias = Literal["small numbers", "arbitrary numbers", "extreme numbers"]

KINDS: Final[tuple[Kind, ...]] = ("small numbers", "arbitrary numbers", "extreme numbers", "small numbers")
"""The data of each run; the position is the seed."""
TOLERANCE: Final = 1e-9
"""Of the largest magnitude in the array: what order and grouping may change in double precision."""


class Difference(Struct, frozen=True):
    """An output element on which a kernel and its specification give different numbers for the same input."""

    seed: int
    kind: Kind
    cell: str
    got: str
    wanted: str

    def __str__(self) -> str:
        where = f"on random input {self.seed} ({self.kind})"
        return f"{where}, {self.cell} is {self.got}, the specification says {self.wanted}"


class _Doubles(Numbers):
    """Numbers with every float in double precision, so that rounding is no difference."""

    def blank(self, size: int, dtype: DType) -> Lanes:
        return super().blank(size, _wide(dtype))

    def constant(self, value: Any, dtype: DType) -> Any:
        return super().constant(value, _wide(dtype))

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        return super().binary(op, a, b, _wide(dtype))

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        return super().apply(function, operands, _wide(dtype))

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        return super().cast(a, source, _wide(target))

    def reduce(self, op: str, active: Any, values: Any, init: Any, dtype: DType) -> Lanes:
        return super().reduce(op, active, values, init, _wide(dtype))


def numeric_difference(program: Program, spec: Callable[..., Any]) -> Difference | None:
    """Run a kernel and its specification on numbers; return an element that differs, or None when none does."""
    program = in_doubles(program)
    for seed, kind in enumerate(KINDS):
        rng = np.random.default_rng(seed)
        given = {p.name: np.asarray(_random(p, rng, kind)) for p in inputs(program)}
        token = CONVERT.set(lambda value, target: as_numbers(value, _wide(target)))
        try:
            wanted = numbers(program, spec, given)
        finally:
            CONVERT.reset(token)
        run = Machine(program, _Doubles(), {name: array.reshape(-1) for name, array in given.items()}).run()
        for parameter in outputs(program):
            memory, want = run.memories[parameter.name], wanted[parameter.name].reshape(-1)
            wrong = ~memory.written | _differs(memory.data, want)
            if wrong.any():
                address = int(np.flatnonzero(wrong)[0])
                got = str(memory.data[address]) if memory.written[address] else "never written"
                cell = cell_name(parameter.name, parameter.shape, address)
                return Difference(seed, kind, cell, got, str(want[address]))
    return None


def in_doubles(program: Program) -> Program:
    """Return a program with every float of its parameters in double precision."""
    return replace(program, parameters=tuple(replace(p, dtype=_wide(p.dtype)) for p in program.parameters))


def _wide(dtype: DType) -> DType:
    return DType.F64 if dtype.is_float else dtype


def _differs(got: Array, want: Array) -> npt.NDArray[np.bool_]:
    if got.dtype.kind != "f":
        return np.asarray(got != want)
    with np.errstate(all="ignore"):
        scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0)))
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= TOLERANCE * scale)
    return np.asarray(~same)


def _random(parameter: Parameter, rng: np.random.Generator, kind: Kind) -> Array:
    dtype: np.dtype[Any] = np.dtype(NUMPY_DTYPES[parameter.dtype])
    if dtype.kind == "f":
        if kind == "small numbers":
            return rng.integers(-8, 8, parameter.shape, endpoint=True).astype(dtype)
        scale = 1000.0 if kind == "extreme numbers" else 1.0
        return scale * rng.standard_normal(parameter.shape)
    low, high = bounds_of(parameter)
    match kind:
        case "small numbers":
            return rng.integers(max(low, -100), min(high, 100), parameter.shape, dtype=dtype, endpoint=True)
        case "arbitrary numbers":
            return rng.integers(low, high, parameter.shape, dtype=dtype, endpoint=True)
        case "extreme numbers":
            return rng.choice(
                np.array(
                    sorted({low, min(low + 1, high), max(low, -1), 0, min(1, high), max(high - 1, 0), high}), dtype
                ),
                parameter.shape,
            )
