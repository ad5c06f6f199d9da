"""An update of one or two words looked up in the table: by what it computes, not by how it is written.

Let `f` be an operator of the table, and `e` its identity on the left. If a loop's step is `f(state, y)`, where y
depends on the element alone, then y is `f(e, y)`, which is the step on e: so y need not be guessed. Then the step and
`f` are compared on samples, all operators at once, as they share most of what they are made of.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from swizzle.operators.carrier import Carrier
from swizzle.operators.elementary.entries import Elementary, neutral, table
from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.samples import random_rows, random_states
from swizzle.operators.splits import on_arrays
from symbolic.expressions.expression import (
    Expression,
    constant,
    number_name,
    rebuilt,
    subexpressions,
    substituted,
)
from symbolic.expressions.formulas import REALS
from symbolic.ir.program import DType

SAMPLES: Final = 32
FIRST: Final = 6
"""Samples that begin with the state before the loop."""
MOST_CONSTANTS: Final = 4


def matched(loop: Loop) -> Iterator[Carrier]:
    """Yield the operators of the table that a loop of one or two words of one type updates its state by."""
    kinds = {loop.state[word] for word in loop.live}
    if len(loop.live) not in (1, 2) or len(kinds) != 1 or BOOL in kinds:
        return
    of_type = _entries(len(loop.live), next(iter(kinds)))
    if not of_type:
        return
    rng = random.Random(8)
    states = ([loop.start()] * FIRST + random_states(loop) * SAMPLES)[:SAMPLES]
    rows = [random_rows(loop, rng, 1)[0] for _ in range(SAMPLES)]
    elements = {name: np.array([row[place] for row in rows], _kind(dtype))
                for place, (name, dtype) in enumerate(loop.elements.items())}  # fmt: skip
    before = {name: np.array([state[place] for state in states], _kind(dtype))
              for place, (name, dtype) in enumerate(loop.state.items())}  # fmt: skip
    with np.errstate(all="ignore"):
        known: dict[Expression, Any] = {}
        after = {name: on_arrays(loop.step[name], {**before, **elements}, known) for name in loop.live}
        for order in itertools.permutations(loop.live):
            for identity, some in of_type.items():
                yield from _fitting(loop, order, identity, some, before, elements, after)


def _kind(dtype: DType) -> Any:
    return bool if dtype is BOOL else np.float64


@lru_cache(maxsize=16)
def _entries(words: int, dtype: DType) -> dict[tuple[str, ...], tuple[Elementary, ...]]:
    """Return the operators that have an identity on the left, by what that is."""
    name = "f32" if dtype.is_float else dtype.value
    found: dict[tuple[str, ...], list[Elementary]] = {}
    for each in table(words):
        if each.left and name in each.types:
            found.setdefault(each.identity, []).append(each)
    return {identity: tuple(some) for identity, some in found.items()}


def _fitting(
    loop: Loop, order: Sequence[str], identity: Sequence[str], some: Sequence[Elementary], before: dict[str, Any],
    elements: dict[str, Any], after: dict[str, Any],
) -> Iterator[Carrier]:  # fmt: skip
    constants = _constants(loop)
    free = "k" in identity
    for number in constants if free else [None]:
        none = {word: constant(number) if what == "k" and number is not None else neutral(what, REALS)
                for word, what in zip(order, identity, strict=True)}  # fmt: skip
        try:
            lift = {word: substituted(loop.step[word], none) for word in order}
            columns = {f"x{place}": before[word] for place, word in enumerate(order)}
            columns |= {f"y{place}": on_arrays(lift[word], elements) for place, word in enumerate(order)}
        except ArithmeticError:
            continue
        plain: dict[Expression, Any] = {}
        for k in [number] if free else constants:
            with_k = (
                plain if k == constants[0] else {node: each for node, each in plain.items() if "k" not in node.names}
            )
            for each in some:
                if not free and k != constants[0] and not any("k" in node.names for node in each.combine):
                    continue
                if all(
                    np.array_equal(on_arrays(node, {**columns, "k": np.float64(k)}, with_k), after[word])
                    for node, word in zip(each.combine, order, strict=True)
                ):
                    yield from _carrier(loop, order, each, lift, k)


def _constants(loop: Loop) -> list[Any]:
    nodes = (node for each in loop.step.values() for node in subexpressions(each))
    found = dict.fromkeys(
        node.value for node in nodes if node.constant and not node.truth and not node.infinite
    )  # fmt: skip
    return list(dict.fromkeys([*found, 0]))[:MOST_CONSTANTS]


def _carrier(
    loop: Loop, order: Sequence[str], entry: Elementary, lift: dict[str, Expression], k: Any
) -> Iterator[Carrier]:
    """Yield the operator of the loop's words; the state behind a part is that part behind the state before the loop."""

    def named(node: Expression) -> Expression:
        def leaf(each: Expression) -> Expression:
            if each.operator != "name":
                return each
            if each.value == "k":
                return constant(k)
            return number_name(f"{'a' if each.value[0] == 'x' else 'b'}.{order[int(each.value[1:])]}")

        return rebuilt(node, leaf)

    words = {word: loop.state[word] for word in loop.live}
    own = {word: name_of(word, dtype) for word, dtype in words.items()}
    try:
        combine = {word: named(node) for word, node in zip(order, entry.combine, strict=True)}
        if all(lift[word] is loop.begun[word] for word in words):
            state = dict(own)
        else:
            sides = {f"a.{word}": loop.initial[word] for word in words} | {f"b.{word}": own[word] for word in words}
            state = {word: substituted(combine[word], sides) for word in words}
        result = tuple(substituted(each, state) for each in loop.result)
    except ArithmeticError:
        return
    yield Carrier(
        loop, words, {word: lift[word] for word in words}, {word: combine[word] for word in words}, state, result,
        "in the table of elementary operators",
    )  # fmt: skip
