"""From a serial loop, or an operator, to the operator on words that sketches use: found, and proved."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

from swizzle.language.operators import ScanOperator
from swizzle.operators import Found, found_of
from swizzle.operators.derived import Given
from swizzle.operators.loop import BOOL
from swizzle.operators.rows import scan_operator_of
from symbolic.algebra.operator_laws import Order
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import subexpressions


def scan_operator(given: Given) -> ScanOperator:
    """Return the operator of a serial loop, or of what `@operator` made, for kernels and specifications.

    It has functions `lift`, `combine` and `result`, which take words one by one and give one, or a tuple. In a kernel,
    several words may be one value, a state: `s = op.lift(x[i])`, `op.combine(s, t)`, `op.result(s)`, and arrays of
    them, `cuda.shared.array(64, op)`.

    Raises SwizzleError where no operator is proved, or its words are none of kernels.
    """
    return _of_found(given) if isinstance(given, Found) else _of_one(given)


@lru_cache(maxsize=64)
def _of_one(given: Given) -> ScanOperator:
    """Return the operator: of one loop it is always the same one, so that a specification may ask for it again."""
    return _of_found(given)


_MADE: Final = dict[tuple[Any, ...], ScanOperator]()
"""The operators that were made, by all that a kernel knows of them: of equal loops it is one, whose words meet."""


def _of_found(given: Given) -> ScanOperator:
    found = proved(given)
    assert found.carrier is not None and found.proofs is not None
    holds = {name for name, law in found.proofs.laws.items() if law.verdict == "proved"}
    if BOOL in found.carrier.words.values():
        holds.discard(
            "idempotent"
        )  # a condition is any number of an array, and 0 or 1 when it was combined with itself
    of_any = holds - {name for name in holds if found.proofs.laws[name].on_carrier} if _of_any(found) else set()
    carrier, order, others = found.carrier, _order(holds) or "sequence", _order(of_any)
    named = (carrier.loop.elements, carrier.words, carrier.lift, carrier.combine, carrier.infinite)
    empty = found.with_identity.identity
    empty_of_any = {"left_identity", "right_identity"} <= of_any
    identity = tuple((carrier.identity or {}).items()), tuple((empty or {}).items()), empty_of_any
    key = (carrier.loop.name, *(tuple(each.items()) for each in named), identity, carrier.result, order, others)
    if key not in _MADE:
        _MADE[key] = scan_operator_of(carrier, order, others, empty, empty_of_any)
    return _MADE[key]


def _order(holds: Collection[str]) -> Order | None:
    """Return what counts of parts where these laws hold; None where it counts how they are grouped."""
    if "associative" not in holds:
        return None
    return "sequence" if "commutative" not in holds else "set" if "idempotent" in holds else "bag"


def _of_any(found: Found) -> bool:
    """Tell whether laws that were proved may hold of words that no elements make: not where they were proved of words
    that do not wrap, or wherever nothing is divided by zero."""
    assert found.carrier is not None and found.proofs is not None
    divides = any(node.operator == "/" for each in found.carrier.combine.values() for node in subexpressions(each))
    return found.proofs.domain == found.domain and not found.needs_ranges and not divides


def proved(given: Given) -> Found:
    """Return what was found of a loop, or judged of an operator; raises SwizzleError unless it is proved."""
    found = found_of(given)
    if found.status != "proved":
        raise SwizzleError(
            f"no operator of {found.loop.name} is proved: {found.witness or found.status}",
            place=found.loop.place,
            expected="a loop with an associative operator, as a scan goes through its input in parts",
            fix=f"see `swizzle operator`: {found.next_step}",
        )
    return found
