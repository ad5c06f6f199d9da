"""Expressions of examples: each is what its column says, new ones only, no matter how many others are no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swizzle.operators.bank import ExampleBank
from swizzle.operators.work import Work
from symbolic.expressions import expression
from symbolic.expressions.columns import FLOATS, on_columns
from symbolic.expressions.expression import constant, number_name


def test_what_grows_is_what_its_columns_say() -> None:
    """Of infinities, whose differences are no numbers, and of zeros of both signs, which are one."""
    columns = {"a": np.array([np.inf, 3.0, -0.0, 2.0]), "b": np.array([np.inf, -np.inf, 0.0, 2.0])}
    columns |= {"zero": np.array([-0.0] * 4), "c": np.array([1.0, 2.0, -5.0, 2.0])}
    bank = ExampleBank(Work(60))
    for name, column in columns.items():
        bank.add(number_name(name), column)
    bank.add(constant(0), np.zeros(4))
    assert len(bank.numbers) == 4
    bank.leaves = list(bank.numbers.made)
    bank.grow(factors=True)
    assert len(bank.numbers) > 15 and len(bank.truths) > 6
    with np.errstate(all="ignore"):
        conditions = [(condition(), column) for condition, column in bank.truths.made]
        for node, column in (*bank.numbers.made, *conditions):
            assert np.array_equal(on_columns(node, columns, FLOATS), column), str(node)
            assert bank.find(column, truth=node.truth) is node


def test_conditions_are_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are told apart by their columns alone; one that is asked for is an expression."""
    made: list[str] = []
    make = expression._make

    def noted(operator: str, *rest: Any, **more: Any) -> expression.Expression:
        made.append(operator)
        return make(operator, *rest, **more)

    monkeypatch.setattr(expression, "_make", noted)
    bank, columns = ExampleBank(Work(60)), np.random.default_rng(0).normal(size=(8, 40))
    for place, column in enumerate(columns):
        bank.add(number_name(f"x{place}"), column)
    bank.leaves = list(bank.numbers.made)
    bank.grow(factors=False)
    assert len(bank.truths) > 50 and not {"<", "<=", "=="} & {*made}
    below = columns[0] < columns[1]
    for column in (below, ~below):
        condition = bank.find(column, truth=True)
        assert condition is not None
        named = {f"x{place}": each for place, each in enumerate(columns)}
        assert np.array_equal(on_columns(condition, named, FLOATS), column)
    assert {"<", "<=", "=="} & {*made}
