"""Operators that are known: how two parts combine that no deduction here finds, for loops of the same words.

A row is tried on every order of a loop's words, on random splits first; what fits is proved like everything else.

| row | words | from |
|---|---|---|
| log-sum-exp | the logarithm of a sum of exponentials | |
| online softmax | the maximum m, the sum of `exp(x - m)` | Milakov and Gimelshein, 2018 |
| mean | how many, their mean | Chan, Golub and LeVeque, 1979 |
| variance | how many, their mean, the sum of squared distances from it (Welford's words) | the same |
| co-moment | how many, both means, the sum of products of distances from them | Pébay, 2008 |
| third moment | the words of the variance, the sum of cubed distances from the mean | the same |
| normalised softmax | the maximum, the sum of exponentials, the mean weighted by them | Dao and others, 2022 |
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.samples import random_rows
from symbolic.expressions.expression import (
    Expression,
    add,
    constant,
    divide,
    exponential,
    logarithm,
    maximum,
    multiply,
    number_name,
    subexpressions,
    subtract,
)

Words: TypeAlias = Sequence[Expression]
CombineRow: TypeAlias = Callable[[Words, Words], tuple[Expression, ...]]
SPLITS: Final = 200


def _log_sum_exp(a: Words, b: Words) -> tuple[Expression, ...]:
    return (logarithm(add(exponential(a[0]), exponential(b[0]))),)


def _softmax(a: Words, b: Words) -> tuple[Expression, ...]:
    most = maximum(a[0], b[0])
    return most, add(*(multiply(each[1], exponential(subtract(each[0], most))) for each in (a, b)))


def _mean(a: Words, b: Words) -> tuple[Expression, ...]:
    count = add(a[0], b[0])
    return count, add(a[1], divide(multiply(subtract(b[1], a[1]), b[0]), count))


def _variance(a: Words, b: Words) -> tuple[Expression, ...]:
    count, mean = _mean(a, b)
    apart = subtract(b[1], a[1])
    return count, mean, add(a[2], b[2], divide(multiply(apart, apart, a[0], b[0]), count))


def _co_moment(a: Words, b: Words) -> tuple[Expression, ...]:
    count, mean = _mean(a, b)
    _, other = _mean((a[0], a[2]), (b[0], b[2]))
    apart = multiply(subtract(b[1], a[1]), subtract(b[2], a[2]))
    return count, mean, other, add(a[3], b[3], divide(multiply(apart, a[0], b[0]), count))


def _third_moment(a: Words, b: Words) -> tuple[Expression, ...]:
    count, mean, squares = _variance(a, b)
    apart = subtract(b[1], a[1])
    cubes = multiply(apart, apart, apart, a[0], b[0], subtract(a[0], b[0]))
    more = multiply(constant(3), apart, subtract(multiply(a[0], b[2]), multiply(b[0], a[2])))
    return count, mean, squares, add(a[3], b[3], divide(cubes, multiply(count, count)), divide(more, count))


def _normalised(a: Words, b: Words) -> tuple[Expression, ...]:
    most, total = _softmax(a, b)
    weights = (multiply(each[1], exponential(subtract(each[0], most))) for each in (a, b))
    return most, total, divide(add(*(multiply(w, each[2]) for w, each in zip(weights, (a, b), strict=True))), total)


KNOWN: Final[dict[str, tuple[int, CombineRow]]] = {
    "log-sum-exp": (1, _log_sum_exp), "online softmax": (2, _softmax), "mean": (2, _mean),
    "variance": (3, _variance), "co-moment": (4, _co_moment), "third moment": (4, _third_moment),
    "normalised softmax": (3, _normalised),
}  # fmt: skip


def known_carriers(loop: Loop) -> Iterator[Carrier]:
    """Yield the known operators that fit a loop on random splits."""
    words = loop.live
    if any(loop.state[word] is BOOL for word in words):
        return
    for name, (count, row) in KNOWN.items():
        if count != len(words):
            continue
        for order in itertools.permutations(words):
            sides = [[number_name(f"{side}.{word}") for word in order] for side in "ab"]
            combine = dict(zip(order, row(*sides), strict=True))
            if any(not loop.state[word].is_float and _real(each) for word, each in combine.items()):
                continue
            own = {word: name_of(word, loop.state[word]) for word in words}
            lift = {word: loop.begun[word] for word in words}
            carrier = Carrier(
                loop, {word: loop.state[word] for word in words}, lift, {word: combine[word] for word in words}, own,
                loop.result, f"known as {name}",
            )  # fmt: skip
            if fits(carrier):
                yield carrier
                break


def _real(node: Expression) -> bool:
    """Tell whether a number is none of the whole numbers, whatever it is of."""
    return any(each.operator in ("exp", "log", "/") for each in subexpressions(node))


def fits(carrier: Carrier) -> bool:
    """Tell whether an operator gives what the loop gives, on random splits; of those that divide by zero nothing is
    known."""
    loop, rng = carrier.loop, random.Random(5)
    places = [list(loop.state).index(word) for word in carrier.words]

    def words(rows: Sequence[Any]) -> tuple[Any, ...]:
        state = loop.after(rows)
        return tuple(state[place] for place in places)

    told = 0
    for split in range(SPLITS):
        rows = random_rows(loop, rng, 2 + split % 7)
        if len(rows) < 2:
            continue  # hardly an element meets the promise
        cut = 1 + split % (len(rows) - 1)
        try:
            together, whole = carrier.joined(words(rows[:cut]), words(rows[cut:])), words(rows)
        except ZeroDivisionError:
            continue
        except (ArithmeticError, ValueError):
            return False
        if not all(math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6) for x, y in zip(together, whole, strict=True)):
            return False
        told += 1
    return told > 0
