"""Operators that nobody has to deduce: those that are known for loops of the same words, and the step itself.

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

A loop's step is its operator already where what an element adds takes the place of the element: `best, at = max(best,
v), i if v > best else at` begins with what changes nothing, so that after one element it is `(v, i)`, the element
itself. With words of a second part in the place of v and i the step combines two parts, however many words there are:
products of matrices and of quaternions, sums of two words with a carry. Where a word after one element is an expression
of elements, `v * w`, that is what is replaced; where it is a number, as 1 of a count, that number.
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
from symbolic.expressions import expression as e
from symbolic.expressions.expression import ZERO, Expression, replaced, subexpressions
from symbolic.expressions.meaning import function_of

Words: TypeAlias = Sequence[Expression]
CombineRow: TypeAlias = Callable[[Words, Words], tuple[Expression, ...]]
SPLITS: Final = 200


def _log_sum_exp(a: Words, b: Words) -> tuple[Expression, ...]:
    return (e.logarithm(e.add(e.exponential(a[0]), e.exponential(b[0]))),)


def _softmax(a: Words, b: Words) -> tuple[Expression, ...]:
    most = e.maximum(a[0], b[0])
    return most, e.add(*(e.multiply(each[1], e.exponential(e.subtract(each[0], most))) for each in (a, b)))


def _mean(a: Words, b: Words) -> tuple[Expression, ...]:
    count = e.add(a[0], b[0])
    return count, e.add(a[1], e.divide(e.multiply(e.subtract(b[1], a[1]), b[0]), count))


def _variance(a: Words, b: Words) -> tuple[Expression, ...]:
    count, mean = _mean(a, b)
    apart = e.subtract(b[1], a[1])
    return count, mean, e.add(a[2], b[2], e.divide(e.multiply(apart, apart, a[0], b[0]), count))


def _co_moment(a: Words, b: Words) -> tuple[Expression, ...]:
    count, mean = _mean(a, b)
    _, other = _mean((a[0], a[2]), (b[0], b[2]))
    apart = e.multiply(e.subtract(b[1], a[1]), e.subtract(b[2], a[2]))
    return count, mean, other, e.add(a[3], b[3], e.divide(e.multiply(apart, a[0], b[0]), count))


def _third_moment(a: Words, b: Words) -> tuple[Expression, ...]:
    count, mean, squares = _variance(a, b)
    apart = e.subtract(b[1], a[1])
    cubes = e.multiply(apart, apart, apart, a[0], b[0], e.subtract(a[0], b[0]))
    more = e.multiply(e.constant(3), apart, e.subtract(e.multiply(a[0], b[2]), e.multiply(b[0], a[2])))
    return count, mean, squares, e.add(a[3], b[3], e.divide(cubes, e.multiply(count, count)), e.divide(more, count))


def _normalised(a: Words, b: Words) -> tuple[Expression, ...]:
    most, total = _softmax(a, b)
    weights = (e.multiply(each[1], e.exponential(e.subtract(each[0], most))) for each in (a, b))
    return (
        most,
        total,
        e.divide(e.add(*(e.multiply(w, each[2]) for w, each in zip(weights, (a, b), strict=True))), total),
    )


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
            sides = [[e.number_name(f"{side}.{word}") for word in order] for side in "ab"]
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


ITSELF: Final = "the step itself"
ROWS: Final = 40
"""Random elements that say what a word is after one."""


def updated(loop: Loop) -> Iterator[Carrier]:
    """Yield the operator that a loop's step is on random splits, if it is one."""
    words = {word: loop.state[word] for word in loop.live}
    lift = _lifted(loop)
    others = {word: name_of(f"b.{word}", dtype) for word, dtype in words.items()}
    of_lifted: dict[Expression, Expression] = {}
    for word, each in lift.items():
        if not each.constant:
            of_lifted.setdefault(each, others[word])
    of_lifted |= {name_of(word, dtype): name_of(f"a.{word}", dtype) for word, dtype in words.items()}
    numbers = {word: each for word, each in lift.items() if each.constant and not each.truth and each is not ZERO}
    state = {word: name_of(word, dtype) for word, dtype in words.items()}
    for replacing in [{}, numbers] if numbers else [{}]:
        own = {word: {replacing[word]: others[word]} if word in replacing else {} for word in words}
        try:
            combine = {word: replaced(loop.step[word], {**of_lifted, **own[word]}) for word in words}
        except ArithmeticError:
            continue
        if any(each.names & set(loop.types) for each in combine.values()):
            continue  # some element is left
        carrier = Carrier(loop, words, lift, combine, state, loop.result, ITSELF)
        if fits(carrier):
            yield carrier
            return


def _lifted(loop: Loop) -> dict[str, Expression]:
    """Return the words after one element: an element or a number, where of random ones they are that.

    So `max(least, v)` is v; the proofs say whether it always is.
    """
    found = {word: loop.begun[word] for word in loop.live}
    rows = random_rows(loop, random.Random(6), ROWS)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(loop.elements)}
    for word, each in found.items():
        if each.arguments and not each.truth:
            after = function_of(list(loop.elements), [each])
            try:
                values = [after(*row)[0] for row in rows]
            except (ArithmeticError, ValueError):
                continue
            elements = [name for name, column in columns.items() if column == values]
            if elements:
                found[word] = name_of(elements[0], loop.elements[elements[0]])
            elif len(set(values)) == 1:
                found[word] = e.constant(values[0])
    return found
