"""The laws of shifts by constants, and of low bits, in terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

from symbolic.algebra.choices import is_choice

SHIFTED: Final = 32
"""The bits that all types have in which numbers are shifted."""


class ShiftTable(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]

    def const(self, value: Any) -> int: ...
    def is_const(self, term: int) -> bool: ...
    def apply(self, op: str, args: Sequence[int]) -> int: ...
    def intern(self, op: str, args: tuple[int, ...]) -> int: ...


def shifted(terms: ShiftTable, op: str, term: int, amount: int) -> int:
    """Return a term shifted by a constant: by 0 it is itself; two shifts are one while it is a shift of all types; of
    two numbers to choose from, each is shifted."""
    made_by, arguments = terms.nodes[term]
    by = terms.nodes[amount][1][0]
    if by == 0:
        return term
    sides = _chosen(terms, op, term) if by > 0 else None
    if sides is not None and all(0 <= side << by < 1 << SHIFTED for side in sides):
        return terms.apply(made_by, (*arguments[:2], *(terms.const(side << by) for side in sides)))
    if made_by == op and terms.is_const(arguments[1]):
        total = by + terms.nodes[arguments[1]][1][0]
        if 0 < by < total < SHIFTED:
            return terms.intern(op, (arguments[0], terms.const(total)))
    return terms.intern(op, (term, amount))


def shifts(terms: ShiftTable, op: str, term: int) -> Iterator[tuple[int, int]]:
    """Yield all that a shift makes a term of, with the constants by which it shifts."""
    yield term, terms.const(0)
    made_by, arguments = terms.nodes[term]
    if (sides := _chosen(terms, op, term)) is not None:
        for by in range(1, SHIFTED):
            if all(side >= 0 and side % (1 << by) == 0 for side in sides):
                less = (terms.const(side >> by) for side in sides)
                yield terms.apply(made_by, (*arguments[:2], *less)), terms.const(by)
    elif made_by == op:
        yield arguments[0], arguments[1]
        total = terms.nodes[arguments[1]][1][0] if terms.is_const(arguments[1]) else 0
        for by in range(1, min(total, SHIFTED)):
            yield shifted(terms, op, arguments[0], terms.const(by)), terms.const(total - by)


def _chosen(terms: ShiftTable, op: str, term: int) -> tuple[int, int] | None:
    """Return the whole numbers between which a term chooses, for a shift to the left."""
    made_by, arguments = terms.nodes[term]
    if op != "<<" or not is_choice(made_by) or not all(map(terms.is_const, arguments[2:])):
        return None
    one, other = (terms.nodes[side][1][0] for side in arguments[2:])
    return (one, other) if isinstance(one, int) and isinstance(other, int) else None


def is_bit_field(terms: ShiftTable, args: Sequence[int]) -> bool:
    """Say whether `&` of these takes some low bits of an element, the same whatever its type is: `1 & (x >> 3)`."""
    masks, rest = [a for a in args if terms.is_const(a)], [a for a in args if not terms.is_const(a)]
    if len(masks) != 1 or len(rest) != 1:
        return False
    (mask,), (op, inner), by = terms.nodes[masks[0]][1], terms.nodes[rest[0]], 0
    if op == ">>" and terms.is_const(inner[1]):
        (by,), (op, _) = terms.nodes[inner[1]][1], terms.nodes[inner[0]]
    return op == "atom" and 0 <= mask < 1 << 31 and by >= 0 and mask.bit_length() + by <= SHIFTED
