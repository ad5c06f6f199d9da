"""A bound of the rounding errors of a kernel as it computes: where terms of the specification cancel, it may not.

Of `(a + b) - (b + c)` the specification's term has no `b`, whose rounding a right kernel has. So the machine runs the
kernel once more, on numbers each of which is a magnitude and a bound of its error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swizzle.language.specs.specification import outputs
from symbolic.algebra.numbers import Lanes, Numbers, float_limits
from symbolic.ir.program import DType, FunctionName, Program
from symbolic.machine.machine import Machine


class _NoBound(Exception):
    """An operation whose errors nothing is known of."""


class Errors(Numbers):
    """Complex numbers: the magnitude of a value, and as the imaginary part how far it may be from it."""

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.zeros(size, np.complex128)

    def constant(self, value: Any, dtype: DType) -> Any:
        return self._rounded(np.asarray(abs(float(value)), np.complex128), dtype)

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        if op == "~":
            raise _NoBound
        return a

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        match op:
            case "+" | "-":
                return self._rounded(a + b, dtype)
            case "*":
                error = a.real * b.imag + b.real * a.imag + a.imag * b.imag
                return self._rounded(a.real * b.real + 1j * error, dtype)
            case "min" | "max":
                return self._largest([a, b])
        raise _NoBound

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        if str(function) == "fma":
            a, b, c = operands
            return self.binary("+", self.binary("*", a, b, dtype), c, dtype)
        raise _NoBound

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        if not (source.is_float and target.is_float):
            raise _NoBound
        return self._rounded(a, target)

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        total: Lanes = np.full(active[0].shape if active else (), 0 if init is None else init, np.complex128)
        for on, value in zip(active, values, strict=True):
            total = np.where(on, self.binary(op, total, value, dtype), total)
        return total

    def _rounded(self, value: Lanes, dtype: DType) -> Lanes:
        if not dtype.is_float:
            return value
        unit = float_limits(dtype).eps / 2
        return np.asarray(value + 1j * unit * (value.real + value.imag))

    def _largest(self, values: Sequence[Lanes]) -> Lanes:
        real, error = (np.maximum.reduce([part(v) for v in values]) for part in (np.real, np.imag))
        return np.asarray(real + 1j * error)


def computed_errors(
    launches: Sequence[tuple[Program, Sequence[str]]], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return how far each output of kernels that run one after the other may be from what they compute without
    rounding, by the arrays' names; None where an operation has no bound."""
    memory = {name: np.abs(np.asarray(array, float)).astype(np.complex128) for name, array in given.items()}
    try:
        with np.errstate(all="ignore"):
            for program, arrays in launches:
                names = dict(zip((p.name for p in program.parameters), arrays, strict=True))
                own = {p.name: memory[names[p.name]].reshape(-1) for p in program.parameters if p.role != "out"}
                run = Machine(program, Errors(), own).run()
                for p in outputs(program):
                    left = run.memories[p.name]
                    before = memory.get(names[p.name], np.zeros(p.shape, np.complex128)).reshape(-1)
                    memory[names[p.name]] = np.where(left.written, left.data, before).reshape(p.shape)
    except _NoBound:
        return None
    return {name: array.imag for name, array in memory.items()}
