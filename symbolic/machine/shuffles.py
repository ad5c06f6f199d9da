"""LaneShuffles: what a lane reads of another lane of its warp, whether or not holes decide which one."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np

from symbolic.errors import SwizzleError
from symbolic.ir.program import LANES, Const, Shuffle
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.rules import Rules
from symbolic.values.data import Data
from symbolic.values.moved import Gathered, Shuffled
from symbolic.values.vector import Deferred, HoleQuestion, Lanes, Vector, at, lift

Value: TypeAlias = "Vector | Data"
_MOVES = {"up": operator.sub, "down": operator.add, "xor": operator.xor}


class LaneShuffles:
    """The shuffles of a launch, in warps of `size` lanes."""

    def __init__(self, shape: LaunchShape, size: int, rules: Rules) -> None:
        self.shape, self.size, self.rules = shape, size, rules
        self._questions: dict[tuple[int, bytes], tuple[HoleQuestion, HoleQuestion]] = {}  # asked by other threads

    def received(self, node: Shuffle, value: Value, lane: Vector, named_by: Vector | None, mask: Vector) -> Value:
        """Return what each thread in `mask` gets of `value`; `named_by` is the mask that the shuffle is given."""
        shape, size = self.shape, self.size
        named = None if named_by is None else self._named(node, named_by)
        if named is None:
            self.rules.all_present(node, mask, shape.convergence_base, "lanes of the warp")
        if node.mode == "idx":
            source = lift(lambda i: i % size, lambda i: i % size, lane)
        else:
            move: Any = _MOVES[node.mode]

            def one(i: int, own: int) -> int:
                return move(own, i) if 0 <= move(own, i) < size else own

            def lanes(i: Lanes, own: Lanes) -> Lanes:
                moved = move(own, i)
                return np.where((moved >= 0) & (moved < size), moved, own)

            source = lift(one, lanes, lane, shape.lane)
        if named is not None:
            self.rules.named_present(node, mask, named, source)
        base = shape.warp_base
        if (shape.warp_lanes < size).any():
            raise SwizzleError(
                f"a shuffle needs whole warps: the block of {shape.block_threads} threads ends in a part of a warp",
                place=node.place,
                expected=f"a block whose size is a multiple of {size}",
                fix="round the block up and guard what the extra threads store",
            )
        if isinstance(source, np.ndarray):
            giver = base + source
            if isinstance(value, np.ndarray):
                received: Lanes = value[giver]
                return received
            return self._moved(value, giver) if isinstance(value, Deferred) else Gathered(value, giver)
        assert not isinstance(value, Deferred), "an index of another lane, which a hole chooses"
        return Shuffled(value, source, base, size)

    def _named(self, node: Shuffle, given: Vector) -> int | None:
        """Return the lanes that a mask names, None for all of the warp."""
        full = (1 << min(self.size, LANES)) - 1
        if not isinstance(given, Deferred) and ((given & full) == full).all():
            return None
        if not isinstance(node.mask, Const) or self.size != LANES:
            raise SwizzleError(
                "this shuffle's mask does not name every lane of the warp",
                place=node.mask.place if node.mask else node.place,
                expected=f"cuda.FULL_MASK, or a constant in warps of {LANES}",
                fix="let all lanes take part in the shuffle and ignore what some of them receive",
            )
        return int(node.mask.value) & full

    def _moved(self, value: Deferred, giver: Lanes) -> Deferred:
        """Return what other threads have of a vector that depends on holes."""
        asked, question = value, value.question
        if question is not None:
            key = id(question), giver.tobytes()
            if key not in self._questions:
                moved = HoleQuestion(question.hole, tuple(each[giver] for each in question.arguments), question.values)
                self._questions[key] = question, moved
            question = self._questions[key][1]
        return Deferred(
            lambda encoding, t: at(asked, encoding, int(giver[t])),
            lambda t: asked.reach(int(giver[t])),
            question,
            lambda: asked.table[:, giver],
        )
