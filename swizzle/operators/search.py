"""Operators by search: how two parts combine, read off what the loop makes of random parts.

The words are the loop's own state and, where that does not determine the state of two parts together, helpers: the
first element, the least value so far. For each word of both parts an expression of the words of either is looked for,
smallest first, among all that differ on the examples; and among maxima, minima, conjunctions, disjunctions and choices
of such, which need no enumeration: a maximum may have every expression that is nowhere above what is wanted. What is
found fits thousands of splits and is proved elsewhere (`proof.py`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from swizzle.operators.bank import ExampleBank, fitting
from swizzle.operators.carrier import Carrier
from swizzle.operators.helpers import helpers_of
from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.splits import SPLITS, Array, Columns, Splits, full, shown
from symbolic.expressions.columns import FLOATS, on_columns
from symbolic.expressions.expression import Expression, constant, subexpressions, substituted
from symbolic.ir.program import DType

SHOWN: Final = 220
"""So many splits are what expressions are told apart by at first."""
SECONDS: Final = 4.0


class Undetermined(Struct, frozen=True):
    """Two splits whose parts have the same words, while the whole inputs have not: the word, and the inputs."""

    word: str
    text: str


class Searched(Struct, frozen=True):
    """What a search came to: an operator, or splits that the state alone mixes up, and how much was tried."""

    carrier: Carrier | None
    undetermined: Undetermined | None
    tried: int


def _leaves(names: Mapping[str, DType], columns: Columns, loop: Loop, pick: Array) -> ExampleBank:
    bank = ExampleBank()
    for name, dtype in names.items():
        bank.add(name_of(name, dtype), columns[name][pick])
    for number in _numbers(loop):
        bank.add(constant(number), np.full(len(pick), float(number)))
    return bank


def _numbers(loop: Loop) -> list[int]:
    nodes = (node for each in (*loop.step.values(), *loop.result) for node in subexpressions(each))
    own = {node.value for node in nodes if node.constant and not node.truth and isinstance(node.value, int)}
    return [0, 1, -1, *sorted(own - {0, 1, -1})[:3]]


def _joined(splits: Splits, deadline: float, depth: int) -> dict[str, Expression] | None:
    """Return how the words of two parts combine, over the names a.WORD and b.WORD; None where it was not found."""
    loop = splits.loop
    names = {f"{side}.{word}": dtype for side in "ab" for word, dtype in splits.words.items()}
    factors = any(node.operator == "*" for each in loop.step.values() for node in subexpressions(each))
    order = np.random.default_rng(3).permutation(SPLITS)
    pick = order[:SHOWN]
    for _ in range(4):
        bank = _leaves(names, splits.columns, loop, pick)
        found: dict[str, Expression] = {}
        for size in range(3):
            if size:
                bank.grow(deadline, factors)
            for word, dtype in splits.words.items():
                if word not in found:
                    node = fitting(bank, splits.wanted[word][pick], truth=dtype is BOOL, depth=depth)
                    if node is not None:
                        found[word] = node
            if len(found) == len(splits.words) or time.perf_counter() > deadline:
                break
        if len(found) < len(splits.words):
            return None
        wrong = np.zeros(SPLITS, bool)
        with np.errstate(all="ignore"):
            for word, node in found.items():
                wrong |= full(on_columns(node, splits.columns, FLOATS)) != splits.wanted[word]
        if not wrong.any():
            return found
        pick = np.unique(np.concatenate([pick, np.flatnonzero(wrong)[:60]]))
    return None


def searched(loop: Loop, seconds: float = SECONDS, most: int = 2) -> Searched:
    """Look for the operator of a loop on its own words, and with at most so many helpers; fewest words first."""
    deadline = time.perf_counter() + seconds
    undetermined: Undetermined | None = None
    tried = 0
    helpers = helpers_of(loop)
    for depth in (1, 2):  # of choices in each other
        for some in (each for count in range(most + 1) for each in itertools.combinations(helpers, count)):
            for empty in (True, False) if all(helper.initial is not None for helper in some) else (False,):
                if time.perf_counter() > deadline:
                    return Searched(None, undetermined, tried)
                tried += depth == 1
                splits = Splits(loop, some, empty)
                conflict = splits.undetermined()
                if conflict:
                    if not some and undetermined is None:
                        word, pair = next(iter(conflict.items()))
                        undetermined = Undetermined(word, _told(splits, word, pair))
                    continue
                combine = _joined(splits, min(deadline, time.perf_counter() + 1.5), depth)
                if combine is not None:
                    return Searched(_carrier(splits, combine, deadline), None, tried)
    return Searched(None, undetermined, tried)


def _told(splits: Splits, word: str, pair: tuple[int, int]) -> str:
    first, second = pair
    values = [shown(splits.wanted[word][split]) for split in pair]
    return (
        f"{splits.shown(first)} lead to the same words as {splits.shown(second)}, part by part, and yet {word} is "
        f"{values[0]} after the first two and {values[1]} after the others"
    )


def _carrier(splits: Splits, combine: dict[str, Expression], deadline: float) -> Carrier:
    loop = splits.loop
    first = loop.begun
    lift = {name: first[name] for name in loop.live}
    for helper in splits.helpers:
        lift[helper.name] = substituted(helper.lift, {f"new.{name}": each for name, each in first.items()})
    words = dict(splits.words)
    state = {name: name_of(name, loop.state[name]) for name in loop.live}
    result = loop.result
    for word in sorted(loop.live, key=lambda name: loop.state[name] is not BOOL):
        others = {name: dtype for name, dtype in words.items() if name != word}
        node = _redundant(splits, word, others)
        if node is None or time.perf_counter() > deadline:
            continue
        sides = {f"{side}.{word}": substituted(node, {n: name_of(f"{side}.{n}", d) for n, d in others.items()})
                 for side in "ab"}  # fmt: skip
        combine = {name: substituted(each, sides) for name, each in combine.items() if name != word}
        state = {name: substituted(each, {word: node}) for name, each in state.items()}
        result = tuple(substituted(each, {word: node}) for each in result)
        words, lift = others, {name: each for name, each in lift.items() if name != word}
    how = "its own words" if not splits.helpers else "its words and " + ", ".join(h.name for h in splits.helpers)
    return Carrier(
        loop, words, lift, {word: combine[word] for word in words}, state, result, f"found by search on {how}"
    )


def _redundant(splits: Splits, word: str, others: Mapping[str, DType]) -> Expression | None:
    """Return a word as an expression of others, over all parts; None where it is none."""
    columns = {name: splits.columns[f"a.{name}"] for name in others}
    wanted = splits.columns[f"a.{word}"]
    bank = _leaves(others, columns, splits.loop, np.arange(SPLITS))
    bank.grow(time.perf_counter() + 0.3, factors=False)
    found = bank.find(wanted, truth=splits.words[word] is BOOL)
    return None if found is None or found.constant else found
