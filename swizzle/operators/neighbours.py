"""Loops that compare each element with the one before it: sorted prefixes, increasing runs.

Take the answer of the comparison as an input beside the element; what is left is a loop that does not know the element
before, and its operator is looked for as of any loop. Within a part all answers are known but the first one, which the
part before decides by its last element. So the words of a part are its first and its last element, and those of the
other loop's operator for either first answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from swizzle.operators.carrier import Carrier, Values
from swizzle.operators.loop import BOOL, Loop, name_of
from symbolic.expressions.expression import (
    BUILDERS,
    Expression,
    both,
    constant,
    negation,
    select,
    subexpressions,
    substituted,
)

MOST: Final = 2
"""Comparisons with the element before, of which each answer is an input."""


def with_answers(loop: Loop, find: Callable[[Loop], Carrier | None]) -> Carrier | None:
    """Return the operator of a loop that only compares elements with the ones before them."""
    before = {word: loop.step[word] for word in loop.live if loop.step[word].operator == "name"}
    before = {word: each for word, each in before.items() if each.value in loop.elements}
    rest = [word for word in loop.live if word not in before]
    known = {*before, *loop.elements}
    tests: dict[Expression, None] = {}
    for word in rest:
        for node in subexpressions(loop.step[word]):
            if node.operator in ("<", "<=", "==") and node.names & before.keys() and node.names <= known:
                tests.setdefault(node if negation(node) not in tests else negation(node))
    if not before or not rest or not 0 < len(tests) <= MOST or any(each.names & before.keys() for each in loop.result):
        return None
    answers = {test: name_of(f"answer{place}", BOOL) for place, test in enumerate(tests)}
    step = {word: _answered(loop.step[word], answers) for word in rest}
    if any(each.names & before.keys() for each in step.values()):
        return None
    inner = replace(
        loop, elements={**loop.elements, **{each.value: BOOL for each in answers.values()}}, step=step, run=None,
        state={word: loop.state[word] for word in rest}, initial={word: loop.initial[word] for word in rest},
    )  # fmt: skip
    found = find(inner)
    return None if found is None else _for_either_answer(loop, before, answers, found)


def _answered(node: Expression, answers: dict[Expression, Expression]) -> Expression:
    """Return a step in which comparisons are inputs."""
    known = {**answers, **{negation(test): negation(answer) for test, answer in answers.items()}}

    def walk(some: Expression) -> Expression:
        if some not in known:
            known[some] = BUILDERS[some.operator](*map(walk, some.arguments)) if some.arguments else some
        return known[some]

    return walk(node)


def _for_either_answer(loop: Loop, before: Values, answers: dict[Expression, Expression], found: Carrier) -> Carrier:
    """Return the operator of a loop, of the one that is found where answers are inputs."""
    kinds = list(itertools.product((True, False), repeat=len(answers)))
    first = {word: f"first_{word}" for word in before}
    last = {word: f"last_{word}" for word in before}
    spelled = {kind: "_".join("yes" if each else "no" for each in kind) for kind in kinds}
    words = {name: loop.state[word] for some in (first, last) for word, name in some.items()}
    lift = {name: each for some in (first, last) for name, each in zip(some.values(), before.values(), strict=True)}
    combine: dict[str, Expression] = {}
    for word in before:
        combine[first[word]] = name_of(f"a.{first[word]}", loop.state[word])
        combine[last[word]] = name_of(f"b.{last[word]}", loop.state[word])

    def part(side: str, kind: tuple[bool, ...]) -> dict[str, Expression]:
        dot = f"{side}." if side else ""
        return {word: name_of(f"{dot}{word}_{spelled[kind]}", dtype) for word, dtype in found.words.items()}

    def chosen(side: str, of: Callable[[Expression], Expression]) -> dict[str, Expression]:
        """Return the words of a part whose first answers are decided by what is before it."""
        result = part(side, kinds[-1])
        for kind in kinds[:-1]:
            holds = both(*(of(test if yes else negation(test)) for test, yes in zip(answers, kind, strict=True)))
            one = part(side, kind)
            result = {word: select(holds, one[word], result[word]) for word in result}
        return result

    def between(test: Expression) -> Expression:
        names = {word: name_of(f"a.{last[word]}", loop.state[word]) for word in before}
        return substituted(test, {**names, **{each.value: name_of(f"b.{first[word]}", loop.state[word])
                                              for word, each in before.items()}})  # fmt: skip

    def at_first(test: Expression) -> Expression:
        names = {word: loop.initial[word] for word in before}
        return substituted(test, {**names, **{each.value: name_of(first[word], loop.state[word])
                                              for word, each in before.items()}})  # fmt: skip

    second = chosen("b", between)
    for kind in kinds:
        mine, together = part("", kind), found.combined(part("a", kind), second)
        said = {answer.value: constant(yes) for answer, yes in zip(answers.values(), kind, strict=True)}
        for word, dtype in found.words.items():
            words[mine[word].value] = dtype
            lift[mine[word].value] = substituted(found.lift[word], said)
            combine[mine[word].value] = together[word]
    own = chosen("", at_first)
    state = {name: substituted(each, own) for name, each in found.state.items()}
    state |= {word: name_of(last[word], loop.state[word]) for word in before}
    within = both(*(substituted(found.within, part("", kind)) for kind in kinds))
    infinite = {part("", kind)[word].value: sign for kind in kinds for word, sign in found.infinite.items()}
    result = tuple(substituted(each, own) for each in found.result)
    how = f"{found.how}, for either answer of the comparison with the element before"
    return Carrier(loop, words, lift, combine, state, result, how, infinite, within)
