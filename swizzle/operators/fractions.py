"""Operators of linear fractions: `z = (p * z + q) / (r * z + s)`, of several words over one divisor, too.

With the divisor kept beside them, numerators are linear: what a part of the input does to a state is a matrix, and what
two parts do is the product. So are continued fractions, the variance and the estimate of a Kalman filter, and the
forward pass of Thomas's algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import Loop
from swizzle.operators.semiring import SEMIRINGS, UNIT, NotLinear, row_of
from symbolic.expressions.expression import ONE, ZERO, Expression, add, divide, multiply, number_name, substituted
from symbolic.expressions.quotients import ratio

MOST_WORDS = 3


def fractions_of(loop: Loop) -> Carrier | None:
    """Return the operator of a loop whose words are linear fractions of themselves, over one divisor; None where they
    are none."""
    words = loop.live
    if not 0 < len(words) <= MOST_WORDS or any(not loop.state[word].is_float for word in words):
        return None
    if any(loop.initial[word].infinite for word in words):
        return None
    rows = _rows(loop)
    if rows is None:
        return None
    dtype = loop.state[words[0]]
    columns = (*words, UNIT)
    label = {(row, column): f"{_spelled(row)}_of_{_spelled(column)}" for row in columns for column in columns}
    if set(label.values()) & (loop.types.keys()):
        return None
    lift = {name: rows[row].get(column, ZERO) for (row, column), name in label.items()}

    def entry(side: str, row: str, column: str) -> Expression:
        return number_name(f"{side}.{label[row, column]}")

    combine = {
        name: add(*(multiply(entry("b", row, middle), entry("a", middle, column)) for middle in columns))
        for (row, column), name in label.items()
    }

    def after(row: str) -> Expression:
        start = {word: loop.initial[word] for word in words} | {UNIT: ONE}
        return add(*(multiply(number_name(label[row, column]), start[column]) for column in columns))

    state = {word: divide(after(word), after(UNIT)) for word in words}
    return Carrier(
        loop, dict.fromkeys(lift, dtype), lift, combine, state,
        tuple(substituted(each, state) for each in loop.result), "linear fractions",
    )  # fmt: skip


def _spelled(word: str) -> str:
    return "divisor" if word == UNIT else word


def _rows(loop: Loop) -> Mapping[str, Mapping[str, Expression]] | None:
    """Return the numerators, and the divisor under UNIT, as rows of a matrix; None where they are no such."""
    variables, found, below = frozenset(loop.live), dict[str, Mapping[str, Expression]](), None
    for word in loop.live:
        over, under = ratio(loop.step[word])
        if below is not None and under is not below:
            return None
        below = under
        try:
            found[word] = row_of(over, variables, SEMIRINGS[0])
            found[UNIT] = row_of(under, variables, SEMIRINGS[0])
        except (NotLinear, ArithmeticError):
            return None
    return found if found and not found[UNIT].keys() <= {UNIT} else None
