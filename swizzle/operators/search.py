"""Operators by search: how two parts combine, read off what the loop makes of random parts.

The words are the loop's own state and, where that does not determine the state of two parts together, helpers: the
first element, the least value so far. For each word of both parts an expression of the words of either is looked for,
smallest first, among all that differ on the examples; and among maxima, minima, conjunctions, disjunctions and choices
of such, which need no enumeration: a maximum may have every expression that is nowhere above what is wanted. What is
found fits thousands of splits and is proved elsewhere (`proof.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec import Struct

from swizzle.operators.bank import ExampleBank, fitting
from swizzle.operators.carrier import GUESSED, Carrier, renamed
from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.splits import (
    LONGEST,
    SPLITS,
    Array,
    Columns,
    Helper,
    Splits,
    full,
    helpers_of,
    products_of,
    shown,
)
from swizzle.operators.work import Work
from symbolic.expressions.columns import FLOATS, on_columns
from symbolic.expressions.expression import Expression, add, constant, number_name, subexpressions, substituted
from symbolic.ir.program import DType

SHOWN: Final = 220
"""So many splits are what expressions are told apart by at first."""
SECONDS: Final = 4.0
"""Of work; for one set of words 1.5 of them, and as many more for a choice within another one."""
A_STEP: Final = 4.0
A_ROW: Final = 20.0
"""Nanoseconds for an operation of a loop's step in one row, and for a row beside these."""
REDUNDANT: Final = 0.3
APART: Final = "!"
"""What names of an inner operator's words end in, so that they are none of the state's."""


class Undetermined(Struct, frozen=True):
    """Two splits whose parts have the same words, while the whole inputs have not: the word, and the inputs."""

    word: str
    text: str


class Searched(Struct, frozen=True):
    """What a search came to: an operator, or splits that the state alone mixes up, and how much was tried."""

    carrier: Carrier | None
    undetermined: Undetermined | None
    tried: int
    helpers: tuple[str, ...] = ()


def _leaves(names: Mapping[str, DType], columns: Columns, loop: Loop, pick: Array, work: Work) -> ExampleBank:
    bank = ExampleBank(work)
    for name, dtype in names.items():
        bank.add(name_of(name, dtype), columns[name][pick])
    for number in _numbers(loop):
        bank.add(constant(number), np.full(len(pick), float(number)))
    bank.leaves = list(bank.numbers.made)
    return bank


def _numbers(loop: Loop) -> list[int]:
    nodes = (node for each in (*loop.step.values(), *loop.result) for node in subexpressions(each))
    own = {node.value for node in nodes if node.constant and not node.truth and isinstance(node.value, int)}
    return [0, 1, -1, *sorted(own - {0, 1, -1})[:3]]


def _joined(
    splits: Splits, work: Work, depth: int, known: Mapping[str, Expression], together: Sequence[Expression]
) -> dict[str, Expression] | None:
    """Return how the words of two parts combine, over the names a.WORD and b.WORD, of which some are `known`, and what
    is `together` after both parts of words of the state; None where it was not found."""
    loop = splits.loop
    names = {f"{side}.{word}": dtype for side in "ab" for word, dtype in splits.words.items()}
    factors = any(node.operator == "*" for each in loop.step.values() for node in subexpressions(each))
    order = np.random.default_rng(3).permutation(SPLITS)
    pick = order[:SHOWN]
    for _ in range(4):
        bank = _leaves(names, splits.columns, loop, pick, work)
        for each in together:
            bank.add(each, full(on_columns(each, splits.columns, FLOATS))[pick])
        bank.leaves = list(bank.numbers.made)
        found: dict[str, Expression] = dict(known)
        for size in range(3):
            if size:
                bank.grow(factors)
            for word, dtype in splits.words.items():
                if word not in found:
                    node = _word(splits, bank, word, dtype, pick, depth)
                    if node is not None:
                        found[word] = node
            if len(found) == len(splits.words) or work.over:
                break
        if len(found) < len(splits.words):
            return None
        wrong = np.zeros(SPLITS, bool)
        with np.errstate(all="ignore"):
            for word in splits.words.keys() - known.keys():
                wrong |= full(on_columns(found[word], splits.columns, FLOATS)) != splits.wanted[word]
        if not wrong.any():
            return found
        pick = np.unique(np.concatenate([pick, np.flatnonzero(wrong)[:60]]))
    return None


def _word(splits: Splits, bank: ExampleBank, word: str, dtype: DType, pick: Array, depth: int) -> Expression | None:
    """Return how a word of two parts is made of theirs; of a number, perhaps as what is added to its own in them."""
    column = splits.wanted[word][pick]
    found = fitting(bank, column, truth=dtype is BOOL, depth=depth)
    if found is not None or dtype is BOOL:
        return found
    own = {f"{side}.{word}": splits.columns[f"{side}.{word}"][pick] for side in "ab"}
    if not all(np.isfinite(each).all() for each in (column, *own.values())):
        return None
    rest = fitting(bank, column - sum(own.values()), truth=False, depth=depth)
    return None if rest is None else add(rest, *map(number_name, own))


def searched(
    loop: Loop, seconds: float = SECONDS, most: int = 2, inner: Carrier | None = None,
    wrong: Collection[tuple[str, ...]] = (),
) -> Searched:  # fmt: skip
    """Look for the operator of a loop on its own words, and with at most so many helpers; fewest words first.

    `inner` is the operator of some of its words, of which the others then know the words. `wrong` are names of helpers
    that are not to be taken together.
    """
    work = Work(seconds)
    operations = sum(1 for word in loop.live for _ in subexpressions(loop.step[word]))
    undetermined: Undetermined | None = None
    tried = 0
    helpers, others, known, together = helpers_of(loop), list[Helper](), dict[str, Expression](), list[Expression]()
    products, own = tuple(products_of(loop)), loop.live
    if inner is not None:
        others, known = _words_of(inner)
        after = {word: known[f"{word}{APART}"] for word in inner.words}
        together = [substituted(each, after) for each in inner.state.values()]
        own = tuple(word for word in own if word not in inner.state)
    for depths in ((1,), (2,)) if inner is None else ((1, 2),):  # of choices in each other
        groups = itertools.chain(*(itertools.combinations(helpers, count) for count in range(most + 1)))
        for some in itertools.chain(((), products[:1], products) if products else (), groups):
            names = tuple(helper.name for helper in some)
            if names in wrong:
                continue
            with_empty = inner is None and all(helper.initial is not None for helper in some)
            for empty in (True, False) if with_empty else (False,):
                if work.over:
                    return Searched(None, undetermined, tried)
                tried += 1 in depths
                work.spend(2 * SPLITS * LONGEST, operations * A_STEP + A_ROW)
                splits = Splits(loop, (*others, *some), empty, own)
                conflict = splits.undetermined()
                if conflict:
                    if not some and undetermined is None:
                        word, pair = next(iter(conflict.items()))
                        undetermined = Undetermined(word, _told(splits, word, pair))
                    continue
                for depth in depths:
                    combine = _joined(splits, Work(1.5 * depth, work), depth, known, together)
                    if combine is not None:
                        return Searched(_carrier(splits, combine, inner, some), None, tried, names)
    return Searched(None, undetermined, tried)


def _words_of(inner: Carrier) -> tuple[list[Helper], dict[str, Expression]]:
    """Return the words of an operator as helpers, under names that no other words have, and how they combine."""
    names = {word: f"{word}{APART}" for word in inner.words}
    sides = {f"{side}.{word}": name_of(f"{side}.{names[word]}", d) for word, d in inner.words.items() for side in "ab"}
    after = {f"a.{word}": name_of(names[word], dtype) for word, dtype in inner.words.items()}
    after |= {f"b.{word}": inner.lift[word] for word in inner.words}
    return [
        Helper(names[word], dtype, inner.lift[word], substituted(inner.combine[word], after))
        for word, dtype in inner.words.items()
    ], {names[word]: substituted(each, sides) for word, each in inner.combine.items()}


def _told(splits: Splits, word: str, pair: tuple[int, int]) -> str:
    first, second = pair
    values = [shown(splits.wanted[word][split]) for split in pair]
    return (
        f"{splits.shown(first)} lead to the same words as {splits.shown(second)}, part by part, and yet {word} is "
        f"{values[0]} after the first two and {values[1]} after the others"
    )


def _carrier(
    splits: Splits, combine: dict[str, Expression], inner: Carrier | None, helped: Sequence[Helper]
) -> Carrier:
    loop = splits.loop
    first = loop.begun
    lift = {name: first[name] for name in splits.own}
    for helper in splits.helpers:
        lift[helper.name] = substituted(helper.lift, {f"new.{name}": each for name, each in first.items()})
    words = dict(splits.words)
    state = {name: name_of(name, loop.state[name]) for name in splits.own}
    if inner is not None:
        own = {word: name_of(f"{word}{APART}", dtype) for word, dtype in inner.words.items()}
        state |= {name: substituted(each, own) for name, each in inner.state.items()}
    result = tuple(substituted(each, state) for each in loop.result)
    for word in sorted(splits.own, key=lambda name: loop.state[name] is not BOOL):
        others = {name: dtype for name, dtype in words.items() if name != word}
        node = _redundant(splits, word, others)
        if node is None:
            continue
        sides = {f"{side}.{word}": substituted(node, {n: name_of(f"{side}.{n}", d) for n, d in others.items()})
                 for side in "ab"}  # fmt: skip
        combine = {name: substituted(each, sides) for name, each in combine.items() if name != word}
        state = {name: substituted(each, {word: node}) for name, each in state.items()}
        result = tuple(substituted(each, {word: node}) for each in result)
        words, lift = others, {name: each for name, each in lift.items() if name != word}
    own_words = "its own words" if not helped else "its words and " + ", ".join(h.name for h in helped)
    how = f"{GUESSED} on {own_words}"
    found = Carrier(loop, words, lift, {word: combine[word] for word in words}, state, result, how)
    if inner is None:
        return found
    spelled = {word: word.removesuffix(APART) for word in words}
    for name, each in inner.state.items():  # what a word of the state is in its place
        if each.operator == "name" and name not in spelled.values():
            spelled[f"{each.value}{APART}"] = name
    again = renamed(found, spelled)
    return replace(again, how=f"{inner.how}; and {how}", infinite=inner.infinite, within=inner.within)


def _redundant(splits: Splits, word: str, others: Mapping[str, DType]) -> Expression | None:
    """Return a word as an expression of others, over all parts; None where it is none."""
    columns = {name: splits.columns[f"a.{name}"] for name in others}
    wanted = splits.columns[f"a.{word}"]
    bank = _leaves(others, columns, splits.loop, np.arange(SPLITS), Work(REDUNDANT))
    bank.grow(factors=False)
    found = bank.find(wanted, truth=splits.words[word] is BOOL)
    return None if found is None or found.constant else found
