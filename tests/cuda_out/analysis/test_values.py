"""Values of expressions at many points at once are those at each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cuda_out.analysis.values import evaluate, is_computable
from symbolic.ir.facts import Range
from tests.cuda_out.build import op, select, var
from tests.cuda_out.reference import OPERATORS

LEFT, RIGHT = (np.array(column) for column in zip(*itertools.product(range(-6, 7), range(1, 6)), strict=True))


@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "min", "max"])
def test_operators_are_pythons_at_each_point(operator: str) -> None:
    """For both signs of the left operand."""
    found = evaluate(op(operator, "a", "b"), {"a": LEFT, "b": RIGHT})
    assert found.tolist() == [OPERATORS[operator](a, b) for a, b in zip(LEFT.tolist(), RIGHT.tolist(), strict=True)]


@pytest.mark.parametrize("compare", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("logic", ["and", "or"])
def test_conditions_and_choices_at_each_point(compare: str, logic: str) -> None:
    """A comparison joined to another one chooses an operand."""
    expr = select(op(logic, op(compare, "a", "b"), op("<", "a", 2)), var("a"), var("b"))
    found = evaluate(expr, {"a": LEFT, "b": RIGHT}).tolist()
    for value, a, b in zip(found, LEFT.tolist(), RIGHT.tolist(), strict=True):
        first, second = eval(f"a {compare} b", {"a": a, "b": b}), a < 2
        assert value == (a if ((first and second) if logic == "and" else (first or second)) else b)


def test_what_may_fail_is_not_computed() -> None:
    """A shift by 32 or more, a division by what may be 0; a shift by up to 31 is."""
    for low, high in ((0, 31), (0, 32), (-1, 3), (32, 32), (31, 31)):
        for operator in ("<<", ">>"):
            assert is_computable(op(operator, "a", "r"), {"r": Range(low, high)}) == (low >= 0 and high <= 31)
    for operator in ("//", "%"):
        assert is_computable(op(operator, "a", 3), {}) and not is_computable(op(operator, "a", 0), {})
        assert not is_computable(op(operator, "a", "r"), {"r": Range(0, 3)})
