"""Operators of clamped sums: `s = min(max(s + v, low), high)`, in any order and number of bounds.

Whatever a part of the input does to a state is again such a function, of three words: what it adds, and the bounds
behind it. That of two parts is the first function put into the second.
"""

from __future__ import annotations

from typing import TypeAlias

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL, Loop
from symbolic.expressions.expression import (
    GREATEST,
    LEAST,
    ZERO,
    Expression,
    add,
    maximum,
    minimum,
    number_name,
    substituted,
)

Clamp: TypeAlias = tuple[Expression, Expression, Expression]
"""`min(max(s + shift, low), high)` of a state s."""


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
    dtype = loop.state[name]
    words = {f"{name}_shift": dtype, f"{name}_low": dtype, f"{name}_high": dtype}
    a, b = ([number_name(f"{side}.{word}") for word in words] for side in "ab")
    combine = (
        add(a[0], b[0]),
        maximum(add(a[1], b[0]), b[1]),
        minimum(maximum(add(a[2], b[0]), b[1]), b[2]),
    )
    shift, low, high = (number_name(word) for word in words)
    state = {name: minimum(maximum(add(shift, loop.initial[name]), low), high)}
    return Carrier(
        loop,
        words,
        dict(zip(words, lift, strict=True)),
        dict(zip(words, combine, strict=True)),
        state,
        tuple(substituted(each, state) for each in loop.result),
        "a clamped sum",
        {word: sign for word, each, sign in zip(words, lift, (0, -1, 1), strict=True) if each.infinite and sign},
    )


def _clamp(node: Expression, name: str) -> Clamp:
    """Return an expression as a clamp of a name."""
    if node.operator == "name":
        return ZERO, LEAST, GREATEST
    inside = [each for each in node.arguments if name in each.names]
    if len(inside) != 1 or node.operator not in ("+", "max", "min"):
        raise NoClamp
    shift, low, high = _clamp(inside[0], name)
    others = [each for each in node.arguments if each is not inside[0]]
    match node.operator:
        case "+":
            more = add(*others)
            return add(shift, more), add(low, more), add(high, more)
        case "max":
            return shift, maximum(low, *others), maximum(high, *others)
    return shift, low, minimum(high, *others)
