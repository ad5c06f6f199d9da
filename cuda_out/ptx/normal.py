"""Terms written out: sums of products, and exclusive-ors of conjunctions, over `symbolic.terms`.

A compiler distributes, cancels and folds, so what PTX computes and what a specification says are compared in a
stronger form than the specification's own. Two rings share the table of terms. Integers of n bits under `+ * <<` are
polynomials modulo 2^n, floats polynomials over the rationals (they count as real numbers: sums are reordered, a
fused multiply-add is a product and a sum, a constant is the number that its bits say). Under `& | ^ ~` integers are
polynomials of the Boolean ring, with a mask as coefficient: `a | b` is `a ^ b ^ a & b`. Everything else is an opaque
operator, whose name says the type it works in.

A term is read in the type of its context: fewer bits of an integer are the same polynomial modulo less, so
truncation is no operator. An input element stands for its own value, extended by its own type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from cuda_out.ptx.kinds import KINDS, is_float, width
from cuda_out.ptx.polynomials import (
    Factors,
    Polynomial,
    add_to,
    conjunction_of,
    exact,
    merge_masks,
    near,
    number,
    product_of,
    signed,
)
from cuda_out.ptx.ranges import Ranges
from symbolic.terms import REDUCTIONS, Term, Terms

LIMIT: Final = 4096
"""Monomials that a product is written out to; a larger one stays a product of sums."""
_REAL: Final = frozenset(("real", "float", "inverse", "inf", "-inf", "nan"))
_TYPED: Final = frozenset(("min", "max", "abs", "select"))


class Normal:
    """Arithmetic on written-out terms; `kinds` are the types of the input arrays' elements."""

    def __init__(self, terms: Terms, kinds: Mapping[str, str]) -> None:
        self.terms, self.kinds = terms, kinds
        self._sums: dict[Term, Polynomial] = {}
        self._masks: dict[Term, Polynomial] = {}
        self._real: dict[Term, bool] = {}
        self._read: dict[tuple[str, Term], Term] = {}
        self._narrowed: dict[tuple[int, Term], Term] = {}
        self._narrow: defaultdict[int, set[Term]] = defaultdict(set)
        self._plain: set[Term] = set()
        self._zero = terms.const(0)
        self.ranges = Ranges(terms, kinds)
        self._products: dict[tuple[str, Any, Factors], Term] = {}

    # -- constants ---------------------------------------------------------------------------------------------

    def lifted(self, kind: str, bits: int) -> Term:
        """Return the constant that a register's bits are in a type."""
        if not is_float(kind):
            return self.terms.const(signed(bits, width(kind)))
        size = width(kind) // 8
        value = float(np.array([bits & (1 << 8 * size) - 1], f"u{size}").view(KINDS[kind])[0])
        return self.real(value)

    def real(self, value: float | Fraction) -> Term:
        """Return a number of the reals; infinities and NaN are terms that nothing is known of."""
        if isinstance(value, float) and not np.isfinite(value):
            return self.terms.apply(str(value), ())
        return self.terms.const(number(Fraction(value)))

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
            return args[0] if op == f"bits{width(kind)}" else self.terms.apply(f"float.{width(kind)}", (term,))
        if not self.is_real(term):
            return self.narrowed(kind, term)
        return args[0] if op == f"float.{width(kind)}" else self.terms.apply(f"bits{width(kind)}", (term,))

    def is_real(self, term: Term) -> bool:
        """Tell whether a term is a float."""
        found = self._real.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            if op == "atom":
                found = is_float(self.kinds[args[0]])
            elif op in ("+", "*"):
                found = any(self.is_real(arg) for arg in args if not self.terms.is_const(arg))
            else:
                head, _, kind = op.partition(".")
                found = head in _REAL or (head in _TYPED and is_float(kind)) or is_float(op.partition(":")[2])
            self._real[term] = found
        return found

    def narrowed(self, kind: str, term: Term) -> Term:
        """Return an integer term modulo the bits of a type, where extensions of as many bits change nothing."""
        size = width(kind)
        if term in self._narrow[size]:
            return term
        found = self._narrowed.get((size, term))
        if found is None:
            found = self._narrowed[size, term] = self._modulo(kind, term)
            if found == term:
                self._narrow[size].add(term)
        return found

    def _modulo(self, kind: str, term: Term) -> Term:
        op, args = self.terms.nodes[term]
        if op in REDUCTIONS:
            narrow = self._narrow[width(kind)]
            if narrow.issuperset(args) or all(self.narrowed(kind, arg) == arg for arg in args):
                return term
        if op in ("^", "&"):
            masks = self._as_masks(term)
            total: Polynomial = {}
            for factors, mask in masks.items():
                product: Polynomial = {(): mask}
                for factor in factors:
                    product = conjunction_of(product, self._as_masks(self._low(kind, factor)))
                merge_masks(total, product)
            return self._mask_term(kind, total)
        found: Polynomial = {}
        for factors, coefficient in self._as_sum(term).items():
            part: Polynomial = {(): coefficient}
            for factor in factors:
                part = product_of(part, self._as_sum(self._low(kind, factor)))
            add_to(found, part)
        return self._sum_term(kind, found)

    def _low(self, kind: str, factor: Term) -> Term:
        op, args = self.terms.nodes[factor]
        if op.startswith("sext.") and int(op.rpartition(".")[2][1:]) >= width(kind):
            return self.narrowed(kind, args[0])
        if op.startswith("shr.s") and width(kind) + self.terms.nodes[args[1]][1][0] <= width(op[4:]):
            return self.terms.apply(f"shr.u{op[5:]}", args)
        if op in ("^", "&", "+", "*"):
            return self.narrowed(kind, factor)
        return factor

    def extended(self, source: str, term: Term) -> Term:
        """Return an integer term of a type, extended to more bits."""
        op, args = self.terms.nodes[term]
        if op == "const":
            return term if source[0] == "s" else self.terms.const(args[0] & (1 << width(source)) - 1)
        if op == "atom" and self.kinds[args[0]] == source:
            return term
        if source[0] == "s":
            return self.terms.apply(f"sext.{source}", (term,))
        if self.ranges.bound(term) <= width(source):
            return term
        return self.conjunction("b64", term, self.terms.const((1 << width(source)) - 1))

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

    # -- sums of products --------------------------------------------------------------------------------------

    def add(self, kind: str, *values: Term) -> Term:
        total: Polynomial = {}
        for value in values:
            add_to(total, self._as_sum(value))
        return self._sum_term(kind, total)

    def multiply(self, kind: str, a: Term, b: Term) -> Term:
        left, right = self._as_sum(a), self._as_sum(b)
        if len(left) * len(right) > LIMIT:
            return self._sum_term(kind, {tuple(sorted((a, b))): 1})
        return self._sum_term(kind, product_of(left, right))

    def scaled(self, kind: str, factor: int | Fraction, a: Term) -> Term:
        return self._sum_term(kind, {factors: factor * c for factors, c in self._as_sum(a).items()})

    def inverse(self, kind: str, a: Term) -> Term:
        """Return 1 / a over the reals."""
        op, args = self.terms.nodes[a]
        if op == "const" and args[0] != 0:
            return self.real(1 / Fraction(args[0]))
        return args[0] if op == "inverse" else self.terms.apply("inverse", (a,))

    def _as_sum(self, term: Term) -> Polynomial:
        found = self._sums.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            found = {}
            for part in args if op == "+" else (term,):
                factors, coefficient = self._split(part, "*", 1)
                found[factors] = found.get(factors, 0) + coefficient
            self._sums[term] = found
        return found

    def _split(self, term: Term, op: str, neutral: int) -> tuple[Factors, Any]:
        nodes = self.terms.nodes
        if nodes[term][0] == "const":
            return (), exact(nodes[term][1][0])
        if nodes[term][0] != op:
            return (term,), neutral
        constants = [a for a in nodes[term][1] if self.terms.is_const(a)]
        rest = tuple(a for a in nodes[term][1] if not self.terms.is_const(a))
        return rest, exact(nodes[constants[0]][1][0]) if constants else neutral

    def _sum_term(self, kind: str, total: Polynomial) -> Term:
        kept: Polynomial = {}
        for factors, coefficient in total.items():
            value = coefficient if is_float(kind) else signed(int(coefficient), width(kind))
            if value != 0:
                kept[factors] = value
        return self._joined("+", "*", kept, self._sums)

    def _joined(self, outer: str, inner: str, kept: Polynomial, polynomials: dict[Term, Polynomial]) -> Term:
        """Return the term of a polynomial without zeros, and remember that it is its polynomial."""
        neutral, parts = 1 if inner == "*" else -1, []
        for factors, coefficient in kept.items():
            key = inner, coefficient, factors
            part = self._products.get(key)
            if part is None:
                value = coefficient if isinstance(coefficient, int) else number(coefficient)
                constant = () if coefficient == neutral and factors else (self.terms.const(value),)
                part = self._products[key] = self.terms.apply(inner, (*constant, *factors))
            parts.append(part)
        term = parts[0] if len(parts) == 1 else self.terms.apply(outer, parts)
        polynomials.setdefault(term, kept)
        return term

    # -- exclusive-ors of conjunctions -------------------------------------------------------------------------

    def exclusive_or(self, kind: str, *values: Term) -> Term:
        values = tuple(value for value in values if value != self._zero)
        if all(map(self._is_plain, values)):
            odd: set[Term] = set()
            for value in values:
                op, args = self.terms.nodes[value]
                odd.symmetric_difference_update(args if op == "^" else (value,))
            return self.terms.apply("^", tuple(odd))
        total: Polynomial = {}
        for value in values:
            merge_masks(total, self._as_masks(value))
        return self._mask_term(kind, total)

    def _is_plain(self, term: Term) -> bool:
        """Tell whether a term is an exclusive-or of conjunctions without masks."""
        if term in self._plain:
            return True
        op, args = self.terms.nodes[term]
        if op == "^":
            found = self._plain.issuperset(args) or all(map(self._is_plain, args))
        else:
            found = not self.terms.is_const(term) and (op != "&" or not any(map(self.terms.is_const, args)))
        if found:
            self._plain.add(term)
        return found

    def conjunction(self, kind: str, a: Term, b: Term) -> Term:
        nodes = self.terms.nodes
        if self.ranges.apart((a, b)):
            return self._zero
        if self._is_plain(a) and self._is_plain(b) and nodes[a][0] != "^" != nodes[b][0]:
            return self.terms.apply("&", (a, b))
        left, right = self._as_masks(a), self._as_masks(b)
        if a == b:
            return self._mask_term(kind, left)
        if len(left) * len(right) > LIMIT:
            return self._mask_term(kind, {tuple(sorted((a, b))): -1})
        product = conjunction_of(left, right)
        return self._mask_term(kind, {f: mask for f, mask in product.items() if not self.ranges.apart(f)})

    def disjunction(self, kind: str, a: Term, b: Term) -> Term:
        return self.exclusive_or(kind, a, b, self.conjunction(kind, a, b))

    def inverted(self, kind: str, a: Term) -> Term:
        return self.exclusive_or(kind, a, self.terms.const(-1))

    def _as_masks(self, term: Term) -> Polynomial:
        found = self._masks.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            found = {}
            for part in args if op == "^" else (term,):
                factors, mask = self._split(part, "&", -1)
                found[factors] = found.get(factors, 0) ^ int(mask)
            self._masks[term] = found
        return found

    def _mask_term(self, kind: str, total: Polynomial) -> Term:
        size, kept = width(kind), dict[Factors, Any]()
        for factors, mask in self._demanded(kind, total).items():
            value = mask if mask == -1 else signed(mask, size)
            if value != 0:
                kept[factors] = value
        return self._joined("^", "&", kept, self._masks)

    def _demanded(self, kind: str, total: Polynomial) -> Polynomial:
        """Read what stands under a mask of low bits in those bits only."""
        if all(mask in (-1, 0) for mask in total.values()):
            return total
        found: Polynomial = {}
        for factors, mask in total.items():
            low = signed(mask, width(kind))
            bound = self.ranges.least(factors)
            if bound < width(kind):
                low &= (1 << bound) - 1
                low = -1 if low == (1 << bound) - 1 else low
            if low <= 0:
                merge_masks(found, {factors: low})
                continue
            product: Polynomial = {(): low}
            for factor in factors:
                narrow = self._low(f"u{low.bit_length()}", factor)
                product = conjunction_of(product, {(factor,): -1} if narrow == factor else self._as_masks(narrow))
            merge_masks(found, product)
        return found

    # -- shifts ------------------------------------------------------------------------------------------------

    def shifted_left(self, kind: str, a: Term, by: int) -> Term:
        """Return a value times a power of two; what was just shifted down is masked."""
        size = width(kind)
        if by >= size:
            return self._zero
        op, args = self.terms.nodes[a]
        if op == f"shr.u{size}" and self.terms.nodes[args[1]][1][0] == by:
            return self.conjunction(kind, args[0], self.terms.const(-1 << by))
        return self.scaled(kind, 1 << by, a)

    def shifted_right(self, kind: str, a: Term, by: int) -> Term:
        """Return an integer's bits moved down, by its type with zeros or its sign; each bit is moved for itself."""
        size = width(kind)
        if by >= size and kind[0] != "s":
            return self._zero
        by = min(by, size - 1)
        if by == 0:
            return self.narrowed(kind, a)
        total: Polynomial = {}
        for factors, mask in self._as_masks(a).items():
            low = signed(mask, size) if kind[0] == "s" else mask & (1 << size) - 1
            product: Polynomial = {(): -1 if factors and signed(mask, size) == -1 else low >> by}
            for factor in factors:
                product = conjunction_of(product, self._as_masks(self._shifted_factor(kind, factor, by)))
            merge_masks(total, product)
        return self._mask_term(kind, total)

    def _shifted_factor(self, kind: str, factor: Term, by: int) -> Term:
        op, args = self.terms.nodes[factor]
        bound, size = self.ranges.bound(factor), width(kind)
        if kind[0] == "s" and bound >= size:
            return self.terms.apply(f"shr.{kind}", (factor, self.terms.const(by)))
        if op == f"shr.u{size}":
            by, factor = by + self.terms.nodes[args[1]][1][0], args[0]
        elif op == "*" and bound <= size and all(c % (1 << by) == 0 for c in self._as_sum(factor).values()):
            return self._sum_term(kind, {f: c >> by for f, c in self._as_sum(factor).items()})
        return (
            self._zero if min(bound, size) <= by else self.terms.apply(f"shr.u{size}", (factor, self.terms.const(by)))
        )

    # -- the rest ----------------------------------------------------------------------------------------------

    def extreme(self, op: str, kind: str, a: Term, b: Term) -> Term:
        """Return min or max, flat, with what the type bounds dropped; those of reals are the same in every type."""
        kind = "f64" if is_float(kind) else kind
        kind = f"s{kind[1:]}" if kind[0] == "u" and self._positive(kind, a) and self._positive(kind, b) else kind
        name = f"{op}.{kind}"
        items = {i for v in (a, b) for i in (self.terms.nodes[v][1] if self.terms.nodes[v][0] == name else (v,))}
        bound = "inf" if op == "min" else "-inf"
        if is_float(kind):
            items = {i for i in items if self.terms.nodes[i][0] != bound} or items
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
        if op == "atom":
            own = self.kinds[args[0]]
            return own[0] == "u" and width(own) < width(kind)
        if op == "const":
            return int(args[0]) >= 0
        bounded = self.ranges.bound(term) < width(kind)
        return bounded or (op == f"min.s{width(kind)}" and all(self._positive(kind, a) for a in args))

    def less(self, kind: str, a: Term, b: Term) -> Term:
        return self.terms.const(0) if a == b else self.terms.apply(f"lt.{kind}", (a, b))

    def equal(self, kind: str, a: Term, b: Term) -> Term:
        return self.terms.const(-1) if a == b else self.terms.apply(f"eq.{kind}", tuple(sorted((a, b))))

    def select(self, kind: str, condition: Term, a: Term, b: Term) -> Term:
        """Return `a` where the condition holds, else `b`; min, max and abs are recognised by what they compare."""
        if a == b:
            return a
        positive = self._as_masks(condition)
        if () in positive:
            condition, a, b = self.inverted("pred", condition), b, a
        op, args = self.terms.nodes[condition]
        if op.startswith("lt.") and width(op[3:]) == width(kind):
            typed = op[3:]
            x, y = (self.of_kind(typed, v) for v in (a, b))
            if (x, y) in (args, args[::-1]):
                return self.extreme("min" if (x, y) == args else "max", typed, x, y)
            if self.scaled(typed, -1, x) == y and args in ((x, self.terms.const(0)), (self.terms.const(0), x)):
                return self.absolute(typed, x) if args[1] == x else self.scaled(typed, -1, self.absolute(typed, x))
            if self.scaled(typed, -1, x) == y and args in ((y, self.terms.const(0)), (self.terms.const(0), y)):
                return self.absolute(typed, y) if args[0] == y else self.scaled(typed, -1, self.absolute(typed, y))
        real = "f" if self.is_real(a) or self.is_real(b) else "b"
        return self.terms.apply(f"select.{real}{width(kind)}", (condition, a, b))

    def absolute(self, kind: str, a: Term) -> Term:
        """Return |a|; of `a` and `-a` one stands for both."""
        negative = self.scaled(kind, -1, a)
        return self.terms.apply(f"abs.{'f64' if is_float(kind) else kind}", (min(a, negative),))

    def floor_divide(self, kind: str, a: Term, b: Term) -> Term:
        """Return the floored quotient of integers; by a power of two it is a shift."""
        op, args = self.terms.nodes[b]
        if op == "const" and args[0] == 1:
            return a
        if op == "const" and args[0] != 0 and self.terms.is_const(a):
            mask = (1 << width(kind)) - 1 if kind[0] == "u" else -1
            return self.terms.const(signed((self.terms.nodes[a][1][0] & mask) // (args[0] & mask), width(kind)))
        if op == "const" and args[0] > 0 and args[0] & args[0] - 1 == 0:
            return self.shifted_right(kind, a, args[0].bit_length() - 1)
        return self.terms.apply(f"floordiv.{kind}", (a, b))

    def modulo(self, kind: str, a: Term, b: Term) -> Term:
        """Return the floored remainder of integers; by a power of two it is a mask."""
        op, args = self.terms.nodes[b]
        if op == "const" and args[0] > 0 and args[0] & args[0] - 1 == 0:
            return self.conjunction(kind, a, self.terms.const(args[0] - 1))
        return self.add(kind, a, self.scaled(kind, -1, self.multiply(kind, b, self.floor_divide(kind, a, b))))

    def close(self, a: Term, b: Term, tolerance: float) -> bool:
        """Tell whether terms differ by no more than the rounding of their constants."""
        if a == b:
            return True
        if self.is_real(a) and self.is_real(b):
            left, right = self._as_sum(a), self._as_sum(b)
            if left.keys() == right.keys() and (len(left) > 1 or () not in left):
                return all(near(left[factors], right[factors], tolerance) for factors in left)
        (op, args), (other, others) = self.terms.nodes[a], self.terms.nodes[b]
        if op == other == "const":
            return near(args[0], others[0], tolerance)
        if op != other or len(args) != len(others) or not self.is_real(a):
            return False
        head, fixed = op.partition(".")[0], 1 if op.startswith("select") else 0
        if head not in ("inverse", "min", "max", "abs", "select") or args[:fixed] != others[:fixed]:
            return False
        return all(self.close(x, y, tolerance) for x, y in zip(args[fixed:], others[fixed:], strict=True))
