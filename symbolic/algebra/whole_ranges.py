"""Between which whole numbers a term is, where integers are exact: a term that is cut off to a type says so (`to_i32`).

A specification of which NumPy's types are known has such terms. What is read in a type of n bits may then be computed
modulo 2^n by sums, products and bits; anything else needs a type that has its operands.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, Final, Protocol, TypeAlias

from symbolic.algebra.choices import is_choice
from symbolic.algebra.conversions import WIDEN
from symbolic.ir.functions import External, Gather, WordFunction, row_of
from symbolic.ir.program import DType

WholeBounds: TypeAlias = tuple[int, int]
_MOST_BITS: Final = 1 << 12


class _Table(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]
    types: dict[str, Any]


class WholeRanges:
    """The least and the greatest number of each integer term of a table. `wide` are operations, in words, that need
    more bits than their output has; `widened` the arrays of 8 and 16 bits that are computed with as `int32`."""

    def __init__(self, terms: _Table) -> None:
        self.terms = terms
        self.wide: dict[str, str] = {}
        self.widened: dict[str, None] = {}
        self._known: dict[int, WholeBounds | None] = {}

    def of(self, term: int) -> WholeBounds | None:
        """Return the bounds of an integer, None of a float and of what may be anything."""
        if term not in self._known:
            self._known[term] = self._of(term)
        return self._known[term]

    def fits(self, term: int, dtype: DType) -> bool:
        """Say whether a type is sure to have an integer; of what is none nothing is asked."""
        found = self.of(term)
        return found is None or within(found, dtype)

    def _of(self, term: int) -> WholeBounds | None:
        op, args = self.terms.nodes[term]
        if op == "const":
            return (int(args[0]),) * 2 if args[0] == args[0] // 1 and abs(args[0]) < 1 << _MOST_BITS else None
        if op == "atom":
            return bounds(self.terms.types.get(args[0]))
        if op.startswith(("to_", WIDEN)):
            target, inner = DType(op.rpartition("_")[2]), self.of(args[0])
            if target.is_float:
                return None
            return inner if inner is not None and within(inner, target) else bounds(target)
        match row_of(op):
            case Gather(array=array):
                return bounds(self.terms.types.get(array))
            case External(gives=gives):
                return bounds(gives)
            case WordFunction(result=result):
                return bounds(result)
        some = [self.of(arg) for arg in (args[2:] if is_choice(op) else args) if isinstance(arg, int)]
        given = [each for each in some if each is not None]
        if not given or len(given) < len(some):
            return None
        return hull(given) if is_choice(op) else _result(op, given)


def bounds(dtype: DType | None) -> WholeBounds | None:
    """Return the least and the greatest number of an integer type."""
    if dtype is None or dtype.is_float or not dtype.is_data:
        return None
    signed = dtype.value[0] == "i"
    most = (1 << dtype.bits - signed) - 1
    return (-most - 1 if signed else 0), most


def within(some: WholeBounds, dtype: DType) -> bool:
    own = bounds(dtype)
    return own is not None and own[0] <= some[0] and some[1] <= own[1]


def hull(some: Iterable[WholeBounds]) -> WholeBounds:
    lows, highs = zip(*some, strict=True)
    return min(lows), max(highs)


def _result(op: str, given: list[WholeBounds]) -> WholeBounds | None:
    first, rest = given[0], given[1:]
    match op:
        case "+":
            return sum(low for low, _ in given), sum(high for _, high in given)
        case "*":
            for each in rest:
                ends = [a * b for a, b in product(first, each)]
                first = min(ends), max(ends)
            return first
        case "min" | "max":
            pick: Any = min if op == "min" else max
            return pick(low for low, _ in given), pick(high for _, high in given)
        case "abs":
            ends = [abs(end) for end in first]
            return 0 if first[0] <= 0 <= first[1] else min(ends), max(ends)
        case "~":
            return ~first[1], ~first[0]
        case "&" if any(low >= 0 for low, _ in given):
            return 0, min(high for low, high in given if low >= 0)
        case "&" | "|" | "^":
            low, high = hull(given)
            size = max(high.bit_length(), (~low).bit_length() if low < 0 else 0)
            return (-1 << size if low < 0 else 0), (1 << size) - 1
        case "<<" | ">>" if rest[0][0] == rest[0][1] and 0 <= rest[0][0] < _MOST_BITS:
            by = rest[0][0]
            return (first[0] << by, first[1] << by) if op == "<<" else (first[0] >> by, first[1] >> by)
        case "//" if rest[0][0] > 0:
            ends = [a // b for a, b in product(first, rest[0])]
            return min(ends), max(ends)
        case "//":
            most = max(map(abs, first))
            return -most, most
        case "%":
            low, high = rest[0]
            return min(low + 1, 0), max(high - 1, 0)
    return None
