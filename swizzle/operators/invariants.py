"""What holds of all that can be reached: guessed from samples, kept where a solver proves that every step keeps it."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any

from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.samples import random_states
from symbolic.expressions import expression as e
from symbolic.expressions.expression import GREATEST, LEAST, TRUE, Expression, substituted
from symbolic.expressions.formulas import Formulas, Sort, answers
from symbolic.expressions.meaning import function_of

SECONDS = 3.0
ALONE = 0.5
"""For one claim by itself."""
MOST_UNDECIDED = 6
"""So many of them may take too long."""
MOST = 320


def inductive(
    candidates: Iterable[Expression],
    steps: Sequence[tuple[Mapping[str, Expression], Callable[[Expression], Expression]]],
    sorts: Mapping[str, Sort],
    premises: Sequence[Expression] = (),
    infinite: Mapping[str, int] | None = None,
) -> list[Expression]:
    """Return those candidates that every step keeps, if all of them hold before it.

    A step is what names become, and what a condition says of all that it starts from (the one state of a loop, both
    parts of a product). Nothing is kept where a solver does not know.
    """
    kept = list(candidates)[:MOST]
    formulas = Formulas(sorts, infinite or {})
    asked = [{each: (substituted(each, after), before(each)) for each in kept} for after, before in steps]
    while kept:
        lost: set[int] = set()
        for of_step in asked:
            claims = [(of_step[each][0], TRUE) for each in kept]
            given = [*premises, *(of_step[each][1] for each in kept)]
            with closing(answers(claims, given, formulas, SECONDS)) as asking:
                found = next(asking)
                while found.verdict == "refuted":
                    holds = function_of(list(found.values), [claim for claim, _ in claims])(*found.values.values())
                    more = {place for place, held in enumerate(holds) if not held} - lost
                    if not more:
                        return []
                    lost |= more
                    found = asking.send(lost)
            if found.verdict == "unknown" and not lost:  # each by itself is easier
                if len(kept) == 1:
                    return []
                undecided = 0
                for place, claim in enumerate(claims):
                    if undecided < MOST_UNDECIDED:
                        with closing(answers([claim], given, formulas, ALONE)) as asking:
                            verdict = next(asking).verdict
                        undecided += verdict == "unknown"
                        if verdict == "proved":
                            continue
                    lost.add(place)
            elif found.verdict == "proved" and all(before is TRUE for _, before in of_step.values()):
                asked = [each for each in asked if each is not of_step]  # of fewer it holds, too
            if lost:
                break
        if not lost:
            return kept
        kept = [each for place, each in enumerate(kept) if place not in lost]
    return []


def holding(claims: Sequence[Expression], names: Iterable[str], samples: Iterable[Sequence[Any]]) -> list[Expression]:
    """Return the claims about names that hold in all samples."""
    check = function_of(list(names), claims or [TRUE])
    results = [check(*sample) for sample in samples]
    return [claim for place, claim in enumerate(claims) if all(row[place] for row in results)]


def orders(
    names: Mapping[str, Any], samples: Sequence[Sequence[Any]], named: Mapping[str, Expression],
    firsts: Mapping[str, Expression] = MappingProxyType({}), infinite: Mapping[str, int] = MappingProxyType({}),
) -> list[Expression]:  # fmt: skip
    """Return what samples suggest: which words are at least zero, or at most, or what is first in them; which is at
    most another; which has at most the size of another; under flags, and where a word is no infinity."""
    atoms: list[Expression] = []
    numbers = [name for name, dtype in names.items() if dtype is not BOOL]
    flags = [named[name] for name, dtype in names.items() if dtype is BOOL]
    flags += [
        e.less(LEAST, named[name]) if sign < 0 else e.less(named[name], GREATEST) for name, sign in infinite.items()
    ]
    zero = e.constant(0)
    for name in numbers:
        for bound in dict.fromkeys((zero, firsts.get(name, zero))):
            atoms += [e.less_equal(bound, named[name]), e.less_equal(named[name], bound)]
        atoms += [e.less_equal(named[name], named[other]) for other in numbers if other != name]
    atoms += [each for flag in flags for each in (flag, e.negation(flag))]
    kept = holding(atoms, names, samples)
    above = {name for name in numbers if e.less_equal(zero, named[name]) in kept}
    absolute = [
        e.less_equal(e.negate(named[a]), named[b]) for a in above for b in numbers if b not in above
    ]  # |b| <= a, beside b <= a
    kept += holding(absolute, names, samples)
    guarded = [
        e.either(e.negation(premise), atom)
        for flag in flags for premise in ((flag, e.negation(flag)) if flag.operator == "name" else (flag,))
        for atom in atoms
        if atom not in kept and premise not in kept and e.negation(premise) not in kept and (
            not atom.names & premise.names or premise.operator == "<"
        )
    ]  # fmt: skip
    return kept + holding(guarded, names, samples)


def implied(
    names: Mapping[str, Any], samples: Sequence[Sequence[Any]], named: Mapping[str, Expression], against: Sequence[Any]
) -> list[Expression]:
    """Return what samples suggest and words `against` them break: which sums of two words are at most another one, and
    that one order of words goes with another one."""
    zero = e.constant(0)
    numbers = [named[name] for name, dtype in names.items() if dtype is not BOOL]
    flags = [named[name] for name, dtype in names.items() if dtype is BOOL]
    atoms = [e.less_equal(a, b) for a, b in itertools.permutations([zero, *numbers], 2)]
    atoms += [each for flag in flags for each in (flag, e.negation(flag))]
    holds = function_of(list(names), atoms or [TRUE])
    broken = holds(*against)
    rows = [holds(*sample) for sample in samples]
    premises, conclusions = (
        [place for place, each in enumerate(broken) if bool(each) is wanted] for wanted in (True, False)
    )
    return _sums(names, samples, named, against) + [
        e.either(e.negation(atoms[p]), atoms[q]) for p in premises for q in conclusions
        if any(row[p] for row in rows) and all(row[q] for row in rows if row[p])
    ]  # fmt: skip


def _sums(
    names: Mapping[str, Any], samples: Sequence[Sequence[Any]], named: Mapping[str, Expression], against: Sequence[Any]
) -> list[Expression]:
    """Return which sums of two words, or of one, are at most another one in samples, and not in words `against`."""
    columns = dict(zip(names, zip(*samples, against, strict=True), strict=True))
    finite = [name for name, dtype in names.items() if dtype is not BOOL and not any(map(math.isinf, columns[name]))]
    pairs = [*((name,) for name in finite), *itertools.combinations(finite, 2)]
    sums = {pair: [sum(row) for row in zip(*(columns[name] for name in pair), strict=True)] for pair in pairs}
    return [
        e.less_equal(*(e.add(*(named[name] for name in some)) for some in (a, b)))
        for a, b in itertools.permutations(pairs, 2)
        if not {*a} & {*b} and sums[a][-1] > sums[b][-1] and all(map(operator.le, sums[a][:-1], sums[b][:-1]))
    ]


def floors(loop: Loop, names: Sequence[str], least: bool) -> dict[tuple[str, str], bool]:
    """Return which words of a loop's state are always at least what they were at first, ('x', ''), or at least another
    one, ('x', 'y'); at most, where not `least`. Numbers are integers or reals here."""
    samples = random_states(loop)
    named = {name: name_of(name, dtype) for name, dtype in loop.state.items()}
    candidates: dict[Expression, tuple[str, str]] = {}
    for name in names:
        first = loop.initial[name]
        if not first.infinite:
            candidates[_below(first, named[name], least)] = (name, "")
        for other in names:
            if other != name:
                candidates[_below(named[other], named[name], least)] = (name, other)
    likely = holding(list(candidates), loop.state, samples)
    sorts = loop.sorts("integers")
    infinite = {
        name: 1 if loop.initial[name].value > 0 else -1 for name in loop.state if loop.initial[name].infinite
    }  # fmt: skip
    after = {name: loop.step[name] for name in loop.state}
    kept = inductive(likely, [(after, lambda each: each)], sorts, [loop.range.where], infinite)
    return {candidates[each]: True for each in kept}


def _below(a: Expression, b: Expression, least: bool) -> Expression:
    return e.less_equal(a, b) if least else e.less_equal(b, a)
