"""Tests for what is no real number, which loops and operators of floating-point numbers may not make: one mistake."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symbolic.core.value_types import Boolean
from symbolic.errors import Place, SwizzleError
from symbolic.expressions.floats import decided_beforehand
from symbolic.lifting.comparisons import NotedComparisons


def check_comparisons(values: Iterable[Any], noted: NotedComparisons, promised: Any = True) -> int:
    """Raise SwizzleError for a comparison, among `noted` ones, that has one answer for all real numbers, but another
    for NaN, an infinity, or what was rounded.

    `values` are symbolic values, in whose formulas the comparisons are; `promised` holds of all inputs. What
    nobody decides of real numbers is refused, too. Returned is how many were not looked at under all the tests before
    them.
    """
    formulas = [each.formula for each in values if hasattr(each, "formula")]
    premises = [promised.formula] if isinstance(promised, Boolean) else []
    found, apart = decided_beforehand(formulas, noted, premises) if noted else (None, 0)
    if found is not None:
        comparison, kind = found
        raise asks_for(noted[comparison].text, kind, noted[comparison].place)
    return apart


def asks_for(what: str, kind: str, place: Place | None) -> SwizzleError:
    """Return the mistake of a text that asks for what no real number is."""
    return SwizzleError(
        f"{what} asks for {kind}, and floating-point numbers are taken as real numbers here",
        place=place,
        expected="a condition on numbers",
        fix="flags of what counts, as a bool array beside it",
    )
