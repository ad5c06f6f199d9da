"""Equality case by case: each comparison that choices depend on holds, or it does not.

Terms whose choices stand in different places (`1 / (c ? a : b)` and `c ? 1 / a : 1 / b`) are other terms, and equal if
they are so in both cases. What a case says of a comparison is put in its place, and all above it is written out anew.
A case that no numbers have, as x < 1 and 2 < x, is left out: comparisons of the same sum with numbers bound it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.polynomials import Factors
from cuda_out.ptx.instructions.rings import LIMIT
from cuda_out.ptx.kinds import is_float
from symbolic.algebra.terms import Term

MOST: Final = 4 * LIMIT
"""Monomials of a product where long sums are multiplied out."""
MOST_CASES: Final = 256
"""So many cases are looked at for two terms."""
_Facts: TypeAlias = "Mapping[Term, tuple[bool, bool]]"
"""Comparisons, whether each holds, and whether its sides are known to be unequal."""
_Sum: TypeAlias = "frozenset[tuple[Factors, Fraction]]"
_Bounds: TypeAlias = "defaultdict[_Sum, list[tuple[Fraction, bool]]]"
Same: TypeAlias = Callable[[Term, Term], bool]


class CaseSplit:
    """Compares terms of one table; `same` tells whether two are equal without cases."""

    def __init__(self, normal: Normal, same: Same) -> None:
        self.normal, self.same = normal, same
        self._left = 0

    def equal(self, a: Term, b: Term) -> bool:
        """Tell whether two terms are equal in all cases."""
        self._left = MOST_CASES
        return self._decides(a, b) is not None and self._equal(a, b, {})

    def _equal(self, a: Term, b: Term, facts: _Facts) -> bool:
        self._left -= 1
        decides = self._decides(a, b)
        if decides is None or self._left < 0:
            return a == b or self.same(a, b)
        condition, tie = decides
        outcomes = [o for o in (True, False) if self._possible({**facts, condition: (o, o or tie)})]
        for outcome in outcomes or [True]:
            case, known = _Case(self.normal, condition, outcome), {**facts, condition: (outcome, outcome and not tie)}
            if not self._equal(case.written_out(a), case.written_out(b), known):
                return False
        return True

    def _decides(self, *terms: Term) -> tuple[Term, bool] | None:
        """Return a comparison on which a choice, minimum, maximum or absolute value in some terms depends, one that has
        none in it, and whether it makes no difference which of two equal values counts as less."""
        nodes, seen, waiting = self.normal.terms.nodes, set(terms), list(terms)
        chosen, greatest = set[Term](), set[Term]()
        while waiting:
            op, args = nodes[waiting.pop()]
            inner = [] if op in ("atom", "const") else [arg for arg in args if isinstance(arg, int)]
            if op.startswith("select."):
                chosen |= self._comparisons(args[0])
            elif op.startswith(("min.f", "max.f")) and len(args) == 2:
                greatest |= self._comparisons(self.normal.less("f64", *args))
            elif op.startswith("abs.f"):
                greatest |= self._comparisons(self.normal.less("f64", args[0], self.normal.terms.const(0)))
            new = set(inner) - seen
            seen |= new
            waiting += new
        found = min(chosen | greatest, default=None)
        return None if found is None else (found, found not in chosen)

    def _comparisons(self, condition: Term) -> set[Term]:
        nodes, found, waiting = self.normal.terms.nodes, set[Term](), [condition]
        while waiting:
            term = waiting.pop()
            op, args = nodes[term]
            if op in ("^", "&"):
                waiting += args
            elif op.startswith(("lt.", "eq.")):
                found.add(term)
        return found

    def _possible(self, facts: _Facts) -> bool:
        """Tell whether comparisons of the same sum of real numbers with numbers leave it a value."""
        low: _Bounds = defaultdict(list)
        high: _Bounds = defaultdict(list)
        for fact, (outcome, strict) in facts.items():
            op, (a, b) = self.normal.terms.nodes[fact]
            if not is_float(op[3:]) or (op.startswith("eq.") and not outcome):
                continue
            strict = strict and op.startswith("lt.")
            total = dict(self.normal.difference(a, b))
            bound = -Fraction(total.pop((), 0))
            first = min(total, default=None)
            if first is None:
                continue
            scale = Fraction(total[first])
            key = frozenset((factors, Fraction(c) / scale) for factors, c in total.items())
            bound /= scale
            below = (outcome == (scale > 0)) if op.startswith("lt.") else None
            if below is not False:
                high[key].append((bound, strict))
            if below is not True:
                low[key].append((bound, strict))
        return not any(
            least > most or (least == most and (above or under))
            for key in low.keys() & high.keys()
            for least, above in low[key]
            for most, under in high[key]
        )


class _Again:
    """Terms written out anew."""

    def __init__(self, normal: Normal) -> None:
        self.normal = normal
        self._known: dict[Term, Term] = {}

    def written_out(self, term: Term) -> Term:
        waiting, known, nodes = [term], self._known, self.normal.terms.nodes
        while waiting:
            part = waiting[-1]
            op, args = nodes[part]
            inner = [] if op in ("atom", "const") else [arg for arg in args if isinstance(arg, int)]
            if part in known:
                waiting.pop()
            elif missing := [arg for arg in inner if arg not in known]:
                waiting += missing
            else:
                waiting.pop()
                known[part] = self._written_out(part, [known[arg] for arg in inner])
        return known[term]

    def _written_out(self, term: Term, parts: list[Term]) -> Term:
        normal = self.normal
        op, args = normal.terms.nodes[term]
        head, _, kind = op.partition(".")
        if not parts or (parts == list(args) and head != "*"):
            return term
        real = normal.is_real(term)
        match head:
            case "+":
                return normal.add("f64" if real else "s64", *parts)
            case "*":
                total = parts[0]
                for part in parts[1:]:
                    total = normal.multiply("f64" if real else "s64", total, part)
                return total
            case "^":
                return normal.exclusive_or("b64", *parts)
            case "&":
                total = parts[0]
                for part in parts[1:]:
                    total = normal.conjunction("b64", total, part)
                return total
            case "select":
                return normal.select(kind, *parts)
            case "inverse":
                return normal.inverse("f64", parts[0])
            case "min" | "max":
                total = parts[0]
                for part in parts[1:]:
                    total = normal.extreme(head, kind, total, part)
                return total
            case "abs":
                return normal.absolute(kind, parts[0])
            case "lt":
                return normal.less(kind, *parts)
            case "eq":
                return normal.equal(kind, *parts)
            case "float":
                return normal.of_kind(f"f{kind}", parts[0])
            case "to_f16" | "to_f32" | "to_f64" | "to_bf16":
                return normal.rounded(head[3:], parts[0])
            case "real":
                return normal.real_of(kind, parts[0])
            case _ if op.endswith(":f64"):
                return normal.function_of(op, parts)
            case _:
                return normal.terms.apply(op, parts)


class MultipliedOut(_Again):
    """Terms in which products of long sums are written out."""

    def written_out(self, term: Term) -> Term:
        before = self.normal.multiplied_out, self.normal.limit
        self.normal.multiplied_out, self.normal.limit = True, MOST
        found = super().written_out(term)
        self.normal.multiplied_out, self.normal.limit = before
        return found


class _Case(_Again):
    """Terms written out where one comparison holds, or does not."""

    def __init__(self, normal: Normal, condition: Term, outcome: bool) -> None:
        super().__init__(normal)
        self.outcome = outcome
        self._op, self._sides = normal.terms.nodes[condition]
        self._known_outcome = normal.terms.const(-1 if outcome else 0)
        self._known[condition] = self._known_outcome

    def _written_out(self, term: Term, parts: list[Term]) -> Term:
        head, _, kind = self.normal.terms.nodes[term][0].partition(".")
        if head == "lt" and is_float(kind) and self._op.startswith("lt.f") and tuple(parts) == self._sides:
            return self._known_outcome
        if head in ("min", "max"):
            less, other = self._sides if self.outcome else self._sides[::-1]
            compared = self._op.removeprefix("lt.")
            if (compared == kind or (is_float(compared) and is_float(kind))) and {less, other} <= set(parts):
                parts = [part for part in parts if part != (less if head == "max" else other)]
        found = parts[0] if head in ("min", "max") and len(parts) == 1 else super()._written_out(term, parts)
        return self._absolute(found)

    def _absolute(self, term: Term) -> Term:
        """Return |x| of an x whose sign is known without its bars."""
        op, args = self.normal.terms.nodes[term]
        zero = self.normal.terms.const(0)
        if not op.startswith("abs.f") or not self._op.startswith("lt.f"):
            return term
        for value in (args[0], self.normal.scaled("f64", -1, args[0])):
            if self._sides == (value, zero):
                return self.normal.scaled("f64", -1, value) if self.outcome else value
            if self._sides == (zero, value):
                return value if self.outcome else self.normal.scaled("f64", -1, value)
        return term
