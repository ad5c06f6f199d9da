"""Loops whose step is their operator already: what an element adds takes the place of the element.

`best, at = max(best, v), i if v > best else at` begins with what changes nothing, so that after one element it is
`(v, i)`, the element itself. With words of a second part in the place of v and i the step combines two parts, however
many words there are: products of matrices and of quaternions, sums of two words with a carry. Where a word after one
element is an expression of elements, `v * w`, that is what is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from swizzle.operators.carrier import Carrier
from swizzle.operators.known import fits
from swizzle.operators.loop import Loop, name_of
from symbolic.expressions.expression import Expression, replaced

ITSELF: Final = "the step itself"


def updated(loop: Loop) -> Iterator[Carrier]:
    """Yield the operator that a loop's step is on random splits, if it is one."""
    words = {word: loop.state[word] for word in loop.live}
    lift = {word: loop.begun[word] for word in words}
    of_lifted: dict[Expression, Expression] = {}
    for word, dtype in words.items():
        if not lift[word].constant:
            of_lifted.setdefault(lift[word], name_of(f"b.{word}", dtype))
    own = {name_of(word, dtype): name_of(f"a.{word}", dtype) for word, dtype in words.items()}
    try:
        combine = {word: replaced(loop.step[word], {**of_lifted, **own}) for word in words}
    except ArithmeticError:
        return
    if any(each.names & set(loop.types) for each in combine.values()):
        return  # some element is left
    state = {word: name_of(word, dtype) for word, dtype in words.items()}
    carrier = Carrier(loop, words, lift, combine, state, loop.result, ITSELF)
    if fits(carrier):
        yield carrier
