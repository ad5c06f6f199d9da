"""Terms on numbers, for tests: a reading of their own, with Python's numbers and its `math`."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbolic.algebra.datum import DataComparison, Datum
from symbolic.algebra.terms import Terms

INTEGERS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32,
            "i64": np.int64, "u64": np.uint64}  # fmt: skip
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
FUNCTIONS = {
    name: getattr(math, name)
    for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "asin", "acos", "atan",
                 "sinh", "tanh", "pow", "floor", "ceil", "trunc")
} | {"rint": round}  # fmt: skip
FOLDS: dict[str, Any] = {
    "min": min, "max": max, "+": operator.add, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip


class Numbers:
    """What terms are where the inputs are some numbers."""

    def __init__(self, terms: Terms, inputs: Mapping[str, Any]) -> None:
        self.terms, self.inputs, self.known = terms, inputs, dict[int, Any]()

    def value(self, element: Any) -> Any:
        """Return an element of what a specification returned: data, a comparison, or a number."""
        if isinstance(element, DataComparison):
            a, b = (self.value(side) for side in element.sides)
            return {"<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
                    "==": lambda: a == b, "!=": lambda: a != b, "&": lambda: a and b, "|": lambda: a or b,
                    "~": lambda: not a}[element.op]()  # fmt: skip
        return self.of(element.term) if isinstance(element, Datum) else element

    def of(self, term: int) -> Any:
        waiting = [term]
        while waiting:
            at = waiting[-1]
            op, args = self.terms.nodes[at]
            missing = [arg for arg in args if op not in ("atom", "const") and arg not in self.known]
            if missing:
                waiting += missing
                continue
            self.known[at] = self.made(op, args)
            waiting.pop()
        return self.known[term]

    def made(self, op: Any, args: Any) -> Any:
        if op == "atom":
            return np.asarray(self.inputs[args[0]]).reshape(-1)[args[1]].item()
        if op == "const":
            return args[0]
        values = [self.known[arg] for arg in args]
        if op in FOLDS:
            found = values[0]
            for value in values[1:]:
                found = FOLDS[op](found, value)
            return found
        name = str(op)
        if name.startswith("where"):
            a, b, x, y = values
            return x if (a < b if name == "where<" else a == b) else y
        if name.startswith("gather "):
            return np.asarray(self.inputs[name[7:]]).reshape(-1)[values[0]].item()
        if name.startswith(("to_", "widen_to_")):
            kind = name.rpartition("_")[2]
            if kind in FLOATS:
                return FLOATS[kind](values[0]).item()
            return np.asarray(int(values[0])).astype(INTEGERS[kind]).item()
        if name in ("abs", "~"):
            return abs(values[0]) if name == "abs" else ~values[0]
        try:
            return FUNCTIONS[name](*map(float, values))
        except OverflowError:
            return math.inf
