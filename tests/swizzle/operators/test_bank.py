"""Expressions of examples: each is what its column says, new ones only, no matter how many others are no numbers."""

from __future__ import annotations

import numpy as np

from swizzle.operators.bank import ExampleBank
from swizzle.operators.work import Work
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
        for node, column in (*bank.numbers.made, *bank.truths.made):
            assert np.array_equal(on_columns(node, columns, FLOATS), column), str(node)
            assert bank.find(column, truth=node.truth) is node
