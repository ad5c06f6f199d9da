"""Canonical data values: interned terms over the elements of the input arrays (paper, sections 4.1 and 4.2).

A term is an int, its place in one table; equal terms are the same int, so no solver ever reasons about arithmetic
on data. Operators that are commutative and associative hold their arguments as a sorted multiset (a set for the
idempotent ones, those that are there an odd number of times for `^`), flattened; an operator that only associates
holds them in their order. Constants are folded and identities dropped. A user's operator folds no constants, as its
meaning may depend on the type. A sum holds each item once, with a coefficient; numbers distribute over sums, so that
equal linear forms are one term. Canonicalisation is sound and incomplete: `a * (b + c)` and `a * b + a * c` stay
different. Of a choice by several comparisons the order in which they are asked does not matter
(`symbolic.algebra.choices`).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from msgspec import Struct, field

from symbolic.algebra.choices import Choices, is_choice
from symbolic.algebra.exact import content, folded, is_finite, over
from symbolic.algebra.joined_words import JoinedWords
from symbolic.algebra.operator_laws import LAWS, find_law, infix, law_of
from symbolic.errors import SwizzleError
from symbolic.ir.program import FunctionName

Term: TypeAlias = int
WIDEN = "widen_to_"  # begins the names of whole-number conversions that lose nothing
UNWRITTEN: Term = 0  # what a cell holds before its first write; equal to no value of a specification


_COMMUTING = frozenset(op for op, law in LAWS.items() if law.commutes)


class Terms:
    """The table of terms. `nodes[t]` is ('atom', (array, index)), ('const', (value,)) or (operator, arguments).

    `scalars` are the names of inputs that are one number, the only element of an array that is not shown as one.
    """

    def __init__(self) -> None:
        self.scalars: set[str] = set()
        self.nodes: list[tuple[str, tuple[Any, ...]]] = [("unwritten", ())]
        self._index: dict[tuple[str, tuple[Any, ...]], Term] = {}
        self._constants: set[Term] = set()
        self._scales: dict[Term, tuple[Term, Any]] = {}  # of products with a number: the rest, and the number
        self._primitives: dict[Term, tuple[Term, Any]] = {}
        self.words = JoinedWords(self)
        self.of_sets: dict[Any, Any] = {}  # what was worked out of sets of terms, which many threads have in common
        self.choices = Choices(self)
        self.one = self.const(1)

    def intern(self, op: str, args: tuple[Any, ...]) -> Term:
        """Return the term of a node as it stands."""
        key = (op, args)
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def atom(self, array: str, index: int) -> Term:
        """Return the variable that stands for element `index` (row-major) of an input array."""
        return self.intern("atom", (array, index))

    def const(self, value: Any) -> Term:
        """Return a number."""
        found = self.intern("const", (value,))
        self._constants.add(found)
        return found

    def is_const(self, term: Term) -> bool:
        return term in self._constants

    def is_number(self, item: Term, op: str) -> bool:
        """Say whether an item of a reduction is a number that folds with others; of a user's operator, one that absorbs
        them all."""
        law = law_of(op)
        return item in self._constants and (not law.own or self.nodes[item][1][0] == law.absorber)

    def apply(self, op: str, args: Sequence[Term]) -> Term:
        """Return the canonical term `op(args)`; UNWRITTEN if any argument is."""
        if len(args) == 2:  # a node that is there is canonical, and so what it is made of gives
            a, b = args
            known = self._index.get((op, (a, b) if a < b else (b, a)))
            if known is not None and (a < b or op in _COMMUTING):
                return known
        if UNWRITTEN in args:
            return UNWRITTEN
        law = LAWS.get(op) or find_law(op)
        if law is None:
            if op.startswith(WIDEN) and self._is_narrow(args[0]):
                return args[0]
            if isinstance(op, FunctionName) and op.row.joined is not None and len(args) > 1:
                return self.words.apply(op, args)
            return self.choices.apply(op, *args) if is_choice(op) else self.intern(op, tuple(args))
        nodes, constants = self.nodes, self._constants
        if len(args) == 2:  # the common case, and one in which there is nothing to do
            a, b = args
            if nodes[a][0] != op and nodes[b][0] != op and a not in constants and b not in constants and a != b:
                if law.order != "linear" and op != "*":
                    return self.intern(op, (a, b) if a < b or law.order == "sequence" else (b, a))
                if op == "*" and nodes[a][0] != "+" != nodes[b][0]:
                    return self.intern(op, (a, b) if a < b else (b, a))
                if op == "+" and self.scale(a)[0] != self.scale(b)[0]:
                    return self.intern(op, (a, b) if a < b else (b, a))
        constant = law.identity
        items: list[Term] = []
        for arg in args:
            inner, found = nodes[arg]
            if inner != op:
                found = (arg,)
            if constants.isdisjoint(found):
                items += found
                continue
            for item in found:
                if item not in constants:
                    items.append(item)
                    continue
                value = nodes[item][1][0]
                if not law.own:
                    constant = value if constant is None else folded(law.fold, constant, value)
                elif value == law.absorber:
                    return self.const(value)
                elif value != law.identity:
                    items.append(item)
        if constant is not None and constant == law.absorber:
            return self.const(constant)
        if op == "*":
            return self._product(items, constant)
        match law.order:
            case "set":
                items = list(set(items))
            case "parity":
                items = [item for item, number in Counter(items).items() if number % 2]
            case "linear":
                items = self._collected(items)
        if constant is not None and constant != law.identity:
            items.append(self.const(constant))
        if not items:
            return self.const(law.identity)
        if len(items) == 1:
            return items[0]
        return self.intern(op, tuple(sorted(items) if law.commutes else items))

    def _is_narrow(self, term: Term) -> bool:
        """Say whether a term is its own value in each type, so that nothing is lost before it is widened."""
        op, args = self.nodes[term]
        return op == "atom" or (op == "const" and 0 <= args[0] < 2**31)

    def spellings(self, op: str, term: Term) -> Iterable[tuple[Term, ...]]:
        """Return all arguments of which an operator that knows no law but those of choices makes a term."""
        if is_choice(op):
            return self.choices.spellings(op, term)
        made_by, arguments = self.nodes[term]
        return [arguments] if made_by == op else []

    # -- linear forms ---------------------------------------------------------------------------------------

    def scale(self, term: Term) -> tuple[Term, Any]:
        """Write a term as a number times another term, which is not a multiple itself."""
        return self._scales.get(term) or (term, 1)

    def times(self, number: Any, term: Term) -> Term:
        """Return a multiple of a term."""
        return term if number == 1 else self.apply("*", (self.const(number), term))

    def _collected(self, items: list[Term]) -> list[Term]:
        """Return the items of a sum, each once, with its coefficient."""
        if self._scales.keys().isdisjoint(items) and len(set(items)) == len(items):
            return items
        coefficients: dict[Term, Any] = {}
        for item in items:
            whole, number = self.scale(item)
            before = coefficients.get(whole, 0)
            coefficients[whole] = folded(operator.add, before, number)
        if len(coefficients) == len(items):
            return items
        return [self.times(number, whole) for whole, number in coefficients.items() if number != 0]

    def _product(self, items: list[Term], constant: Any) -> Term:
        """Return a product; a number goes into a sum that it is the only factor of, and is taken out of the others."""
        nodes = self.nodes
        if not items:
            return self.const(constant)
        if len(items) == 1:
            op, args = nodes[items[0]]
            if constant == 1:
                return items[0]
            if op == "+" and is_finite(constant):
                return self.apply("+", [self.times(constant, arg) for arg in args])
        else:
            parts = [self.primitive(item) if nodes[item][0] == "+" else (item, 1) for item in items]
            for _, number in parts:
                constant = folded(operator.mul, constant, number)
            items = [part for part, _ in parts]
        whole = items[0] if len(items) == 1 else self.intern("*", tuple(sorted(items)))
        if constant == 1:
            return whole
        found = self.intern("*", tuple(sorted((*items, self.const(constant)))))
        if is_finite(constant):
            self._scales[found] = (whole, constant)
        return found

    def primitive(self, term: Term) -> tuple[Term, Any]:
        """Write a sum as a number times another sum, which is the same for all its multiples.

        Its coefficients are whole numbers without a common divisor, the one of its oldest item is positive.
        """
        found = self._primitives.get(term)
        if found is None:
            parts = [
                (self.one, self.nodes[t][1][0]) if self.is_const(t) else self.scale(t) for t in self.nodes[term][1]
            ]
            common = content(number for _, number in parts) if all(is_finite(number) for _, number in parts) else 1
            oldest = min((whole, number) for whole, number in parts if whole != self.one)
            common = -common if oldest[1] < 0 else common
            found = (term, 1)
            if common != 1:
                found = self.apply("+", [self.times(over(number, common), whole) for whole, number in parts]), common
            self._primitives[term] = found
        return found

    # -- items ----------------------------------------------------------------------------------------------

    def items(self, term: Term, op: str) -> tuple[Term, ...]:
        """Return what `term` contributes to a reduction by `op`: its arguments if it is one itself."""
        node = self.nodes[term]
        if node[0] == op:
            return node[1]
        if op == "*" and node[0] == "+":
            whole, number = self.primitive(term)
            return (term,) if number == 1 else (self.const(number), whole)
        law = law_of(op)
        if node[0] == "const" and node[1][0] == law.identity and law.identity is not None:
            return ()
        return (term,)

    def multiset(self, term: Term, op: str) -> Counter[Term]:
        """Return the items of a reduction with their multiplicities, those of a sum with their coefficients."""
        if law_of(op).order == "linear":
            return Counter(dict(map(self.scale, self.items(term, op))))
        return Counter(self.items(term, op))

    def show(self, term: Term) -> str:
        """Return the term as text: `w[0]*x[3] + w[1]*x[4]`."""
        op, args = self.nodes[term]
        match op:
            case "atom":
                return args[0] if args[0] in self.scalars else f"{args[0]}[{args[1]}]"
            case "const":
                return str(float(args[0]) if isinstance(args[0], Fraction) else args[0])
            case "unwritten":
                return "an unwritten cell"
        if isinstance(op, FunctionName) and op.row.joined is not None:
            return str(op.row.text([self.show(part) for part in self.words.parts(op, args[0])]))
        law = find_law(op)
        if law is not None and law.commutes:
            args = tuple(sorted(args, key=self.reading_order))
        texts = [self.show(arg) for arg in args]
        if isinstance(op, FunctionName):
            return str(op.row.text(texts))
        if op == "~":
            return f"~{texts[0]}"
        if not infix(op) or not (find_law(op) or len(op) <= 2):
            return f"{op}({', '.join(texts)})"
        if op == "*":
            return "*".join(f"({t})" if " " in t else t for t in texts)
        return f" {op} ".join(f"({t})" if " " in t and op != "+" else t for t in texts)

    def reading_order(self, term: Term) -> tuple[Any, ...]:
        """Sort constants first, then elements by array and index, then the rest by what they hold."""
        op, args = self.nodes[term]
        match op:
            case "const":
                return (0, "", args[0])
            case "atom":
                return (1, *args)
            case _:
                return (2, op, sorted(self.reading_order(arg) for arg in args if isinstance(arg, int)))


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
        if op == "-":
            return _combined("+", a, Datum(self.terms, unary(self.terms, "-", b.term)))
        return _combined(op, a, b)

    def product(self: Datum, other: Any) -> Any:
        """Return a product of two values that are no products, of which most are: its term is made at once."""
        if type(other) is Datum and (a := self._term) is not None and (b := other._term) is not None:
            nodes = self.terms.nodes
            if nodes[a][0] != "*" != nodes[b][0]:
                return Datum(self.terms, self.terms.apply("*", (a, b)))
        return method(self, other)

    return product if op == "*" else method


def _combined(op: str, a: Datum, b: Datum) -> Datum:
    """Return `op(a, b)`, for a reduction noted only."""
    if op not in LAWS and find_law(op) is None:
        return Datum(a.terms, a.terms.apply(op, (a.term, b.term)))
    if a._chain is None or a._chain[0] != op:  # a chain has one operator: what came before becomes a term
        a = Datum(a.terms, a.term)
    return Datum(a.terms, None, (op, a, b._term if b._term is not None else b.term))


def unary(terms: Terms, op: str, a: Term) -> Term:
    """Return the canonical term of a unary operator on data; `-a` is `(-1)*a`."""
    return terms.apply("*", (terms.const(-1), a)) if op == "-" else terms.apply(op, (a,))


def binary(terms: Terms, op: str, a: Term, b: Term) -> Term:
    """Return the canonical term of a binary operator on data; `a - b` is `a + (-1)*b`."""
    if op == "-":
        return terms.apply("+", (a, terms.apply("*", (terms.const(-1), b))))
    return terms.apply(op, (a, b))


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

    __rand__, __ror__ = __and__, __or__

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
        return NotImplemented if right is None else DataComparison(op, (self, right))

    return method


class Datum:
    """A data value that a specification computes with. It is symbolic: it has no truth value and no order.

    A sum that grows by one item at a time is a chain of notes until its term is asked for, so that the terms of
    partial sums, each as long as what has been summed, are not made.
    """

    __slots__ = ("_chain", "_term", "terms")

    def __init__(self, terms: Terms, term: Term | None, chain: tuple[str, Datum, Term] | None = None) -> None:
        self.terms, self._term, self._chain = terms, term, chain

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

    def lift(self, other: Any) -> Datum | None:
        """Return `other` as a datum, or None if it is neither a datum nor a number."""
        if isinstance(other, Datum):
            return other
        if isinstance(other, (int, float)) or hasattr(other, "dtype"):
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
        return _combined(op, self, right)

    def _shift_by(self) -> SwizzleError:
        return SwizzleError(
            f"the specification shifts by the data value {self.terms.show(self.term)}",
            expected="a constant amount: C++ leaves a shift by too much undefined, and kernels have none by data",
            fix="multiply or divide by data that is a power of two",
        )

    def __neg__(self) -> Datum:
        return Datum(self.terms, unary(self.terms, "-", self.term))

    def __abs__(self) -> Datum:
        return Datum(self.terms, self.terms.apply("abs", (self.term,)))

    def __invert__(self) -> Datum:
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
        raise self.refused("converts to a float", "write `from swizzle import math`, whose functions take data")

    def __iter__(self) -> Iterator[Any]:
        raise self.refused("iterates over")

    __hash__ = None  # type: ignore[assignment]

    def apply_function(self, function: str, arguments: Sequence[Any]) -> Datum:
        """Return a function of several values, of which this is one."""
        lifted = [self.lift(value) for value in arguments]
        if any(value is None for value in lifted):
            raise TypeError(f"{function} of what is no number")
        return Datum(self.terms, self.terms.apply(function, [value.term for value in lifted if value is not None]))

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> Datum:
        """Return `op(self, other)` for an operator without Python syntax, as min; `swapped`: `op(other, self)`."""
        lifted = self.lift(other)
        if lifted is None:
            raise TypeError(f"{op} of data and {other!r}")
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
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int and not (type(key) is tuple and _WHOLE.issuperset(map(type, key))):
            return self._at(key)
        known = self.read.get(key)
        if known is None:
            known = self.read[key] = self._at(key)
        return known

    def _at(self, key: Any) -> Any:
        if isinstance(key, tuple):
            found: Any = self
            for part in key:
                found = found[part]
            return found
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(len(self)))]
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
