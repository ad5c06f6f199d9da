"""Operators of functions that stay of one kind when one is put into another: clamped sums, and linear fractions.

Clamped sums are `s = min(max(s + v, low), high)`, in any order and number of bounds; or `max(0.9 * s + v, low)`, with
factors above 0. Whatever a part of the input does to a state is again such a function, of three words: what it adds,
and the bounds behind it; and a factor. That of two parts is the first function put into the second.

Linear fractions are `z = (p * z + q) / (r * z + s)`, of several words over one divisor, too. With the divisor kept
beside them, numerators are linear: what a part of the input does to a state is a matrix, and what two parts do is the
product. So are continued fractions, the variance and the estimate of a Kalman filter, and the forward pass of Thomas's
algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from swizzle.operators.carrier import Carrier
from swizzle.operators.linear_machine import SEMIRINGS, UNIT, NotLinear, row_of
from swizzle.operators.loop import BOOL, Loop
from symbolic.expressions import expression as e
from symbolic.expressions.expression import GREATEST, LEAST, ONE, ZERO, Expression, substituted
from symbolic.expressions.quotients import ratio

Clamp: TypeAlias = tuple[Expression, Expression, Expression, Expression]
"""`min(max(factor * s + shift, low), high)` of a state s."""
KINDS: Final = ("factor", "shift", "low", "high")


class NoClamp(Exception):
    """An expression is no clamped sum."""


def clamped(loop: Loop) -> Carrier | None:
    """Return the operator of a loop with one word of state that is a clamped sum; None where it is none."""
    if len(loop.live) != 1 or loop.state[loop.live[0]] is BOOL:
        return None
    (name,) = loop.live
    try:
        lift = _clamp(loop.step[name], name)
    except (NoClamp, ArithmeticError):
        return None
    scaled = lift[0] is not ONE
    idle = (ONE, ZERO, LEAST, GREATEST)
    left = [place for place, each in enumerate(lift) if (each is not idle[place] if scaled else place > 0)]
    words = {f"{name}_{KINDS[place]}": loop.state[name] for place in left}
    a, b, own = ([e.number_name(f"{side}{name}_{KINDS[place]}") if place in left else lift[place]
                  for place in range(len(lift))] for side in ("a.", "b.", ""))  # fmt: skip
    combine = (
        e.multiply(a[0], b[0]),
        _after(b, a[1]),
        e.maximum(_after(b, a[2]), b[2]),
        e.minimum(e.maximum(_after(b, a[3]), b[2]), b[3]),
    )
    state = {name: e.minimum(e.maximum(_after(own, loop.initial[name]), own[2]), own[3])}
    return Carrier(
        loop,
        words,
        dict(zip(words, (lift[place] for place in left), strict=True)),
        dict(zip(words, (combine[place] for place in left), strict=True)),
        state,
        tuple(substituted(each, state) for each in loop.result),
        "a clamped sum",
        {word: sign for word, place in zip(words, left, strict=True)
         if lift[place].infinite and (sign := (0, 0, -1, 1)[place])},
    )  # fmt: skip


def _after(clamp: Sequence[Expression], number: Expression) -> Expression:
    """Return the sum of a clamp, of a number; its factor is above 0."""
    return number if number.infinite else e.add(e.multiply(clamp[0], number), clamp[1])


def _clamp(node: Expression, name: str) -> Clamp:
    """Return an expression as a clamp of a name."""
    if node.operator == "name":
        return ONE, ZERO, LEAST, GREATEST
    inside = [each for each in node.arguments if name in each.names]
    if len(inside) != 1 or node.operator not in ("+", "*", "max", "min"):
        raise NoClamp
    factor, shift, low, high = _clamp(inside[0], name)
    others = [each for each in node.arguments if each is not inside[0]]
    match node.operator:
        case "*":
            by = e.multiply(*others)
            if not by.constant or by.value <= 0:
                raise NoClamp
            low, high = (each if each.infinite else e.multiply(by, each) for each in (low, high))
            return e.multiply(by, factor), e.multiply(by, shift), low, high
        case "+":
            more = e.add(*others)
            return factor, e.add(shift, more), e.add(low, more), e.add(high, more)
        case "max":
            return factor, shift, e.maximum(low, *others), e.maximum(high, *others)
    return factor, shift, low, e.minimum(high, *others)


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
        return e.number_name(f"{side}.{label[row, column]}")

    combine = {
        name: e.add(*(e.multiply(entry("b", row, middle), entry("a", middle, column)) for middle in columns))
        for (row, column), name in label.items()
    }

    def after(row: str) -> Expression:
        start = {word: loop.initial[word] for word in words} | {UNIT: ONE}
        return e.add(*(e.multiply(e.number_name(label[row, column]), start[column]) for column in columns))

    state = {word: e.divide(after(word), after(UNIT)) for word in words}
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
