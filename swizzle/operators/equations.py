"""Equations of expressions, decided: by writing out polynomials, or by a solver."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from swizzle.operators.residues import same_residue
from swizzle.operators.signs import same_by_signs
from symbolic.bottom_up import bottom_up
from symbolic.expressions.expression import (
    FALSE,
    TRUE,
    ZERO,
    Expression,
    add,
    both,
    constant,
    decided,
    either,
    negation,
    subexpressions,
    substituted,
    subtract,
    truth_name,
)
from symbolic.expressions.formulas import TRUTH, Answered, Sort, decide
from symbolic.expressions.quotients import TooManyTerms, expanded, same_ratio

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
    flags = dict.fromkeys(parts, TRUE) | {negation(part): FALSE for part in parts if part.operator == "not"}
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
            return truth_name(repr(node))
        inner = [found for found in map(above, node.arguments) if found is not None]
        return (either if node.operator == "max" else both)(*inner) if len(inner) == len(node.arguments) else None

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
                given += [either(negation(a), b)] if a is not None and b is not None else []
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
                node = decided(node, atom, holds)
            return expanded(substituted(node, numbers))

        if any(under(each) is FALSE for each in premises):
            continue
        if any(substituted(atom, numbers) is constant(not holds) for atom, holds in known.items()):
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
    return expanded(subtract(a, b)) is ZERO


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
                (add(*(what for what, _ in some)), sum(number for _, number in some))
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
