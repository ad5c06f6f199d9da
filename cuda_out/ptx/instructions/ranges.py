"""Which bits of an integer term can be set at all: at most so many low ones, and none of so many lowest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cuda_out.ptx.kinds import typed_operator, width
from symbolic.algebra.terms import Term, Terms

UNBOUNDED: Final = 1 << 30


class TermRanges:
    """Bounds of terms over arrays whose elements have the types `kinds`, and are below `limits` where that is declared.

    A bound holds in every wider type too.
    """

    def __init__(self, terms: Terms, kinds: Mapping[str, str], limits: Mapping[str, int]) -> None:
        self.terms, self.kinds, self.limits = terms, kinds, limits
        self._bounds: dict[Term, int] = {}
        self._zeros: dict[Term, int] = {}

    def bound(self, term: Term) -> int:
        """Return n where the value is known to be less than 2^n, and no negative number; else UNBOUNDED."""
        found = self._bounds.get(term)
        if found is None:
            found = self._bounds[term] = self._bound(term)
        return found

    def least(self, terms: Iterable[Term]) -> int:
        """Return the bound of a conjunction."""
        return min(map(self.bound, terms), default=UNBOUNDED)

    def limit(self, term: Term) -> int:
        """Return what an element of index data is below as declared, 0 for other terms."""
        op, args = self.terms.nodes[term]
        name = args[0] if op == "atom" else op[7:].partition(":")[0] if op.startswith("gather ") else ""
        return self.limits.get(name, 0)

    def _bound(self, term: Term) -> int:
        op, args = self.terms.nodes[term]
        if limit := self.limit(term):
            return (limit - 1).bit_length()
        match op:
            case "const":
                return args[0].bit_length() if isinstance(args[0], int) and args[0] >= 0 else UNBOUNDED
            case "atom":
                kind = self.kinds[args[0]]
                return width(kind) if kind[0] == "u" else UNBOUNDED
            case "&":
                return self.least(args)
            case "^":
                return max(map(self.bound, args))
            case "*":
                return min(sum(map(self._factor_bits, args)), UNBOUNDED)
            case "+" if max(map(self.bound, args)) < UNBOUNDED:
                return sum((1 << self.bound(arg)) - 1 for arg in args).bit_length()
        if op.startswith("place of "):
            return max(map(self.bound, args[::2]))
        name, kind = typed_operator(op)
        if name in ("min", "max") and kind[:1] in ("s", "u") and max(map(self.bound, args)) < UNBOUNDED:
            return (min if name == "min" else max)(map(self.bound, args))
        if name == "floordiv" and kind[:1] == "u":
            return min(self.bound(args[0]), width(kind))
        if name == "shr" and kind[:1] == "u":
            return width(kind) - int(self.terms.nodes[args[1]][1][0])
        return int(op[4:]) if op.startswith("bits") else UNBOUNDED

    def _factor_bits(self, term: Term) -> int:
        """Return how many bits a factor adds to a product: a power of two only moves it."""
        op, args = self.terms.nodes[term]
        moves = op == "const" and isinstance(args[0], int) and args[0] > 0 and args[0] & args[0] - 1 == 0
        return self.bound(term) - moves

    def zeros(self, term: Term) -> int:
        """Return how many of the lowest bits are 0."""
        found = self._zeros.get(term)
        if found is None:
            found = self._zeros[term] = self._count(term)
        return found

    def _count(self, term: Term) -> int:
        op, args = self.terms.nodes[term]
        match op:
            case "const" if isinstance(args[0], int):
                return (args[0] & -args[0]).bit_length() - 1 if args[0] else UNBOUNDED
            case "*":
                return sum(map(self.zeros, args))
            case "&":
                return max(map(self.zeros, args))
            case "^" | "+":
                return min(map(self.zeros, args))
            case _:
                return 0

    def apart(self, factors: Sequence[Term]) -> bool:
        """Tell whether a conjunction has no bit that all its factors can have."""
        low = max(map(self.zeros, factors), default=0)
        return low > 0 and low >= self.least(factors)
