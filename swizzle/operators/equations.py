"""Equations of expressions, decided: by writing out polynomials, or by a solver."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from symbolic.expressions.expression import (
    FALSE,
    ZERO,
    Expression,
    constant,
    decided,
    expanded,
    same_ratio,
    subexpressions,
    substituted,
    subtract,
)
from symbolic.expressions.formulas import Answered, Sort, decide

SECONDS: Final = 5.0
MOST_CASES: Final = 6


def prove(
    claims: Iterable[tuple[Expression, Expression]],
    sorts: Mapping[str, Sort],
    premises: Sequence[Expression] = (),
    infinite: Mapping[str, int] | None = None,
    seconds: float = SECONDS,
) -> Answered:
    """Decide whether both sides of all claims are equal: by writing out polynomials, or by a solver."""
    left = [(a, b) for a, b in claims if a is not b]
    if not left or _same_polynomials(left, premises):
        return Answered("proved")
    return decide(left, sorts, premises, infinite=infinite, timeout=seconds)


def _same_polynomials(claims: Sequence[tuple[Expression, Expression]], premises: Sequence[Expression]) -> bool:
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
        numbers = {name.value: number for atom, holds in known.items() if holds for name, number in _value(atom)}

        def under(node: Expression, known: Any = known, numbers: Any = numbers) -> Expression:
            for atom, holds in known.items():
                node = decided(node, atom, holds)
            return expanded(substituted(node, numbers))

        if any(under(each) is FALSE for each in premises):
            continue
        if any(substituted(atom, numbers) is constant(not holds) for atom, holds in known.items()):
            continue
        if any(not _same(under(one), under(other)) for one, other in claims):
            return False
    return True


def _same(a: Expression, b: Expression) -> bool:
    """Tell whether two expressions are one polynomial, or one quotient of such."""
    if a is b or a.truth:
        return a is b
    if any(node.operator == "/" for side in (a, b) for node in subexpressions(side)):
        return same_ratio(a, b)
    return expanded(subtract(a, b)) is ZERO


def _atoms(condition: Expression) -> Iterable[Expression]:
    """Yield the conditions that one is made of."""
    for node in subexpressions(condition):
        if node.truth and node.operator not in ("and", "or", "not", "constant", "select"):
            yield node


def _value(atom: Expression) -> Iterable[tuple[Expression, Expression]]:
    """Yield the name and the number that a condition says are equal."""
    if atom.operator == "==":
        a, b = atom.arguments
        for name, number in ((a, b), (b, a)):
            if name.operator == "name" and number.constant:
                yield name, number
