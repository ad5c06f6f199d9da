"""Loops whose step is their operator already: what an element adds takes the place of the element.

`best, at = max(best, v), i if v > best else at` begins with what changes nothing, so that after one element it is
`(v, i)`, the element itself. With words of a second part in the place of v and i the step combines two parts, however
many words there are: products of matrices and of quaternions, sums of two words with a carry. Where a word after one
element is an expression of elements, `v * w`, that is what is replaced; where it is a number, as 1 of a count, that
number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from swizzle.operators.carrier import Carrier
from swizzle.operators.known import fits
from swizzle.operators.loop import Loop, name_of
from swizzle.operators.samples import random_rows
from symbolic.expressions.expression import ZERO, Expression, constant, replaced
from symbolic.expressions.meaning import function_of

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
                found[word] = constant(values[0])
    return found
