"""Invert operators on canonical terms: find an operand from the result and the other operand.

What follows an accumulator (`final=lambda s: s * 2 + 1`) is taken off the wanted term, and the rest is asked of the
accumulator, whose values are too many to be tried one by one.
"""

from __future__ import annotations

from symbolic.algebra.operator_laws import find_law
from symbolic.algebra.orders import accumulation
from symbolic.algebra.terms import UNWRITTEN, Term, Terms


def undo(terms: Terms, op: str, known: Term | None, right: bool, wanted: Term) -> tuple[Term, ...] | None:
    """Return every operand that gives `wanted`, or None if they are not finitely many.

    `known` is the other operand, None for a unary operator; `right`: it is the right operand that is looked for.
    An idempotent operator gives operands that are neither numbers nor made by the operator itself.
    """
    if UNWRITTEN in (known, wanted):
        return ()
    if find_law(op) is not None:
        assert known is not None
        return accumulation(terms, op).take_off(wanted, known, right)
    if known is None:
        return tuple(operand for (operand,) in terms.spellings(op, wanted))
    made_by, arguments = terms.nodes[wanted]
    if made_by != op:
        return ()
    operand, other = arguments[::-1] if right else arguments
    return (operand,) if other == known else ()
