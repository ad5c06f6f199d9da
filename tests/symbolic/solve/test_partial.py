"""A formula with values for some of its symbols means what the whole formula means, and what is decided is gone."""

from __future__ import annotations

import operator
import random
from typing import Any

import pytest

from symbolic.core.values import all_of, any_of, bitvector, boolean, implies, integer, select
from symbolic.solve.answer import Model
from symbolic.solve.partial import Specialised


def number(chosen: random.Random, leaves: list[Any], depth: int) -> Any:
    """Return a random number over symbols of one kind."""
    if depth == 0:
        return chosen.choice(leaves)
    a, b = (number(chosen, leaves, depth - 1) for _ in "ab")
    if chosen.random() < 0.3:
        return select(truth(chosen, leaves, depth - 1), a, b)
    if chosen.random() < 0.2:
        return chosen.choice([operator.floordiv, operator.mod])(a, b)
    return chosen.choice([operator.add, operator.sub, operator.mul])(a, b)


def truth(chosen: random.Random, leaves: list[Any], depth: int) -> Any:
    """Return a random condition over symbols of one kind."""
    if depth > 0 and chosen.random() < 0.6:
        a, b = (truth(chosen, leaves, depth - 1) for _ in "ab")
        return chosen.choice([all_of, any_of, operator.xor, implies, lambda p, q: ~(p & q)])(a, b)
    a, b = (number(chosen, leaves, depth - 1) if depth else chosen.choice(leaves) for _ in "ab")
    return chosen.choice([operator.eq, operator.ne, operator.lt, operator.ge])(a, b)


@pytest.mark.parametrize("kind", ["integer", "unsigned", "signed"])
def test_the_rest_of_a_formula_means_what_the_whole_means(kind):
    """The oracle is `evaluate` on the whole formula."""
    chosen = random.Random(kind)
    names = [f"partial {kind} {name}" for name in "abcd"]
    symbols: list[Any] = [integer(n) if kind == "integer" else bitvector(n, 4, signed=kind == "signed") for n in names]
    formulas = [s.formula for s in symbols]
    for _ in range(40):
        condition = truth(chosen, [*symbols, symbols[0] * 0 + 3], 4).formula
        given = formulas[: chosen.randrange(1, 5)]
        special = Specialised(condition, given)
        for _ in range(4):
            values = {each: chosen.randrange(16) for each in formulas}
            rest = special.at({each: values[each] for each in given})
            assert Model(values.get).value(rest) == Model(values.get).value(condition)
            assert not set(rest.get_free_variables()) & set(given)
            assert len(given) < 4 or rest.is_bool_constant()


def test_what_does_not_count_is_not_computed():
    """A power of millions of digits stands where nobody goes; a choice that is decided is one of its sides."""
    x, y, p, q = integer("partial x"), integer("partial y"), boolean("partial p"), boolean("partial q")
    huge = x
    for _ in range(60):
        huge = huge * huge
    formula = all_of(select(p, y, huge) == 3, any_of(p, huge > 0), implies(~p, huge > 1), any_of(q, ~p))
    rest = Specialised(formula.formula, [x.formula, p.formula]).at({x.formula: 3, p.formula: True})
    assert rest is all_of(y == 3, q).formula
