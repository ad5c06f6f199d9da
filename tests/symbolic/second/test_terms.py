"""What the second description says of open accumulators, against all ways in which their entries may be there."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from pysmt.fnode import FNode
from pysmt.shortcuts import FALSE, TRUE, FreshSymbol

from symbolic.algebra.terms import Term, Terms
from symbolic.second.terms import Applied, Memo, OpenAccumulator, TermValues


def agrees(values: TermValues, made: Memo, guards: list[FNode], wanted: Term, total: Callable[..., Term]) -> None:
    """Say that a value is a term exactly where brute force says so."""
    asked = values.may_be(made, wanted)
    for chosen in itertools.product((False, True), repeat=len(guards)):
        found = asked.substitute(dict(zip(guards, (TRUE() if c else FALSE() for c in chosen), strict=True))).simplify()
        assert found.is_true() == (total(chosen) == wanted), chosen


@pytest.mark.parametrize("with_init", [False, True])
def test_coefficients_of_a_sum_add_up(with_init: bool) -> None:
    """Multiples, taken off and added again; so do those of a sum that an operator without a law is applied to."""
    terms, guards = Terms(), [FreshSymbol() for _ in range(4)]
    values, x, y = TermValues(terms), terms.atom("x", 0), terms.atom("x", 1)
    parts = [terms.times(2, x), terms.times(-1, x), y, terms.times(3, x)]
    init = y if with_init else None
    bag = OpenAccumulator("+", None, init, tuple((g, ({p: TRUE()},)) for g, p in zip(guards, parts, strict=True)))

    def total(chosen: tuple[bool, ...]) -> Term:
        there = [p for p, c in zip(parts, chosen, strict=True) if c]
        start = [] if init is None else [init]
        return terms.apply("+", [*start, *there]) if there or start else terms.const(0)

    some = {total(chosen) for chosen in itertools.product((False, True), repeat=4)} - {terms.const(0)}
    for wanted in some:
        agrees(values, {bag: TRUE()}, guards, wanted, total)
        made: Memo = {Applied("abs", (bag,)): TRUE()}
        agrees(values, made, guards, terms.apply("abs", [wanted]), lambda c: terms.apply("abs", [total(c)]))
