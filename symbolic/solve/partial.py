"""A formula when some of its symbols have values: what then has a value is computed, and the rest is kept.

PySMT's `substitute` puts the values in and computes nothing. Here a choice that is decided is one of its sides, and
what is not needed is not looked at. The oracle is `evaluate`, given the values of the other symbols as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pysmt.operators as op

from symbolic.solve.evaluate import Value, meaning
from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class Specialised:
    """A formula to which certain symbols are given values, again and again."""

    def __init__(self, formula: FNode, symbols: Iterable[FNode]) -> None:
        self._formula = formula
        self._kept = _without(formula, frozenset(symbols))

    def at(self, values: Mapping[FNode, Value]) -> FNode:
        """Return the formula when each of the symbols has its value."""
        known = self._kept.copy()
        known.update((symbol, literal(symbol, value)) for symbol, value in values.items())
        pending = [self._formula]
        while pending:
            node = pending[-1]
            if node in known:
                pending.pop()
                continue
            needed = _needed(node, known)
            if needed:
                pending += needed
                continue
            pending.pop()
            known[node] = _simplified(node, [known.get(each) for each in node.args()])
        return known[self._formula]


def literal(node: FNode, value: Value) -> FNode:
    """Return a value as a formula of a node's sort."""
    kind, m = manager().env.stc.get_type(node), manager()
    found: FNode
    if kind.is_bool_type():
        found = m.Bool(value)
    elif kind.is_real_type():
        found = m.Real(value)
    else:
        found = m.BV(value, kind.width) if kind.is_bv_type() else m.Int(value)
    return found


def _without(formula: FNode, symbols: frozenset[FNode]) -> dict[FNode, FNode]:
    """Return the nodes that none of the symbols is in, each as itself."""
    depends: dict[FNode, bool] = {}
    pending = [formula]
    while pending:
        node = pending[-1]
        needed = [each for each in node.args() if each not in depends]
        if needed:
            pending += needed
            continue
        depends[pending.pop()] = node in symbols or any(depends[each] for each in node.args())
    return {node: node for node, open_ in depends.items() if not open_}


def _needed(node: FNode, known: Mapping[FNode, FNode]) -> list[FNode]:
    """Return the arguments to look at next: of a choice that is decided one side, of a connective until it is decided.

    What an unrolled loop would compute in rounds that nobody takes may be numbers of millions of digits.
    """
    arguments, kind = node.args(), node.node_type()
    if kind == op.ITE:
        condition = known.get(arguments[0])
        if condition is None:
            return [arguments[0]]
        if condition.is_bool_constant():
            arguments = arguments[1:2] if condition.constant_value() else arguments[2:]
    elif kind in (op.AND, op.OR, op.IMPLIES):
        deciding = kind == op.OR  # of an implication the first part decides by being false
        for place, argument in enumerate(arguments):
            value = known.get(argument)
            if value is None:
                return [argument]
            if value.is_bool_constant() and value.constant_value() == deciding and not (kind == op.IMPLIES and place):
                return []
        return []
    return [argument for argument in arguments if argument not in known]


def _simplified(node: FNode, arguments: list[FNode | None]) -> FNode:
    """Return an operation on arguments, some of them constants; what does not count may be None."""
    kind, m = node.node_type(), manager()
    found: FNode
    if kind in (op.AND, op.OR):
        neutral = kind == op.AND
        parts = [each for each in arguments if each is not None and not _is(each, neutral)]
        if any(_is(each, not neutral) for each in parts):
            found = m.Bool(not neutral)
        else:
            found = m.And(parts) if neutral else m.Or(parts)
        return found
    first = arguments[0] if arguments else None
    if kind == op.ITE and first is not None and first.is_bool_constant():
        chosen = arguments[1 if first.constant_value() else 2]
        assert chosen is not None
        return chosen
    if kind == op.IMPLIES and first is not None and _is(first, False):
        found = m.TRUE()
        return found
    values = [each for each in arguments if each is not None]
    assert len(values) == len(arguments)
    if all(each.is_constant() for each in values):
        return literal(node, meaning(node, [each.constant_value() for each in values]))
    found = m.create_node(kind, tuple(values), node._content.payload)
    return found


def _is(formula: FNode, value: bool) -> bool:
    return bool(formula.is_bool_constant() and formula.constant_value() == value)
