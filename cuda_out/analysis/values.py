"""Which values does an index expression take, over all threads and loop variables together? Computed with NumPy.

Ranges (`symbolic.ir.facts`) do not know how values belong together, such as lane and thread, or two uses of one
variable. If there are few enough threads and other variables, the expression is simply evaluated at each *point*. A
point is an assignment of its variables and coordinates, named as in `Facts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, leaf, range_of
from symbolic.ir.index import lanes_of
from symbolic.ir.program import Expr, Program
from symbolic.ir.walk import subexpressions

Column: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Points: TypeAlias = Mapping[str, Column]  # one entry per point in each column

MOST: Final = 1 << 20  # points

_OF_THREAD: Final = frozenset(
    {"threadIdx.x", "threadIdx.y", "threadIdx.z", "laneid.x", "warpid.x"}
)  # known from the thread's number together


def leaves_in(exprs: Iterable[Expr]) -> frozenset[str]:
    """Return the names of all variables and coordinates."""
    return frozenset(name for expr in exprs for part in subexpressions(expr) if (name := leaf(part)) is not None)


def points(program: Program, names: Iterable[str], facts: Facts, most: int = MOST) -> Points | None:
    """Return every point that the facts allow for these names, or None if there are too many."""
    wanted = sorted(set(names))
    own = [name for name in wanted if name in _OF_THREAD]
    columns: dict[str, Column] = {}
    count = 1
    if own:
        table = np.unique(np.stack([_threads(program, facts)[name] for name in own]), axis=1)
        columns, count = dict(zip(own, table, strict=True)), table.shape[1]
    for name in wanted:
        if name in columns:
            continue
        known = facts.get(name)
        if known is None or math.isinf(known.lo) or math.isinf(known.hi):
            return None
        values = np.arange(int(known.lo), int(known.hi) + 1)
        if count * len(values) > most:
            return None
        columns = {other: np.repeat(column, len(values)) for other, column in columns.items()}
        columns[name] = np.tile(values, count)
        count *= len(values)
    return columns


def _threads(program: Program, facts: Facts) -> dict[str, Column]:
    """Return the coordinates of the block's threads, those that contradict the facts left out."""
    size_x, size_y, size_z = program.block
    thread = np.arange(size_x * size_y * size_z)
    found = {
        "threadIdx.x": thread % size_x, "threadIdx.y": thread // size_x % size_y,
        "threadIdx.z": thread // size_x // size_y,
        "laneid.x": thread % program.warp_size, "warpid.x": thread // program.warp_size,
    }  # fmt: skip
    kept = np.ones(len(thread), np.bool_)
    for name, column in found.items():
        if name in facts:
            kept &= (facts[name].lo <= column) & (column <= facts[name].hi)
    return {name: column[kept] for name, column in found.items()} if kept.any() else found


def evaluate(expr: Expr, at: Points) -> Any:
    """Return the values of an INDEX or BOOL expression; an operand that a select does not choose may hold anything."""
    with np.errstate(all="ignore"):
        return np.asarray(lanes_of(expr, at))


def is_computable(expr: Expr, facts: Facts) -> bool:
    """Say whether the value depends on variables and coordinates alone, and can be computed without failing."""
    for part in subexpressions(expr):
        match part:
            case ir.Load() | ir.Shuffle() | ir.AccumulatorValue() | ir.HoleCall() | ir.Cast():
                return False
            case ir.Binary(op="//" | "%", right=right) if not (isinstance(right, ir.Const) and right.value):
                return False
            case ir.Binary(op="<<" | ">>", right=right) if not range_of(right, facts).within(0, 31):
                return False
            case ir.Lookup(entries=entries, index=index) if not range_of(index, facts).within(0, len(entries) - 1):
                return False
            case _:
                pass
        if part.dtype.is_data:
            return False
    return True
