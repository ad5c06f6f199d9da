"""Data of the second reading as numbers that a solver reasons about: no canonical terms (paper, section 7.4).

Whole numbers are bit-vectors of their width, floats are reals. An input element is a symbol, or a number: then what
holes decide is kept as cases of numbers as long as they are few, and becomes a formula where values are summed up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from msgspec import Struct
from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.typing import REAL, BVType

from symbolic.algebra.numbers import as_numbers
from symbolic.algebra.operator_laws import find_law, law_of
from symbolic.algebra.terms import Term, Terms
from symbolic.elements import is_exact
from symbolic.ir.program import DeclareAccumulator, DType
from symbolic.second.formulas import Cases, both, no, some_of
from symbolic.second.forward import NotCovered
from symbolic.solve.floor_division import signed_floor_div, signed_floor_mod, unsigned_floor_div

FEW = 1024  # cases of a value


class Cased(Struct, frozen=True, eq=False):
    """A value: cases of numbers, or a formula; and the condition that it was never written."""

    value: Cases | FNode | None
    dtype: DType
    unwritten: FNode


ReadElement: TypeAlias = "Callable[[str, int], Any]"


def bits(dtype: DType) -> int:
    return int(dtype.value[1:])


def is_signed(dtype: DType) -> bool:
    return dtype.value[0] == "i"


def symbol(array: str, index: int, dtype: DType) -> FNode:
    """Return the symbol that stands for an input element."""
    kind = REAL if dtype.is_float else BVType(bits(dtype))
    return get_env().formula_manager.Symbol(f"{array}[{index}]:{dtype.value}", kind)


class NumberValues:
    """Values as numbers. `leaf(array, index)` is an input element: a number, or None for a symbol."""

    whole = False

    def __init__(self, dtypes: dict[str, DType], leaf: ReadElement) -> None:
        self._dtypes, self._leaf = dtypes, leaf
        self._manager: Any = get_env().formula_manager
        self._true, self._false = self._manager.TRUE(), self._manager.FALSE()

    def atom(self, array: str, index: int) -> Cased:
        dtype, given = self._dtypes[array], self._leaf(array, index)
        if given is None:
            return Cased(symbol(array, index, dtype), dtype, self._false)
        return self.number(given, dtype)

    def number(self, value: Any, dtype: DType) -> Cased:
        exact = Fraction(value) if dtype.is_float else _wrapped(int(value), dtype)
        return Cased({exact: self._true}, dtype, self._false)

    def unwritten(self) -> Cased:
        return Cased(None, DType.F32, self._true)

    def is_unwritten(self, value: Cased) -> FNode:
        return value.unwritten

    def choose(self, cases: Sequence[tuple[FNode, Cased]]) -> Cased:
        some = [(f, v) for f, v in cases if not f.is_false()]
        missing = some_of(both(f, v.unwritten) for f, v in some)
        there = [(f, v) for f, v in some if v.value is not None]
        if not there:
            return Cased(None, DType.F32, missing)
        dtype = there[0][1].dtype
        if all(isinstance(v.value, dict) for _, v in there):
            groups: dict[Any, list[FNode]] = {}
            for f, v in there:
                assert isinstance(v.value, dict)
                for number, g in v.value.items():
                    groups.setdefault(number, []).append(both(f, g))
            return Cased({n: some_of(fs) for n, fs in groups.items()}, dtype, missing)
        found = self.formula(there[-1][1])
        for f, v in reversed(there[:-1]):
            found = self._manager.Ite(f, self.formula(v), found)
        return Cased(found, dtype, missing)

    def formula(self, number: Cased) -> FNode:
        """Return a value as a formula."""
        if not isinstance(number.value, dict):
            assert number.value is not None
            return number.value
        constants = [(self._constant(n, number.dtype), f) for n, f in number.value.items()]
        found = constants[-1][0]
        for constant, f in reversed(constants[:-1]):
            found = self._manager.Ite(f, constant, found)
        return found

    def apply(self, op: str, operands: Sequence[Cased], dtype: DType) -> Cased:
        missing = some_of(o.unwritten for o in operands)
        if any(o.value is None for o in operands):
            return Cased(None, dtype, missing)
        cases = [o.value for o in operands if isinstance(o.value, dict)]
        product = 1
        for some in cases:
            product *= len(some)
        if len(cases) == len(operands) and product <= FEW:
            groups: dict[Any, list[FNode]] = {}
            for chosen in itertools.product(*(c.items() for c in cases)):
                number = _compute(op, [n for n, _ in chosen], dtype)
                groups.setdefault(number, []).append(both(*(f for _, f in chosen)))
            return Cased({n: some_of(fs) for n, fs in groups.items()}, dtype, missing)
        found = self._operate(op, [self.formula(o) for o in operands], dtype)
        return Cased(found, dtype, missing)

    def cast(self, value: Cased, source: DType, target: DType) -> Cased:
        if (
            value.value is None
            or source is target
            or (source.is_float and is_exact(source, target) and _given(value, source))
        ):
            return Cased(value.value, target, value.unwritten)
        if source.is_float or target.is_float:
            raise NotCovered(f"the conversion from {source.value} to {target.value}")
        if isinstance(value.value, dict):
            groups: dict[Any, list[FNode]] = {}
            for number, f in value.value.items():
                groups.setdefault(_wrapped(number, target), []).append(f)
            return Cased({n: some_of(fs) for n, fs in groups.items()}, target, value.unwritten)
        return Cased(self._resized(value.value, source, target), target, value.unwritten)

    def _resized(self, formula: FNode, source: DType, target: DType) -> FNode:
        more = bits(target) - bits(source)
        if more > 0:
            return self._manager.BVSExt(formula, more) if is_signed(source) else self._manager.BVZExt(formula, more)
        return formula if more == 0 else self._manager.BVExtract(formula, 0, bits(target) - 1)

    def total(self, declared: DeclareAccumulator, entries: Sequence[tuple[FNode, Sequence[Cased]]]) -> Cased:
        """Add up what joins an accumulator, in the kernel's order."""
        dtype, outer = declared.dtype, declared.outer
        identity = law_of(outer).identity
        start = identity if declared.init is None else declared.init.value
        found = None if start is None else self.formula(self.number(start, dtype))
        seen, missing = (self._false if start is None else self._true), []
        for on, operands in entries:
            part = operands[0]
            for operand in operands[1:]:
                part = self.apply(declared.inner or "", [part, operand], dtype)
            missing.append(both(on, part.unwritten))
            if part.value is not None:
                new = self.formula(part)
                if found is None:
                    found = new
                else:
                    joined = self._manager.Ite(seen, self._operate(outer, [found, new], dtype), new)
                    found = self._manager.Ite(on, joined, found)
                seen = some_of((seen, on))
        return Cased(found, dtype, some_of((*missing, no(seen))))

    def equal(self, number: Cased, wanted: Cased) -> FNode:
        """Return the formula 'this value was written and is the wanted one'."""
        if number.value is None or wanted.value is None:
            return self._false
        if isinstance(number.value, dict) and isinstance(wanted.value, dict) and len(wanted.value) == 1:
            same = number.value.get(next(iter(wanted.value)), self._false)
        else:
            same = self._manager.Equals(self.formula(number), self.formula(wanted))
        return both(no(number.unwritten), same)

    def term(self, terms: Terms, term: Term, dtype: DType) -> Cased:
        """Return the value of a term of the specification."""
        op, args = terms.nodes[term]
        if dtype.is_narrow and op not in ("atom", "const"):
            raise NotCovered(f"a computed output of {dtype.value}")
        if op == "atom":
            return self.cast(self.atom(*args), self._dtypes[args[0]], dtype)
        if op == "const":
            return self.number(args[0], dtype)
        if op.startswith(("to_", "widen_to_")):
            source, target = self._dtype_of(terms, args[0]), DType(op.rpartition("_")[2])
            return self.cast(self.cast(self.term(terms, args[0], source), source, target), target, dtype)
        found = self.term(terms, args[0], dtype)
        if len(args) == 1:
            return self.apply(op, [found], dtype)
        for arg in args[1:]:
            found = self.apply(op, [found, self.term(terms, arg, dtype)], dtype)
        return found

    def _dtype_of(self, terms: Terms, term: Term) -> DType:
        op, args = terms.nodes[term]
        if op == "atom":
            return self._dtypes[args[0]]
        if op.startswith(("to_", "widen_to_")):
            return DType(op.rpartition("_")[2])
        return next((self._dtype_of(terms, a) for a in args if not terms.is_const(a)), DType.I64)

    # -- operators ------------------------------------------------------------------------------------------

    def _constant(self, value: Any, dtype: DType) -> FNode:
        if dtype.is_float:
            return self._manager.Real(value)
        return self._manager.BV(value % (1 << bits(dtype)), bits(dtype))

    def _operate(self, op: str, operands: Sequence[FNode], dtype: DType) -> FNode:
        m = self._manager
        a, b = operands[0], operands[-1]
        zero = self._constant(0, dtype)
        less = m.LT if dtype.is_float else m.BVSLT if is_signed(dtype) else m.BVULT
        if op in ("min", "max"):
            return m.Ite(less(a, b) if op == "min" else less(b, a), a, b)
        if op == "abs":
            return m.Ite(less(a, zero), self._operate("-", [zero, a], dtype), a)
        if dtype.is_float:
            real = {"+": m.Plus, "-": m.Minus, "*": m.Times, "/": m.Div}
            if op in real:
                return real[op](zero, a) if len(operands) == 1 else real[op](a, b)
            raise NotCovered(f"`{op}` on floats")
        if op == "-" and len(operands) == 1:
            return m.BVNeg(a)
        whole = {"+": m.BVAdd, "-": m.BVSub, "*": m.BVMul, "&": m.BVAnd, "|": m.BVOr, "^": m.BVXor, "<<": m.BVLShl}
        whole |= {">>": m.BVAShr if is_signed(dtype) else m.BVLShr, "~": lambda x, _: m.BVNot(x)}
        if op not in (*whole, "//", "%"):
            raise NotCovered(f"`{op}`, which no solver knows")
        whole["//"] = signed_floor_div if is_signed(dtype) else unsigned_floor_div
        whole["%"] = signed_floor_mod if is_signed(dtype) else m.BVURem
        return whole[op](a, b)


def _given(value: Cased, dtype: DType) -> bool:
    """Tell whether a value is an element, or constants that a float type has."""
    if isinstance(value.value, dict):
        return all(Fraction(float(as_numbers(float(number), dtype))) == number for number in value.value)
    return value.value is not None and bool(value.value.is_symbol())


def _wrapped(value: int, dtype: DType) -> int:
    """Return a whole number as its type holds it."""
    size = 1 << bits(dtype)
    value %= size
    return value - size if is_signed(dtype) and value >= size // 2 else value


def _compute(op: str, operands: Sequence[Any], dtype: DType) -> Any:
    """Apply an operator to numbers."""
    a, b = operands[0], operands[-1]
    law = find_law(op)
    match op:
        case _ if law is not None and not (law.own and dtype.is_float):
            found = law.fold(a, b)
        case "-":
            found = -a if len(operands) == 1 else a - b
        case "/":
            found = a / b if b else Fraction(0)
        case "abs":
            found = abs(a)
        case "//" | "%" | "<<" | ">>" if not dtype.is_float:
            shift = min(max(b, 0), bits(dtype))
            by = {"//": a // b if b else 0, "%": a % b if b else a, "<<": a << shift, ">>": a >> shift}
            found = by[op]
        case "~":
            found = ~a
        case _:
            raise NotCovered(f"`{op}` on {dtype.value}")
    return found if dtype.is_float else _wrapped(found, dtype)
