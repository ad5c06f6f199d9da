"""An oracle for written-out terms of 32-bit integers: what number is a term, given the input elements?

Opaque operators are those of the instruction that they are named after, on one lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cuda_out.ptx.instructions.concrete import decode
from cuda_out.ptx.kinds import typed, untyped
from symbolic.algebra.terms import Terms


class Evaluated:
    """Values modulo 2**32 of the terms in one table."""

    def __init__(self, terms: Terms, arrays: Mapping[str, Any]) -> None:
        self.terms, self.arrays = terms, arrays
        self.memo: dict[int, int] = {}

    def value(self, term: int) -> int:
        if term not in self.memo:
            self.memo[term] = self._value(term) & 0xFFFFFFFF
        return self.memo[term]

    def _value(self, term: int) -> int:
        op, args = self.terms.nodes[term]
        if op == "atom":
            return int(self.arrays[args[0]].reshape(-1)[args[1]])
        if op == "const":
            return int(args[0])
        values = [self.value(arg) for arg in args]
        head, _, rest = op.partition(".")
        match head:
            case "+":
                return sum(values)
            case "*" | "&" | "^":
                total = values[0]
                for value in values[1:]:
                    total = {"*": total * value, "&": total & value, "^": total ^ value}[head]
                return total
            case "sext":
                size = int(rest[1:])
                return (values[0] & (1 << size) - 1 ^ 1 << size - 1) - (1 << size - 1)
            case "lt":
                return -1 if signed(values[0]) < signed(values[1]) else 0
            case "eq":
                return -1 if values[0] == values[1] else 0
            case "select":
                return values[1] if values[0] & 1 else values[2]
            case "min" | "max":
                return {"min": min, "max": max}[head](map(signed, values))
        name = op.partition(":")[0]
        parts = name.split(".")
        if parts[-1] not in ("s32", "u32", "b32"):
            parts.append(op.partition(":")[2])
        operation = decode(tuple(parts))
        lanes = [
            typed(np.array([value], np.uint64), kind) for value, kind in zip(values, operation.sources, strict=True)
        ]
        with np.errstate(all="ignore"):
            return int(untyped(operation.compute(*lanes), operation.result)[0])


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
