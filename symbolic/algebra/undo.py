"""Operators on canonical terms undone: which operand gives this result, when the other one is known?

What follows an accumulator (`final=lambda s: s * 2 + 1`) is taken off the wanted term, and the rest is asked of the
accumulator, whose values are too many to be tried one by one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from symbolic.algebra.law import LAWS
from symbolic.algebra.terms import UNWRITTEN, Term, Terms


def undo(terms: Terms, op: str, known: Term | None, right: bool, wanted: Term) -> tuple[Term, ...] | None:
    """Return every operand that gives `wanted`, or None if they are not finitely many.

    `known` is the other operand, None for a unary operator; `right`: it is the right operand that is looked for.
    An idempotent operator gives operands that are neither numbers nor made by the operator itself.
    """
    if UNWRITTEN in (known, wanted):
        return ()
    if op in LAWS:
        assert known is not None
        return _undo_reduction(terms, op, known, wanted)
    made_by, arguments = terms.nodes[wanted]
    if made_by != op:
        return ()
    if known is None:
        return arguments
    operand, other = arguments[::-1] if right else arguments
    return (operand,) if other == known else ()


def _undo_reduction(terms: Terms, op: str, known: Term, wanted: Term) -> tuple[Term, ...] | None:
    law = LAWS[op]
    if terms.is_const(known) and terms.nodes[known][1][0] == law.absorber:
        return None if wanted == known else ()
    items, others = terms.items(wanted, op), terms.items(known, op)
    if law.idempotent:
        candidates = {t for t in items if not terms.is_const(t)}
        return tuple(sorted(t for t in candidates if terms.apply(op, (t, known)) == wanted))
    if terms.is_const(wanted) and terms.nodes[wanted][1][0] == law.absorber:
        return (wanted,)
    rest = Counter(t for t in items if not terms.is_const(t))
    taken = Counter(t for t in others if not terms.is_const(t))
    assert law.inverse
    number = law.inverse(_number(terms, op, items), _number(terms, op, others))
    found = terms.apply(op, (*(rest - taken).elements(), terms.const(number)))
    return (found,) if terms.apply(op, (found, known)) == wanted else ()


def _number(terms: Terms, op: str, items: tuple[Term, ...]) -> Any:
    numbers = [terms.nodes[t][1][0] for t in items if terms.is_const(t)]
    return numbers[0] if numbers else LAWS[op].identity
