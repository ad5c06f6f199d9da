"""A loop of several words as several loops: one for each subgraph of its words, found apart, and put together again.

A word needs the words that its step reads. What a word needs, all in all, is a *subgraph*; those that no other one
contains are loops of their own. A word of several subgraphs is computed in each, and is one word again where both came
to the same. A subgraph of which no operator is found is taken together with another one, as words of that may say what
its own do not (the groupings of the paper on rfactor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import Loop, name_of, unused
from symbolic.bottom_up import reached
from symbolic.expressions.expression import Expression, both, substituted
from symbolic.ir.program import DType

Finds = Callable[[Loop], Carrier | None]


def subgraphs(loop: Loop) -> list[tuple[str, ...]]:
    """Return the words of each subgraph that no other one contains, in the order of the state.

    The subgraphs of an arg-minimum in two dimensions, whose words are m, i and j, are (m, i) and (m, j).
    """
    needed = {word: set(reached([word], lambda each: loop.step[each].names & loop.state.keys())) for word in loop.live}
    widest = [found for found in needed.values() if not any(found < other for other in needed.values())]
    return [tuple(word for word in loop.live if word in found) for found in dict.fromkeys(map(frozenset, widest))]


def part_of(loop: Loop, words: Sequence[str]) -> Loop:
    """Return the loop of some words, whose result they are."""
    return replace(
        loop, state={word: loop.state[word] for word in words}, initial={word: loop.initial[word] for word in words},
        step={word: loop.step[word] for word in words}, run=None, stands_for=None,
        result=tuple(name_of(word, loop.state[word]) for word in words),
    )  # fmt: skip


def composed(loop: Loop, find: Finds) -> Carrier | None:
    """Return the operator of a loop, put together from those that `find` finds of its parts; None without parts."""
    some = subgraphs(loop)
    if len(some) < 2:
        return None
    known: dict[tuple[str, ...], Carrier | None] = {}

    def found(words: tuple[str, ...]) -> Carrier | None:
        if words not in known:
            known[words] = find(part_of(loop, words))
        return known[words]

    chosen: list[Carrier] = []
    covered: set[str] = set()
    for words in some:
        if set(words) <= covered:
            continue
        carrier = next((each for each in map(found, _groups(loop, words, some)) if each is not None), None)
        if carrier is None:
            return None
        chosen.append(carrier)
        covered |= set(carrier.loop.state)
    return _together(loop, chosen)


def _groups(loop: Loop, words: tuple[str, ...], some: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield a subgraph, and then with one more, but for all of them together, which is the loop itself."""
    yield words
    for other in some:
        group = tuple(word for word in loop.live if word in words or word in other)
        if other != words and len(group) < len(loop.live):
            yield group


def _together(loop: Loop, some: Sequence[Carrier]) -> Carrier:
    """Return operators side by side; words that are computed alike in two of them are one."""
    words: dict[str, DType] = {}
    lift: dict[str, Expression] = {}
    combine: dict[str, Expression] = {}
    state: dict[str, Expression] = {}
    infinite: dict[str, int] = {}
    within = []
    for carrier in some:
        same = _alike(carrier, lift, combine)
        spelled = {word: word if word in same else unused(word, words, 2) for word in carrier.words}
        sides = {f"{side}.{word}": name_of(f"{side}.{spelled[word]}", dtype)
                 for word, dtype in carrier.words.items() for side in "ab"}  # fmt: skip
        own = {word: name_of(spelled[word], dtype) for word, dtype in carrier.words.items()}
        for word, name in spelled.items():
            words[name] = carrier.words[word]
            lift[name] = carrier.lift[word]
            combine[name] = substituted(carrier.combine[word], sides)
        infinite |= {spelled[word]: sign for word, sign in carrier.infinite.items()}
        within.append(substituted(carrier.within, own))
        for name, each in carrier.state.items():
            state.setdefault(name, substituted(each, own))
    return Carrier(
        loop, words, lift, combine, state, tuple(substituted(each, state) for each in loop.result),
        "in parts: " + "; ".join(dict.fromkeys(carrier.how for carrier in some)), infinite, both(*within),
    )  # fmt: skip


def _alike(carrier: Carrier, lift: dict[str, Expression], combine: dict[str, Expression]) -> set[str]:
    """Return the words of an operator that are there already, by name, computed in the same way of such words."""
    same = {
        word for word in carrier.words
        if word in lift and lift[word] is carrier.lift[word] and combine[word] is carrier.combine[word]
    }  # fmt: skip
    while True:
        closed = {
            word for word in same if {name.partition(".")[2] for name in carrier.combine[word].names} <= same
        }  # fmt: skip
        if closed == same:
            return same
        same = closed
