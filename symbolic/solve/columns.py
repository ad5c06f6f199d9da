"""What a formula means for many values at once: `evaluate` over NumPy columns.

A Boolean is a column of bool, a bit-vector of at most 64 bits one of uint64, an integer one of int64 as long as nothing
overflows; any other value, and every operation that is not written here, is a column of Python objects, computed one by
one as `evaluate` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pysmt.operators as op
from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.typing import PySMTType

from symbolic.solve.evaluate import meaning

Column: TypeAlias = "np.ndarray[Any, Any]"
LONGEST: Final = 64
LARGEST: Final = float(1 << 62)


def column(values: list[Any], kind: PySMTType) -> Column:
    """Return numbers of a sort as a column."""
    if kind.is_bool_type():
        return np.array(values, dtype=bool)
    if kind.is_bv_type() and kind.width <= LONGEST:
        return np.array(values, dtype=np.uint64)
    if kind.is_int_type() and all(abs(value) < LARGEST for value in values):
        return np.array(values, dtype=np.int64)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def evaluated(formula: FNode, columns: Mapping[FNode, Column]) -> Column:
    """Return the column of a formula. One is given for each symbol, and they broadcast by NumPy's rules."""
    known: dict[FNode, Column] = dict(columns)
    pending = [formula]
    while pending:
        node = pending[-1]
        if node in known:
            pending.pop()
            continue
        needed = [each for each in node.args() if each not in known]
        if needed:
            pending += needed
            continue
        pending.pop()
        known[node] = _apply(node, [known[each] for each in node.args()])
    return known[formula]


def _apply(node: FNode, arguments: list[Column]) -> Column:
    kind = node.node_type()
    if kind in op.CONSTANTS:
        return column([node.constant_value()], get_env().stc.get_type(node))
    if kind == op.EQUALS:
        return np.asarray(arguments[0] == arguments[1], dtype=bool)
    if kind in _LOGIC:
        return np.asarray(_LOGIC[kind](*arguments))
    if not any(each.dtype == object for each in arguments):
        if kind in _INTEGERS and all(each.dtype == np.int64 for each in arguments):
            bounds = [float(np.abs(each).max(initial=0)) for each in arguments]
            if kind in _COMPARED or _INTEGERS[kind](*bounds) < LARGEST:
                return np.asarray(_INTEGERS[kind](*arguments) if kind != op.MINUS else arguments[0] - arguments[1])
        elif kind in _BITS and (kind in _COMPARED or node.bv_width() <= LONGEST):
            found = np.asarray(_BITS[kind](node, node.arg(0).bv_width(), *arguments))
            return found if kind in _COMPARED else found & _ones(node.bv_width())
    one_by_one = np.frompyfunc(lambda *values: meaning(node, list(values)), len(arguments), 1)
    found = np.atleast_1d(one_by_one(*arguments))
    return column(found.ravel().tolist(), get_env().stc.get_type(node)).reshape(found.shape)


def _ones(width: int) -> np.uint64:
    return np.uint64((1 << width) - 1)


def _all(*parts: Column) -> Column:
    found = parts[0]
    for each in parts[1:]:
        found = found & each
    return found


def _any(*parts: Column) -> Column:
    found = parts[0]
    for each in parts[1:]:
        found = found | each
    return found


def _sum(*parts: Any) -> Any:
    found = parts[0]
    for each in parts[1:]:
        found = found + each
    return found


def _product(*parts: Any) -> Any:
    found = parts[0]
    for each in parts[1:]:
        found = found * each
    return found


def _shifted(width: int, a: Column, count: Column, *, left: bool) -> Column:
    few = np.minimum(count, np.uint64(LONGEST - 1))
    moved = a << few if left else a >> few
    return np.where(count < np.uint64(width), moved, np.uint64(0))


def _flipped(width: int, a: Column) -> Column:
    """Return numbers that are ordered as unsigned ones as the bits are ordered as signed ones."""
    return a ^ np.uint64(1 << (width - 1))


def _extended(width: int, a: Column) -> Column:
    """Return the 64 bits of a number in two's complement."""
    sign = np.uint64(1 << (width - 1))
    return (a ^ sign) - sign


def _arithmetic_shift(width: int, a: Column, count: Column) -> Column:
    wide = _extended(width, a).view(np.int64)
    return (wide >> np.minimum(count, np.uint64(LONGEST - 1)).astype(np.int64)).view(np.uint64)


def _quotient(width: int, a: Column, b: Column) -> Column:
    return np.where(b == 0, _ones(width), a // np.maximum(b, np.uint64(1)))


def _remainder(a: Column, b: Column) -> Column:
    return np.where(b == 0, a, a % np.maximum(b, np.uint64(1)))


_COMPARED: Final = {op.LE, op.LT, op.BV_ULT, op.BV_ULE, op.BV_SLT, op.BV_SLE}
_LOGIC: Final[dict[int, Callable[..., Any]]] = {
    op.AND: _all,
    op.OR: _any,
    op.NOT: lambda a: ~a,
    op.IMPLIES: lambda a, b: ~a | b,
    op.IFF: lambda a, b: a == b,
    op.ITE: lambda c, a, b: np.where(c, a, b),
}
_INTEGERS: Final[dict[int, Callable[..., Any]]] = {
    op.PLUS: _sum,
    op.MINUS: lambda a, b: a + b,  # of the bounds; columns are subtracted
    op.TIMES: _product,
    op.LE: lambda a, b: a <= b,
    op.LT: lambda a, b: a < b,
}
_BITS: Final[dict[int, Callable[..., Any]]] = {
    op.BV_ULT: lambda n, w, a, b: a < b,
    op.BV_ULE: lambda n, w, a, b: a <= b,
    op.BV_SLT: lambda n, w, a, b: _flipped(w, a) < _flipped(w, b),
    op.BV_SLE: lambda n, w, a, b: _flipped(w, a) <= _flipped(w, b),
    op.BV_AND: lambda n, w, a, b: a & b,
    op.BV_OR: lambda n, w, a, b: a | b,
    op.BV_XOR: lambda n, w, a, b: a ^ b,
    op.BV_NOT: lambda n, w, a: ~a,
    op.BV_NEG: lambda n, w, a: ~a + np.uint64(1),
    op.BV_ADD: lambda n, w, a, b: a + b,
    op.BV_SUB: lambda n, w, a, b: a - b,
    op.BV_MUL: lambda n, w, a, b: a * b,
    op.BV_UDIV: lambda n, w, a, b: _quotient(w, a, b),
    op.BV_UREM: lambda n, w, a, b: _remainder(a, b),
    op.BV_LSHL: lambda n, w, a, b: _shifted(w, a, b, left=True),
    op.BV_LSHR: lambda n, w, a, b: _shifted(w, a, b, left=False),
    op.BV_ASHR: lambda n, w, a, b: _arithmetic_shift(w, a, b),
    op.BV_CONCAT: lambda n, w, a, b: (a << np.uint64(n.arg(1).bv_width() % LONGEST)) | b,
    op.BV_EXTRACT: lambda n, w, a: a >> np.uint64(n.bv_extract_start()),
    op.BV_ZEXT: lambda n, w, a: a,
    op.BV_SEXT: lambda n, w, a: _extended(w, a),
}
