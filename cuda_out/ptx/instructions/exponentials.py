"""Laws of functions of real numbers: exponentials, logarithms, roots, quotients, and signs.

All are equations of real numbers. What each needs of them:
- exp(a) * exp(b) = exp(a + b), exp(0) = 1, 1 / exp(a) = exp(-a): a and b are numbers, no infinities.
- exp(a - inf) = 0: a is a number.
- 1 / (c * x) = 1 / c * 1 / x: both sides have a value for the same x.
- 1 / s = exp(-a) / (s * exp(-a)), and log(s) = a + log(s * exp(-a)): a is a number. Which, is decided by what does not
  change where a is added to all exponents of s. So a quotient of exponentials, and the logarithm of a sum of them, does
  not depend on what was taken off their exponents: on a maximum, a running one included.
- y / (x + y) = 1 - x / (x + y), 1 / y / (x + y) = (1 / y - 1 / (x + y)) / x: x is a positive number, y one times an
  exponential.
- (a < b ? x : y) = s * exp(-max(a, b)) where x * exp(b) = s = y * exp(a): all are numbers.
- log2(x) = log(x) / log(2), 2^x = exp(x * log(2)), x^2 = x * x, x^-1 = 1 / x, x^0.5 = sqrt(x), rsqrt(x) = 1 / sqrt(x),
  sqrt(x * x) = |x|: both sides have a value for the same x. A factor of x in 2^x that is rounded stands for the number
  that it rounds.
- 1 / (x * y + x * z) = 1 / x * 1 / (y + z); 1 / x * 1 / sqrt(x) = (1 / sqrt(x))^3, and with sqrt(x) in the place of its
  inverse: both sides have a value for the same x. 1 / (x + y)^2 = (1 / (x + y))^2.
- erf, sin, tanh are odd, cos is even; erfc(x) = 1 - erf(x), tanh(x) = 1 - 2 / (1 + exp(2 * x)): for all x.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, isqrt
from typing import Final

from cuda_out.ptx.instructions.infinities import Infinities
from cuda_out.ptx.instructions.polynomials import Factors, Polynomial, product_of
from cuda_out.ptx.instructions.rings import LIMIT
from cuda_out.ptx.instructions.roundings import same_constant
from cuda_out.ptx.kinds import is_float
from symbolic.algebra.terms import Term, Terms

EXP: Final = "exp:f64"
LN2: Final = Fraction("0.693147180559945309417232121458176568075500134360255254120680009")
LN10: Final = Fraction("2.302585092994045684017991454684364207601101488628772976033327900")
_ODD: Final = frozenset(("erf", "sin", "tan", "asin", "atan", "sinh"))
_LOW: Final = frozenset(("-inf", "extended +:f64"))
LONG: Final = isqrt(LIMIT)
"""A sum of more products, whose square would be too long, stays a factor of products, unless all is multiplied out."""
MOST_POWER: Final = 8
"""The largest whole exponent of a power that is a product."""


class Exponentials(Infinities):
    """Products, quotients and functions of real numbers; there is at most one exponential in a product."""

    def __init__(self, terms: Terms, kinds: Mapping[str, str], limits: Mapping[str, int] | None = None) -> None:
        super().__init__(terms, kinds, limits)
        self._exponentials: set[Term] = set()
        self._joined_exponentials: dict[tuple[Term, ...], Term] = {}
        self._parted: dict[Factors, tuple[Term, Factors]] = {}
        self._some: dict[Term, bool] = {}
        self._halves: dict[Term, tuple[Term, Fraction, Fraction]] = {}
        """The quotients 1 / (x + y * exp(a)) where x and y are positive numbers: a, x and y."""
        self._inverses: dict[Term, Term] = {}
        self._roots: dict[Term, Term] = {}
        """The square roots, by what they are of."""
        self._of_radicands: dict[Term, tuple[Term, Term]] = {}
        """Of 1 / x where sqrt(x) occurs: that, and its inverse."""
        self.multiplied_out = False
        """Whether products of long sums are written out, too."""
        self.vanished = 0
        """How many products of exponentials came to a constant, such as exp(100 * x) * exp(-100 * x)."""

    # -- functions -----------------------------------------------------------------------------------------------------

    def function_of(self, name: str, parts: Sequence[Term], kind: str = "f64") -> Term:
        """Return a function of mathematics as `term_name` names it, computed in a float type, of written-out terms."""
        symbol = name.removesuffix(":f64")
        a = parts[0]
        match symbol:
            case "exp":
                return self.exponential(a)
            case "exp2":
                exponents = {f: _unrounded(kind, c) for f, c in self._as_sum(a).items()}
                return self.exponential(self._sum_term("f64", exponents) if self.is_number(a) else a)
            case "expm1":
                return self.add("f64", self.exponential(a), self.terms.const(-1))
            case "log":
                return self.logarithm(a)
            case "log2" | "log10":
                return self.scaled("f64", 1 / (LN2 if symbol == "log2" else LN10), self.logarithm(a))
            case "log1p":
                return self.logarithm(self.add("f64", a, self.terms.const(1)))
            case "rsqrt":
                return self.inverse("f64", self.function_of("sqrt:f64", parts, kind))
            case "erfc":
                return self.add("f64", self.terms.const(1), self.scaled("f64", -1, self.function_of("erf:f64", parts)))
            case "tanh" if self.is_number(a):
                twice = self.exponential(self.scaled("f64", 2, a))
                half = self.inverse("f64", self.add("f64", self.terms.const(1), twice))
                return self.add("f64", self.terms.const(1), self.scaled("f64", -2, half))
            case "pow" if self.terms.is_const(parts[1]):
                found = self._power(a, Fraction(self.terms.nodes[parts[1]][1][0]))
                return self.terms.apply(name, tuple(parts)) if found is None else found
            case "cos":
                return self.terms.apply(name, (min(a, self.scaled("f64", -1, a)),))
            case "sqrt":
                if (whole := self._whole_root(a)) is not None:
                    return whole
                root = self._roots[a] = self.terms.apply(name, (a,))
                self._joins_root(a)
                return root
            case _ if symbol in _ODD and (other := self.scaled("f64", -1, a)) < a:
                return self.scaled("f64", -1, self.terms.apply(name, (other,)))
        return self.terms.apply(name, tuple(parts))

    def _whole_root(self, a: Term) -> Term | None:
        """Return |x| where a number is the square of a product x; None for any other."""
        whole = self._as_sum(a)
        ((factors, c),) = whole.items() if len(whole) == 1 else (((), 0),)
        root = factors[::2]  # they are sorted
        if not root or c != 1 or root != factors[1::2]:
            return None
        half = self._sum_term("f64", {root: 1})
        return self.terms.apply("abs.f64", (min(half, self.scaled("f64", -1, half)),))

    def _power(self, a: Term, exponent: Fraction) -> Term | None:
        if exponent < 0:
            found = self._power(a, -exponent)
            return None if found is None else self.inverse("f64", found)
        if exponent == Fraction(1, 2):
            return self.function_of("sqrt:f64", (a,))
        if exponent.denominator != 1 or exponent > MOST_POWER:
            return None
        found = self.terms.const(1)
        for _ in range(int(exponent)):
            found = self.multiply("f64", found, a)
        return found

    def exponential(self, a: Term) -> Term:
        """Return exp(a)."""
        op, args = self.terms.nodes[a]
        if op == "const" and args[0] == 0:
            return self.terms.const(1)
        if op in _LOW and not self.is_number(a):
            low = [each for each in (args or (a,)) if not self.is_number(each)]
            if all(self.terms.nodes[each][0] == "-inf" for each in low):
                return self._zero
        found = self.terms.apply(EXP, (a,))
        if self.is_number(a):
            self._exponentials.add(found)
        return found

    def logarithm(self, a: Term) -> Term:
        """Return log(a), with what all exponents in a sum have more taken out."""
        if self.terms.nodes[a] == ("const", (1,)):
            return self._zero
        lead = self._lead(a)
        if lead is None:
            return self.terms.apply("log:f64", (a,))
        rest = self.multiply("f64", a, self.exponential(self.scaled("f64", -1, lead)))
        return self.add("f64", lead, self.logarithm(rest))

    # -- products ------------------------------------------------------------------------------------------------------

    def multiply(self, kind: str, a: Term, b: Term) -> Term:
        found = self._multiplied(kind, a, b)
        return found if not self._of_radicands or not is_float(kind) else self._with_roots(kind, found)

    def _with_roots(self, kind: str, product: Term) -> Term:
        """Write 1 / x as the square of 1 / sqrt(x) where it is multiplied with a root of x, or the inverse of that."""
        whole = self._as_sum(product)
        found, changed = Polynomial(), False
        for factors, c in whole.items():
            for each in {*factors} & self._of_radicands.keys():
                root, inverse = self._of_radicands[each]
                if root in factors or inverse in factors:
                    factors = tuple(sorted(x for f in factors for x in ((inverse, inverse) if f == each else (f,))))
                    changed = True
            found[factors] = found.get(factors, 0) + c
        return self._sum_term(kind, found) if changed else product

    def _joins_root(self, a: Term) -> None:
        """Take note that 1 / a and the root of a both occur, if they do."""
        if a in self._roots and a in self._inverses and self._inverses[a] not in self._of_radicands:
            root = self._roots[a]
            self._of_radicands[self._inverses[a]] = root, self.inverse("f64", root)

    def _multiplied(self, kind: str, a: Term, b: Term) -> Term:
        if not is_float(kind):
            return super().multiply(kind, a, b)
        if not self._exponentials or not self._joins(a, b):
            if self.multiplied_out or not (self._is_long(a, b) or self._is_long(b, a)):
                return super().multiply(kind, a, b)
            return self._sum_term(kind, product_of(self._as_factor(a, b), self._as_factor(b, a)))
        left, right = self._as_sum(a), self._as_sum(b)
        if len(left) * len(right) > self.limit:
            return super().multiply(kind, a, b)
        total: Polynomial = {}
        if len(right) == 1 or len(left) == 1:
            ((factors, by),) = (right if len(right) == 1 else left).items()
            for others, c in (left if len(right) == 1 else right).items():
                joined = self._product(others, factors)
                total[joined] = total.get(joined, 0) + c * by
        else:
            for factors, c in product_of(left, right).items():
                joined = self._product(factors, ())
                total[joined] = total.get(joined, 0) + c
        return self._sum_term(kind, self._reduced(total) if self._halves else total)

    def _is_long(self, a: Term, by: Term) -> bool:
        """Tell whether a sum stays a factor of a product, as the mean of a row does in what is normalised by it; one of
        products is scaled by numbers as it is."""
        whole = self._as_sum(a)
        if len(whole) <= LONG or self._has_exponential(a) or not self.is_number(a):
            return False
        return not self.terms.is_const(by) or all(len(factors) < 2 for factors in whole)

    def _as_factor(self, a: Term, by: Term) -> Polynomial:
        """Return a number that is multiplied as a polynomial, a long sum as one factor."""
        if not self._is_long(a, by):
            return self._as_sum(a)
        self._whole.add(a)
        return {(a,): 1}

    def _sum_term(self, kind: str, total: Polynomial) -> Term:
        if self._whole and len(total) > LONG and is_float(kind) and not self.multiplied_out:
            total = self._with_squares(total)
        return super()._sum_term(kind, total)

    def _with_squares(self, total: Polynomial) -> Polynomial:
        """Put products of a long sum with all its summands together to its square: so the sum of squared distances from
        a mean is the sum of squares less that of the mean."""
        found, whole = dict(total), {f for factors in total for f in factors if f in self._whole}
        for square in whole:
            summands = self._as_sum(square)
            first, by = next(iter(summands.items()))
            for factors in [f for f in total if square in f and (not first or first[0] in f)]:
                rest = Counter(factors)
                rest.subtract((square, *first))
                if min(rest.values()) < 0 or factors not in found:
                    continue
                others, ratio = tuple(rest.elements()), found[factors] / Fraction(by)
                products = {tuple(sorted((*each, square, *others))): ratio * c for each, c in summands.items()}
                if all(found.get(each) == c for each, c in products.items()):
                    for each in products:
                        del found[each]
                    product = tuple(sorted((square, square, *others)))
                    found[product] = found.get(product, 0) + ratio
        return found

    def _joins(self, a: Term, b: Term) -> bool:
        """Tell whether a product has two exponentials, or one and a quotient of two summands, one of them that."""
        one, other = self._has_exponential(a), self._has_exponential(b)
        if not (one or other) or not (self.is_number(a) and self.is_number(b)):
            return False
        halves = self._halves.keys()
        return (one and other) or any(not halves.isdisjoint(f) for f in self._as_sum(b if one else a))

    def _reduced(self, total: Polynomial) -> Polynomial:
        """Take powers of e = exp(a) out of what has a factor q = 1 / (x + y * e), until the exponent has no a in it:
        e * q = (1 - x * q) / y, and q / e = (1 / e - y * q) / x."""
        found: Polynomial = {}
        waiting = list(total.items())
        while waiting:
            factors, c = waiting.pop()
            quotient, power = next(
                ((f, k) for f in factors if f in self._halves and (k := self._power_in(factors, f))), (-1, 0)
            )
            if power == 0 or abs(power) > MOST_POWER:
                found[factors] = found.get(factors, 0) + c
                continue
            exponent, x, y = self._halves[quotient]
            rest = list(factors)
            rest.remove(quotient)
            inverse = self._product(tuple(rest), (self.exponential(self.scaled("f64", -1, exponent)),))
            if power > 0:
                with_quotient = tuple(sorted((*inverse, quotient)))
                waiting += [(inverse, _plain(c / y)), (with_quotient, _plain(-c * x / y))]
            else:
                more = self._product(factors, (self.exponential(exponent),))
                waiting += [(tuple(rest), _plain(c / x)), (more, _plain(-c * y / x))]
        return found

    def _power_in(self, factors: Factors, quotient: Term) -> int:
        """Return how often the exponent of a product has that of a quotient in it."""
        own, mine = (self._as_sum(each) for each in (self._halves[quotient][0], self._with_exponent(factors)[0]))
        first = min(own)
        return floor(Fraction(mine.get(first, 0)) / Fraction(own[first]))

    def _has_exponential(self, term: Term) -> bool:
        known = self._some.get(term)
        if known is None:
            exps = self._exponentials
            known = self._some[term] = bool(exps) and any(not exps.isdisjoint(f) for f in self._as_sum(term))
        return known

    def _with_exponent(self, factors: Factors) -> tuple[Term, Factors]:
        """Return the exponent of a product, the sum of its exponentials', and its other factors."""
        found = self._parted.get(factors)
        if found is None:
            mine = [f for f in factors if f in self._exponentials]
            rest = tuple(f for f in factors if f not in self._exponentials) if mine else factors
            exponents = [self.terms.nodes[f][1][0] for f in mine]
            total = exponents[0] if len(mine) == 1 else self.add("f64", *exponents) if mine else self._zero
            found = self._parted[factors] = total, rest
        return found

    def _product(self, one: Factors, two: Factors) -> Factors:
        """Return a product with one exponential."""
        (a, left), (b, right) = self._with_exponent(one), self._with_exponent(two)
        key = a, b
        found = self._joined_exponentials.get(key)
        if found is None:
            found = self._joined_exponentials[key] = self.exponential(self.add("f64", a, b))
        if self.terms.is_const(found):
            self.vanished += a != self._zero and b != self._zero
            return tuple(sorted(left + right))
        return tuple(sorted((*left, *right, found)))

    def rescaled(self, less: Sequence[Term], a: Term, b: Term) -> Term | None:
        """Return what a choice between two values, by which of two others is less, is times the exponential of the
        greater; None where that is not the same in both cases. So the sums of an online softmax that tests whether its
        maximum grows are those of one that takes the maximum."""
        if not (self._has_exponential(a) or self._has_exponential(b)) or not all(map(self.is_number, (*less, a, b))):
            return None
        one, other = (self.multiply("f64", x, self.exponential(y)) for x, y in ((a, less[1]), (b, less[0])))
        return one if one == other else None

    # -- quotients -----------------------------------------------------------------------------------------------------

    def inverse(self, kind: str, a: Term) -> Term:
        found = self._inverses.get(a)
        if found is None:
            found = self._inverses[a] = self._inverse(kind, a)
            self._joins_root(a)
        return found

    def _inverse(self, kind: str, a: Term) -> Term:
        if self.terms.is_const(a) or not self.is_number(a):
            return super().inverse(kind, a)
        whole = self._as_sum(a)
        if len(whole) == 1:
            ((factors, c),) = whole.items()
            if c == 1 and len(factors) == 1 and factors[0] not in self._exponentials:
                return super().inverse(kind, a)
            exponent, rest = self._with_exponent(factors)
            found = self.scaled(kind, _plain(1 / Fraction(c)), self.exponential(self.scaled(kind, -1, exponent)))
            for factor in rest:
                found = self.multiply(kind, found, super().inverse(kind, factor))
            return found
        if common := self._common(whole):
            others = {tuple((Counter(factors) - Counter(common)).elements()): c for factors, c in whole.items()}
            factor = self.inverse(kind, self._sum_term(kind, {common: 1}))
            return self.multiply(kind, factor, self.inverse(kind, self._sum_term(kind, others)))
        lead = self._lead(a)
        if lead is not None:
            factor = self.exponential(self.scaled(kind, -1, lead))
            return self.multiply(kind, factor, self.inverse(kind, self.multiply(kind, a, factor)))
        if (root := self._root_of_square(whole)) is not None:
            one = self.inverse(kind, self._sum_term(kind, root[0]))
            return self.scaled(kind, _plain(1 / root[1]), self.multiply(kind, one, one))
        found, constant = super().inverse(kind, a), whole.get((), 0)
        exponent, rest = self._with_exponent(max(whole, key=len))
        if len(whole) == 2 and not rest and constant > 0 and (by := whole[max(whole, key=len)]) > 0:
            self._halves[found] = exponent, Fraction(constant), Fraction(by)
        return found

    def _root_of_square(self, whole: Polynomial) -> tuple[Polynomial, Fraction] | None:
        """Return x + y * exp(a) with x = 1 and the number that its square is multiplied by in a sum; None for none."""
        parts = {self._with_exponent(factors): (factors, Fraction(c)) for factors, c in whole.items()}
        constant = Fraction(whole.get((), 0))
        if len(parts) != 3 or constant <= 0 or any(rest for _, rest in parts):
            return None
        for (exponent, _), (factors, c) in parts.items():
            _, square = parts.get((self.scaled("f64", 2, exponent), ()), (factors, Fraction(0)))
            if factors and c > 0 and c * c == 4 * constant * square:
                return {(): 1, factors: _plain(c / (2 * constant))}, constant
        return None

    def _common(self, whole: Polynomial) -> Factors:
        """Return the factors, but for exponentials, that all products of a sum have."""
        products = iter(whole)
        found = [factor for factor in next(products) if factor not in self._exponentials]
        for factors in products:
            if not found:
                break
            found = list((Counter(found) & Counter(factors)).elements())
        return tuple(sorted(found))

    def _lead(self, a: Term) -> Term | None:
        """Return the greatest exponent in a sum, None where that is 0 or there is none: the greatest by the coefficient
        of the first product in which exponents differ, so that it is the same one whatever is added to all."""
        if not self._has_exponential(a) or not self.is_number(a):
            return None
        exponents = list(dict.fromkeys(self._with_exponent(factors)[0] for factors in self._as_sum(a)))
        sums = {each: self._as_sum(each) for each in exponents}
        for factors in sorted({factors for each in sums.values() for factors in each}):
            top = max(sums[each].get(factors, 0) for each in exponents)
            exponents = [each for each in exponents if sums[each].get(factors, 0) == top]
            if len(exponents) == 1:
                break
        return exponents[0] if exponents[0] != self._zero else None


def _plain(value: Fraction) -> Fraction | int:
    """Return a number as an integer where it is one, which computes faster."""
    return value.numerator if value.denominator == 1 else value


def _unrounded(kind: str, factor: Fraction | int) -> Fraction:
    """Return a factor of the exponent of 2 as one of an exponential; a number of few bits where it stands for that."""
    found = Fraction(factor) * LN2
    if found == 0:
        return found
    size = abs(found).numerator.bit_length() - abs(found).denominator.bit_length()
    unit = Fraction(2) ** (size - 8)
    near = round(found / unit) * unit
    return near if near and same_constant(kind, factor, near / LN2) else found
