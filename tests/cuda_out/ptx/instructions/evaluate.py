"""An oracle for written-out terms: what number is a term, given the input elements?

Integers have no size of their own: whoever reads one takes as many low bits as its type has. Floats are real numbers,
as far as doubles hold them. Opaque operators are those of the instruction that they are named after, on one lane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.kinds import KINDS, is_float, typed, untyped, width
from symbolic.algebra.terms import Terms

MATHEMATICS: dict[str, Any] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "rint": round, "sqrt": math.sqrt, "log": math.log,
    "exp": lambda x: math.exp(min(x, 700)), "sin": math.sin, "cos": math.cos,
    "exp2": lambda x: 2.0 ** min(x, 1000), "tanh": math.tanh,
}  # fmt: skip


class Evaluated:
    """Values of the terms in one table; `operation` is what an opaque operator of its name does."""

    def __init__(self, terms: Terms, arrays: Mapping[str, Any], operation: Operation | None = None) -> None:
        self.terms, self.arrays, self.operation = terms, arrays, operation
        self.memo: dict[int, Any] = {}

    def value(self, term: int) -> int:
        """Return an integer of 32 bits."""
        return self.bits("u32", term)

    def bits(self, kind: str, term: int) -> int:
        """Return what a register of a type holds."""
        return bits_of(kind, self.number(term))

    def number(self, term: int) -> Any:
        if term not in self.memo:
            self.memo[term] = self._number(term)
        return self.memo[term]

    def _number(self, term: int) -> Any:
        op, args = self.terms.nodes[term]
        if op == "atom":
            return self.arrays[args[0]].reshape(-1)[args[1]].item()
        if op == "const":
            return args[0] if args[0] != int(args[0]) else int(args[0])
        if op in ("inf", "-inf", "nan"):
            return float(op)
        values = [self.number(arg) for arg in args]
        name, _, result = op.partition(":")
        head, _, kind = name.partition(".")
        match head:
            case "+":
                return sum(values)
            case "*":
                return math.prod(values)
            case "&" | "^":
                total = values[0]
                for value in values[1:]:
                    total = total & value if head == "&" else total ^ value
                return total
            case "sext" | "real":
                return read(kind, values[0])
            case "lt" | "eq":
                a, b = (read(kind, value) for value in values)
                return -(a < b if head == "lt" else a == b)
            case "select":
                return values[1] if values[0] & 1 else values[2]
            case "min" | "max" if not result:
                return {"min": min, "max": max}[head](read(kind, value) for value in values)
            case "abs" if not result:
                return abs(read(kind, values[0]))
            case "floordiv":
                a, b = (read(kind, value) for value in values)
                return a // b if b else 0
            case "shr" if not result:
                return read(kind, values[0]) >> values[1]
            case "inverse":
                return 1 / values[0] if values[0] else math.nan
            case "trunc" if kind:
                limits = np.iinfo(KINDS[kind])
                return min(max(int(values[0]), int(limits.min)), int(limits.max))
            case "to_f16" | "to_f32" | "to_f64":
                with np.errstate(all="ignore"):
                    return float(np.float64(values[0]).astype(KINDS[head[3:]]))
            case "bf16":
                return float(np.array([(values[0] & 0xFFFF) << 16], np.uint32).view(np.float32)[0])
            case "bf16bits" | "to_bf16":  # rounded to the nearest, of two the even one
                whole = int(np.array([values[0]], np.float32).view(np.uint32)[0])
                upper = whole + 0x7FFF + (whole >> 16 & 1) >> 16 & 0xFFFF
                return upper if head == "bf16bits" else float(np.array([upper << 16], np.uint32).view(np.float32)[0])
            case "bits16" if name == "bits16" and self.terms.nodes[args[0]][0] == "bf16bits":
                return values[0]
            case "bits16" | "bits32" | "bits64":
                return bits_of(f"f{head[4:]}", values[0])
            case "float":
                size = int(kind)
                return float(np.array(values[0] & (1 << size) - 1, f"u{size // 8}").view(KINDS[f"f{size}"]))
            case _ if head in MATHEMATICS and result == "f64":
                return MATHEMATICS[head](values[0])
        operation = self.operation
        if operation is None or op != f"{operation.name}:{operation.result}":
            parts = name.split(".")
            operation = decode((*parts, result) if parts[-1] not in KINDS else tuple(parts))
        lanes = [
            typed(np.array([bits_of(kind, value)], np.uint64), kind)
            for value, kind in zip(values, operation.sources, strict=True)
        ]
        with np.errstate(all="ignore"):
            return operation.compute(*lanes)[0].item()


def read(kind: str, value: Any) -> Any:
    """Return the number that a type reads."""
    if is_float(kind):
        return value
    size = width(kind)
    value &= (1 << size) - 1
    return value - (1 << size) if kind[0] == "s" and value >> size - 1 else value


def bits_of(kind: str, value: Any) -> int:
    """Return the bits of a number of a type."""
    if not is_float(kind):
        return int(value) & (1 << width(kind)) - 1
    with np.errstate(all="ignore"):
        return int(untyped(np.array([value], np.float64).astype(KINDS[kind]), kind)[0])
