"""Operators of words that are remainders by one number: sums and polynomial hashes modulo M.

Without `% M` the loop is another one, of numbers that grow. The operator of that one, with each of its words taken
modulo M, is the operator of the loop, as remainders of sums and products are those of their remainders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL, Loop
from symbolic.expressions import expression as e
from symbolic.expressions.expression import BUILDERS, ZERO, Expression, subexpressions, substituted, terms
from symbolic.expressions.formulas import Sort
from symbolic.expressions.quotients import expanded


class _NoSum(Exception):
    """A remainder is of something else than sums and products."""


def by_residues(loop: Loop, find: Callable[[Loop], Carrier | None]) -> Carrier | None:
    """Return the operator of a loop whose words are all remainders by one number; None where they are none."""
    numbers = {each.arguments[1] for each in (loop.step[word] for word in loop.live) if each.operator == "%"}
    if len(numbers) != 1 or any(loop.step[word].operator != "%" for word in loop.live):
        return None
    (number,) = numbers
    if not number.constant or number.value < 2 or any(dtype.is_float for dtype in loop.state.values()):
        return None
    state = {word: loop.state[word] for word in loop.live}
    try:
        step = {word: _without(loop.step[word], number, state.keys()) for word in state}
    except _NoSum:
        return None
    inner = replace(
        loop, state=state, initial={word: loop.initial[word] for word in state}, step=step, run=None, stands_for=None,
        result=tuple(e.number_name(word) for word in state),
    )  # fmt: skip
    found = find(inner)
    if found is None or BOOL in found.words.values() or found.infinite:
        return None
    nodes = (node for each in found.combine.values() for node in subexpressions(each))
    if any(node.operator not in ("+", "*", "name", "constant") for node in nodes):
        return None

    def remainders(some: Mapping[str, Expression]) -> dict[str, Expression]:
        return {name: e.modulo(each, number) for name, each in some.items()}

    after = remainders({word: found.state[word] for word in state})
    return Carrier(
        loop, found.words, remainders(found.lift), remainders(found.combine), after,
        tuple(substituted(each, after) for each in loop.result), f"{found.how}, modulo {number.value}",
        within=e.both(*(
            e.both(e.less_equal(ZERO, each), e.less(each, number)) for each in map(e.number_name, found.words)
        )),
    )  # fmt: skip


def _without(node: Expression, number: Expression, state: Set[str]) -> Expression:
    """Return what a remainder is of, with no remainder by that number within sums and products."""
    if node.operator == "%" and node.arguments[1] is number:
        return _without(node.arguments[0], number, state)
    if node.names.isdisjoint(state) or node.operator == "name":
        return node
    if node.operator in ("+", "*"):
        return BUILDERS[node.operator](*(_without(each, number, state) for each in node.arguments))
    if node.operator == "select" and node.arguments[0].names.isdisjoint(state):
        sides = (_without(each, number, state) for each in node.arguments[1:])
        return BUILDERS["select"](node.arguments[0], *sides)
    raise _NoSum


def same_residue(a: Expression, b: Expression, sorts: Mapping[str, Sort]) -> bool:
    """Tell whether two remainders by one number are of sums and products that differ by a multiple of it.

    Of words that wrap, only where the number divides how many words there are.
    """
    if a.operator != "%" or b.operator != "%" or a.arguments[1] is not b.arguments[1] or not a.arguments[1].constant:
        return False
    number = a.arguments[1].value
    widths = [each.bits for name in a.names | b.names for each in (sorts[name],) if each.kind == "word"]
    if number < 1 or any((1 << bits) % number for bits in widths):
        return False
    apart = expanded(e.subtract(*(_sums(each.arguments[0], a.arguments[1]) for each in (a, b))))
    return all(isinstance(coefficient, int) and coefficient % number == 0 for coefficient, _ in terms(apart))


def _sums(node: Expression, number: Expression) -> Expression:
    """Return a number with no remainder by another one in its sums and products."""
    if node.operator == "%" and node.arguments[1] is number:
        return _sums(node.arguments[0], number)
    if node.operator in ("+", "*"):
        return BUILDERS[node.operator](*(_sums(each, number) for each in node.arguments))
    return node
