"""Constants for a query to find, and choices for it to make."""

from __future__ import annotations

from typing import Any, overload

from symbolic.core.value_types import BitVector, Boolean, Integer, check_width
from symbolic.core.values import select
from symbolic.errors import SwizzleError
from symbolic.solve.floor_division import bit_vector_type, manager


@overload
def hole() -> Integer: ...
@overload
def hole(*, width: int, signed: bool = False) -> BitVector: ...
def hole(*wrong: object, width: int | None = None, signed: bool = False, **unknown: object) -> Integer | BitVector:
    """Return a fresh constant for `synthesize` to find, Rosette's `??`: an integer, or a bit-vector of a width.

    In a lifted function there is one for each place in the text, so that all its calls mean the same constant.
    """
    from pysmt.typing import INT

    if wrong or unknown or not isinstance(signed, bool):
        raise SwizzleError(
            "hole takes a width and a sign by name", expected="hole(), or hole(width=8, signed=True)",
            fix="integer(name) or bitvector(name, width), where it is to have a name",
        )  # fmt: skip
    if width is None:
        return Integer(manager().FreshSymbol(INT, "hole!%d"))
    check_width(width)
    return BitVector(manager().FreshSymbol(bit_vector_type(width), "hole!%d"), signed)


def boolean_hole() -> Boolean:
    """Return a fresh truth value for `synthesize` to find."""
    from pysmt.typing import BOOL

    return Boolean(manager().FreshSymbol(BOOL, "hole!%d"))


def choose(*alternatives: Any) -> Any:
    """Return one of the alternatives, whichever makes the query succeed.

    Each call chooses anew; in a lifted function each place does, so that all its calls choose alike.
    """
    if not alternatives:
        raise SwizzleError("a choice among nothing", expected="at least one alternative", fix="choose(0, 1)")
    chosen = alternatives[-1]
    for alternative in reversed(alternatives[:-1]):
        chosen = select(boolean_hole(), alternative, chosen)
    return chosen
