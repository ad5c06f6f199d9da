"""Infinities and NaN among real numbers: no elements of a ring, so nothing that has one cancels or is multiplied out.

What holds of them: sums and products of any order are the same; the least and the greatest of all are what a maximum
and a minimum start from, and what they end at. What else is made of them is a function of its operands, equal to
itself, and a comparison with it has an outcome of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from cuda_out.ptx.instructions.rings import Rings
from cuda_out.ptx.kinds import is_float
from symbolic.algebra.exact import exact, number
from symbolic.algebra.terms import Term, Terms

_BOUNDS: Final = frozenset(("inf", "-inf"))


class Infinities(Rings):
    """Sums, products and extremes of floats, some of which may be infinite or no number."""

    def __init__(self, terms: Terms, kinds: Mapping[str, str], limits: Mapping[str, int] | None = None) -> None:
        super().__init__(terms, kinds, limits)
        self._real_numbers: dict[Term, bool] = {}
        self._met = False
        self._compared = 0

    def real(self, value: float | Fraction) -> Term:
        """Return a number as a term, or what is none."""
        if isinstance(value, float) and not np.isfinite(value):
            self._met = True
            return self.terms.apply(str(value), ())
        return self.terms.const(number(Fraction(value)))

    def inverse(self, kind: str, a: Term) -> Term:
        """Return 1 / a over the reals."""
        op, args = self.terms.nodes[a]
        if op == "const" and args[0] != 0:
            return self.real(1 / Fraction(args[0]))
        self._met |= op == "const"
        return args[0] if op == "inverse" and self.is_number(args[0]) else self.terms.apply("inverse", (a,))

    def is_number(self, term: Term) -> bool:
        """Tell whether a value has no infinity, NaN or quotient by 0 in it."""
        known = self._real_numbers
        waiting = [term] if self._met and term not in known else []
        while waiting:
            part = waiting[-1]
            op, args = self.terms.nodes[part]
            inner = () if op in ("atom", "const") else args
            if part in known or (missing := [arg for arg in inner if isinstance(arg, int) and arg not in known]) == []:
                divides = op == "inverse" and self.terms.nodes[args[0]] == ("const", (0,))
                here = op in _BOUNDS or op == "nan" or divides
                known.setdefault(part, not here and all(known[arg] for arg in inner if isinstance(arg, int)))
                waiting.pop()
            else:
                waiting += missing
        return not self._met or known[term]

    def is_ordered(self, term: Term) -> bool:
        """Tell whether a value is a number or one of the infinities, so that comparisons with it are what they say."""
        return self.is_number(term) or self.terms.nodes[term][0] in _BOUNDS

    def add(self, kind: str, *values: Term) -> Term:
        if self._met and is_float(kind) and not all(map(self.is_number, values)):
            return self._extended("+", kind, values)
        return super().add(kind, *values)

    def multiply(self, kind: str, a: Term, b: Term) -> Term:
        if self._met and is_float(kind) and not (self.is_number(a) and self.is_number(b)):
            for factor, other in ((a, b), (b, a)):
                if self.terms.is_const(factor) and factor != self._zero:
                    return self.scaled(kind, exact(self.terms.nodes[factor][1][0]), other)
            return self._extended("*", kind, (a, b))
        return super().multiply(kind, a, b)

    def scaled(self, kind: str, factor: int | Fraction, a: Term) -> Term:
        bound = self.terms.nodes[a][0]
        if bound in _BOUNDS and factor != 0:
            return self.real(float(bound) if factor > 0 else -float(bound))
        return super().scaled(kind, factor, a)

    def _extended(self, op: str, kind: str, values: tuple[Term, ...]) -> Term:
        """Return a sum or product of numbers and others: all numbers together are one of its operands."""
        name, nodes = f"extended {op}:f64", self.terms.nodes
        flat = [part for value in values for part in (nodes[value][1] if nodes[value][0] == name else (value,))]
        others, neutral = sorted(part for part in flat if not self.is_number(part)), self.terms.const(int(op == "*"))
        numbers = neutral
        for part in flat:
            if self.is_number(part):
                numbers = self.add(kind, numbers, part) if op == "+" else self.multiply(kind, numbers, part)
        if numbers != neutral:
            others.append(numbers)
        return others[0] if len(others) == 1 else self.terms.apply(name, tuple(others))

    def cancels(self, total: Term, parts: Sequence[Term]) -> bool:
        """Tell whether a part of some sums, or a product in one, is in what they come to no more."""
        if not any(parts):
            return False
        kept = self._as_sum(total)
        return any(not kept.keys() >= self._as_sum(part).keys() - {()} for part in parts if part)

    def unknown_outcome(self, *compared: Term) -> Term:
        """Return the outcome of a comparison with what may be no number: one of which nothing is known."""
        self._compared += 1
        return self.terms.apply("compared:pred", (*compared, self.terms.const(self._compared)))
