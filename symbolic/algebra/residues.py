"""Numbers modulo a large prime in the place of floats: exact, so that a test on random data has no tolerance.

Every law that canonical terms obey (docs/solving.md) holds for them, so kernel and specification of equal terms agree
on all inputs; two different polynomials agree on random ones with a probability of about their degree in 2^61. What is
not arithmetic (abs, conversions to floats) is some fixed function of its operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct

from symbolic.algebra.numbers import NUMPY_DTYPES, Lanes, Numbers, as_numbers
from symbolic.algebra.operator_laws import Law, law_of
from symbolic.elements import is_exact
from symbolic.ir.functions import COMPARE, ChoiceFunction
from symbolic.ir.program import DType, FunctionName, OperatorName

PRIME = (1 << 61) - 1
HALF = 30  # bits
SMALL_PRIME = (1 << HALF) - 35


_FLOATS: Final = (DType.F16, DType.BF16, DType.F32, DType.F64)


Given = TypeVar("Given")


def _on_one(method: Callable[[Residue, Any], Given]) -> Callable[[Residue, Any], Given]:
    """Return an operator that leaves NumPy's arrays to NumPy."""

    def one(self: Residue, other: Any) -> Given:
        return NotImplemented if getattr(other, "ndim", 0) else method(self, other)

    return one


class Residue(Struct, frozen=True, eq=False):
    """A number modulo PRIME, of a float type, which is None of a constant. `held` are the types that have it, so that a
    conversion to one of them changes nothing: of an element, of what was converted, of what is chosen among such."""

    value: int
    held: frozenset[DType] = frozenset()
    kind: DType | None = None

    @staticmethod
    def element(value: int, dtype: DType) -> Residue:
        """Return an element of an array of floats."""
        return Residue(value, _holding(dtype), dtype)

    @staticmethod
    def of(number: Any) -> Residue:
        """Return a Python or NumPy number as a residue; a float stands for its exact value."""
        if isinstance(number, Residue):
            return number
        exact = Fraction(number.item() if hasattr(number, "item") else number)
        held = frozenset(dtype for dtype in _FLOATS if float(as_numbers(float(exact), dtype)) == exact)
        return Residue(exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME, held)

    @_on_one
    def __add__(self, other: Any) -> Residue:
        right = Residue.of(other)
        return self._computed((self.value + right.value) % PRIME, right)

    @_on_one
    def __mul__(self, other: Any) -> Residue:
        right = Residue.of(other)
        return self._computed(self.value * right.value % PRIME, right)

    @_on_one
    def __sub__(self, other: Any) -> Residue:
        right = Residue.of(other)
        return self._computed((self.value - right.value) % PRIME, right)

    @_on_one
    def __truediv__(self, other: Any) -> Residue:
        right = Residue.of(other)
        return self._computed(self.value * (pow(right.value, -1, PRIME) if right.value else 0) % PRIME, right)

    def _computed(self, value: int, other: Residue) -> Residue:
        """Return what is computed with another number, in the type of both that has more."""
        a, b = self.kind, other.kind
        return Residue(value, kind=b if a is None or (b is not None and is_exact(a, b)) else a)

    def __rsub__(self, other: Any) -> Residue:
        return Residue.of(other) - self

    def __rtruediv__(self, other: Any) -> Residue:
        return Residue.of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    @_on_one
    def __floordiv__(self, other: Any) -> Residue:
        return _apply("//", self, Residue.of(other))

    @_on_one
    def __mod__(self, other: Any) -> Residue:
        return _apply("%", self, Residue.of(other))

    def __rfloordiv__(self, other: Any) -> Residue:
        return Residue.of(other) // self

    def __rmod__(self, other: Any) -> Residue:
        return Residue.of(other) % self

    def __pow__(self, exponent: int) -> Residue:
        """Return a product of equal factors."""
        return self._computed(pow(self.value, exponent, PRIME), self)

    def __neg__(self) -> Residue:
        return Residue(-self.value % PRIME, self.held, self.kind)

    def __abs__(self) -> Residue:
        return Residue(self.scattered("abs").value, self.held, self.kind)

    def cast(self, source: DType | None, target: DType) -> Residue:
        """Return the residue as a number of the one of two float types that has fewer."""
        narrow = None if source is None or source is target else source if is_exact(source, target) else target
        if narrow is None or narrow in self.held:
            return Residue(self.value, self.held, target)
        return Residue(self.scattered(narrow.value).value, _holding(narrow), target)

    def scattered(self, name: str) -> Residue:
        """Return some fixed function of the residue, another one for each name."""
        seed = int.from_bytes(name.encode(), "big") % PRIME
        return Residue(pow(self.value + seed, 3, PRIME))

    def apply_function(self, function: FunctionName, arguments: Sequence[Any]) -> Any:
        """Return a function of several values, of which this is one: some fixed one, of those that mean nothing."""
        row = function.row
        return chosen(row, arguments) if isinstance(row, ChoiceFunction) else scattered(function, arguments)

    @_on_one
    def __lt__(self, other: Any) -> bool:
        return self.value < Residue.of(other).value

    @_on_one
    def __le__(self, other: Any) -> bool:
        return self.value <= Residue.of(other).value

    @_on_one
    def __gt__(self, other: Any) -> bool:
        return self.value > Residue.of(other).value

    @_on_one
    def __ge__(self, other: Any) -> bool:
        return self.value >= Residue.of(other).value

    def __eq__(self, other: object) -> bool:
        if getattr(other, "ndim", 0):
            return NotImplemented
        if isinstance(other, int | float) or hasattr(other, "dtype"):
            other = Residue.of(other)
        return isinstance(other, Residue) and self.value == other.value

    def __ne__(self, other: object) -> bool:
        return NotImplemented if getattr(other, "ndim", 0) else not self == other

    def __hash__(self) -> int:
        return hash(self.value)

    def converted_to(self, target: DType) -> Any:
        """Return what a specification converts to a type."""
        if target.is_float:
            return self.cast(self.kind, target)
        return np.array([self.scattered(target.value).value], np.uint64).astype(NUMPY_DTYPES[target])[0]

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> Residue:
        """Return what an operator with a law makes of two; `swapped`: the other one comes first."""
        return _apply(op, Residue.of(other), self) if swapped else _apply(op, self, Residue.of(other))


def converted(value: Any, target: DType) -> Any:
    """Return what a specification converts to a type: of whole numbers, to floats, their residues."""
    return Residue.of(int(value)) if target.is_float else as_numbers(value, target)


class Residues(Numbers):
    """Data of the machine: residues for floats, NumPy's whole numbers for the rest."""

    rounds = False

    def blank(self, size: int, dtype: DType) -> Lanes:
        return _full(size, 0) if dtype.is_float else super().blank(size, dtype)

    def constant(self, value: Any, dtype: DType) -> Any:
        return Residue.of(value) if dtype.is_float else super().constant(value, dtype)

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        if not dtype.is_float:
            return super().unary(op, a, dtype)
        return _objects([-v if op == "-" else abs(v) for v in a])

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        if not dtype.is_float:
            return super().binary(op, a, b, dtype)
        return _objects([_apply(op, x, y) for x, y in zip(*np.broadcast_arrays(a, b), strict=True)])

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        rows = zip(*np.broadcast_arrays(*operands), strict=True)
        if isinstance(choice := function.row, ChoiceFunction):
            found = [chosen(choice, row) for row in rows]
            return _objects(found) if dtype.is_float else np.array(found, NUMPY_DTYPES[dtype])
        if not dtype.is_float:
            return super().apply(function, operands, dtype)
        return _objects([scattered(function, row) for row in rows])

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        if target.is_float and source.is_float:
            return _objects([v.cast(source, target) for v in a])
        if target.is_float:
            return _objects([Residue.of(v) for v in a])
        if source.is_float:
            found = np.array([v.scattered(target.value).value for v in a], np.uint64)
            return found.astype(NUMPY_DTYPES[target])
        return super().cast(a, source, target)

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        if not dtype.is_float:
            return super().reduce(op, active, values, init, dtype)
        start = init if init is not None else _start(law_of(op))
        total = _full(len(active[0]) if active else 1, start)
        for on, value in zip(active, values, strict=True):
            total = _objects([_apply(op, x, y) if o else x for o, x, y in zip(on, total, value, strict=True)])
        return total


def chosen(choice: ChoiceFunction, arguments: Sequence[Any]) -> Any:
    """Return one of the last two of four values by a comparison of the first two, residues in some total order."""
    a, b, x, y = arguments
    if isinstance(a, Residue) or isinstance(b, Residue):
        a, b = Residue.of(a).value, Residue.of(b).value
    return x if COMPARE[choice.compares](a, b) else y


def scattered(function: FunctionName, arguments: Sequence[Any]) -> Residue:
    """Return some fixed function of residues, another one for each name and order of the arguments."""
    found = Residue(len(arguments))
    for argument in arguments:
        found = (found + Residue.of(argument)).scattered(function)
    return found


def _holding(dtype: DType) -> frozenset[DType]:
    """Return the float types that have all numbers of a type."""
    return frozenset(each for each in _FLOATS if each is dtype or is_exact(dtype, each))


def _start(law: Law) -> int | float:
    """Return the residue that changes nothing."""
    if law.identity is None:
        return PRIME - 1 if law.bound == "greatest" else 0
    return law.identity


def _apply(op: str, x: Residue, y: Residue) -> Residue:
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            return x / y
        case "min" | "max":
            return Residue(law_of(op).fold(x.value, y.value), x.held & y.held, x._computed(0, y).kind)
        case OperatorName():
            return _joined(op.law, x, y)
        case _:
            return x.scattered(op) + y.scattered(op + op)


def _joined(law: Law, x: Residue, y: Residue) -> Residue:
    """Return some operator of this law: of its order, with its identity and its absorber, and of nothing else."""
    identity, absorber = (None if n is None else Residue.of(n) for n in (law.identity, law.absorber))
    if law.order == "set":
        found = min(x, y, key=lambda r: (r != absorber, r == identity, r.scattered(law.symbol).value, r.value))
    elif law.order == "parity":
        assert identity is not None
        found = Residue((x.value ^ y.value ^ identity.value) % PRIME)
    elif law.order == "sequence":
        if absorber is not None and absorber in (x, y):
            found = absorber
        elif identity in (x, y):
            found = y if x == identity else x
        else:
            found = _composed(x, y)
    elif absorber is None:
        found = x + y - (identity or Residue(0).scattered(law.symbol))
    else:
        scale = 1 / (identity - absorber) if identity else Residue(1).scattered(law.symbol)
        found = (x - absorber) * (y - absorber) * scale + absorber
    return found


def _composed(x: Residue, y: Residue) -> Residue:
    """Return the affine map that two make, one after the other, each packed into one number: it does not commute."""
    (a, b), (c, d) = (divmod(r.value, 1 << HALF) for r in (x, y))
    return Residue((a * c % SMALL_PRIME << HALF) + (a * d + b) % SMALL_PRIME)


def _objects(items: Sequence[Residue]) -> Lanes:
    found = np.empty(len(items), object)
    found[:] = items
    return found


def _full(size: int, value: Any) -> Lanes:
    return _objects([Residue.of(value)] * size)
