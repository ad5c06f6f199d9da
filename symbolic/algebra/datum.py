"""The data that a specification computes with: values without a truth value or an order, and arrays of them.

What a specification does with them makes terms (`symbolic.algebra.terms`); what would need their numbers is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, ClassVar, Final

from msgspec import Struct, field

from symbolic.algebra.choices import is_choice
from symbolic.algebra.conversions import WIDEN
from symbolic.algebra.operator_laws import LAWS, find_law
from symbolic.algebra.terms import Term, Terms, unary
from symbolic.elements import is_exact
from symbolic.errors import SwizzleError
from symbolic.ir.functions import FUNCTIONS, applied, where
from symbolic.ir.program import DType

_OPAQUE = (
    "choose between values with swizzle.where(a < b, x, y), or swizzle.minimum(a, b) and swizzle.maximum(a, b); "
    "branch and index on integers only"
)
_COMBINED = (
    "choose between values with swizzle.where(a < b, x, y), or swizzle.minimum(a, b) and swizzle.maximum(a, b), and "
    "combine comparisons by `&`, `|` and `~`, as in (a < b) & (b < c); branch and index on integers only"
)


def _datum_operator(op: str, swap: bool = False) -> Callable[[Datum, Any], Any]:
    def method(self: Datum, other: Any) -> Any:
        right = other if type(other) is Datum else self.lift(other)
        if right is None:
            return NotImplemented
        a, b = (right, self) if swap else (self, right)
        if self.own is not None or right.own is not None:
            return Datum.by_type(op, *((other, self) if swap else (self, other)))
        if op == "-":
            return _combined("+", a, -b)
        return _combined(op, a, b)

    def product(self: Datum, other: Any) -> Any:
        """Return a product of two values that are no products, of which most are: its term is made at once."""
        if type(other) is not Datum or self.own is not other.own:
            return method(self, other)
        if (a := self._term) is not None and (b := other._term) is not None:
            terms = self.terms
            made = terms.product_of_two(a, b)
            if made is not None:
                return Datum(terms, made, None, _wider(self.kind, other.kind), self.own)
        return method(self, other)

    def added(self: Datum, other: Any) -> Any:
        """Note an item of a sum that is noted already."""
        if type(other) is Datum and self.own is other.own and (item := other._term) is not None:
            chain = self._chain
            if chain is not None and chain[0] == "+":
                return Datum(self.terms, None, ("+", self, item), _wider(self.kind, other.kind), self.own)
        return method(self, other)

    return product if op == "*" else added if op == "+" and not swap else method


def _combined(op: str, a: Datum, b: Datum) -> Datum:
    """Return `op(a, b)`, for a reduction noted only."""
    kind = _wider(a.kind, b.kind)
    if op not in LAWS and find_law(op) is None:
        return Datum(a.terms, a.terms.apply(op, (a.term, b.term)), None, kind)
    if a._chain is None or a._chain[0] != op:  # a chain has one operator: what came before becomes a term
        a = Datum(a.terms, a.term)
    return Datum(a.terms, None, (op, a, b._term if b._term is not None else b.term), kind)


def _wider(a: DType | None, b: DType | None) -> DType | None:
    """Return the one of two float types that has the other's numbers; of f16 and bf16, the one that has most digits."""
    if a is b or b is None:
        return a
    return b if a is None or is_exact(a, b) else a


MOST_FACTORS: Final = 64
"""Of a power of data."""


def _of_truth(op: Callable[[Any, Any], Any], of_two: str = "") -> Callable[[DataComparison, Any], Any]:
    """Return arithmetic on a comparison, which is 1 or 0 there; of two, as NumPy's: `*` and `+` are `&` and `|`."""

    def method(self: DataComparison, other: Any) -> Any:
        if isinstance(other, DataComparison):
            if not of_two:
                raise TypeError("numpy boolean subtract, the `-` operator, is not supported: write `^` or `&` and `~`")
            return DataComparison(of_two, (self, other))
        if isinstance(other, Datum | int | float) or (hasattr(other, "dtype") and not getattr(other, "ndim", 0)):
            return op(pick(_chosen, self, 1, 0), other)
        return NotImplemented

    return method


def _chosen(op: str, a: Any, b: Any, then: Any, otherwise: Any) -> Any:
    return applied(where(op), [a, b, then, otherwise])


class DataComparison:
    """A comparison of data in a specification, for `where`: it has no truth value. `a < b & c < d` and `~` combine."""

    __slots__ = ("op", "sides")

    def __init__(self, op: str, sides: tuple[Any, Any]) -> None:
        self.op, self.sides = op, sides

    def choose(self, where: Callable[[str, Any, Any, Any, Any], Any], then: Any, otherwise: Any) -> Any:
        """Return the choice between two values; `where` is one by a comparison of two."""
        a, b = self.sides
        match self.op:
            case "&":
                return pick(where, a, pick(where, b, then, otherwise), otherwise)
            case "|":
                return pick(where, a, then, pick(where, b, then, otherwise))
            case "~":
                return pick(where, a, otherwise, then)
            case _:
                return where(self.op, a, b, then, otherwise)

    def __and__(self, other: Any) -> DataComparison:
        return DataComparison("&", (self, other))

    def __or__(self, other: Any) -> DataComparison:
        return DataComparison("|", (self, other))

    def __xor__(self, other: Any) -> DataComparison:
        return (self & ~other) | (~self & other) if isinstance(other, DataComparison) else ~self if other else self

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__
    __mul__, __add__, __sub__ = _of_truth(operator.mul, "&"), _of_truth(operator.add, "|"), _of_truth(operator.sub)
    __rmul__, __radd__, __rsub__ = __mul__, __add__, _of_truth(lambda a, b: b - a)
    __truediv__, __rtruediv__ = _of_truth(operator.truediv), _of_truth(lambda a, b: b / a)

    def __invert__(self) -> DataComparison:
        return DataComparison("~", (self, None))

    def __bool__(self) -> bool:
        raise self._refuse("compares", _COMBINED)

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> Datum:
        """Refuse the comparison as an operand."""
        raise self._refuse("computes with a comparison of")

    def _refuse(self, what: str, fix: str = _OPAQUE) -> SwizzleError:
        side: Any = self
        while isinstance(side, DataComparison):
            side = next(each for each in side.sides if isinstance(each, Datum | DataComparison))
        found: SwizzleError = side.refused(what, fix)
        return found


def pick(where: Callable[[str, Any, Any, Any, Any], Any], condition: Any, then: Any, otherwise: Any) -> Any:
    """Return one of two values by a condition, a comparison of data among them."""
    if isinstance(condition, DataComparison):
        return condition.choose(where, then, otherwise)
    return then if condition else otherwise


def _comparison(op: str) -> Callable[[Datum, Any], Any]:
    def method(self: Datum, other: Any) -> Any:
        right = self.lift(other)
        if right is not None and (self.own is not None or right.own is not None):
            return Datum.by_type(op, self, other)
        return NotImplemented if right is None else DataComparison(op, (self, right))

    return method


class Datum(Struct, eq=False, gc=False):
    """A data value that a specification computes with. It is symbolic: it has no truth value and no order.

    A sum that grows by one item at a time is a chain of notes until its term is asked for, so that the terms of
    partial sums, each as long as what has been summed, are not made. Values are many and no cycles: they are not
    looked at by the cyclic collector. `kind` is the float type that a part of it was converted to, if any; `own` is
    NumPy's type of a scalar, where such types are followed, and `by_type` what a function of NumPy's is of such ones.
    """

    terms: Terms
    _term: Term | None
    _chain: tuple[str, Datum, Term] | None = None
    kind: DType | None = None
    own: Any = None
    by_type: ClassVar[Callable[..., Datum]]

    __array_priority__ = -1.0  # numbers of NumPy's leave arithmetic to data, arrays do not

    @property
    def noted(self) -> str:
        """The operator of a value whose term is not made yet, or ''."""
        return self._chain[0] if self._chain else ""

    @property
    def term(self) -> Term:
        """The canonical term."""
        if self._term is None:
            assert self._chain
            op, first, last = self._chain
            if first._term is not None:  # one operation
                self._term, self._chain = self.terms.apply(op, (first._term, last)), None
                return self._term
            at, items = self, list[Term]()
            while at._chain:
                items.append(at._chain[2])
                at = at._chain[1]
            assert at._term is not None
            items.append(at._term)
            self._term, self._chain = self.terms.apply(op, items[::-1]), None
        return self._term

    def __repr__(self) -> str:
        return self.terms.show(self.term)

    def lift(self, other: Any) -> Datum | None:
        """Return `other` as a datum, or None if it is neither a datum nor a number."""
        if isinstance(other, Datum):
            return other
        if isinstance(other, (int, float)) or (hasattr(other, "dtype") and not getattr(other, "ndim", 0)):
            return Datum(self.terms, self.terms.const(other.item() if hasattr(other, "item") else other))
        return None

    __add__ = _datum_operator("+")
    __radd__ = _datum_operator("+", swap=True)
    __sub__ = _datum_operator("-")
    __rsub__ = _datum_operator("-", swap=True)
    __mul__ = _datum_operator("*")
    __rmul__ = _datum_operator("*", swap=True)
    __truediv__ = _datum_operator("/")
    __rtruediv__ = _datum_operator("/", swap=True)
    __floordiv__ = _datum_operator("//")
    __rfloordiv__ = _datum_operator("//", swap=True)
    __mod__ = _datum_operator("%")
    __rmod__ = _datum_operator("%", swap=True)
    __and__ = _datum_operator("&")
    __rand__ = _datum_operator("&", swap=True)
    __or__ = _datum_operator("|")
    __ror__ = _datum_operator("|", swap=True)
    __xor__ = _datum_operator("^")
    __rxor__ = _datum_operator("^", swap=True)

    def __pow__(self, exponent: Any) -> Datum:
        """Return a product of equal factors: `x**2` is `x * x`."""
        if not isinstance(exponent, int) or not 1 <= exponent <= MOST_FACTORS:
            raise self._power()
        if self.own is not None:
            return reduce(operator.mul, [self] * exponent)
        return Datum(self.terms, self.terms.apply("*", (self.term,) * exponent), None, self.kind)

    def __rpow__(self, base: Any) -> Datum:
        raise self._power()

    def _power(self) -> SwizzleError:
        return SwizzleError(
            f"the specification takes a power with the data value {self.terms.show(self.term)}",
            expected=f"data to an int from 1 to {MOST_FACTORS}: a product",
            fix="write math.sqrt(x) for x**0.5, 1 / x for x**-1, or math.pow(x, y), with `from swizzle import math`",
        )

    def __lshift__(self, amount: Any) -> Datum:
        return self._shifted("<<", amount)

    def __rshift__(self, amount: Any) -> Datum:
        return self._shifted(">>", amount)

    def __rlshift__(self, value: Any) -> Datum:
        raise self._shift_by()

    __rrshift__ = __rlshift__

    def _shifted(self, op: str, amount: Any) -> Datum:
        right = self.lift(amount)
        if right is None:
            raise TypeError(f"a shift by {amount!r}")
        if not self.terms.is_const(right.term):
            raise right._shift_by()
        if self.own is not None:
            return Datum.by_type(op, self, amount)
        return _combined(op, self, right)

    def _shift_by(self) -> SwizzleError:
        return SwizzleError(
            f"the specification shifts by the data value {self.terms.show(self.term)}",
            expected="a constant amount: C++ leaves a shift by too much undefined, and kernels have none by data",
            fix="multiply or divide by data that is a power of two",
        )

    def __neg__(self) -> Datum:
        if self.own is not None:
            return Datum.by_type("negative", self)
        return Datum(self.terms, unary(self.terms, "-", self.term), None, self.kind)

    def __abs__(self) -> Datum:
        if self.own is not None:
            return Datum.by_type("absolute", self)
        return Datum(self.terms, self.terms.apply("abs", (self.term,)), None, self.kind)

    def __invert__(self) -> Datum:
        if self.own is not None:
            return Datum.by_type("~", self)
        return Datum(self.terms, self.terms.apply("~", (self.term,)))

    def refused(self, what: str, fix: str = _OPAQUE) -> SwizzleError:
        return SwizzleError(
            f"the specification {what} the data value {self.terms.show(self.term)}",
            expected="a specification that treats data as opaque: only arithmetic on it",
            fix=fix,
        )

    def __bool__(self) -> bool:
        raise self.refused("takes the truth value of")

    __eq__, __ne__ = _comparison("=="), _comparison("!=")
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("<", "<=", ">", ">="))

    def __index__(self) -> int:
        raise self.refused(
            "indexes with",
            "read an input with swizzle.gather(x, i) at an index i that is data; other indices are integers",
        )

    def __int__(self) -> int:
        raise self.refused("converts to an integer")

    def __float__(self) -> float:
        raise self.refused(
            "converts to a float",
            "write `from swizzle import math`, whose functions take data, and x.astype(np.float32) for a conversion; "
            "what data is written into is made by np.zeros in the specification",
        )

    def __iter__(self) -> Iterator[Any]:
        raise self.refused("iterates over")

    __hash__ = None  # type: ignore[assignment]

    def converted_to(self, target: DType) -> Datum:
        """Return the value as a type has it, as the conversion of a kernel does."""
        import numpy as np

        from symbolic.algebra.canonical import Canonical

        types = self._types(self.term)
        if self.kind is not None:  # which has all numbers of what was converted to it
            types = {self.kind, *(each for each in types if not is_exact(each, self.kind))}
        op = self.terms.nodes[self.term][0]
        if op != "atom" and not op.startswith("to_"):  # specifications compute with integers of 32 bits at least
            types = {DType.I32 if each.is_narrow else each for each in types}
        if len(types) > 1:
            names = " and ".join(sorted(each.value for each in types))
            raise SwizzleError(
                f"the specification converts a value of {names} to {target.value}",
                expected="a value that is computed from data of one type",
                fix="convert what it is computed from",
            )
        if not types:
            return self
        found = Canonical(self.terms).cast(np.array([self.term]), types.pop(), target)
        return Datum(self.terms, int(found[0]), None, target if target.is_float else None)

    def astype(self, dtype: Any) -> Any:
        """Return a scalar as a type of NumPy's has it."""
        return Datum.by_type("astype", self, dtype)

    def kept_by(self, target: DType) -> Term:
        """Return what an output of 8 or 16 bits holds as much of, without the conversions that it makes anyway."""
        term = self.term
        while True:
            op, args = self.terms.nodes[term]
            if not op.startswith(("to_i", "to_u")) or DType(op[3:]).bits < target.bits:
                return term
            if not all(each is DType.I32 or each.is_narrow for each in self._types(args[0])):
                return term
            (term,) = args

    def _types(self, term: Term) -> set[DType]:
        """Return the types of the elements and conversions that a term is made of."""
        found, waiting, seen = set[DType](), [term], {term}
        while waiting:
            op, args = self.terms.nodes[waiting.pop()]
            if op == "atom":
                found.add(self.terms.types[args[0]])
            elif op.startswith(("to_", WIDEN)):
                found.add(DType(op.rpartition("_")[2]))
            elif op != "const":
                waiting += [arg for arg in args if arg not in seen]
                seen.update(args)
        return found

    def apply_function(self, function: str, arguments: Sequence[Any]) -> Datum:
        """Return a function of several values, of which this is one."""
        lifted = [self.lift(value) for value in arguments]
        if any(value is None for value in lifted):
            raise TypeError(f"{function} of what is no number")
        some = [value for value in lifted if value is not None]
        if any(value.own is not None for value in some):
            typed: Datum = Datum.by_type(function, *arguments)
            return typed
        kinds = [value.kind for value in (some[2:] if is_choice(function) else some)]
        return Datum(self.terms, self.terms.apply(function, [each.term for each in some]), None, reduce(_wider, kinds))

    def reshape(self, *shape: Any, **_: Any) -> Any:
        """Return an array that has this one element, as NumPy's numbers do: `x.sum().reshape(1)`."""
        import numpy as np

        found = np.empty(1, object)
        found[0] = self
        return found.reshape(*shape)

    def ravel(self, *_: Any, **__: Any) -> Any:
        """Return an array that has this one element."""
        return self.reshape(-1)

    def item(self, *_: Any) -> Any:
        """Return the value, which is no Python number."""
        return self

    def __round__(self, digits: int | None = None) -> Datum:
        """Return the nearest whole number, the even one of two, as Python's `round` does."""
        if digits is not None:
            raise self.refused("rounds to digits of", "write round(v * 100) / 100")
        return self.apply_function(FUNCTIONS["rint"].name, [self])

    def __floor__(self) -> Datum:
        return self.apply_function(FUNCTIONS["floor"].name, [self])

    def __ceil__(self) -> Datum:
        return self.apply_function(FUNCTIONS["ceil"].name, [self])

    def __trunc__(self) -> Datum:
        return self.apply_function(FUNCTIONS["trunc"].name, [self])

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> Datum:
        """Return `op(self, other)` for an operator without Python syntax, as min; `swapped`: `op(other, self)`."""
        lifted = self.lift(other)
        if lifted is None:
            raise TypeError(f"{op} of data and {other!r}")
        if self.own is not None or lifted.own is not None:
            return Datum.by_type(op, *((other, self) if swapped else (self, other)))
        return _combined(op, lifted, self) if swapped else _combined(op, self, lifted)


_WHOLE = frozenset({int})


class SymbolicArray(Struct, frozen=True):
    """An input array of distinct variables, as a specification sees it: indices, slices, `len`, `.shape`, iteration.

    `read` has what it was asked for before; no element changes.
    """

    terms: Terms
    name: str
    shape: tuple[int, ...]
    offset: int = 0
    read: dict[Any, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int and not (type(key) is tuple and _WHOLE.issuperset(map(type, key))):
            return self._at(key)
        known = self.read.get(key)
        if known is not None:
            return known
        known = self.read[key] = self._element(key) if type(key) is tuple else self._at(key)
        return known

    def _element(self, key: tuple[int, ...]) -> Any:
        """Return what is at some indices: at once where they say an element, each within its extent."""
        shape = self.shape
        if len(key) != len(shape):
            return self._at(key)
        offset = 0
        for i, size in zip(key, shape, strict=True):
            if not 0 <= i < size:
                return self._at(key)
            offset = offset * size + i
        return Datum(self.terms, self.terms.atom(self.name, self.offset + offset))

    def _at(self, key: Any) -> Any:
        if isinstance(key, tuple):
            found: Any = self
            for part in key:
                found = found[part]
            return found
        if isinstance(key, slice):
            some = range(*key.indices(len(self)))
            if len(self.shape) > 1:
                return [self[i] for i in some]
            terms, start, step = self.terms, self.offset, some.step
            places = range(start + some.start, start + some.stop, step)
            return [Datum(terms, term) for term in terms.atoms_at(self.name, places)]
        i = operator.index(key)
        size = self.shape[0]
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of bounds for {self.name} with size {size}")
        stride = 1
        for extent in self.shape[1:]:
            stride *= extent
        offset = self.offset + (i % size) * stride
        if len(self.shape) == 1:
            return Datum(self.terms, self.terms.atom(self.name, offset))
        return SymbolicArray(self.terms, self.name, self.shape[1:], offset)


def symbolic_input(terms: Terms, name: str, shape: tuple[int, ...]) -> SymbolicArray | Datum:
    """Return an input as a specification sees it: an array of distinct variables, or one datum for the shape `()`."""
    if shape:
        return SymbolicArray(terms, name, shape)
    terms.scalars.add(name)
    return Datum(terms, terms.atom(name, 0))
