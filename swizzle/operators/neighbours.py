"""Loops that compare each element with the one before it: sorted prefixes, increasing runs.

Take the answer of the comparison as an input beside the element; what is left is a loop that does not know the element
before, and its operator is looked for as of any loop. Within a part all answers are known but the first one, which the
part before decides by its last element. So the words of a part are its first and its last element, and those of the
other loop's operator for either first answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from swizzle.operators.carrier import Carrier, Values, renamed
from swizzle.operators.decomposition import Finds, part_of
from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.proof import Prover
from swizzle.operators.types import widest
from symbolic.expressions import expression as e
from symbolic.expressions.expression import BUILDERS, Expression, replaced, subexpressions, substituted
from symbolic.ir.program import DType


def with_values(loop: Loop, find: Finds) -> Carrier | None:
    """Return the operator of a loop whose state says of the past, beside what it gathers, only what the element before
    was: total variation, rises, runs.

    What a step computes of both elements is an input of what is left. The words of a part are its first and its last
    element, and those of the other loop's operator for all elements but the first, of which the part before says what
    the inputs are. So words of no element are needed, for parts of one element.
    """
    before = {word: loop.step[word] for word in loop.live if loop.step[word].names <= loop.elements.keys()}
    rest = [word for word in loop.live if word not in before]
    if not rest or not any(each.names for each in before.values()):
        return None
    inputs: dict[Expression, Expression] = {}
    step = {word: _with_inputs(loop.step[word], before, loop, inputs) for word in rest}
    if not inputs or any(each.names & before.keys() for each in step.values()):
        return None
    dtypes = {each.value: _type_of(node, loop) for node, each in inputs.items()}
    inner = replace(part_of(loop, rest), elements={**loop.elements, **dtypes}, step=step)
    found = find(inner)
    empty = None if found is None else Prover(found, "integers").likely_identity()
    return None if found is None or empty is None else _behind_the_first(loop, before, inputs, found, empty)


def _with_inputs(node: Expression, before: Values, loop: Loop, inputs: dict[Expression, Expression]) -> Expression:
    """Return a step with inputs for what it computes of an element and the one before."""
    if not node.names & before.keys():
        return node

    def known(node: Expression) -> bool:
        return node.names <= before.keys() | loop.elements.keys()

    if known(node):
        name = f"{loop.name}_input{len(inputs)}"
        return inputs.setdefault(node, name_of(name, BOOL) if node.truth else e.number_name(name))
    arguments = list(node.arguments)
    if node.operator in ("+", "*", "max", "min", "and", "or"):
        own = [each for each in arguments if known(each)]
        if any(each.names & before.keys() for each in own):
            arguments = [BUILDERS[node.operator](*own), *(each for each in arguments if each not in own)]
    return BUILDERS[node.operator](*(_with_inputs(each, before, loop, inputs) for each in arguments))


def _type_of(node: Expression, loop: Loop) -> DType:
    if node.truth:
        return BOOL
    return widest(loop.types[name] for name in node.names) or DType.I32


def _behind_the_first(
    loop: Loop, before: Values, inputs: Mapping[Expression, Expression], found: Carrier, empty: Values
) -> Carrier:
    """Return the operator of a loop, of the one that is found where inputs say what the element before was."""
    asked = {each.value: node for node, each in inputs.items()}
    lifted = {word: substituted(each, asked) for word, each in found.lift.items()}
    read = {name for each in lifted.values() for name in each.names}
    first = {name: f"first_{name}" for name in loop.elements if name in read}
    kept = {name for each in loop.result for name in each.names} | read
    last = {word: f"last_{word}" for word, each in before.items() if each.names and word in kept}
    words = {name: loop.elements[element] for element, name in first.items()}
    words |= {name: loop.state[word] for word, name in last.items()}
    lift = {name: name_of(element, loop.elements[element]) for element, name in first.items()}
    lift |= {name: before[word] for word, name in last.items()}
    spelled = {word: word if word not in words else f"{word}_inside" for word in found.words}
    inner = renamed(found, spelled)
    words |= inner.words
    lift |= {spelled[word]: empty[word] for word in found.words}

    def once(side: str, past: Values) -> dict[str, Expression]:
        """Return the words of the first element of a part, given the state of what is before it."""
        dot = f"{side}." if side else ""
        names = {each: name_of(f"{dot}{name}", loop.elements[each]) for each, name in first.items()}
        return {spelled[word]: substituted(each, {**past, **names}) for word, each in lifted.items()}

    past = {
        word: name_of(f"a.{last[word]}", loop.state[word]) if word in last else each for word, each in before.items()
    }
    combine = {name: name_of(f"a.{name}", loop.elements[element]) for element, name in first.items()}
    combine |= {name: name_of(f"b.{name}", loop.state[word]) for word, name in last.items()}
    combine |= inner.combined(inner.combined(inner.part("a"), once("b", past)), inner.part("b"))
    here = {word: name_of(word, dtype) for word, dtype in inner.words.items()}
    own = inner.combined(once("", loop.initial), here)
    state = {name: substituted(each, own) for name, each in inner.state.items()}
    state |= {word: name_of(last[word], loop.state[word]) if word in last else each for word, each in before.items()
              if word in last or not each.names}  # fmt: skip
    return Carrier(
        loop, words, lift, combine, state, tuple(substituted(each, state) for each in loop.result),
        f"{found.how}, of an element and the one before", inner.infinite, inner.within,
    )  # fmt: skip


MOST: Final = 2
"""Comparisons with the element before, of which each answer is an input."""


def with_answers(loop: Loop, find: Finds) -> Carrier | None:
    """Return the operator of a loop that only compares elements with the ones before them."""
    before = {word: loop.step[word] for word in loop.live if loop.step[word].operator == "name"}
    before = {word: each for word, each in before.items() if each.value in loop.elements}
    rest = [word for word in loop.live if word not in before]
    known = {*before, *loop.elements}
    tests: dict[Expression, None] = {}
    for word in rest:
        for node in subexpressions(loop.step[word]):
            if node.operator in ("<", "<=", "==") and node.names & before.keys() and node.names <= known:
                tests.setdefault(node if e.negation(node) not in tests else e.negation(node))
    if not before or not rest or not 0 < len(tests) <= MOST or any(each.names & before.keys() for each in loop.result):
        return None
    answers = {test: name_of(f"answer{place}", BOOL) for place, test in enumerate(tests)}
    inputs = {**answers, **{e.negation(test): e.negation(answer) for test, answer in answers.items()}}
    step = {word: replaced(loop.step[word], inputs) for word in rest}
    if any(each.names & before.keys() for each in step.values()):
        return None
    elements = {**loop.elements, **{each.value: BOOL for each in answers.values()}}
    found = find(replace(part_of(loop, rest), elements=elements, step=step, result=loop.result))
    return None if found is None else _for_either_answer(loop, before, answers, found)


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
            holds = e.both(*(of(test if yes else e.negation(test)) for test, yes in zip(answers, kind, strict=True)))
            one = part(side, kind)
            result = {word: e.select(holds, one[word], result[word]) for word in result}
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
        said = {answer.value: e.constant(yes) for answer, yes in zip(answers.values(), kind, strict=True)}
        for word, dtype in found.words.items():
            words[mine[word].value] = dtype
            lift[mine[word].value] = substituted(found.lift[word], said)
            combine[mine[word].value] = together[word]
    own = chosen("", at_first)
    state = {name: substituted(each, own) for name, each in found.state.items()}
    state |= {word: name_of(last[word], loop.state[word]) for word in before}
    within = e.both(*(substituted(found.within, part("", kind)) for kind in kinds))
    infinite = {part("", kind)[word].value: sign for kind in kinds for word, sign in found.infinite.items()}
    result = tuple(substituted(each, own) for each in found.result)
    how = f"{found.how}, for either answer of the comparison with the element before"
    return Carrier(loop, words, lift, combine, state, result, how, infinite, within)
