"""Data as NumPy numbers of the declared dtypes, which is what a GPU computes, and the interface of all algebras.

The machine is written once over `Algebra`. `Numbers` is one of them; `symbolic.algebra.canonical` computes with terms,
`symbolic.algebra.residues` with numbers modulo a prime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.algebra.operator_laws import LAWS, Law, law_of
from symbolic.ir.functions import Gather, StateFunction
from symbolic.ir.program import DType, FunctionName, Parameter

Lanes = npt.NDArray[Any]

NUMPY_DTYPES: dict[DType, type] = {dtype: getattr(np, dtype.row.numpy) for dtype in DType if dtype.row.numpy}
"""NumPy's types of numbers."""
STORED: dict[DType, type] = {dtype: getattr(np, dtype.row.stored or dtype.row.numpy) for dtype in NUMPY_DTYPES}
"""NumPy's types of what is in memory (`in_memory`)."""


class FloatLimits(Struct, frozen=True):
    """Of a type of floats: from 1 to the next number, the least above 0, and the greatest."""

    eps: float
    tiny: float
    max: float


@lru_cache(maxsize=8)
def float_limits(dtype: DType) -> FloatLimits:
    """Return what NumPy's `finfo` says of a type, and would say of bf16."""
    digits, greatest = dtype.row.digits, (1 << dtype.bits - dtype.row.digits - 1) - 1  # the greatest exponent
    eps = 2.0 ** (1 - digits)
    return FloatLimits(eps, 2.0 ** (2 - greatest - digits), (2 - eps) * 2.0**greatest)


def as_numbers(values: Any, dtype: DType) -> Any:
    """Return numbers or arrays as a type has them; bf16 rounds to nearest even, by way of f32."""
    with np.errstate(all="ignore"):
        found: Lanes = np.asarray(values).astype(NUMPY_DTYPES[dtype])
    return from_memory(in_memory(found, dtype), dtype) if dtype is DType.BF16 else found[()]


CONVERT: ContextVar[Callable[[Any, DType], Any]] = ContextVar("CONVERT", default=as_numbers)
"""How a specification's numbers are converted; the check modulo a prime has floats of its own."""


def in_memory(values: Any, dtype: DType) -> Any:
    """Return an array as a kernel's memory has it: of bf16 the bits, as `uint16`; any other array as it is."""
    if dtype is not DType.BF16:
        return values
    bits = np.asarray(values, np.float32).view(np.uint32)
    nearest = (bits >> 16) + ((bits & 0xFFFF) + (bits >> 16 & 1) > 0x8000)
    return np.where(np.isnan(values), 0x7FFF, nearest).astype(np.uint16)[()]


def from_memory(values: Any, dtype: DType) -> Any:
    """Return what `in_memory` was given, rounded."""
    return (np.asarray(values).astype(np.uint32) << 16).view(np.float32)[()] if dtype is DType.BF16 else values


def bounds_of(parameter: Parameter) -> tuple[int, int]:
    """Return the least and the largest number that an array of integers may hold: of its type, or as declared."""
    if parameter.below:
        return 0, parameter.below - 1
    info = np.iinfo(NUMPY_DTYPES[parameter.dtype])
    return int(info.min), int(info.max)


BINARY: dict[str, np.ufunc] = {
    "-": np.subtract,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "<<": np.left_shift,
    ">>": np.right_shift,
} | {symbol: getattr(np, str(law.numpy)) for symbol, law in LAWS.items()}


@lru_cache(maxsize=256)
def on_arrays(law: Law) -> Callable[[Any, Any], Any]:
    """Return what an operator is on NumPy's arrays and numbers; the result may be of another type."""
    if callable(law.numpy):
        return law.numpy
    if law.numpy:
        found: Callable[[Any, Any], Any] = getattr(np, law.numpy)
        return found
    fold = np.frompyfunc(law.fold, 2, 1)
    return lambda a, b: fold(np.asarray(a).astype(object), np.asarray(b).astype(object))


def joined(op: str, a: Any, b: Any) -> Any:
    """Return what an operator with a law makes of two numbers or arrays of NumPy's, in their common type."""
    law, kind = law_of(op), np.result_type(a, b)
    with np.errstate(all="ignore"):
        found = np.asarray(on_arrays(law)(a, b)).astype(kind)
    return found[()]


class Algebra(Protocol):
    """Operations on data, lane by lane (arrays of one shape). Where nothing `rounds`, floats are real numbers."""

    @property
    def rounds(self) -> bool: ...

    def blank(self, size: int, dtype: DType) -> Lanes: ...
    def constant(self, value: Any, dtype: DType) -> Any: ...
    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes: ...
    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes: ...
    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes: ...
    def gather(self, array: str, cells: Lanes, base: Lanes, at: Lanes) -> Lanes: ...
    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes: ...
    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes: ...


class Numbers:
    """NumPy numbers of the declared dtypes; sums are taken in program order."""

    rounds = True

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.zeros(size, NUMPY_DTYPES[dtype])

    def constant(self, value: Any, dtype: DType) -> Any:
        return as_numbers(value, dtype)

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        functions: dict[str, Any] = {"-": np.negative, "~": np.invert, "abs": np.abs}
        found: Lanes = functions[op](a)
        return found

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        with np.errstate(all="ignore"):
            function = BINARY.get(op) or on_arrays(law_of(op))
            return np.asarray(as_numbers(function(a, b), dtype))

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        """Return a function of data (`symbolic.ir.functions`)."""
        row = function.row
        assert not isinstance(row, Gather | StateFunction), "these are read, and taken apart"
        return np.asarray(as_numbers(row.on_numbers(list(operands)), dtype))

    def gather(self, array: str, cells: Lanes, base: Lanes, at: Lanes) -> Lanes:
        """Return elements of a read-only array by data, which may be anything where a thread is off."""
        found: Lanes = cells[np.clip(base + at.astype(np.int64), 0, len(cells) - 1)]
        return found

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        return np.asarray(as_numbers(a, target))

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        kind = NUMPY_DTYPES[dtype]
        start = init if init is not None else law_of(op).start(dtype)
        total: Lanes = np.full(active[0].shape if active else (), start, kind)
        for on, value in zip(active, values, strict=True):
            total = np.where(on, self.binary(op, total, value.astype(kind), dtype), total)
        return total
