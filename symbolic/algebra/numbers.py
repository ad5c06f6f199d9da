"""What data is while the machine runs: numbers, or canonical terms.

The machine is written once over this small interface. `Numbers` computes with NumPy values of the declared
dtypes: what a GPU would do. `Canonical` computes with terms (`symbolic.algebra.terms`): equality for all inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from symbolic.algebra.terms import REDUCTIONS, UNWRITTEN, WIDEN, Terms
from symbolic.ir.program import DType

Lanes = npt.NDArray[Any]

NUMPY_DTYPES: dict[DType, type] = {
    DType.INDEX: np.int64,
    DType.BOOL: np.bool_,
    DType.F16: np.float16,
    DType.F32: np.float32,
    DType.F64: np.float64,
    DType.I32: np.int32,
    DType.U32: np.uint32,
    DType.I64: np.int64,
    DType.U64: np.uint64,
}


class Algebra(Protocol):
    """Operations on data, lane by lane (arrays of one shape)."""

    def blank(self, size: int, dtype: DType) -> Lanes: ...
    def constant(self, value: Any, dtype: DType) -> Any: ...
    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes: ...
    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes: ...
    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes: ...
    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes: ...


class Numbers:
    """NumPy numbers of the declared dtypes; sums are taken in program order."""

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.zeros(size, NUMPY_DTYPES[dtype])

    def constant(self, value: Any, dtype: DType) -> Any:
        return np.asarray(value).astype(NUMPY_DTYPES[dtype])[()]

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        functions: dict[str, Any] = {"-": np.negative, "~": np.invert, "abs": np.abs}
        found: Lanes = functions[op](a)
        return found

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        functions: dict[str, Any] = {
            "+": np.add,
            "-": np.subtract,
            "*": np.multiply,
            "/": np.divide,
            "//": np.floor_divide,
            "%": np.remainder,
            "<<": np.left_shift,
            ">>": np.right_shift,
            "&": np.bitwise_and,
            "|": np.bitwise_or,
            "^": np.bitwise_xor,
            "min": np.minimum,
            "max": np.maximum,
        }
        with np.errstate(all="ignore"):
            return np.asarray(functions[op](a, b), NUMPY_DTYPES[dtype])

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        with np.errstate(all="ignore"):
            return a.astype(NUMPY_DTYPES[target])

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        kind = NUMPY_DTYPES[dtype]
        start = init if init is not None else identity(op, dtype)
        total: Lanes = np.full(active[0].shape if active else (), start, kind)
        for on, value in zip(active, values, strict=True):
            total = np.where(on, self.binary(op, total, value.astype(kind), dtype), total)
        return total


def identity(op: str, dtype: DType) -> Any:
    """Return the value that a reduction of this dtype starts from when the sketch gives none."""
    kind = NUMPY_DTYPES[dtype]
    match op:
        case "min":
            return kind(np.inf) if dtype.is_float else np.iinfo(kind).max
        case "max":
            return kind(-np.inf) if dtype.is_float else np.iinfo(kind).min
        case "&":
            return np.invert(kind(0))
        case _:
            return kind(REDUCTIONS[op].identity)


# Conversions that lose nothing.
_EXACT = {
    (DType.F16, DType.F32), (DType.F16, DType.F64), (DType.F32, DType.F64), (DType.I32, DType.I64),
    (DType.I32, DType.F64), (DType.U32, DType.U64), (DType.U32, DType.I64), (DType.U32, DType.F64),
}  # fmt: skip


def conversion(source: DType, target: DType) -> str | None:
    """Return the operator that a cast of data stands for, or None where it changes nothing.

    Between floats, which count as exact, a widening changes nothing. Whole numbers wrap: widening a sum is not the sum
    of what was widened, so it is an operator, which only an input element passes unchanged.
    """
    if source is target or (source.is_float and (source, target) in _EXACT):
        return None
    return f"{WIDEN}{target.value}" if (source, target) in _EXACT else f"to_{target.value}"


class Canonical:
    """Canonical terms; every lane holds the number of a term in one table."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.full(size, UNWRITTEN, np.int64)

    def constant(self, value: Any, dtype: DType) -> Any:
        return np.int64(self.terms.const(value))

    def rows(self, op: str, rows: Lanes) -> Lanes:
        """Apply an operator to each row of terms; equal rows are computed once."""
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        results = np.array([self.terms.apply(op, row) for row in distinct.tolist()], np.int64)
        return results[inverse.reshape(-1)]

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        if op == "-":
            return self.rows("*", np.stack([np.full_like(a, self.terms.const(-1)), a], axis=1))
        return self.rows(op, a[:, None])

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        if op == "-":
            return self.binary("+", a, self.unary("-", b, dtype), dtype)
        return self.rows(op, np.stack(np.broadcast_arrays(a, b), axis=1))

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        if source is DType.INDEX:
            return np.array([self.terms.const(v) for v in a.tolist()], np.int64)
        op = conversion(source, target)
        return a if op is None else self.rows(op, a[:, None])

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        start = [] if init is None else [self.terms.const(init)]
        if not active:
            return np.array(self.terms.apply(op, start) if start or REDUCTIONS[op].identity is not None else UNWRITTEN)
        rows = np.where(np.stack(active, axis=1), np.stack(values, axis=1), -1)
        rows.sort(axis=1)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        results = []
        for row in distinct.tolist():
            items = start + [t for t in row if t >= 0]
            empty = not items and REDUCTIONS[op].identity is None
            results.append(UNWRITTEN if empty else self.terms.apply(op, items))
        return np.array(results, np.int64)[inverse.reshape(-1)]
