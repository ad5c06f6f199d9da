"""Equations of expressions, decided: by writing out polynomials, by the signs of factors, or by a solver.

Products under maxima and minima are decided by cases: `max(x, y) * p` is the maximum of both products where p is at
least 0, and their minimum where it is not. So where the sign of each name in a product is known, maxima and minima come
to the outside, and what is left is a lattice of polynomials, of which it is known which are ordered: those of different
signs, and products whose factors are in order one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

from swizzle.operators.residues import same_residue
from symbolic.bottom_up import bottom_up
from symbolic.expressions import expression as e
from symbolic.expressions.expression import BUILDERS, FALSE, ONE, TRUE, ZERO, Expression, subexpressions, substituted
from symbolic.expressions.formulas import TRUTH, Answered, Sort, decide
from symbolic.expressions.quotients import TooManyTerms, expanded, same_ratio

MOST_NAMES: Final = 12
MOST_SIGNS: Final = 800
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
    cases = list(itertools.islice(_cases(names, known, below), MOST_SIGNS + 1))
    if len(cases) > MOST_SIGNS:
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
        return expanded(e.multiply(a, b))

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
            found.append(e.less_equal(p, q))
    return [each for each in found if not each.constant]


def _is_atom(node: Expression, some: Sequence[Expression]) -> bool:
    """Tell whether an expression is what maxima and minima are of."""
    parents = [each for one in some for each in subexpressions(one) if each.operator in EXTREMES]
    return node.operator not in EXTREMES and (node in some or any(node in each.arguments for each in parents))


def _by_factors(p: Expression, q: Expression, signs: Signs, below: set[KnownOrder]) -> bool:
    """Tell whether a product is at most another one of the same sign, as its factors are in order, each with one."""
    (a, x), *rest = e.terms(p)
    (b, y), *more = e.terms(q)
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


SECONDS: Final = 5.0
MOST_CASES: Final = 6
MOST_VALUES: Final = 64
MOST_SUMMANDS: Final = 300


def prove(
    claims: Iterable[tuple[Expression, Expression]],
    sorts: Mapping[str, Sort],
    premises: Sequence[Expression] = (),
    infinite: Mapping[str, int] | None = None,
    seconds: float = SECONDS,
) -> Answered:
    """Decide whether both sides of all claims are equal: by writing out polynomials, or by a solver."""
    left = [(a, b) for a, b in claims if a is not b]
    ordered = all(sort.kind != "word" for sort in sorts.values())
    try:
        if not left or _same_polynomials(left, premises, ordered) or _same_lattice(left, premises):
            return Answered("proved")
        values = few_values(premises)
        left = [
            (a, b) for a, b in left
            if not _same_by_values(a, b, values, ordered) and not same_residue(a, b, sorts)
            and not (ordered and not infinite and same_by_signs(a, b, premises, _same_lattice))
        ]  # fmt: skip
        if not left:
            return Answered("proved")
    except TooManyTerms:
        pass
    return decide(left, sorts, premises, infinite=infinite, effort=seconds)


def few_values(premises: Sequence[Expression]) -> dict[str, Sequence[Expression]]:
    """Return the names of which premises say that they are one of some numbers, with these."""
    found: dict[str, Sequence[Expression]] = {}
    for premise in premises:
        for part in premise.arguments if premise.operator == "and" else (premise,):
            if part.operator == "or":
                said = [_values(each) for each in part.arguments]
                for name in sorted(set.intersection(*(set(each) for each in said))):
                    found.setdefault(name, list(dict.fromkeys(each[name] for each in said)))
    return found


def _values(condition: Expression) -> dict[str, Expression]:
    """Return the names that are numbers where a condition holds."""
    parts = condition.arguments if condition.operator == "and" else (condition,)
    flags = dict.fromkeys(parts, TRUE) | {e.negation(part): FALSE for part in parts if part.operator == "not"}
    found = {flag.value: value for flag, value in flags.items() if flag.operator == "name"}
    return found | {name.value: number for part in parts for name, number in value_of_name(part)}


def cases(names: Iterable[str], values: Mapping[str, Sequence[Expression]]) -> list[dict[str, Expression]]:
    """Return all that some names may be together, by the few values of each; none where these are too many."""
    some = [name for name in sorted(names) if name in values]
    if math.prod(len(values[name]) for name in some) > MOST_VALUES:
        return []
    return [dict(zip(some, chosen, strict=True)) for chosen in itertools.product(*(values[name] for name in some))]


def _same_by_values(
    a: Expression, b: Expression, values: Mapping[str, Sequence[Expression]], ordered: bool
) -> bool:  # fmt: skip
    """Tell whether two expressions are one, whichever of their few values the words of a part have.

    So is combining of automata, whatever their states are: with the words of the first part known, either way says
    which words of the second one are asked, and which of the third one by these.
    """
    names = [name for name in sorted(a.names | b.names) if name in values]
    parts = [list(some) for _, some in itertools.groupby(names, lambda name: name.partition(".")[0])]
    for some in parts:
        known, rest = cases(some, values), {} if some is parts[-1] else {n: values[n] for n in names if n not in some}
        sides = ((expanded(substituted(a, case)), expanded(substituted(b, case))) for case in known)
        if known and all(
            _same(one, other, ordered) or _same_by_values(one, other, rest, ordered) for one, other in sides
        ):
            return True
    return False


def _same_lattice(claims: Sequence[tuple[Expression, Expression]], premises: Sequence[Expression]) -> bool:
    """Tell whether both sides are made of `max` and `min` alone, and equal in every order of what these are of that
    the premises allow: those of them that say that such a number is at most another one.

    By the 0-1 principle it is enough that they are equal of conditions, with `or` and `and`: whether a number is above
    a threshold is a condition, and that of a maximum is the `or` of those of its arguments.
    """
    names: set[str] = set()

    def above(node: Expression) -> Expression | None:
        if node.operator not in ("max", "min"):
            if node.truth or any(each.operator in ("max", "min", "select") for each in subexpressions(node)):
                return None
            names.add(repr(node))
            return e.truth_name(repr(node))
        inner = [found for found in map(above, node.arguments) if found is not None]
        return (e.either if node.operator == "max" else e.both)(*inner) if len(inner) == len(node.arguments) else None

    conditions = []
    for pair in claims:
        a, b = map(above, pair)
        if a is None or b is None:
            return False
        conditions.append((a, b))
    given = []
    for premise in premises:
        for part in premise.arguments if premise.operator == "and" else (premise,):
            if part.operator == "<=":
                a, b = map(above, part.arguments)
                given += [e.either(e.negation(a), b)] if a is not None and b is not None else []
    return decide(conditions, dict.fromkeys(names, TRUTH), given, effort=SECONDS).verdict == "proved"


def _same_polynomials(
    claims: Sequence[tuple[Expression, Expression]], premises: Sequence[Expression], ordered: bool
) -> bool:  # fmt: skip
    """Tell whether both sides are the same polynomials, whichever of their conditions hold that premises allow.

    Where a condition says that a name is a number, it is that number.
    """
    atoms: dict[Expression, None] = {}
    for each in (side for claim in claims for side in claim):
        for node in subexpressions(each):
            if node.operator == "select":
                atoms |= dict.fromkeys(_atoms(node.arguments[0]))
    names = {name for atom in atoms for name in atom.names}
    for each in premises:
        atoms |= {atom: None for atom in _atoms(each) if atom.operator == "==" and atom.names <= names}
    if len(atoms) > MOST_CASES:
        return False
    for case in itertools.product((True, False), repeat=len(atoms)):
        known = dict(zip(atoms, case, strict=True))
        numbers = {name.value: number for atom, holds in known.items() if holds for name, number in value_of_name(atom)}

        def under(node: Expression, known: Any = known, numbers: Any = numbers) -> Expression:
            for atom, holds in known.items():
                node = e.decided(node, atom, holds)
            return expanded(substituted(node, numbers))

        if any(under(each) is FALSE for each in premises):
            continue
        if any(substituted(atom, numbers) is e.constant(not holds) for atom, holds in known.items()):
            continue
        if any(not _same(under(one), under(other), ordered) for one, other in claims):
            return False
    return True


def _same(a: Expression, b: Expression, ordered: bool) -> bool:
    """Tell whether two expressions are one polynomial, or one quotient of such; or one maximum of sums, where numbers
    are `ordered` as sums of them are, which words that wrap are not."""
    if a is b or a.truth:
        return a is b
    operators = {node.operator for side in (a, b) for node in subexpressions(side)}
    if "/" in operators:
        return same_ratio(a, b)
    for extreme in {"max", "min"} & operators if ordered else ():
        sides = [_summands(side, extreme) for side in (a, b)]
        if None not in sides and sides[0] == sides[1]:
            return True
    return expanded(e.subtract(a, b)) is ZERO


def _summands(node: Expression, extreme: str) -> dict[Expression, Any] | None:
    """Return what a maximum (or a minimum) of sums is of, each sum as what it is apart from a number, and the number;
    None where it is no such maximum, or of too many."""

    def made(node: Expression, inner: list[dict[Expression, Any] | None]) -> dict[Expression, Any] | None:
        if None in inner or (node.operator == "select" and not node.truth):
            return None
        parts = [each for each in inner if each is not None]
        if node.operator == extreme:
            rows = [(what, number) for each in parts for what, number in each.items()]
        elif node.operator == "+":
            if math.prod(map(len, parts)) > MOST_SUMMANDS:
                return None
            rows = [
                (e.add(*(what for what, _ in some)), sum(number for _, number in some))
                for some in itertools.product(*(each.items() for each in parts))
            ]  # fmt: skip
        elif node.constant:
            rows = [] if node.infinite and (node.value < 0) is (extreme == "max") else [(ZERO, node.value)]
        else:
            inside = any(each.operator in ("max", "min", "select") for each in subexpressions(node))
            return None if inside else {node: 0}
        found: dict[Expression, Any] = {}
        for what, number in rows:
            found[what] = number if what not in found else (max if extreme == "max" else min)(found[what], number)
        return found if len(found) <= MOST_SUMMANDS else None

    return bottom_up(node, lambda node: node.arguments if node.operator in (extreme, "+") else (), made)


def _atoms(condition: Expression) -> Iterable[Expression]:
    """Yield the conditions that one is made of."""
    for node in subexpressions(condition):
        if node.truth and node.operator not in ("and", "or", "not", "constant", "select"):
            yield node


def value_of_name(atom: Expression) -> Iterable[tuple[Expression, Expression]]:
    """Yield the name and the number that a condition says are equal."""
    if atom.operator == "==":
        a, b = atom.arguments
        for name, number in ((a, b), (b, a)):
            if name.operator == "name" and number.constant:
                yield name, number
