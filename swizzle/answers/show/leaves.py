"""From where each thread takes a value while data is evaluated: an expression's leaves, and which one is passed on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.answers.show.rows import Lanes, LaneSource
from symbolic.ir.program import AccumulatorValue, Expr, Load, Select, Shuffle, Var


class Threads(Struct, frozen=True):
    """Where each thread of the block has a value from: a row and a thread; -1 is nowhere."""

    row: Lanes
    thread: Lanes

    def where(self, on: npt.NDArray[np.bool_]) -> Threads:
        return Threads(np.where(on, self.row, -1), self.thread)

    def over(self, old: Threads | None) -> Threads:
        """Return this where it is somewhere, and the old elsewhere."""
        if old is None:
            return self
        new = self.row >= 0
        return Threads(np.where(new, self.row, old.row), np.where(new, self.thread, old.thread))


class Top(Struct, frozen=True):
    """One data expression of a statement: what it gave each thread, and the rows that it took its values from."""

    node: Expr
    value: Lanes
    on: npt.NDArray[np.bool_]
    leaves: list[Threads]


def same(a: LaneSource, b: LaneSource) -> bool:
    return bool((a.row == b.row).all() and (a.thread == b.thread).all())


def alias(top: Top) -> Threads | None:
    """Return the one row that an expression takes over as it is, lane by lane, or None where it computes."""
    if not top.leaves or not _is_choice(top.node):
        return None
    merged = top.leaves[0]
    for leaf in top.leaves[1:]:
        merged = leaf.over(merged)
    return merged if (merged.row >= 0)[top.on].all() else None


def _is_choice(node: Expr) -> bool:
    match node:
        case Select(then=then, otherwise=otherwise):
            return _is_choice(then) and _is_choice(otherwise)
        case _:
            return isinstance(node, Var | Load | Shuffle | AccumulatorValue)
