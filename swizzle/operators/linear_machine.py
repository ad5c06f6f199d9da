"""Loops that are linear: a control of few states, and numbers that are linear over a semiring under each of them.

Beside it: the semirings, and how an expression is read as linear over one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from swizzle.operators.equations import value_of_name
from swizzle.operators.invariants import floors
from swizzle.operators.loop import BOOL, Loop
from symbolic.expressions import expression as e
from symbolic.expressions.expression import GREATEST, LEAST, ONE, ZERO, Expression, decided, substituted


class NotLinear(Exception):
    """An expression is not linear over a semiring."""


@dataclass(frozen=True, slots=True)
class Semiring:
    """Two operators, the second of which distributes over the first: `zero` changes no sum and swallows a product,
    `one` changes no product. `names` are how expressions call the operators."""

    name: str
    names: tuple[str, str]
    plus: Callable[..., Expression]
    times: Callable[..., Expression]
    zero: Expression
    one: Expression


_ALL_BITS: Final = e.constant(-1)
SEMIRINGS: Final = (
    Semiring("(+, *)", ("+", "*"), e.add, e.multiply, ZERO, ONE),
    Semiring("(max, +)", ("max", "+"), e.maximum, e.add, LEAST, ZERO),
    Semiring("(min, +)", ("min", "+"), e.minimum, e.add, GREATEST, ZERO),
    Semiring("(max, min)", ("max", "min"), e.maximum, e.minimum, LEAST, GREATEST),
    Semiring("(min, max)", ("min", "max"), e.minimum, e.maximum, GREATEST, LEAST),
    Semiring("(^, &)", ("^", "&"), lambda a, b: e.bits("^", a, b), lambda a, b: e.bits("&", a, b), ZERO, _ALL_BITS),
    Semiring("(|, &)", ("|", "&"), lambda a, b: e.bits("|", a, b), lambda a, b: e.bits("&", a, b), ZERO, _ALL_BITS),
    Semiring("(&, |)", ("&", "|"), lambda a, b: e.bits("&", a, b), lambda a, b: e.bits("|", a, b), _ALL_BITS, ZERO),
)

UNIT: Final = "1"
"""What the coefficient that no variable goes with is kept under."""
Row = Mapping[str, Expression]


def row_of(node: Expression, variables: frozenset[str], ring: Semiring) -> dict[str, Expression]:
    """Return an expression as coefficients of variables; NotLinear where it is no such sum.

    >>> from symbolic.expressions.expression import number_name
    >>> x, v = number_name("x"), number_name("v")
    >>> row_of(maximum(add(x, v), ZERO), frozenset({"x"}), SEMIRINGS[1])
    {'x': v, '1': 0}
    """
    if node.names.isdisjoint(variables):
        return {UNIT: node}
    if node.operator == "name":
        return {node.value: ring.one}
    if node.operator == ring.names[0]:
        found: dict[str, Expression] = {}
        for each in node.arguments:
            for key, coefficient in row_of(each, variables, ring).items():
                found[key] = ring.plus(found[key], coefficient) if key in found else coefficient
        return found
    if node.operator == ring.names[1]:
        inside = [each for each in node.arguments if not each.names.isdisjoint(variables)]
        if len(inside) > 1:
            raise NotLinear
        factor = _folded(ring.times, [each for each in node.arguments if each is not inside[0]])
        return {key: ring.times(factor, each) for key, each in row_of(inside[0], variables, ring).items()}
    if node.operator == "select" and node.arguments[0].names.isdisjoint(variables):
        condition, yes, no = node.arguments
        a, b = row_of(yes, variables, ring), row_of(no, variables, ring)
        return {
            key: e.select(condition, a.get(key, ring.zero), b.get(key, ring.zero)) for key in dict.fromkeys([*a, *b])
        }
    if node.operator == "/" and ring.names == ("+", "*") and node.arguments[1].names.isdisjoint(variables):
        over = e.divide(ONE, node.arguments[1])
        return {key: e.multiply(over, each) for key, each in row_of(node.arguments[0], variables, ring).items()}
    raise NotLinear


def _folded(operator: Callable[..., Expression], some: list[Expression]) -> Expression:
    found = some[0]
    for each in some[1:]:
        found = operator(found, each)
    return found


MOST_CONTROLS: Final = 16
MOST_OUTCOMES: Final = 1 << 9
"""Of the conditions of one step."""
MOST_CHOICES: Final = 8
"""Of semirings for the groups of a loop's numbers."""

Control: TypeAlias = tuple[Any, ...]


class NotFound(Exception):
    """A loop is not of this kind: the reason."""


@dataclass(frozen=True)
class LinearMachine:
    """A loop's state as a control and groups of numbers, each linear over a semiring under every control."""

    loop: Loop
    control: tuple[str, ...]
    states: tuple[Control, ...]
    start: Control
    rings: Mapping[str, Semiring]
    groups: Mapping[str, tuple[str, ...]]
    moves: Mapping[tuple[Control, str], Expression]
    floor: Mapping[str, Mapping[str, Expression]]
    rows: Mapping[tuple[Control, str], Mapping[str, Expression]]


def machines(loop: Loop, live: Sequence[str], floored: bool = True) -> Iterator[LinearMachine]:
    """Yield the ways in which a loop is linear, over one choice of semirings after the other."""
    control, states = _control(loop, live)
    numbers = [name for name in live if name not in control]
    for name in numbers:
        if loop.state[name] is BOOL:
            raise NotFound(f"{name} is a condition on numbers of the state")
    before = {state: _values(control, state) for state in states}
    steps = {
        (state, name): substituted(loop.step[name], before[state]) for state in states for name in live
    }  # fmt: skip
    groups = _groups(numbers, steps)
    choices = [[(group, *each) for each in _linear(group, states, steps)] for group in groups]
    for group, some in zip(groups, choices, strict=True):
        if not some:
            raise NotFound(f"{', '.join(group)} {'is' if len(group) == 1 else 'are'} linear over no semiring")
    moves = {(state, name): steps[state, name] for state in states for name in control}
    start = tuple(loop.initial[name].value for name in control)
    for chosen in itertools.islice(itertools.product(*choices), MOST_CHOICES):
        yield LinearMachine(
            loop, control, states, start, {name: ring for group, ring, _ in chosen for name in group},
            {name: group for group, _, _ in chosen for name in group}, moves,
            {name: each for group, ring, _ in chosen for name, each in _floor(loop, group, ring, floored).items()},
            {key: row for _, _, rows in chosen for key, row in rows.items()},
        )  # fmt: skip


def _floor(loop: Loop, group: tuple[str, ...], ring: Semiring, floored: bool) -> dict[str, dict[str, Expression]]:
    """Return what the words of a group always are, at least, as rows: a state is the same with them added to it.

    Where a maximum is kept that is never below what it was at first, the matrix of a part may say so, too: then words
    begin where the loop's state begins, and no element leaves them there.
    """
    found = {name: {name: ring.one} for name in group}
    if floored and ring.names[0] in ("max", "min"):
        for name, other in floors(loop, group, ring.names[0] == "max"):
            found[name][other or UNIT] = ring.one if other else loop.initial[name]
    return found


def _values(names: Sequence[str], state: Control) -> dict[str, Expression]:
    return {name: e.constant(value) for name, value in zip(names, state, strict=True)}


def _control(loop: Loop, live: Sequence[str]) -> tuple[tuple[str, ...], tuple[Control, ...]]:
    """Return the words that take few values together, and these."""
    names = [name for name in live if not loop.initial[name].infinite]
    while True:
        closed = [name for name in names if not (loop.step[name].names & set(loop.state)) - set(names)]
        if closed != names:
            names = closed
            continue
        start = tuple(loop.initial[name].value for name in names)
        seen, pending, bad = {start}, [start], ""
        while pending and not bad:
            state = pending.pop()
            after = [substituted(loop.step[name], _values(names, state)) for name in names]
            bad = next((name for name, each in zip(names, after, strict=True) if _outcomes([each]) is None), "")
            if bad:
                break
            for each in sorted(
                _outcomes(after) or itertools.product(*(sorted(_outcomes([one]) or ()) for one in after))
            ):
                if each not in seen:
                    seen.add(each)
                    pending.append(each)
            if len(seen) > MOST_CONTROLS:
                counts = {name: len({each[place] for each in seen}) for place, name in enumerate(names)}
                numbers = [name for name in names if loop.state[name] is not BOOL] or names
                bad = max(numbers, key=counts.__getitem__)
        if not bad:
            return tuple(names), tuple(sorted(seen))
        names.remove(bad)


def _outcomes(some: Sequence[Expression], most: int = MOST_OUTCOMES) -> set[Control] | None:
    """Return what expressions may be together, as constants, whatever their conditions are; None where it may be
    anything, or too much."""
    atom = next((found for each in some for found in [_first_atom(each)] if found is not None), None)
    if atom is None:
        rows = [_range_of(each) for each in some]
        return None if None in rows else set(itertools.product(*filter(None, rows)))
    found: set[Control] = set()
    for holds in (True, False):
        sides = [decided(each, atom, holds) for each in some]
        if holds and atom.operator == "==":
            values = {name.value: number for name, number in value_of_name(atom)}
            sides = [substituted(each, values) for each in sides]
        more = _outcomes(sides, most // 2) if most else None
        if more is None:
            return None
        found |= more
    return found


def _first_atom(node: Expression) -> Expression | None:
    """Return a condition in which there is no other one."""
    if not node.arguments:
        return node if node.truth and not node.constant else None
    inner = next((found for each in node.arguments for found in [_first_atom(each)] if found is not None), None)
    return node if inner is None and node.truth else inner


def _range_of(node: Expression) -> list[Any] | None:
    """Return what a number without conditions may be: itself, or a remainder."""
    if node.constant:
        return [node.value]
    if node.operator == "%" and node.arguments[1].constant and 0 < node.arguments[1].value <= MOST_CONTROLS:
        return list(range(node.arguments[1].value))
    return None


def _groups(numbers: Sequence[str], steps: Mapping[tuple[Control, str], Expression]) -> list[tuple[str, ...]]:
    """Return the numbers that depend on each other."""
    group = {name: {name} for name in numbers}
    for (_, name), step in steps.items():
        if name in group:
            for other in step.names & group.keys():
                merged = group[name] | group[other]
                for each in merged:
                    group[each] = merged
    found = {id(each): each for each in group.values()}.values()
    return [tuple(name for name in numbers if name in each) for each in found]


def _linear(
    group: tuple[str, ...], states: Sequence[Control], steps: Mapping[tuple[Control, str], Expression]
) -> Iterator[tuple[Semiring, dict[tuple[Control, str], dict[str, Expression]]]]:
    variables = frozenset(group)
    for ring in SEMIRINGS:
        try:
            yield ring, {(q, name): row_of(steps[q, name], variables, ring) for q in states for name in group}
        except (NotLinear, ArithmeticError):
            continue
