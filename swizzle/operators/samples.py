"""Random elements of loops: small numbers, those that the loop's text names, and what lies beside these."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL, Loop
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import FALSE, Expression, subexpressions
from symbolic.expressions.formulas import decide
from symbolic.expressions.meaning import function_of
from symbolic.expressions.text import text_of

SECONDS: Final = 2.0
"""For an element that meets a promise."""


def random_rows(loop: Loop, rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    """Return so many elements that meet what is promised of them, each a number for every array."""
    choices, where = choices_of(loop)
    meets = function_of(list(loop.elements), [where])
    found: list[tuple[Any, ...]] = []
    for _ in range(200 * count):
        row = tuple(rng.choice(some) for some in choices)
        if meets(*row)[0]:
            found.append(row)
        if len(found) == count:
            return found
    return found or [_meeting(loop)]


@lru_cache(maxsize=64)
def _meeting(loop: Loop) -> tuple[Any, ...]:
    """Return an element that meets what is promised of each, by a solver: one in a million may be."""
    for domain in ("words", "integers"):
        answer = decide([(loop.range.where, FALSE)], loop.sorts(domain), effort=SECONDS)
        if answer.verdict == "refuted":
            return tuple(answer.values[name] for name in loop.elements)
    raise SwizzleError(
        f"no element was found that meets the promise of {loop.name}: {text_of(loop.range.where)}",
        place=loop.place,
        expected="a condition for which it is easy to find some",
        fix="a simpler where=",
    )


@lru_cache(maxsize=64)
def choices_of(loop: Loop) -> tuple[list[Sequence[Any]], Expression]:
    """Return the numbers that each element is drawn from, and what is promised of them together."""
    nodes = [node for each in (*loop.step.values(), *loop.result, loop.range.where) for node in subexpressions(each)]
    named = {node.value for node in nodes if node.constant and isinstance(node.value, int) and not node.truth}
    near = {number + more for number in named if abs(number) < 10**6 for more in (-1, 0, 1)}
    some = sorted({*range(-3, 6), *near})
    choices: list[Sequence[Any]] = []
    for dtype in loop.elements.values():
        if dtype is BOOL:
            choices.append([False, True])
        elif dtype.value[0] == "u":
            choices.append([number for number in some if number >= 0])
        else:
            choices.append(some)
    return choices, loop.range.where


@lru_cache(maxsize=64)
def random_states(loop: Loop) -> list[tuple[Any, ...]]:
    """Return states that random inputs lead to, the first one among them; none of those that divide by zero."""
    rng = random.Random(2)
    found = [loop.start()]
    for place in range(120):
        with suppress(ZeroDivisionError):
            found.append(loop.after(random_rows(loop, rng, 1 + place % 7)))
    return found


def random_parts(carrier: Carrier, count: int = 60) -> list[tuple[tuple[Any, ...], int]]:
    """Return the words of so many random parts of an input, and how many elements each has."""
    rng = random.Random(3)
    found: list[tuple[tuple[Any, ...], int]] = []
    for place in range(count):
        rows = random_rows(carrier.loop, rng, 1 + place % 6)
        with suppress(ZeroDivisionError):
            words = carrier.lifted(rows[0])
            for row in rows[1:]:
                words = carrier.joined(words, carrier.lifted(row))
            found.append((words, len(rows)))
    return found
