"""What a formula means, computed in Python integers: its value when every symbol has one, and what is left of it when
some have.

This is the definition that the engines' answers are held against. Bit-vectors are unsigned Python integers;
division follows SMT-LIB (the remainder is never negative), and by zero it gives what SMT-LIB gives bit-vectors;
an integer divided by zero, which SMT-LIB leaves open, is 0 here.

PySMT's `substitute` puts values in and computes nothing. In `Specialised`, a choice that is decided is one of its
sides, and what is not needed is not looked at.

A quantified formula is tried for all values of its variables where these are few; else a solver is asked about it when
all its other symbols have their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final

import pysmt.operators as op

from symbolic.solve.engines import UndecidedQuantifier
from symbolic.solve.floor_division import manager
from symbolic.solve.floors import REAL_FLOOR
from symbolic.solve.tables import Table, Value, default_of

if TYPE_CHECKING:
    from pysmt.fnode import FNode


def evaluate(formula: FNode, lookup: Callable[[FNode], Value], known: dict[FNode, Value] | None = None) -> Value:
    """Return the value of `formula`; `lookup` gives the value of each symbol in it. What is found is added to `known`,
    for the next formula over the same values."""
    known = {} if known is None else known
    pending = [formula]
    while pending:
        node = pending[-1]
        if node in known:
            pending.pop()
            continue
        if node.is_quantifier():
            known[pending.pop()] = _quantified(node, lookup)
            continue
        needed = _needed(node, known)
        if needed:
            pending.extend(needed)
            continue
        pending.pop()
        arguments = [known.get(each) for each in node.args()]
        if node.is_function_application():
            table = lookup(node.function_name())
            assert isinstance(table, Table)
            known[node] = table(*arguments)
        else:
            known[node] = lookup(node) if node.is_symbol() else meaning(node, arguments)
    return known[formula]


def _needed(node: FNode, known: dict[FNode, Value]) -> list[FNode]:
    """Return the arguments to look at next: of a choice the one that is chosen, of a connective until it is decided.

    What an unrolled loop would compute in rounds that nobody takes may be numbers of millions of digits.
    """
    arguments, kind = node.args(), node.node_type()
    if kind == op.ITE:
        chosen = known.get(arguments[0])
        wanted = arguments[0] if chosen is None else arguments[1 if chosen else 2]
        return [] if wanted in known else [wanted]
    if kind in (op.AND, op.OR, op.IMPLIES):
        for place, argument in enumerate(arguments):
            value = known.get(argument)
            if value is None:
                return [argument]
            if value == (kind == op.OR) and not (kind == op.IMPLIES and place):
                return []
        return []
    return [argument for argument in arguments if argument not in known]


FEW: Final = 4096
"""As many values of a quantifier's variables are tried."""
LONGEST: Final = 10.0
"""Seconds that a solver may take for a quantified formula."""


def _quantified(node: FNode, lookup: Callable[[FNode], Value]) -> bool:
    """Tell whether a quantified formula holds when its free symbols have these values."""
    given = {symbol: lookup(symbol) for symbol in node.get_free_variables()}
    variables, universal = node.quantifier_vars(), node.is_forall()
    kinds = [symbol.symbol_type() for symbol in variables]
    if all(kind.is_bool_type() or kind.is_bv_type() for kind in kinds):
        sizes = [2 if kind.is_bool_type() else 1 << kind.width for kind in kinds]
        if prod(sizes) <= FEW:
            rows = product(*((False, True) if kind.is_bool_type() else range(1 << kind.width) for kind in kinds))
            at_rows = ({**given, **dict(zip(variables, row, strict=True))} for row in rows)
            holds = (evaluate(node.arg(0), values.__getitem__) is True for values in at_rows)
            return (all if universal else any)(holds)
    closed = Specialised(node, given).at(given)
    if closed.is_bool_constant():
        return bool(closed.constant_value())
    from symbolic.solve.z3_closed import holds_in_z3

    found = holds_in_z3(closed, LONGEST)
    if found is None:
        raise UndecidedQuantifier(
            f"whether {closed.serialize(6)} holds, no solver can say", expected="a formula that z3 decides",
            fix="variables that are bit-vectors of few bits",
        )  # fmt: skip
    return found


def default_value(symbol: FNode) -> Value:
    """Return what an unconstrained symbol is taken to be: False or zero, for any arguments."""
    found: Value = default_of(symbol.symbol_type())
    return found


def as_signed(value: int, width: int) -> int:
    """Read an unsigned `width`-bit number as two's complement.

    >>> as_signed(0xFF, 8), as_signed(0x7F, 8)
    (-1, 127)
    """
    return value - (1 << width) if value >> (width - 1) else value


def meaning(node: FNode, arguments: list[Any]) -> Value:
    """Return what a constant is, or an operation gives for the values of its arguments."""
    kind = node.node_type()
    if kind in _BIT_VECTORS:
        width = node.arg(0).bv_width()
        size: int = node.bv_width()
        return _BIT_VECTORS[kind](node, width, *arguments) % (1 << size)
    if kind in _PREDICATES:
        return _PREDICATES[kind](node.arg(0).bv_width(), *arguments)
    if kind in op.CONSTANTS:
        constant: Value = node.constant_value()
        return constant
    assert kind in _PLAIN, f"no meaning for {op.op_to_str(kind)}"
    value: Value = _PLAIN[kind](*arguments)
    return value


def _product(*factors: Any) -> Any:
    result: Any = 1
    for factor in factors:
        result = result * factor
    return result


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        return 0
    if isinstance(a, Fraction):
        return a / b
    return a // b if b > 0 else -(a // -b)


def _truncated(a: int, b: int) -> int:
    """Divide as C does: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _signed_quotient(_: FNode, w: int, a: int, b: int) -> int:
    if b == 0:
        return 1 if a >> (w - 1) else -1
    return _truncated(as_signed(a, w), as_signed(b, w))


def _signed_remainder(_: FNode, w: int, a: int, b: int) -> int:
    if b == 0:
        return a
    x, y = as_signed(a, w), as_signed(b, w)
    return x - y * _truncated(x, y)


def _rotated(value: int, width: int, left: int) -> int:
    left %= width
    return value << left | value >> (width - left)


_PLAIN: dict[int, Callable[..., Any]] = {
    op.AND: lambda *a: all(a),
    op.OR: lambda *a: any(a),
    op.NOT: lambda a: not a,
    op.IMPLIES: lambda a, b: not a or b,
    op.IFF: lambda a, b: a == b,
    op.ITE: lambda c, a, b: a if c else b,
    op.EQUALS: lambda a, b: a == b,
    op.LE: lambda a, b: a <= b,
    op.LT: lambda a, b: a < b,
    op.PLUS: lambda *a: sum(a),
    op.MINUS: lambda a, b: a - b,
    op.TIMES: _product,
    op.DIV: _divide,
    op.POW: lambda a, b: a**b,
    op.TOREAL: lambda a: Fraction(a),
    REAL_FLOOR: lambda a: a // 1,
    op.FORALL: lambda a: a,  # of a body that is a constant
    op.EXISTS: lambda a: a,
    op.BV_TONATURAL: lambda a: a,
}
_PREDICATES: dict[int, Callable[..., bool]] = {
    op.BV_ULT: lambda w, a, b: a < b,
    op.BV_ULE: lambda w, a, b: a <= b,
    op.BV_SLT: lambda w, a, b: as_signed(a, w) < as_signed(b, w),
    op.BV_SLE: lambda w, a, b: as_signed(a, w) <= as_signed(b, w),
}
_BIT_VECTORS: dict[int, Callable[..., int]] = {
    op.BV_AND: lambda n, w, a, b: a & b,
    op.BV_OR: lambda n, w, a, b: a | b,
    op.BV_XOR: lambda n, w, a, b: a ^ b,
    op.BV_NOT: lambda n, w, a: ~a,
    op.BV_NEG: lambda n, w, a: -a,
    op.BV_ADD: lambda n, w, a, b: a + b,
    op.BV_SUB: lambda n, w, a, b: a - b,
    op.BV_MUL: lambda n, w, a, b: a * b,
    op.BV_UDIV: lambda n, w, a, b: a // b if b else -1,
    op.BV_UREM: lambda n, w, a, b: a % b if b else a,
    op.BV_SDIV: _signed_quotient,
    op.BV_SREM: _signed_remainder,
    op.BV_LSHL: lambda n, w, a, b: a << min(b, w),
    op.BV_LSHR: lambda n, w, a, b: a >> min(b, w),
    op.BV_ASHR: lambda n, w, a, b: as_signed(a, w) >> min(b, w),
    op.BV_CONCAT: lambda n, w, a, b: a << n.arg(1).bv_width() | b,
    op.BV_EXTRACT: lambda n, w, a: a >> n.bv_extract_start(),
    op.BV_ROL: lambda n, w, a: _rotated(a, w, n.bv_rotation_step()),
    op.BV_ROR: lambda n, w, a: _rotated(a, w, -n.bv_rotation_step()),
    op.BV_ZEXT: lambda n, w, a: a,
    op.BV_SEXT: lambda n, w, a: as_signed(a, w),
    op.BV_COMP: lambda n, w, a, b: int(a == b),
}


class Specialised:
    """A formula to which certain symbols are given values, again and again."""

    def __init__(self, formula: FNode, symbols: Iterable[FNode]) -> None:
        self._formula = formula
        self._kept = _without(formula, frozenset(symbols))

    def at(self, values: Mapping[FNode, Value]) -> FNode:
        """Return the formula when each of the symbols has its value."""
        known = self._kept.copy()
        tables = {symbol: value for symbol, value in values.items() if isinstance(value, Table)}
        known.update((symbol, literal(symbol, value)) for symbol, value in values.items() if symbol not in tables)
        pending = [self._formula]
        while pending:
            node = pending[-1]
            if node in known:
                pending.pop()
                continue
            needed = _needed_in_part(node, known)
            if needed:
                pending += needed
                continue
            pending.pop()
            arguments = [known.get(each) for each in node.args()]
            if node.is_function_application():
                known[node] = _applied(node, arguments, tables.get(node.function_name()))
            else:
                known[node] = _simplified(node, arguments)
        return known[self._formula]


def _applied(node: FNode, arguments: list[FNode | None], table: Table | None) -> FNode:
    """Return an application of a function, by its table where it has one."""
    m = manager()
    if table is None:
        applied: FNode = m.Function(node.function_name(), arguments)
        return applied
    found = literal(node, table.default)
    for key, value in reversed(table.entries.items()):
        equal = [_simplified(m.EqualsOrIff(a, c), [a, c]) for a, c in zip(
            arguments, (literal(a, v) for a, v in zip(arguments, key, strict=True)), strict=True
        )]  # fmt: skip
        met = _simplified(m.And(equal), equal) if len(equal) > 1 else equal[0]
        choice = (met, literal(node, value), found)
        found = choice[1 if met.is_true() else 2] if met.is_bool_constant() else m.Ite(*choice)
    return found


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
        named = node.is_function_application() and node.function_name() in symbols
        depends[pending.pop()] = named or node in symbols or any(depends[each] for each in node.args())
    return {node: node for node, open_ in depends.items() if not open_}


def _needed_in_part(node: FNode, known: Mapping[FNode, FNode]) -> list[FNode]:
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
