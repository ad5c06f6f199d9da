"""Conversions of data: which lose nothing, what they are in terms, and which values they leave as they are.

A float of a type is a number that the type has. So a sum that was computed in f16 and is read as a float of 32 bits is
`to_f16` of a sum of real numbers, as is one that is converted to f16: floats count as real numbers within one type,
and a change of types rounds.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from symbolic.algebra.choices import is_choice
from symbolic.elements import DType, is_exact
from symbolic.ir.functions import Gather, row_of

WIDEN: Final = "widen_to_"
"""Begins the names of whole-number conversions that lose nothing."""
ROUNDED: Final = {f"to_{dtype.value}": dtype for dtype in DType if dtype.is_data and dtype.is_float}
"""The conversions that round a float to a type."""


def conversion(source: DType, target: DType) -> tuple[str, ...]:
    """Return the operators that a cast of data stands for, in order; none where it changes nothing.

    What was computed in a float type and is read in a wider one is rounded to it, as is what was computed in 16 bits
    and becomes anything else. Whole numbers wrap: widening a sum is not the sum of what was widened, so it is an
    operator, which only an input element passes unchanged.
    """
    if source is target:
        return ()
    widens = is_exact(source, target)
    rounds = (f"to_{source.value}",) if source.is_float and (widens or source.bits == 16) else ()
    return rounds if source.is_float and widens else (*rounds, f"{WIDEN if widens else 'to_'}{target.value}")


def may_keep(op: str) -> bool:
    """Say whether an operator is a conversion that leaves some values as they are."""
    return op in ROUNDED or op.startswith(WIDEN)


class _Table(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]
    types: dict[str, Any]


def holds(table: _Table, kind: DType, term: int) -> bool:
    """Say whether a value is sure to be a number of a float type: an element, what was rounded to the type, and what
    is chosen among such numbers or has another sign."""
    waiting, seen = [term], {term}
    while waiting:
        op, args = table.nodes[waiting.pop()]
        if isinstance(row := row_of(op), Gather):
            held = _has(kind, table.types.get(row.array))
        elif op == "atom":
            held = _has(kind, table.types.get(args[0]))
        elif op == "const":
            held = is_number_of(kind, args[0])
        elif op.startswith(("to_", WIDEN)):
            held = _has(kind, DType(op.rpartition("_")[2]))
        else:
            negative = op == "*" and len(args) == 2 and any(table.nodes[arg] == ("const", (-1,)) for arg in args)
            held = negative or op in ("min", "max", "abs") or is_choice(op)
            items = [item for item in (args[2:] if is_choice(op) else args) if item not in seen]
            waiting += items
            seen.update(items)
        if not held:
            return False
    return True


def is_number_of(kind: DType, value: Any) -> bool:
    """Say whether a float type has a number."""
    from symbolic.algebra.numbers import as_numbers

    return bool(value != value or float(as_numbers(float(value), kind)) == value)


def _has(kind: DType, own: DType | None) -> bool:
    """Say whether a float type has all numbers of another type, None where that is not known."""
    return own is not None and (own is kind or is_exact(own, kind))
