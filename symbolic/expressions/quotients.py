"""Expressions as quotients of polynomials: written out, over one divisor, and compared as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any, Final, TypeAlias

from symbolic.bottom_up import bottom_up
from symbolic.expressions.expression import BUILDERS, ONE, ZERO, Expression, add, constant, multiply, negate, power

MOST_TERMS: Final = 1 << 14


class TooManyTerms(ArithmeticError):
    """A product of sums is too long to be written out."""


def expanded(expression: Expression) -> Expression:
    """Return an expression with all products of sums written out; the difference of equal polynomials is zero.

    Raises TooManyTerms where that would be a sum of too many.
    """

    def made(node: Expression, inner: list[Expression]) -> Expression:
        if not node.arguments:
            return node
        if node.operator != "*":
            return BUILDERS[node.operator](*inner)
        found = [ONE]
        for factor in inner:
            summands = factor.arguments if factor.operator == "+" else (factor,)
            if len(found) * len(summands) > MOST_TERMS:
                raise TooManyTerms("a product of too many sums")
            found = [multiply(each, summand) for each in found for summand in summands]
        return add(*found)

    return bottom_up(expression, attrgetter("arguments"), made)


Quotient: TypeAlias = tuple[Expression, Mapping[Expression, int]]
"""A polynomial, and how often each of some others divides it."""


def ratio(expression: Expression) -> tuple[Expression, Expression]:
    """Return an expression as a quotient of polynomials, wherever none of its divisors is zero."""
    over, under = _quotient(expression)
    return over, expanded(_product_of(under))


def _quotient(expression: Expression) -> Quotient:
    def arguments(node: Expression) -> Sequence[Expression]:
        return node.arguments if node.operator in ("+", "*", "/") else ()

    return bottom_up(expression, arguments, _ratio)


def _product_of(powers: Mapping[Expression, int]) -> Expression:
    return multiply(*(power(each, number) for each, number in powers.items()))


def _ratio(node: Expression, inner: list[Quotient]) -> Quotient:
    match node.operator:
        case "+":
            return _over_one(inner)
        case "*":
            tops, bottoms = zip(*inner, strict=True)
            below: dict[Expression, int] = {}
            for each in bottoms:
                for factor, number in each.items():
                    below[factor] = below.get(factor, 0) + number
            return expanded(multiply(*tops)), below
        case "/":
            (top, under), (bottom, over) = inner
            below = dict(under)
            scale: Any = 1
            for factor in bottom.arguments if bottom.operator == "*" else (bottom,):
                if factor.constant and factor is not ZERO:
                    scale /= Fraction(factor.value)
                else:
                    below[factor] = below.get(factor, 0) + 1
            return expanded(multiply(constant(scale), top, _product_of(over))), below
    return node, {}


def _over_one(some: Sequence[Quotient]) -> Quotient:
    """Return a sum of quotients over one divisor."""
    common: dict[Expression, int] = {}
    for _, below in some:
        for factor, number in below.items():
            common[factor] = max(number, common.get(factor, 0))
    missing = [{factor: number - below.get(factor, 0) for factor, number in common.items()} for _, below in some]
    tops = (multiply(top, _product_of(more)) for (top, _), more in zip(some, missing, strict=True))
    return expanded(add(*tops)), common


def same_ratio(a: Expression, b: Expression) -> bool:
    """Tell whether two numbers are equal as quotients of polynomials, wherever none of their divisors is zero."""
    try:
        return _over_one([_quotient(a), _quotient(negate(b))])[0] is ZERO
    except TooManyTerms:
        return False
