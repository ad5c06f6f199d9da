"""Lengths: polynomials over names with exact quotients, the facts that make quotients exact, and their text.

A length is an expression of the house. In its normal form a sum divided by a product of names is a sum of quotients
without common factors, so that equal lengths are equal expressions; a quotient by a sum is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any, Literal

from msgspec import Struct

from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression
from symbolic.expressions.formulas import INTEGER
from symbolic.expressions.meaning import value_of
from symbolic.expressions.quotients import ratio, same_ratio
from symbolic.expressions.text import text_of


class LengthFact(Struct, frozen=True):
    """What an expression needs of its lengths: that `first` divides `second`, or is at most that."""

    kind: Literal["divides", "is at most"]
    first: Expression
    second: Expression

    def __str__(self) -> str:
        return f"{length_text(self.first)} {self.kind} {length_text(self.second)}"

    def holds(self, lengths: Mapping[str, int]) -> bool:
        """Tell whether it holds of lengths of the names."""
        a, b = (length_at(each, lengths) for each in (self.first, self.second))
        return bool(a <= b if self.kind == "is at most" else b % a == 0)


def length(value: int | str | Expression) -> Expression:
    """Return a length: a number, or a name."""
    if isinstance(value, Expression):
        return normal(value)
    return e.number_name(value) if isinstance(value, str) else e.constant(value)


@lru_cache(maxsize=4096)
def normal(given: Expression) -> Expression:
    """Return the normal form of a length.

    >>> n, s = number_name("n"), number_name("s")
    >>> normal(multiply(divide(n, s), s))
    n
    """
    over, under = ratio(given)
    if under is e.ONE:
        return over
    if under.operator == "+":
        return e.constant(1) if over is under else e.divide(over, under)
    return e.add(*(_reduced(coefficient, what, under) for coefficient, what in e.terms(over)))


def _reduced(coefficient: Any, what: Expression, under: Expression) -> Expression:
    above, below = _factors(what), _factors(under)
    common = above & below
    top = e.multiply(e.constant(coefficient), *(above - common).elements())
    bottom = e.multiply(*(below - common).elements())
    return e.divide(top, bottom)


def _factors(product: Expression) -> Counter[Expression]:
    return Counter(product.arguments if product.operator == "*" else [product] if product is not e.ONE else [])


def same_length(a: Expression, b: Expression) -> bool:
    """Tell whether two lengths are equal for all values of their names."""
    return a is b or same_ratio(a, b)


@lru_cache(maxsize=4096)
def quotient(given: Expression, by: Expression) -> Expression:
    """Return the exact quotient."""
    return normal(e.divide(given, by))


@lru_cache(maxsize=4096)
def dividing(by: Expression, given: Expression) -> LengthFact | bool:
    """Return the fact that a size divides a length; True or False where that is decided."""
    if by is e.ONE or same_length(by, given):
        return True
    if by.constant and given.constant:
        return bool(given.value % by.value == 0)
    if is_whole(quotient(given, by)):
        return True
    rest = e.add(
        *(e.multiply(e.constant(c), what) for c, what in e.terms(given) if not is_whole(quotient(_part(c, what), by)))
    )
    if by.constant and rest.constant:
        return bool(rest.value % by.value == 0)
    whole, under = ratio(rest)
    for coefficient, _ in e.terms(whole):
        under = e.multiply(under, e.constant(Fraction(coefficient).denominator))
    return LengthFact("divides", normal(e.multiply(by, under)), normal(e.multiply(rest, under)))


@lru_cache(maxsize=4096)
def whole(given: Expression) -> LengthFact | bool:
    """Return the fact that a size with a quotient in it is a whole number; True or False where that is decided."""
    if given.constant:
        return isinstance(given.value, int)
    over, under = ratio(given)
    under = e.multiply(under, e.constant(lcm(*(Fraction(coefficient).denominator for coefficient, _ in e.terms(over)))))
    return True if is_whole(given) else dividing(under, normal(e.multiply(given, under)))


def _part(coefficient: Any, what: Expression) -> Expression:
    return e.multiply(e.constant(coefficient), what)


def is_whole(given: Expression) -> bool:
    """Tell whether a length is a sum of whole multiples of products, which are whole."""
    return all(
        isinstance(coefficient, int) and all(each.operator == e.NAME for each in _factors(what))
        for coefficient, what in e.terms(given)
    )


@lru_cache(maxsize=4096)
def at_most(a: Expression, b: Expression) -> LengthFact | bool:
    """Return the fact that a length is at most another; True or False where that is decided: lengths are at least 0."""
    rest = normal(e.subtract(b, a))
    if rest.constant:
        return bool(rest.value >= 0)
    if all(Fraction(coefficient) >= 0 for coefficient, _ in e.terms(rest)):
        return True
    return LengthFact("is at most", a, b)


def length_at(given: Expression, lengths: Mapping[str, int]) -> Any:
    """Return the number that a length is."""
    found = value_of(given, lengths, dict.fromkeys(given.names, INTEGER))
    return int(found) if found == int(found) else found


@lru_cache(maxsize=4096)
def length_text(given: Expression) -> str:
    """Return the text of a length.

    >>> length_text(quotient(add(number_name("n"), constant(-2)), constant(8)))
    '(n - 2) / 8'
    """
    parts = [_part(coefficient, what) for coefficient, what in e.terms(given)]
    whole, rest = e.add(*filter(is_whole, parts)), e.add(*(each for each in parts if not is_whole(each)))
    over, under = ratio(rest)
    below = e.multiply(under, e.constant(lcm(*(Fraction(coefficient).denominator for coefficient, _ in e.terms(over)))))
    over = normal(e.multiply(rest, below))
    if over is e.ZERO:
        return text_of(whole)
    top, bottom = (
        f"({text_of(each)})" if each.operator in kinds else text_of(each)
        for each, kinds in ((over, "+"), (below, "+*"))
    )
    text = f"{top} / {bottom}"
    return (
        text
        if whole is e.ZERO
        else f"{text} - {text_of(e.negate(whole))}"
        if e.terms(whole)[0][0] < 0
        else f"{text} + {text_of(whole)}"
    )


def needed(facts: Iterable[LengthFact]) -> list[LengthFact]:
    """Return facts in a fixed order without those that another one of them says, too: 8 divides n, so 4 does."""
    some = sorted(set(facts), key=str)
    return [fact for fact in some if not any(other is not fact and _says(other, fact) for other in some)]


def _says(fact: LengthFact, other: LengthFact) -> bool:
    if fact.kind != other.kind or fact.second is not other.second:
        return False
    if fact.kind == "divides":
        return is_whole(quotient(fact.first, other.first))
    return at_most(other.first, fact.first) is True


def facts_text(facts: Iterable[LengthFact]) -> list[str]:
    """Return needed facts as texts."""
    return [str(fact) for fact in needed(facts)]
