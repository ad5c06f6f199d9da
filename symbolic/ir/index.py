"""Arithmetic of indices: what each INDEX operator gives, on Python ints and on NumPy lanes, and where an element of an
array lies in memory, row by row.

`//` and `%` floor for every sign, as in Python. A printer that writes C must reproduce exactly these.

>>> flat_index((2, 3), (1, 2)), flat_index((2, 3), (1, 3)), unflattened((2, 3), 5), cell_name("y", (2, 3), 5)
(5, -1, (1, 2), 'y[1, 2]')
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symbolic.ir.facts import leaf
from symbolic.ir.program import Binary, Compare, Const, Coordinate, Expr, Logic, Lookup, Select, Unary, Var

BINARY: dict[str, tuple[Callable[[int, int], int], Callable[[Any, Any], Any]]] = {
    "+": (operator.add, np.add),
    "-": (operator.sub, np.subtract),
    "*": (operator.mul, np.multiply),
    "//": (operator.floordiv, np.floor_divide),
    "%": (operator.mod, np.remainder),
    "<<": (operator.lshift, np.left_shift),
    ">>": (operator.rshift, np.right_shift),
    "&": (operator.and_, np.bitwise_and),
    "|": (operator.or_, np.bitwise_or),
    "^": (operator.xor, np.bitwise_xor),
    "min": (min, np.minimum),
    "max": (max, np.maximum),
}

COMPARE: dict[str, tuple[Callable[[int, int], bool], Callable[[Any, Any], Any]]] = {
    "==": (operator.eq, np.equal),
    "!=": (operator.ne, np.not_equal),
    "<": (operator.lt, np.less),
    "<=": (operator.le, np.less_equal),
    ">": (operator.gt, np.greater),
    ">=": (operator.ge, np.greater_equal),
}

LOGIC: dict[str, tuple[Callable[[bool, bool], bool], Callable[[Any, Any], Any]]] = {
    "and": (lambda a, b: a and b, np.logical_and),
    "or": (lambda a, b: a or b, np.logical_or),
}

UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "-": (operator.neg, np.negative),
    "~": (operator.invert, np.invert),
    "abs": (abs, np.abs),
    "not": (operator.not_, np.logical_not),
}


def looked_up(entries: Sequence[int]) -> tuple[Callable[[int], int], Callable[[Any], Any]]:
    """Return what a table of entries gives, on ints and on lanes; outside of it, the nearest entry."""
    table, last = np.array(entries, np.int64), len(entries) - 1
    return lambda index: entries[min(max(index, 0), last)], lambda lanes: table[np.clip(lanes, 0, last)]


def lanes_of(node: Expr, named: Mapping[str, Any]) -> Any:
    """Return what an expression over names (`leaf`) alone is, one value a lane, or one value for all."""
    match node:
        case Const(value):
            return value
        case Var() | Coordinate():
            return named[leaf(node) or ""]
        case Unary(op, operand):
            return UNARY[op][1](lanes_of(operand, named))
        case Binary(op, left, right):
            return BINARY[op][1](lanes_of(left, named), lanes_of(right, named))
        case Compare(op, left, right):
            return COMPARE[op][1](lanes_of(left, named), lanes_of(right, named))
        case Logic(op, left, right):
            return LOGIC[op][1](lanes_of(left, named), lanes_of(right, named))
        case Select(condition, then, otherwise):
            return np.where(lanes_of(condition, named), lanes_of(then, named), lanes_of(otherwise, named))
        case Lookup(entries, index):
            return looked_up(entries)[1](lanes_of(index, named))
        case _:
            raise AssertionError(f"no expression over names alone: {node}")


OUTSIDE = -1
"""The flat index of what lies outside of an array."""


def flat_index(shape: Sequence[int], indices: Sequence[Any]) -> Any:
    """Return the row-major index, OUTSIDE where any index is out of bounds: of ints, or of lanes of them."""
    total: Any = 0
    for extent, index in zip(shape, indices, strict=True):
        lanes = isinstance(total, np.ndarray) or isinstance(index, np.ndarray)
        total = (extend_lanes if lanes else extend)(total, index, extent)
    return total


def extend(flat: int, index: int, extent: int) -> int:
    """Return the flat index with one more dimension; what is OUTSIDE stays there."""
    return flat * extent + index if flat >= 0 and 0 <= index < extent else OUTSIDE


def extend_lanes(flat: Any, index: Any, extent: int) -> Any:
    """Return `extend` for each lane."""
    found = flat * extent + index
    if _least(flat) >= 0 and _least(index) >= 0 and np.maximum.reduce(index, axis=None, initial=0) < extent:
        return found
    return np.where((flat < 0) | (index < 0) | (index >= extent), OUTSIDE, found)


def _least(lanes: Any) -> Any:
    return np.minimum.reduce(lanes, axis=None, initial=0)


def unflattened(shape: Sequence[int], flat: int) -> tuple[int, ...]:
    """Return the indices of a flat index."""
    found: list[int] = []
    for extent in reversed(shape):
        flat, last = divmod(flat, extent)
        found.append(last)
    return tuple(reversed(found))


def cell_name(name: str, shape: Sequence[int], flat: int) -> str:
    """Return `y[3]` or `y[1, 2]`; a scalar is `y`."""
    return f"{name}[{', '.join(map(str, unflattened(shape, flat)))}]" if shape else name


def with_indices(text: str, shapes: Mapping[str, Sequence[int]]) -> str:
    """Return a text in which elements of arrays have an index for each dimension: `x[5]` becomes `x[1, 2]`."""

    def cell(found: re.Match[str]) -> str:
        shape = shapes.get(found[1], ())
        return cell_name(found[1], shape, int(found[2])) if len(shape) > 1 else found[0]

    return re.sub(r"\b(\w+)\[(\d+)\]", cell, text)
