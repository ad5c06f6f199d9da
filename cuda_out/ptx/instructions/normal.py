"""Terms written out, so that what PTX computes and what a specification says can be compared.

A compiler distributes, cancels and folds, so terms are compared in a stronger form than the specification's own: in the
two rings of `cuda_out.ptx.instructions.rings`. Floats count as real numbers: sums are reordered, a fused multiply-add
is a product and a sum, a constant is the number that its bits say. Everything else is an opaque operator, whose name
says the type it works in.

A term is read in the type of its context: fewer bits of an integer are the same polynomial modulo less, so
truncation is no operator. An input element stands for its own value, extended by its own type.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cuda_out.ptx.instructions.exponentials import Exponentials
from cuda_out.ptx.instructions.polynomials import Factors, Polynomial, signed, sum_of
from cuda_out.ptx.instructions.roundings import (
    EVERY,
    WIDER,
    FloatTypes,
    holding,
    of_integers,
    rounded_number,
    same_constant,
)
from cuda_out.ptx.kinds import KINDS, is_float, width
from symbolic.algebra.numbers import from_memory, in_memory
from symbolic.algebra.terms import Term, Terms
from symbolic.ir.functions import WordFunction
from symbolic.ir.program import DType, FunctionName

_REAL: Final = frozenset(
    ("real", "float", "inverse", "inf", "-inf", "nan", "bf16", "to_bf16", "to_f16", "to_f32", "to_f64")
)
_TYPED: Final = frozenset(("min", "max", "abs", "select"))


class Normal(Exponentials):
    """Arithmetic on written-out terms, with the constants, comparisons and choices of both kinds of numbers."""

    def __init__(self, terms: Terms, kinds: Mapping[str, str], limits: Mapping[str, int] | None = None) -> None:
        super().__init__(terms, kinds, limits)
        self._real: dict[Term, bool] = {}
        self._read: dict[tuple[str, Term], Term] = {}
        self._rounded: dict[tuple[str, Term], Term] = {}
        self._shapes: dict[Term, int] = {}
        self.unrounded: FloatTypes = frozenset()
        """The types to which rounding a float counts as that of arithmetic does, as none."""

    def unknown_array(self, name: str, kind: str, count: int) -> npt.NDArray[np.int64]:
        """Return variables for an array of which nothing is known but its elements' type."""
        array = f"{name} (.{kind})"
        self.kinds.setdefault(array, kind)
        return np.array(self.terms.atoms(array, count), np.int64)

    # -- constants ---------------------------------------------------------------------------------------------

    def lifted(self, kind: str, bits: int) -> Term:
        """Return the constant that a register's bits are in a type."""
        if not is_float(kind):
            return self.terms.const(signed(bits, width(kind)))
        size = width(kind) // 8
        value = float(np.array([bits & (1 << 8 * size) - 1], f"u{size}").view(KINDS[kind])[0])
        return self.real(value)

    def bits(self, kind: str, term: Term) -> int | None:
        """Return a constant as a register's bits in a type, None where the term is no constant."""
        op, args = self.terms.nodes[term]
        if is_float(kind) and op in ("inf", "-inf", "nan"):
            value: Any = float(op)
        elif op == "const":
            value = args[0]
        else:
            return None
        if not is_float(kind):
            return int(value) & (1 << width(kind)) - 1
        with np.errstate(all="ignore"):
            return int(np.array([float(value)]).astype(KINDS[kind]).view(f"u{width(kind) // 8}")[0])

    # -- classes -----------------------------------------------------------------------------------------------

    def of_kind(self, kind: str, term: Term) -> Term:
        """Return the term that a type reads in a register's bits: floats and integers are never confused."""
        found = self._read.get((kind, term))
        if found is None:
            found = self._read[kind, term] = self._of_kind(kind, term)
        return found

    def _of_kind(self, kind: str, term: Term) -> Term:
        op, args = self.terms.nodes[term]
        if op == "const":
            return term
        if is_float(kind):
            if self.is_real(term):
                return term
            if op == f"select.b{width(kind)}" and all(map(self.terms.is_const, args[1:])):
                return self.select(kind, args[0], *(self.lifted(kind, self.terms.nodes[a][1][0]) for a in args[1:]))
            if width(kind) == 16:  # of a register of 32 bits, the low ones
                term = self.narrowed("b16", term)
                op, args = self.terms.nodes[term]
            number = args[0] if op == f"bits{width(kind)}" else self._with_sign(kind, term)
            if number is None and kind == "f32":
                number = self.bf16_in_f32(term)
            return self.terms.apply(f"float.{width(kind)}", (term,)) if number is None else number
        if not self.is_real(term):
            return self.narrowed(kind, term)
        return args[0] if op == f"float.{width(kind)}" else self.terms.apply(f"bits{width(kind)}", (term,))

    def _with_sign(self, kind: str, term: Term) -> Term | None:
        """Return the float that a float's bits are with the sign's cleared, set or turned; None of other words."""
        whole, sign = self._as_masks(term) if self.terms.nodes[term][0] in ("&", "^") else {}, 1 << width(kind) - 1
        (factors, *more), full = [each for each in whole if each] or [()], 2 * sign - 1
        op, args = self.terms.nodes[factors[0]] if len(factors) == 1 else ("", ())
        kept, turned = int(whole.get(factors, 0)) & full, int(whole.get((), 0)) & full
        if more or op != f"bits{width(kind)}" or kept | sign != full or turned not in (0, sign):
            return None
        number = args[0] if kept == full else self.absolute(kind, args[0])
        return self.scaled(kind, -1, number) if turned else number

    def bf16_in_f32(self, term: Term) -> Term | None:
        """Return the number of bf16 whose bits are the upper half of a word, the lower one 0; None of another word."""
        op = self.terms.nodes[term][0]
        whole = self._as_sum(term) if op in ("*", "+") else {}
        if len(whole) != 1:
            return None
        ((factors, factor),) = whole.items()
        if factor != 1 << 16 or len(factors) != 1 or self.ranges.bound(factors[0]) > 16:
            return None
        return self.bf16_number(factors[0])

    def is_real(self, term: Term) -> bool:
        """Tell whether a term is a float."""
        found = self._real.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            if op == "atom":
                found = is_float(self.kinds[args[0]])
            elif isinstance(op, FunctionName) and isinstance(op.row, WordFunction):
                found = op.row.result.is_float
            elif op in ("+", "*"):
                found = any(self.is_real(arg) for arg in args if not self.terms.is_const(arg))
            else:
                head, _, kind = op.partition(".")
                found = head in _REAL or (head in _TYPED and is_float(kind)) or is_float(op.partition(":")[2])
            self._real[term] = found
        return found

    def exact_bits(self, size: int, term: Term, computation: int) -> Term:
        """Return the bits of a float as an integer instruction reads them: equal reals that were computed in different
        ways have other bits. Elements and constants have theirs."""
        op = self.terms.nodes[term][0]
        if op != "bf16bits" and (not self.is_real(term) or op in ("atom", "const")):
            return term
        return self.terms.apply(f"bits{size}", (term, self.terms.const(computation)))

    def joined(self, size: int, parts: Sequence[Term]) -> Term:
        """Return the bits of several values side by side, the first one lowest."""
        kind = f"b{size * len(parts)}"
        whole = [self.extended(f"u{size}", self.of_kind(f"b{size}", part)) for part in parts]
        return self.exclusive_or(
            kind, *(self.shifted_left(kind, part, place * size) for place, part in enumerate(whole))
        )

    def split(self, size: int, count: int, whole: Term) -> tuple[Term, ...]:
        """Return the pieces of a value's bits, the lowest first."""
        kind = f"u{size * count}"
        bits = self.of_kind(kind, whole)
        pieces = (self.shifted_right(kind, bits, place * size) for place in range(count))
        return tuple(self.narrowed(f"b{size}", piece) for piece in pieces)

    def real_of(self, kind: str, term: Term) -> Term:
        """Return an integer as a float; of an element of 8 or 16 bits it is the same in every type that holds it."""
        op, args = self.terms.nodes[term]
        if op == "const":
            return self.real(Fraction(int(args[0]) & (1 << width(kind)) - 1 if kind[0] == "u" else args[0]))
        if (count := self._count(term, kind[0] != "u")) and count[0] < 1 << width(kind) - 1:
            return self.add("f64", *count[1])
        whole = self._as_sum(term)
        signs = kind[0] == "s" or min(whole.values(), default=0) > 0
        if signs and whole.keys() != {(term,)} and self.farthest(term) < 1 << width(kind) - 1:  # it does not wrap
            products = ((factors, tuple(self.real_of(kind, f) for f in factors)) for factors in whole)
            return self._sum_term("f64", {tuple(sorted(real)): whole[factors] for factors, real in products})
        own = self.kinds[args[0]] if op == "atom" else kind
        if width(own) < 32 and (own == kind or (width(own) < width(kind) and (own[0] == "u" or kind[0] == "s"))):
            kind = "s32"
        return self.terms.apply(f"real.{kind}", (term,))

    def _count(self, term: Term, signs: bool = True) -> tuple[int, list[Term]] | None:
        """Return the summands of a sum of choices between whole numbers, as real numbers, and how far from 0 it is at
        most; None for any other sum, and for negative numbers without `signs`."""
        most, found, nodes = 0, list[Term](), self.terms.nodes
        for factors, c in self._as_sum(term).items():
            op, args = nodes[factors[0]] if factors else ("const", ())
            sides = [Fraction(nodes[a][1][0]) for a in args[1:] if self.terms.is_const(a)] if factors else [Fraction(1)]
            if len(factors) > 1 or (factors and not (op.startswith("select.") and len(sides) == 2)):
                return None
            if any(c * each != int(c * each) or (c * each < 0 and not signs) for each in sides):
                return None
            most += max(abs(int(c * each)) for each in sides)
            choice = self.select("f64", args[0], *map(self.real, sides)) if factors else self.terms.const(1)
            found.append(self.scaled("f64", c, choice))
        return (most, found) if any(self._as_sum(term)) else None

    def rounded(self, kind: str, term: Term) -> Term:
        """Return a number as a float type has it: itself where it is one of the type, else a function of it.

        Rounding is monotone and odd, so that of a minimum, a maximum, a negative or a chosen number it is that of what
        rounded ones give. What bf16 has is rounded by way of f32.
        """
        found = self._rounded.get((kind, term))
        if found is None:
            found = self._rounded[kind, term] = self._round(kind, term)
        return found

    def _round(self, kind: str, term: Term) -> Term:
        op, args = self.terms.nodes[term]
        own = "f32" if kind == "bf16" else kind
        if op == "const":
            value = rounded_number(kind, args[0])
            return self.real(math.copysign(math.inf, args[0]) if value is None else value)
        if kind in self.held(term) or (kind in self.unrounded and not self._of_integers(term)):
            return term
        if op.startswith("select."):
            return self.select(own, args[0], *(self.rounded(kind, arg) for arg in args[1:]))
        if op.startswith(("min.", "max.")):
            total = self.rounded(kind, args[0])
            for arg in args[1:]:
                total = self.extreme(op[:3], own, total, self.rounded(kind, arg))
            return total
        if op.startswith("abs."):
            return self.absolute(own, self.rounded(kind, args[0]))
        if list(self._as_sum(term).values()) == [-1]:
            return self.scaled(own, -1, self.rounded(kind, self.scaled(own, -1, term)))
        if kind == "bf16" and op == "to_f32":
            (term,) = args
        return self.terms.apply(f"to_{kind}", (term,))

    def held(self, term: Term) -> FloatTypes:
        """Return float types that hold a number exactly, as far as that is known of any number of its kind."""
        op, args = self.terms.nodes[term]
        if op == "atom":
            return WIDER.get(self.kinds[args[0]], frozenset())
        if op == "const":
            return holding(Fraction(args[0]))
        if op in ("inf", "-inf", "nan"):
            return EVERY
        if op == "bf16" or op.startswith("to_"):
            return WIDER[op.removeprefix("to_")]
        if op.startswith("real."):
            (inner,), size = args, width(op[5:])
            op, args = self.terms.nodes[inner]
            return of_integers(min(size, width(self.kinds[args[0]]) if op == "atom" else self.ranges.bound(inner)))
        if (count := self._count(term)) is not None:
            return of_integers(count[0].bit_length())
        if self._of_integers(term):
            return of_integers(self.farthest(term).bit_length())
        if op.startswith("gather "):
            return WIDER.get(op.rpartition(":")[2], frozenset())
        return frozenset()

    def _of_integers(self, term: Term) -> bool:
        """Tell whether a float is a sum of products of integers."""
        inner = [self.terms.nodes[f][0] for factors in self._as_sum(term) for f in factors]
        return bool(inner) and all(op.startswith("real.") for op in inner)

    def bf16_number(self, term: Term) -> Term:
        """Return the number that 16 bits are in bf16."""
        op, args = self.terms.nodes[term]
        if op == "const":
            return self.real(float(from_memory(int(args[0]) & 0xFFFF, DType.BF16)))
        if op.startswith("select."):
            return self.select("f32", args[0], *map(self.bf16_number, args[1:]))
        term = args[0] if op == "bits16" else term
        op, args = self.terms.nodes[term]
        return args[0] if op == "bf16bits" else self.terms.apply("bf16", (term,))

    def bf16_bits(self, term: Term) -> Term:
        """Return the bits of a number that bf16 has."""
        op, args = self.terms.nodes[term]
        if op == "bf16":
            bits: Term = args[0]
            return bits
        known = self.bits("f32", term)
        if known is None:
            return self.terms.apply("bf16bits", (term,))
        return self.terms.const(int(in_memory(np.uint32(known).view(np.float32), DType.BF16)))

    # -- the rest ----------------------------------------------------------------------------------------------

    def extreme(self, op: str, kind: str, a: Term, b: Term) -> Term:
        """Return min or max, flat, with what the type bounds dropped; those of reals are the same in every type.

        No finite float is beyond the type's greatest, from which maxima are often taken.
        """
        most = Fraction(float(np.finfo(KINDS[kind]).max)) if is_float(kind) else Fraction(0)
        kind = "f64" if is_float(kind) else kind
        kind = f"s{kind[1:]}" if kind[0] == "u" and self._positive(kind, a) and self._positive(kind, b) else kind
        name = f"{op}.{kind}"
        items = {i for v in (a, b) for i in (self.terms.nodes[v][1] if self.terms.nodes[v][0] == name else (v,))}
        bound, end = ("inf", "-inf") if op == "min" else ("-inf", "inf")
        if is_float(kind):
            if any(self.terms.nodes[i][0] == end for i in items):
                return self.real(float(end))
            if all(map(self.is_ordered, items)):  # of NaN and a number, the number is chosen
                sign = 1 if op == "min" else -1
                items = {
                    i
                    for i in items
                    if self.terms.nodes[i][0] != bound
                    and not (self.terms.is_const(i) and sign * Fraction(self.terms.nodes[i][1][0]) >= most)
                } or items
        else:
            limits = np.iinfo(KINDS[kind])
            neutral = signed(int(limits.max if op == "min" else limits.min), width(kind))
            items = {i for i in items if self.terms.nodes[i] != ("const", (neutral,))} or items
        numbers = [i for i in items if self.terms.is_const(i)]
        if len(numbers) > 1:
            mask = (1 << width(kind)) - 1 if kind[0] == "u" else -1
            value = lambda i: self.terms.nodes[i][1][0] & mask if mask > 0 else self.terms.nodes[i][1][0]  # noqa: E731
            chosen = min(numbers, key=value) if op == "min" else max(numbers, key=value)
            items = items.difference(numbers) | {chosen}
        return items.pop() if len(items) == 1 else self.terms.apply(name, tuple(sorted(items)))

    def _positive(self, kind: str, term: Term) -> bool:
        """Tell whether an integer is known to be no negative number in a signed type either."""
        op, args = self.terms.nodes[term]
        if op == "const":
            return int(args[0]) >= 0
        bounded = self.ranges.bound(term) < width(kind)
        return bounded or (op == f"min.s{width(kind)}" and all(self._positive(kind, a) for a in args))

    def less(self, kind: str, a: Term, b: Term) -> Term:
        """Return whether a value is less than another; of an integer and a number, with the number on the right.

        That the absolute value of a float is less than a number is two comparisons, and so is that it is greater.
        """
        if is_float(kind) and not (self.is_ordered(a) and self.is_ordered(b)):
            return self._predicate(self.unknown_outcome(a, b))
        if a == b:
            return self.terms.const(0)
        for side, other, inside in ((a, b, True), (b, a, False)):
            op, args = self.terms.nodes[side]
            if op == "abs.f64" and is_float(kind) and self.terms.is_const(other):
                low = self.scaled(kind, -1, other)
                if inside:
                    return self.conjunction("pred", self.less(kind, low, args[0]), self.less(kind, args[0], other))
                return self.disjunction("pred", self.less(kind, args[0], low), self.less(kind, other, args[0]))
        if kind[0] == "s" and b == self.terms.const(0) and self._positive(kind, a):
            return self.terms.const(0)
        if not is_float(kind) and self.terms.is_const(a) and not self.terms.is_const(b):
            number, mask = int(self.terms.nodes[a][1][0]), (1 << width(kind)) - 1
            if number & mask != (mask if kind[0] == "u" else mask >> 1):  # the greatest has no next
                more = self.lifted(kind, number + 1 & mask)
                return self.inverted("pred", self._predicate(self.terms.apply(f"lt.{kind}", (b, more))))
        return self._predicate(self.terms.apply(f"lt.{kind}", (a, b)))

    def equal(self, kind: str, a: Term, b: Term) -> Term:
        """Return whether two values are equal; of a choice between numbers, whether it is made."""
        if is_float(kind) and not (self.is_ordered(a) and self.is_ordered(b)):
            return self._predicate(self.unknown_outcome(a, b))
        if a == b:
            return self.terms.const(-1)
        for choice, other in ((a, b), (b, a)):
            op, args = self.terms.nodes[choice]
            if op.startswith("select.b") and all(map(self.terms.is_const, (other, *args[1:]))):
                if other not in args[1:]:
                    return self.terms.const(0)
                return args[0] if other == args[1] else self.inverted("pred", args[0])
        kind = kind if is_float(kind) else f"b{width(kind)}"
        return self._predicate(self.terms.apply(f"eq.{kind}", tuple(sorted((a, b)))))

    def _predicate(self, found: Term) -> Term:
        """Return a comparison, which is one bit, and stays what it is where one bit is read."""
        self._narrow[1].add(found)
        return found

    def select(self, kind: str, condition: Term, a: Term, b: Term) -> Term:
        """Return `a` where the condition holds, else `b`; min, max and abs are recognised by what they compare."""
        if a == b:
            return a
        if self.terms.is_const(condition):
            return b if condition == self.terms.const(0) else a
        positive = self._as_masks(condition)
        if () in positive:
            condition, a, b = self.inverted("pred", condition), b, a
        op, args = self.terms.nodes[condition]
        if op.startswith("lt.") and width(op[3:]) == width(kind):
            found = self._extreme_or_absolute(op[3:], args, a, b)
            if found is None and (less := self._next_below(op[3:], args[1])) is not None:  # x < 5 is not 4 < x
                found = self._extreme_or_absolute(op[3:], (less, args[0]), b, a)
            if found is not None:
                return found
            if is_float(kind) and (total := self.rescaled(args, a, b)) is not None:
                return self.multiply(
                    kind, total, self.exponential(self.scaled(kind, -1, self.extreme("max", kind, *args)))
                )
        (made_by, (one, *values)), (made_too, (two, *others)) = (
            (op, args or (0,)) for op, args in (self.terms.nodes[term] for term in (a, b))
        )
        if made_by.startswith("select.") and (made_by, values) == (made_too, others):
            either = (
                self.conjunction("pred", condition, one),
                self.conjunction("pred", self.inverted("pred", condition), two),
            )
            return self.select(kind, self.disjunction("pred", *either), *values)
        for chosen, other in ((a, b), (b, a)):
            further = self._choice_between(kind, chosen, other)
            if further is not None:
                first = condition if chosen == a else self.inverted("pred", condition)
                return self.select(kind, self.conjunction("pred", first, further[0]), further[1], other)
        for chosen, other, join in ((a, b, self.conjunction), (b, a, self.disjunction)):  # two conditions of one choice
            made_by, (further, *values) = self.terms.nodes[chosen][0], self.terms.nodes[chosen][1] or (0,)
            if made_by.startswith("select.") and other == values[1 if join == self.conjunction else 0]:
                return self.select(kind, join("pred", condition, further), *values)
            if made_by.startswith("select.") and other == values[0 if join == self.conjunction else 1]:
                return self.select(kind, join("pred", condition, self.inverted("pred", further)), *values[::-1])
        if common := self._in_common(a, b):
            rest = (self._sum_term(kind, sum_of([self._as_sum(each), common[1]])) for each in (a, b))
            return self.add(kind, common[0], self.select(kind, condition, *rest))
        numbers = is_float(kind) and self.terms.is_const(a) and self.terms.is_const(b)
        real = "f" if numbers or self.is_real(a) or self.is_real(b) else "b"
        return self.terms.apply(f"select.{real}{width(kind)}", (condition, a, b))

    def _in_common(self, a: Term, b: Term) -> tuple[Term, Polynomial] | None:
        """Return what two different sums have in common, and what takes it off; None for nothing."""
        left, right = self._as_sum(a), self._as_sum(b)
        common = {factors: c for factors, c in left.items() if right.get(factors) == c}
        if not common or not (self.is_number(a) and self.is_number(b)):
            return None
        return self._joined("+", "*", common, self._sums), {factors: -c for factors, c in common.items()}

    def _choice_between(self, kind: str, term: Term, other: Term) -> tuple[Term, Term] | None:
        """Write a minimum, maximum or absolute value as a choice between a value and another one: when, and which."""
        op, args = self.terms.nodes[term]
        name, _, own = op.partition(".")
        own = f"f{width(kind)}" if is_float(own) else own
        if name in ("min", "max") and len(args) == 2 and other in args and width(own) == width(kind):
            value = args[args[0] == other]
            return self.less(own, *((value, other) if name == "min" else (other, value))), value
        if name == "abs" and args[0] in (other, self.scaled(own, -1, other)):
            return self.less(own, other, self.terms.const(0)), self.scaled(own, -1, other)
        return None

    def _next_below(self, kind: str, term: Term) -> Term | None:
        """Return the number before an integer constant; None where there is none."""
        if is_float(kind) or not self.terms.is_const(term):
            return None
        mask = (1 << width(kind)) - 1
        bits = int(self.terms.nodes[term][1][0]) & mask
        return None if bits == (0 if kind[0] == "u" else mask ^ mask >> 1) else self.lifted(kind, bits - 1)

    def _extreme_or_absolute(self, kind: str, sides: tuple[Term, ...], a: Term, b: Term) -> Term | None:
        """Return min, max or abs if `a` where the first side is less, else `b`, is one of them."""
        x, y = (self.of_kind(kind, v) for v in (a, b))
        zero = self.terms.const(0)
        if (x, y) in (sides, sides[::-1]):
            return self.extreme("min" if (x, y) == sides else "max", kind, x, y)
        if self.scaled(kind, -1, x) == y and sides in ((x, zero), (zero, x)):
            return self.absolute(kind, x) if sides[1] == x else self.scaled(kind, -1, self.absolute(kind, x))
        if self.scaled(kind, -1, x) == y and sides in ((y, zero), (zero, y)):
            return self.absolute(kind, y) if sides[0] == y else self.scaled(kind, -1, self.absolute(kind, y))
        return None

    def absolute(self, kind: str, a: Term) -> Term:
        """Return |a|; of `a` and `-a` one stands for both."""
        negative = self.scaled(kind, -1, a)
        return self.terms.apply(f"abs.{'f64' if is_float(kind) else kind}", (min(a, negative),))

    def distance(self, source: str, target: str, term: Term) -> Term | None:
        """Return the larger less the smaller of two numbers that have fewer bits than the type in which it is computed,
        as the absolute value that it is in a wider one; None where it is none."""
        nodes, by_sign = self.terms.nodes, {c: f for f, c in self._as_sum(term).items() if len(f) == 1}
        if by_sign.keys() != {1, -1} or len(self._as_sum(term)) != 2:
            return None
        (op, args), (other, others) = (nodes[by_sign[sign][0]] for sign in (1, -1))
        size = width(source)
        if (op, other) != (f"max.s{size}", f"min.s{size}") or args != others or len(args) != 2:
            return None
        if not all(
            self.ranges.bound(arg) < size or (nodes[arg][0] == "atom" and width(self.kinds[nodes[arg][1][0]]) < size)
            for arg in args
        ):
            return None
        kind = f"s{width(target)}"
        return self.absolute(kind, self.add(kind, args[0], self.scaled(kind, -1, args[1])))

    def _paired(self, kind: str, left: Polynomial, right: Polynomial) -> list[tuple[Factors, Factors]] | None:
        """Pair the products of two sums, those that are the same but for their constants; None where one is left."""
        found, others = [(f, f) for f in left if f in right], dict[Hashable, list[Factors]]()
        for factors in right:
            if factors not in left:
                others.setdefault(self._shape(factors), []).append(factors)
        for factors in left:
            if factors not in right:
                alike = others.get(self._shape(factors), [])
                other = next((g for g in alike if self._close_factors(kind, factors, g)), None)
                if other is None:
                    return None
                alike.remove(other)
                found.append((factors, other))
        return found

    def _close_factors(self, kind: str, one: Factors, two: Factors) -> bool:
        """Tell whether the factors that two products have not in common are functions of mathematics, and close."""
        left = sorted((Counter(one) - Counter(two)).elements(), key=lambda term: hash(self._shape((term,))))
        right = sorted((Counter(two) - Counter(one)).elements(), key=lambda term: hash(self._shape((term,))))
        nodes = self.terms.nodes
        return len(left) == len(right) and all(
            nodes[a][0] == nodes[b][0] and nodes[a][0] != "atom" and self.close(kind, a, b)
            for a, b in zip(left, right, strict=True)
        )

    def _shape(self, factors: Factors) -> Hashable:
        """Return what products have in common that differ in nothing but constants."""
        shapes = self._shapes
        for factor in factors:
            if factor not in shapes:
                op, args = self.terms.nodes[factor]
                if op == "const":
                    shapes[factor] = 0
                elif op == "atom":
                    shapes[factor] = factor
                else:
                    inner = (self._shape((each,)) for each in args if isinstance(each, int))
                    shapes[factor] = hash((op, frozenset(inner) if op in ("+", "*") else tuple(inner)))
        return tuple(sorted(shapes[factor] for factor in factors))

    def difference(self, a: Term, b: Term) -> Polynomial:
        """Return what a number is more than another one."""
        return self._as_sum(self.add("f64", a, self.scaled("f64", -1, b)))

    def close(self, kind: str, a: Term, b: Term) -> bool:
        """Tell whether a term is another one, up to the rounding of its constants to a float type."""
        if a == b:
            return True
        if self.is_real(a) and self.is_real(b):
            left, right = self._as_sum(a), self._as_sum(b)
            single = left.keys() == {(a,)} and right.keys() == {(b,)}
            if len(left) == len(right) and not single and (len(left) > 1 or () not in left):
                pairs = self._paired(kind, left, right)
                return pairs is not None and all(same_constant(kind, left[f], right[g]) for f, g in pairs)
        (op, args), (other, others) = self.terms.nodes[a], self.terms.nodes[b]
        if op == other == "const":
            return same_constant(kind, args[0], others[0])
        if op != other or len(args) != len(others) or not self.is_real(a):
            return False
        head, fixed = op.partition(".")[0], 1 if op.startswith("select") else 0
        opaque = op.endswith(":f64")  # a function of mathematics
        some = head in ("inverse", "min", "max", "abs", "select") or head.startswith("to_")
        if not (opaque or some) or args[:fixed] != others[:fixed]:
            return False
        return all(self.close(kind, x, y) for x, y in zip(args[fixed:], others[fixed:], strict=True))
