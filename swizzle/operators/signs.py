"""Equations of products under maxima and minima, decided by cases: the sign of each factor.

`max(x, y) * p` is the maximum of both products where p is at least 0, and their minimum where it is not. So where the
sign of each name in a product is known, maxima and minima come to the outside, and what is left is a lattice of
polynomials, of which it is known which are ordered: those of different signs, and products whose
factors are in order one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

from symbolic.bottom_up import bottom_up
from symbolic.expressions.expression import BUILDERS, ONE, Expression, less_equal, multiply, subexpressions, terms
from symbolic.expressions.quotients import expanded

MOST_NAMES: Final = 12
MOST_CASES: Final = 800
MOST_FACTORS: Final = 4
EXTREMES: Final = ("max", "min")
Signs: TypeAlias = Mapping[str, int]
KnownOrder: TypeAlias = tuple[Expression, Expression]
Claims: TypeAlias = Sequence[tuple[Expression, Expression]]


class _UnknownSign(Exception):
    """A maximum is multiplied by what may have either sign."""


def same_by_signs(
    a: Expression, b: Expression, premises: Sequence[Expression], same: Callable[[Claims, Sequence[Expression]], bool]
) -> bool:
    """Tell whether two numbers are equal, whatever the signs of their factors are; `same` decides lattices."""
    nodes = [node for side in (a, b) for node in subexpressions(side)]
    if a.truth or any(node.operator not in (*EXTREMES, "+", "*", "name", "constant") for node in nodes):
        return False
    names = sorted({name for node in nodes if _is_product(node) for name in node.names})
    if not names or len(names) > MOST_NAMES:
        return False
    parts = [part for each in premises for part in (each.arguments if each.operator == "and" else (each,))]
    known = [part for part in parts if part.operator == "<="]
    below = {(p, q) for p, q in (each.arguments for each in known)}
    cases = list(itertools.islice(_cases(names, known, below), MOST_CASES + 1))
    if len(cases) > MOST_CASES:
        return False
    try:
        for signs in cases:
            one, other = (_lattice(side, signs) for side in (a, b))
            if one is not other and not same([(one, other)], [*_ordered([one, other], signs, below), *known]):
                return False
    except _UnknownSign:
        return False
    return True


def multiplies(node: Expression) -> bool:
    """Tell whether maxima or minima, and products of what is no number alone, are in an expression."""
    inner = list(subexpressions(node))
    return any(map(_is_product, inner)) and any(each.operator in EXTREMES for each in inner)


def _is_product(node: Expression) -> bool:
    return node.operator == "*" and not (node.arguments[0].constant and len(node.arguments) == 2)


def _cases(names: Sequence[str], known: Sequence[Expression], below: set[KnownOrder]) -> Iterator[dict[str, int]]:
    """Yield a sign for each name, 1 of at least 0 and -1 of at most 0, as far as premises allow."""
    fixed: dict[str, int] = {}
    for p, q in (each.arguments for each in known):
        if p.constant and p.value >= 0 and q.operator == "name":
            fixed[q.value] = 1
        elif q.constant and q.value <= 0 and p.operator == "name":
            fixed[p.value] = -1

    pairs = [(p, q) for p, q in below if p.operator == q.operator == "name"]

    def extended(signs: dict[str, int]) -> Iterator[dict[str, int]]:
        if len(signs) == len(names):
            yield {**fixed, **signs}
            return
        name = names[len(signs)]
        for sign in (1, -1):
            made = {**signs, name: sign}
            fits = fixed.get(name, sign) == sign
            if fits and all(
                made.get(p.value, -1) <= made.get(q.value, 1) for p, q in pairs if name in (p.value, q.value)
            ):
                yield from extended(made)

    return extended({})


def _sign(node: Expression, signs: Signs) -> int | None:
    """Return the sign of an expression, 1 of at least 0; None where it may have either."""
    if node.constant:
        return 1 if node.value >= 0 else -1
    if node.operator == "name":
        return signs.get(node.value)
    inner = [_sign(each, signs) for each in node.arguments]
    if node.operator in EXTREMES:
        wins = 1 if node.operator == "max" else -1
        return wins if wins in inner else -wins if None not in inner else None
    if node.operator == "*":
        return None if None in inner else reduce(lambda p, q: p * q, (each for each in inner if each is not None))
    return inner[0] if len(set(inner)) == 1 else None


def _lattice(node: Expression, signs: Signs) -> Expression:
    """Return an expression as maxima and minima of polynomials."""

    def extreme(operator: str, some: Sequence[Expression]) -> Expression:
        wins = 1 if operator == "max" else -1
        kept = [each for each in some if _sign(each, signs) != -wins]
        above = any(_sign(each, signs) == wins for each in some)
        return BUILDERS[operator](*(kept if above else some))

    def plus(a: Expression, b: Expression) -> Expression:
        for one, other in ((a, b), (b, a)):
            if one.operator in EXTREMES:
                return extreme(one.operator, [plus(each, other) for each in one.arguments])
        return expanded(BUILDERS["+"](a, b))

    def times(a: Expression, b: Expression) -> Expression:
        for one, other in ((a, b), (b, a)):
            if one.operator in EXTREMES:
                sign = _sign(other, signs)
                if sign is not None:
                    turned = one.operator if sign > 0 else EXTREMES[one.operator == "max"]
                    return extreme(turned, [times(each, other) for each in one.arguments])
        if a.operator in EXTREMES or b.operator in EXTREMES:
            raise _UnknownSign
        return expanded(multiply(a, b))

    def made(node: Expression, inner: list[Expression]) -> Expression:
        if not inner:
            return node
        if node.operator in EXTREMES:
            return extreme(node.operator, inner)
        return reduce(plus if node.operator == "+" else times, inner)

    return bottom_up(node, lambda node: node.arguments, made)


def _ordered(some: Sequence[Expression], signs: Signs, below: set[KnownOrder]) -> list[Expression]:
    """Return which of the polynomials in lattices are at most which others."""
    atoms = [
        node for node in dict.fromkeys(each for one in some for each in subexpressions(one)) if _is_atom(node, some)
    ]  # fmt: skip
    found = []
    for p, q in itertools.permutations(atoms, 2):
        apart = (_sign(p, signs), _sign(q, signs)) == (-1, 1)
        if apart or _by_factors(p, q, signs, below):
            found.append(less_equal(p, q))
    return [each for each in found if not each.constant]


def _is_atom(node: Expression, some: Sequence[Expression]) -> bool:
    """Tell whether an expression is what maxima and minima are of."""
    parents = [each for one in some for each in subexpressions(one) if each.operator in EXTREMES]
    return node.operator not in EXTREMES and (node in some or any(node in each.arguments for each in parents))


def _by_factors(p: Expression, q: Expression, signs: Signs, below: set[KnownOrder]) -> bool:
    """Tell whether a product is at most another one of the same sign, as its factors are in order, each with one."""
    (a, x), *rest = terms(p)
    (b, y), *more = terms(q)
    if rest or more or a != b or (sign := _sign(p, signs)) is None or sign != _sign(q, signs):
        return False
    mine, its = (list(each.arguments) if each.operator == "*" else [each] for each in (x, y))
    for factor in list(mine):
        if factor in its:
            mine.remove(factor)
            its.remove(factor)
    if sign < 0:
        mine, its = its, mine  # of negative ones the one of the smaller size is the greater
    size = max(len(mine), len(its))
    if size > MOST_FACTORS:
        return False
    mine, its = ([*some, *[ONE] * (size - len(some))] for some in (mine, its))

    def smaller(one: Expression, other: Expression) -> bool:
        mine, its = _sign(one, signs), _sign(other, signs)
        pair = (one, other) if mine == 1 else (other, one)
        return mine == its is not None and (one is other or pair in below)

    return any(all(map(smaller, mine, some)) for some in itertools.permutations(its))
