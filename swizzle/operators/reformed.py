"""Loops in other words: with a remainder as a word of its own, or without a word that the others say.

`here % 2` is no linear function of `here`, but a word that is 0 or 1 and changes by itself: a control. And a word that
is always an expression of others, `even` of `most - most % 2`, is none that an operator has to combine. Both are the
same loop as before, which is proved by induction over its rounds.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from swizzle.operators.bank import ExampleBank, fitting
from swizzle.operators.invariants import inductive, orders
from swizzle.operators.loop import BOOL, Domain, Loop, StandsFor, name_of
from swizzle.operators.samples import random_rows, random_states
from swizzle.operators.work import Work
from symbolic.expressions import expression as e
from symbolic.expressions.expression import BUILDERS, FALSE, TRUE, Expression, replaced, subexpressions, substituted
from symbolic.expressions.formulas import decide
from symbolic.expressions.meaning import function_of
from symbolic.ir.program import DType

MOST_REMAINDERS: Final = 16
SECONDS: Final = 0.5
"""Of work, for an expression of a word."""
CLOSE: Final = 3.0


def reformed(loop: Loop, domain: Domain) -> Iterator[Loop]:
    """Yield loops that do the same in other words."""
    first = (_with_remainders, _with_a_flag) if loop.stands_for is None else ()
    for way in (*first, _with_a_sum, _without_a_word):
        other = way(loop, domain)
        if other is not None:
            yield other


def _domain(loop: Loop, domain: Domain) -> Domain:
    """Return what numbers are in a proof that two loops are the same: integers, where words are promised to be such."""
    return "integers" if domain == "words" and loop.range != type(loop.range)() else domain


# ---- remainders --------------------------------------------------------------------------------------------------


class _NoRemainder(Exception):
    """What a remainder becomes does not follow from remainders."""


def _with_remainders(loop: Loop, domain: Domain) -> Loop | None:
    """Return a loop with a word for each remainder of a word that a step or the result asks for."""
    wanted: dict[str, int] = {}
    for node in (
        node for each in (*(loop.step[word] for word in loop.live), *loop.result) for node in subexpressions(each)
    ):
        if node.operator == "%" and node.names & loop.state.keys():
            number = node.arguments[1]
            if not number.constant or not 1 < number.value <= MOST_REMAINDERS:
                return None
            for name in node.arguments[0].names & loop.state.keys():
                if loop.state[name] is not BOOL and wanted.setdefault(name, number.value) != number.value:
                    return None
    remainders = {name: f"{name}_by_{number}" for name, number in wanted.items()}
    if not wanted or set(remainders.values()) & loop.types.keys():
        return None

    def of(node: Expression, number: int) -> Expression:
        """Return the remainder of a number, over remainders of the state."""
        match node.operator:
            case "constant" if isinstance(node.value, int):
                return e.constant(node.value % number)
            case "name" if node.value in loop.state:
                if wanted.get(node.value) != number:
                    wanted[node.value] = number
                    raise _NoRemainder
                return e.number_name(remainders[node.value])
            case "name":
                return e.modulo(node, e.constant(number))
            case "select":
                condition, *sides = node.arguments
                return BUILDERS["select"](pushed(condition), *(of(side, number) for side in sides))
            case "+" | "*":
                return e.modulo(
                    BUILDERS[node.operator](*(of(each, number) for each in node.arguments)), e.constant(number)
                )
            case "%" if node.arguments[1].constant and node.arguments[1].value == number:
                return of(node.arguments[0], number)
        raise _NoRemainder

    def pushed(node: Expression) -> Expression:
        """Return an expression with words for its remainders."""
        if node.operator == "%" and node.names & loop.state.keys():
            return of(node.arguments[0], node.arguments[1].value)
        return BUILDERS[node.operator](*map(pushed, node.arguments)) if node.arguments else node

    try:
        step = {name: pushed(each) for name, each in loop.step.items() if name in loop.live}
        step |= {remainders[name]: of(loop.step[name], number) for name, number in wanted.items()}
        result = tuple(map(pushed, loop.result))
    except (_NoRemainder, KeyError):
        return None
    given = [
        e.equal(e.number_name(remainders[name]), e.modulo(e.number_name(name), e.constant(number)))
        for name, number in wanted.items()
    ]
    claims = [(step[name], loop.step[name]) for name in loop.live]
    claims += [
        (step[remainders[name]], e.modulo(loop.step[name], e.constant(number))) for name, number in wanted.items()
    ]
    claims += list(zip(result, loop.result, strict=True))
    proved_in = _domain(loop, domain)
    state = {name: loop.state[name] for name in loop.live} | {
        remainders[name]: loop.state[name] for name in wanted
    }  # fmt: skip
    initial = {name: loop.initial[name] for name in loop.live}
    initial |= {remainders[name]: e.constant(loop.initial[name].value % number) for name, number in wanted.items()}
    made = _made(
        loop, state, initial, step, result, {name: name_of(name, loop.state[name]) for name in loop.live}, proved_in
    )
    answer = decide(claims, made.sorts(proved_in), [*given, loop.range.where], effort=CLOSE)
    return made if answer.verdict == "proved" else None


# ---- the first round ---------------------------------------------------------------------------------------------


def _with_a_flag(loop: Loop, domain: Domain) -> Loop | None:
    """Return a loop with a flag for a condition that only the first round meets: `n == 0` of a counter."""
    flag = f"{loop.name}_begun"
    states = {name: loop.state[name] for name in loop.live}
    nodes = dict.fromkeys(node for name in loop.live for node in subexpressions(loop.step[name]))
    atoms = [
        node for node in nodes if node.operator in ("<", "<=", "==") and node.names and node.names <= states.keys()
    ]  # fmt: skip
    samples = [state for state, rounds in zip(random_states(loop), itertools.count(), strict=False) if rounds]
    at_first = function_of(list(loop.state), atoms or [TRUE])
    first, later = at_first(*loop.start()), [at_first(*state) for state in samples]
    likely = [
        atom if not first[place] else e.negation(atom)
        for place, atom in enumerate(atoms) if all(row[place] is not first[place] for row in later)
    ]  # fmt: skip
    proved_in = _domain(loop, domain)
    for later_on in likely if BOOL not in {loop.types.get(flag)} else ():
        begun = name_of(flag, BOOL)
        named = {name: name_of(name, dtype) for name, dtype in states.items()}
        places = [list(loop.state).index(name) for name in states]
        some = [tuple(state[place] for place in places) for state in random_states(loop)]
        steps = [
            ({name: substituted(loop.step[name], loop.initial) for name in states}, lambda _: TRUE),
            ({name: loop.step[name] for name in states}, lambda each: each),
        ]
        known = [later_on, *orders(states, some, named)]
        if later_on not in inductive(known, steps, loop.sorts(proved_in), [loop.range.where]):
            continue
        values = {later_on: begun, e.negation(later_on): e.negation(begun)}
        step = {name: replaced(loop.step[name], values) for name in states} | {flag: TRUE}
        return _made(
            loop, {**states, flag: BOOL}, {**{name: loop.initial[name] for name in states}, flag: FALSE}, step,
            loop.result, named, proved_in,
        )  # fmt: skip
    return None


# ---- conditions with one answer ------------------------------------------------------------------------------------


def without_settled(loop: Loop, domain: Domain) -> Loop | None:
    """Return a loop without its conditions that have one answer in every state that is reached: a sum of squares is
    never below 0; and with a bound for what is chosen where a state is at one: `n - 1 if n > 0 else n` of what begins
    with 0. What has one answer of real numbers and another of NaN was refused where the loop was read."""
    if any(loop.initial[word].infinite for word in loop.live):
        return None
    nodes = (node for each in (*(loop.step[word] for word in loop.live), *loop.result) for node in subexpressions(each))
    atoms = [node for node in dict.fromkeys(nodes) if node.operator in ("<", "<=", "==")]
    atoms = [atom for atom in atoms if atom.names & set(loop.live)]
    if not atoms:
        return None
    states = random_states(loop)
    rows = random_rows(loop, random.Random(6), len(states))
    bounds = [
        (node, bound) for word in loop.live for node in subexpressions(loop.step[word])
        if node.operator == "select" and not node.truth for bound in _bounds(node)
    ]  # fmt: skip
    claims = [*((atom, each) for atom in atoms for each in (TRUE, FALSE)), *bounds]
    check = function_of([*loop.state, *loop.elements], [e.equal(*each) for each in claims])
    try:
        answers = [check(*state, *row) for state, row in zip(states, rows, strict=False)]
    except (ArithmeticError, ValueError):
        return None
    likely = [claim for claim, held in zip(claims, zip(*answers, strict=True), strict=True) if all(held)]
    if not likely:
        return None
    named = {name: name_of(name, dtype) for name, dtype in loop.state.items()}
    proved_in = _domain(loop, domain)
    step = [({name: loop.step[name] for name in loop.state}, lambda each: each)]
    sorts, where = loop.sorts(proved_in), loop.range.where
    comparable = [each for each in orders(loop.state, states, named)
                  if len({sorts[name] for name in each.names if sorts[name].kind != "truth"}) < 2]  # fmt: skip
    known = [*inductive(comparable, step, sorts, [where]), where]
    settled: dict[Expression, Expression] = {}
    for one, other in likely:
        if decide([(one, other)], sorts, known, effort=SECONDS).verdict == "proved":
            settled |= {one: other, e.negation(one): e.negation(other)} if one.truth else {one: other}
    if not settled:
        return None
    return _made(
        loop, loop.state, loop.initial, {name: replaced(each, settled) for name, each in loop.step.items()},
        [replaced(each, settled) for each in loop.result], named, proved_in,
    )  # fmt: skip


def _bounds(node: Expression) -> Iterator[Expression]:
    """Yield what a choice by a comparison of a number with a constant may be: one of its sides, within that."""
    test = node.arguments[0]
    numbers = [each for each in test.arguments if each.constant] if test.operator in ("<", "<=") else []
    for number, side, choose in itertools.product(numbers, node.arguments[1:], (e.maximum, e.minimum)):
        if side.names and side.operator != "name":
            yield choose(side, number)


# ---- a sum of two words ------------------------------------------------------------------------------------------


def _with_a_sum(loop: Loop, domain: Domain) -> Loop | None:
    """Return a loop with the sum of two words, or their difference, in the place of one of them, which asks for the
    other: what is open and what was matched are together what was opened, whatever is closed."""
    numbers = [word for word in loop.live if loop.state[word] is not BOOL and not loop.initial[word].infinite]
    proved_in = _domain(loop, domain)
    rng, named = random.Random(4), {name: name_of(name, dtype) for name, dtype in loop.state.items()}
    states = random_states(loop)
    rows = random_rows(loop, rng, len(states))
    for gone, kept in itertools.permutations(numbers, 2):
        asked = [node for node in subexpressions(loop.step[gone]) if node.truth and kept in node.names]
        total = f"{gone}_{kept}"
        if not asked or gone in loop.step[kept].names or loop.state[gone] != loop.state[kept] or total in loop.types:
            continue
        for sign in (e.constant(1), e.constant(-1)):
            old = {gone: e.subtract(e.number_name(total), e.multiply(sign, named[kept]))}
            after = substituted(e.add(loop.step[gone], e.multiply(sign, loop.step[kept])), old)
            alone = substituted(after, {kept: loop.initial[kept]})
            names = [*loop.state, *loop.elements, total]
            same = function_of(names, [e.equal(after, alone)])
            at, other = list(loop.state).index(gone), list(loop.state).index(kept)
            if not all(same(*state, *row, state[at] + sign.value * state[other])[0]
                       for state, row in zip(states, rows, strict=False)):  # fmt: skip
                continue
            sorts = {**loop.sorts(proved_in), total: loop.sorts(proved_in)[gone]}
            steps = [({name: loop.step[name] for name in loop.state}, lambda each: each)]
            known = inductive(orders(loop.state, states, named), steps, loop.sorts(proved_in), [loop.range.where])
            given = [*(substituted(each, old) for each in known), loop.range.where]
            if decide([(after, alone)], sorts, given, effort=SECONDS).verdict != "proved":
                continue
            live = [word for word in loop.live if word != gone]
            initial = e.add(loop.initial[gone], e.multiply(sign, loop.initial[kept]))
            return _made(
                loop, {**{name: loop.state[name] for name in live}, total: loop.state[gone]},
                {**{name: loop.initial[name] for name in live}, total: initial},
                {**{name: substituted(loop.step[name], old) for name in live}, total: alone},
                tuple(substituted(each, old) for each in loop.result),
                {name: old.get(name, named[name]) for name in loop.live}, proved_in,
            )  # fmt: skip
    return None


# ---- a word that others say --------------------------------------------------------------------------------------


def _without_a_word(loop: Loop, domain: Domain) -> Loop | None:
    """Return a loop without a word that is, in every state that is reached, an expression of the others."""
    if len(loop.live) < 2 or any(loop.initial[word].infinite for word in loop.live):
        return None
    named = {name: name_of(name, loop.state[name]) for name in loop.live}
    places = [list(loop.state).index(name) for name in loop.live]
    samples = [tuple(state[place] for place in places) for state in random_states(loop)]
    columns = {
        name: np.array([row[at] for row in samples], bool if loop.state[name] is BOOL else float)
        for at, name in enumerate(loop.live)
    }  # fmt: skip
    proved_in = _domain(loop, domain)
    for word in loop.live:
        if loop.state[word] is BOOL:
            continue
        others = [name for name in loop.live if name != word]
        node = _said(loop, columns[word], {name: columns[name] for name in others})
        if node is None:
            continue
        relation = e.equal(named[word], node)
        steps = [({name: loop.step[name] for name in loop.live}, lambda each: each)]
        likely = [relation, *orders({name: loop.state[name] for name in loop.live}, samples, named)]
        if relation not in inductive(likely, steps, loop.sorts(proved_in), [loop.range.where]):
            continue
        return _made(
            loop, {name: loop.state[name] for name in others}, {name: loop.initial[name] for name in others},
            {name: substituted(loop.step[name], {word: node}) for name in others},
            tuple(substituted(each, {word: node}) for each in loop.result),
            {name: node if name == word else named[name] for name in loop.live}, proved_in,
        )  # fmt: skip
    return None


def _said(loop: Loop, wanted: np.ndarray, columns: Mapping[str, np.ndarray]) -> Expression | None:
    """Return an expression of words that is another one in all samples."""
    bank = ExampleBank(Work(SECONDS))
    nodes = [node for each in (*loop.step.values(), *loop.result) for node in subexpressions(each)]
    numbers = sorted({node.value for node in nodes if node.constant and isinstance(node.value, int) and not node.truth})
    for number in dict.fromkeys([0, 1, -1, *numbers[:4]]):
        bank.add(e.constant(number), np.full(len(wanted), float(number)))
    divisors = {n.arguments[1].value for n in nodes if n.operator in ("%", "//") and n.arguments[1].constant}
    for name, column in columns.items():
        bank.add(name_of(name, loop.state[name]), column)
        for divisor in sorted(divisors) if loop.state[name] is not BOOL else ():
            bank.add(e.modulo(e.number_name(name), e.constant(divisor)), np.remainder(column, divisor))
    bank.leaves = list(bank.numbers.made)
    for size in range(3):
        if size:
            bank.grow(factors=False)
        found = bank.find(wanted, truth=False)
        if found is None and len(set(wanted)) > 2:
            found = fitting(bank, wanted, truth=False)
        if found is not None and not found.constant:
            return found
    return None


def _made(
    loop: Loop, state: Mapping[str, DType], initial: Mapping[str, Expression], step: Mapping[str, Expression],
    result: Sequence[Expression], words: Mapping[str, Expression], domain: Domain,
) -> Loop:  # fmt: skip
    return replace(
        loop, state=state, initial=initial, step=step, result=tuple(result), run=None,
        stands_for=StandsFor(loop, words, domain),
    )  # fmt: skip
