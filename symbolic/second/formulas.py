"""Formulas of the second reading, and values by cases of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from pysmt.environment import get_env
from pysmt.fnode import FNode

Cases: TypeAlias = dict[Any, FNode]  # exclusive and exhaustive


def both(*formulas: FNode) -> FNode:
    """Return the conjunction."""
    some = {f: None for f in formulas if not f.is_true()}
    if any(f.is_false() for f in some):
        return get_env().formula_manager.FALSE()
    return get_env().formula_manager.And(list(some))


def some_of(formulas: Iterable[FNode]) -> FNode:
    """Return the disjunction."""
    some = {f: None for f in formulas if not f.is_false()}
    if any(f.is_true() for f in some):
        return get_env().formula_manager.TRUE()
    return get_env().formula_manager.Or(list(some))


def no(formula: FNode) -> FNode:
    """Return the negation."""
    manager = get_env().formula_manager
    if formula.is_true() or formula.is_false():
        return manager.FALSE() if formula.is_true() else manager.TRUE()
    return manager.Not(formula)


def true() -> FNode:
    return get_env().formula_manager.TRUE()


def fresh() -> FNode:
    """Return a formula that may hold or not."""
    return get_env().formula_manager.FreshSymbol()


def exactly(count: int, formulas: Sequence[FNode]) -> FNode:
    """Return 'exactly so many of these hold', by counting them one after another."""
    manager = get_env().formula_manager
    reached: list[FNode] = [manager.TRUE()]  # at least 0, 1, 2, ... so far, up to count + 1
    for formula in formulas:
        grown = [manager.TRUE()]
        for j in range(1, min(len(reached), count + 1) + 1):
            before = reached[j] if j < len(reached) else manager.FALSE()
            grown.append(some_of((before, both(reached[j - 1], formula))))
        reached = grown
    least = reached[count] if count < len(reached) else manager.FALSE()
    return both(least, no(reached[count + 1])) if count + 1 < len(reached) else least


def is_odd(formulas: Sequence[FNode]) -> FNode:
    """Return 'an odd number of these hold'."""
    found = get_env().formula_manager.FALSE()
    for formula in formulas:
        found = some_of((both(found, no(formula)), both(no(found), formula)))
    return found


def grouped(cases: Iterable[tuple[Any, FNode]]) -> Cases:
    """Return cases with one formula for each value."""
    groups: dict[Any, list[FNode]] = {}
    for value, formula in cases:
        if not formula.is_false():
            groups.setdefault(value, []).append(formula)
    return {value: some_of(formulas) for value, formulas in groups.items()}


def combine(function: Callable[[Any, Any], Any], a: Cases, b: Cases) -> Cases:
    """Apply a function to every pair of cases."""
    return grouped((function(x, y), both(f, g)) for x, f in a.items() for y, g in b.items())
