"""The two rings in which terms are written out, over one table: sums of products, exclusive-ors of conjunctions.

Integers of n bits under `+ * <<` are polynomials modulo 2^n, floats polynomials over the rationals. Under `& | ^ ~`
integers are polynomials of the Boolean ring, with a mask as coefficient: `a | b` is `a ^ b ^ a & b`. What belongs to
the other ring, or to none, is a factor. A shift moves each bit for itself, so it is taken to the factors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any, Final

from cuda_out.ptx.instructions.polynomials import (
    Factors,
    Polynomial,
    add_to,
    conjunction_of,
    merge_masks,
    product_of,
    signed,
    sum_of,
)
from cuda_out.ptx.instructions.ranges import TermRanges
from cuda_out.ptx.kinds import is_float, typed_operator, width
from symbolic.algebra.exact import exact, number
from symbolic.algebra.operator_laws import find_law
from symbolic.algebra.terms import Term, Terms

LIMIT: Final = 4096
"""Monomials that a product is written out to; a larger one stays a product of sums."""
_PUT_TOGETHER: Final = frozenset(("+", "*", "const"))


class Rings:
    """Sums, products, bits and shifts of written-out terms; `kinds` are the types of the input arrays' elements, and
    `limits` what index data is declared to be below.

    What is kept of a term: its polynomials in either ring, the sizes that read it as it is (`_narrow`), and whether it
    is an exclusive-or of conjunctions without masks (`_plain`), which is a set of conjunctions.
    """

    def __init__(self, terms: Terms, kinds: Mapping[str, str], limits: Mapping[str, int] | None = None) -> None:
        self.terms, self.kinds = terms, dict(kinds)
        self.ranges = TermRanges(terms, self.kinds, limits or {})
        self._zero = terms.const(0)
        self._sums: dict[Term, Polynomial] = {}
        self._masks: dict[Term, Polynomial] = {}
        self._products: dict[tuple[str, int, int, Factors], Term] = {}
        self._narrowed: dict[tuple[int, Term], Term] = {}
        self._narrow: defaultdict[int, set[Term]] = defaultdict(set)
        self._plain: set[Term] = set()
        self._whole: set[Term] = set()  # sums that are factors as they are
        self.limit = LIMIT

    # -- sizes -------------------------------------------------------------------------------------------------

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
        if find_law(op) is not None:
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
        name, own = typed_operator(op)
        if name == "sext" and width(own) >= width(kind):
            return self.narrowed(kind, args[0])
        if name == "shr" and own[0] == "s" and width(kind) + self.terms.nodes[args[1]][1][0] <= width(own):
            return self.terms.apply(f"shr.u{width(own)}", args)
        if op in ("^", "&", "+", "*"):
            return self.narrowed(kind, factor)
        return factor

    def extended(self, source: str, term: Term) -> Term:
        """Return an integer term of a type, extended to more bits."""
        op, args = self.terms.nodes[term]
        if op == "const":
            assert args[0] == int(args[0]), (
                "bits are whole"
            )  # 0 may have been a float before: terms are one where equal
            return term if source[0] == "s" else self.terms.const(int(args[0]) & (1 << width(source)) - 1)
        if op == "atom" and self.kinds[args[0]] == source:
            return term
        if source[0] == "s" and self.ranges.bound(term) < width(source):
            return term
        if source[0] == "s":
            return self.terms.apply(f"sext.{source}", (term,))
        if self.ranges.bound(term) <= width(source):
            return term
        return self.conjunction("b64", term, self.terms.const((1 << width(source)) - 1))

    # -- sums of products --------------------------------------------------------------------------------------

    def add(self, kind: str, *values: Term) -> Term:
        return self._sum_term(kind, sum_of([self._as_sum(value) for value in values]))

    def multiply(self, kind: str, a: Term, b: Term) -> Term:
        if is_float(kind) and self.terms.nodes[a][0] == "atom" == self.terms.nodes[b][0]:
            factors = (a, b) if a < b else (b, a)
            term = self.terms.intern("*", factors)
            self._sums.setdefault(term, {factors: 1})
            return term
        left, right = self._as_sum(a), self._as_sum(b)
        if len(left) * len(right) > self.limit:
            return self._sum_term(kind, {tuple(sorted((a, b))): 1})
        return self._sum_term(kind, product_of(left, right))

    def dot_product(self, kind: str, products: Sequence[tuple[Term, Term]], parts: Sequence[Term]) -> Term:
        """Return a sum of products of two elements of floats each, in order, and of other numbers."""
        intern = self.terms.intern
        terms = [intern("*", factors) for factors in products]
        others = [part for part in parts if part != self._zero]
        if others or len(terms) < 2 or len(set(terms)) < len(terms):
            return self.add(kind, *terms, *others)
        return intern("+", tuple(sorted(terms)))  # as it stands: there is nothing to put together

    def scaled(self, kind: str, factor: int | Fraction, a: Term) -> Term:
        return self._sum_term(kind, {factors: factor * c for factors, c in self._as_sum(a).items()})

    def farthest(self, term: Term) -> int:
        """Return how far from 0 a sum of whole numbers of few bits is at most, as integers or as reals; 2^64 where that
        is not known."""
        found, nodes = 0, self.terms.nodes
        for factors, c in self._as_sum(term).items():
            if c != int(c):
                return 1 << 64
            whole = (nodes[f][1][0] if nodes[f][0].startswith("real.") else f for f in factors)
            found += abs(int(c)) * prod((1 << min(self.ranges.bound(f), 64)) - 1 for f in whole)
        return min(found, 1 << 64)

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
            if value:
                kept[factors] = value
        return self._joined("+", "*", kept, self._sums)

    def _joined(self, outer: str, inner: str, kept: Polynomial, polynomials: dict[Term, Polynomial]) -> Term:
        """Return the term of a polynomial without zeros, and remember that it is its polynomial."""
        neutral, parts, nodes = 1 if inner == "*" else -1, [], self.terms.nodes
        plain = outer == "+" and len(kept) > 1  # then nothing is to be put together
        for factors, coefficient in kept.items():
            key = inner, coefficient.numerator, coefficient.denominator, factors  # that of a fraction is dear to hash
            part = self._products.get(key)
            if part is None:
                value = coefficient if isinstance(coefficient, int) else number(coefficient)
                if (
                    inner == "*"
                    and factors
                    and not any(nodes[f][0] in _PUT_TOGETHER and f not in self._whole for f in factors)
                ):
                    part = self.terms.multiple(value, factors)
                else:
                    constant = () if coefficient == neutral and factors else (self.terms.const(value),)
                    part = self.terms.apply(inner, (*constant, *factors))
                self._products[key] = part
            plain = plain and nodes[part][0] != "+"
            parts.append(part)
        if plain:
            term = self.terms.intern("+", tuple(sorted(parts)))
        else:
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
        if kind[0] == "s" and size - by in (4, 8, 16, 32):
            whole = self._as_sum(a) if self.terms.nodes[a][0] in ("+", "*") else {}
            up = min(((int(c) & -int(c)).bit_length() - 1 for c in whole.values()), default=0)
            op, args = self.terms.nodes[a]
            if up or (size - by == 4 and not (op == "atom" and self.kinds[args[0]][0] == "u")):
                # moved up before, or a digit: fewer bits, extended
                fewer, up = f"s{size - by}", min(up, by)
                low = self._sum_term(kind, {f: c >> up for f, c in whole.items()}) if up else a
                return self.extended(fewer, self.narrowed(fewer, self.shifted_right(f"u{size}", low, by - up)))
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
        if min(bound, size) <= by:
            return self._zero
        if op == "*" and bound <= size:
            shared = min(by, min((int(c) & -int(c)).bit_length() - 1 for c in self._as_sum(factor).values()))
            rest = self._sum_term(kind, {f: c >> shared for f, c in self._as_sum(factor).items()})
            if shared:  # what was moved up before
                return self.shifted_right(f"u{size}", rest, by - shared)
        if op == f"shr.u{size}":
            by, factor = by + self.terms.nodes[args[1]][1][0], args[0]
        return self.quotient(size, factor, by) or self.terms.apply(f"shr.u{size}", (factor, self.terms.const(by)))

    def quotient(self, size: int, factor: Term, by: int) -> Term | None:
        """Return the quotient by a constant that compilers compute as a product moved down; None where it is none.

        With m * d = 2^s + e, m * x / 2^s is x / d and x * e / (d * 2^s) more, which reaches no next whole number if
        x * e < 2^s (Granlund and Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994).
        """
        found = self._part(size, factor)
        if found is None or not found[1]:
            return None
        x, m, s = found[0], found[1], found[2] + by
        d = -(-(1 << s) // m)
        most = (1 << min(self.ranges.bound(x), 32)) - 1
        if (m * d - (1 << s)) * most >= 1 << s or not 2 < d < 1 << 32 or d & d - 1 == 0:
            return None
        return self.terms.apply("floordiv.u32", (x, self.terms.const(signed(d, 32))))

    def _part(self, size: int, term: Term) -> tuple[Term, int, int] | None:
        """Return x, m and s where a number of so many bits is floor(m * x / 2^s), x an unsigned one of 32 bits."""
        nodes = self.terms.nodes
        op, args = nodes[term]
        if op in ("mul.hi.u32:u32", "mul.hi.u64:u64"):
            bits = int(op[-2:])
            for x, m in (args, args[::-1]):
                if nodes[m][0] == "const" and (bits == 32 or self.ranges.bound(x) <= 32):
                    return x, nodes[m][1][0] & (1 << bits) - 1, bits
        if op == "shr.u64":
            inner = self._part(64, args[0])
            return inner and (inner[0], inner[1], inner[2] + nodes[args[1]][1][0])
        total = self._as_sum(term)
        if op == "*" and size == 64:
            ((factors, m),) = total.items()
            x = self._sum_term("u64", {factors: 1})
            bits = self.ranges.bound(x)
            return (x, m, 0) if bits <= 32 and 0 < m < 1 << 64 - bits else None
        if op == "+" and size == 32 and list(total.values()) == [1, 1] and {len(each) for each in total} == {1}:
            # part + (x - part >> 1), the whole of which has a bit more
            for (part,), (half,) in (tuple(total), tuple(total)[::-1]):
                inner, (op, args) = self._part(64, part), nodes[half]
                if not inner or inner[2] != 32 or inner[1] >> 32 or op != "shr.u32" or nodes[args[1]][1] != (1,):
                    continue
                if self._as_sum(args[0]) == {**self._as_sum(inner[0]), (part,): -1}:
                    return inner[0], inner[1] + (1 << 32), 33
        return None
