"""Comparisons of numbers that are known to be finite or small, and which of some numbers is the greatest.

A choice between two places by which of two numbers is greater is the place of the greater one. Where both are equal, it
is that of the one that is chosen then: the first one, if its places are before all of the other one's, or if the choice
asks for that.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TypeAlias

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import is_float, width
from symbolic.algebra.terms import Term, Terms

_Numbers: TypeAlias = Mapping[int, Term]
"""The numbers of which one is extreme, by their places."""


class KnownComparisons(Normal):
    """Arithmetic on written-out terms where choices may give the place of an extreme number."""

    def __init__(self, terms: Terms, kinds: Mapping[str, str], limits: Mapping[str, int] | None = None) -> None:
        super().__init__(terms, kinds, limits)
        self.finite = False
        """Whether no element of an array is infinite."""
        self._extremes: dict[Term, list[tuple[str, Term, _Numbers]]] = {}
        """Of places: whether of a minimum or a maximum, that, and all numbers; of two places they may be either's."""

    def less(self, kind: str, a: Term, b: Term) -> Term:
        """Return whether a value is less than another; of finite ones whether they are in order with an infinity."""
        for bound, other, below in ((a, b, "-inf"), (b, a, "inf")) if self.finite and is_float(kind) else ():
            if (op := self.terms.nodes[bound][0]) in ("inf", "-inf") and self.is_number(other):
                return self.terms.const(-(op == below))
        return super().less(*self._compared_in(kind, a, b))

    def equal(self, kind: str, a: Term, b: Term) -> Term:
        """Return whether two values are equal; no finite one is an infinity."""
        bounds = {self.terms.nodes[each][0] for each in (a, b)} & {"inf", "-inf"}
        if self.finite and is_float(kind) and bounds and self.is_number(a) != self.is_number(b):
            return self.terms.const(0)
        return super().equal(*self._compared_in(kind, a, b))

    def _compared_in(self, kind: str, a: Term, b: Term) -> tuple[str, Term, Term]:
        """Return the type in which two values are compared: of integers that 31 bits hold, that of 32 with a sign."""
        size, nodes = width(kind), self.terms.nodes
        if kind[0] not in "bsu" or size not in (8, 16, 32) or kind in ("b32", "s32"):
            return kind, a, b
        if kind[0] == "u" and size < 32:
            a, b = (
                self.terms.const(nodes[each][1][0] & (1 << size) - 1) if self.terms.is_const(each) else each
                for each in (a, b)
            )

        def has_sign(term: Term) -> bool:
            op, args = nodes[term]
            own = self.kinds[args[0]] if op == "atom" else "b64"
            constant = op == "const" and -(1 << size - 1) <= args[0] < 1 << size - 1
            return constant or self.ranges.bound(term) < size or (own[0] == "s" and width(own) <= size)

        natural = all(self.ranges.bound(each) <= min(size, 31) for each in (a, b))
        return ("s32" if natural or (kind[0] != "u" and has_sign(a) and has_sign(b)) else kind), a, b

    def select(self, kind: str, condition: Term, a: Term, b: Term) -> Term:
        """Return `a` where the condition holds, else `b`."""
        condition = self._where_they_differ(kind, condition, a, b)
        if not is_float(kind) and a != b:
            if () in self._as_masks(condition):
                condition, a, b = self.inverted("pred", condition), b, a
            if (place := self._place(kind, condition, a, b)) is not None:
                return place
        return super().select(kind, condition, a, b)

    def _where_they_differ(self, kind: str, condition: Term, a: Term, b: Term) -> Term:
        """Return the condition of a choice between two values without what it says of them where they are equal."""
        nodes, parts = self.terms.nodes, self._as_masks(condition)

        def equal(factor: Term) -> bool:
            op, args = nodes[factor]
            return op.startswith("eq.") and width(op[3:]) >= width(kind) and {*args} == {a, b}

        kept = {factors: mask for factors, mask in parts.items() if not any(map(equal, factors))}
        return condition if len(kept) == len(parts) else self._mask_term("pred", kept)

    def _place(self, kind: str, condition: Term, a: Term, b: Term) -> Term | None:
        """Return the place that a choice between two is, None for what is none of an extreme number. Of two numbers it
        stays a choice: it may be any."""
        if not all(each in self._extremes or self.terms.is_const(each) for each in (a, b)):
            return None
        nodes, alone = self.terms.nodes, [factors[0] for factors in self._as_masks(condition) if len(factors) == 1]
        compared = [nodes[factor] for factor in alone if nodes[factor][0].startswith("lt.f")]
        if len(compared) != 1:
            return None
        ((op, sides),) = compared
        found = list[tuple[str, Term, _Numbers]]()
        for name, (number, other) in (("max", sides[::-1]), ("min", sides)):
            for mine, others in itertools.product(self._numbers(name, a, number), self._numbers(name, b, other)):
                after, before = min(mine) - max(others), min(others) - max(mine)
                if not mine.keys() & others.keys() and self._is_first(op[3:], condition, sides, (a, b), after, before):
                    both: _Numbers = dict(sorted({**mine, **others}.items()))
                    found.append((name, self.extreme(name, op[3:], number, other), both))
        if not found:
            return None
        name, _, numbers = found[0]
        args = [part for place, value in numbers.items() for part in (self.terms.const(place), value)]
        if len(numbers) == 2:
            pair = args[1::2] if name == "max" else args[:0:-2]
            place = super().select(kind, self.less(op[3:], *pair), args[2], args[0])
        else:
            place = self.terms.apply(f"place of {name}", tuple(args))
        self._extremes.setdefault(place, found)
        return place

    def _numbers(self, name: str, place: Term, number: Term) -> list[_Numbers]:
        """Return the numbers of which one is at a place, if the extreme one is the number that is compared."""
        op, args = self.terms.nodes[place]
        if op == "const":
            return [{int(args[0]): number}] if args[0] >= 0 else []
        return [numbers for head, most, numbers in self._extremes[place] if (head, most) == (name, number)]

    def _is_first(
        self, kind: str, condition: Term, sides: tuple[Term, Term], places: tuple[Term, Term], after: int, before: int
    ) -> bool:
        """Tell whether a choice gives the first of two places where the numbers are equal; `after` and `before` are how
        far the chosen one's are behind the others and before them."""
        less, equal = self.less(kind, *sides), self.equal(kind, *sides)
        if condition == less:
            return after > 0
        nodes = self.terms.nodes
        asked = {nodes[factor][0] for factors in self._as_masks(condition) for factor in factors}
        orders = [self.less(op[3:], *places) for op in asked if op.startswith(("lt.s", "lt.u"))]
        orders += [self.terms.const(-1)] if before > 0 else []
        return any(condition == self.disjunction("pred", less, self.conjunction("pred", equal, o)) for o in orders)
