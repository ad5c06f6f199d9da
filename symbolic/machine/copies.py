"""Asynchronous copies: what is copied is there once its thread has waited for it; until then the cell holds nothing.

A copy counts as a write where it is issued and where it is waited for, so that barriers lie before and behind. In
between nobody may write its cells, or what it is copied from.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.ir.index import cell_name
from symbolic.ir.program import CopyAsync, CopyGroup, Load, Store
from symbolic.ir.sites import Key
from symbolic.machine.memory import Memory
from symbolic.machine.rules import Rules
from symbolic.machine.run import Violation
from symbolic.values.data import DataVector
from symbolic.values.vector import Lanes, Vector, conjunction

_OPEN = -1


class _Pending(Struct):
    """Copies under way, one element of each thread in `mask`: its group, and where it was committed and which wait it
    has outlasted since it was issued, as numbers of statements that ran, -1 for none.

    `wanted` are the threads that read something, at `source`; the others fill in 0.
    """

    number: int
    node: CopyAsync
    key: Key
    read: Key
    mask: Vector
    wanted: Vector
    address: Vector
    source: Vector
    value: DataVector
    group: Lanes
    committed: Lanes
    outlasted: Lanes


class Copies:
    """The copies of a launch that are under way."""

    def __init__(self, memories: Mapping[str, Memory], rules: Rules) -> None:
        self.memories, self.rules = memories, rules
        self._pending: list[_Pending] = []
        self._held: dict[str, Lanes] = {}
        self._committed: Lanes = np.zeros(rules.shape.count, np.int64)
        self._passed: list[CopyGroup] = []
        self._count = 0

    def issue(
        self, node: CopyAsync, mask: Vector, address: Vector, value: DataVector, wanted: Vector, source: Vector
    ) -> None:
        """Begin to copy an element for each thread in `mask`: its cell holds nothing from now on."""
        key, read = self.rules.key(node, "copy"), self.rules.key(node.load, "access")
        self.refuse(node, mask, address)
        self.memories[node.array].write(key, mask, address, None, len(self.rules.result.barriers))
        none = [np.full(self.rules.shape.count, _OPEN) for _ in range(3)]
        self._count += 1
        copy = _Pending(self._count, node, key, read, mask, wanted, address, source, value, *none)
        self._pending.append(copy)
        self._hold(copy, mask, wanted, 1)

    def passed(self, statement: CopyGroup, mask: Vector) -> None:
        """Commit the copies of the threads in `mask` as a group each, or wait for all but their last groups."""
        if not isinstance(mask, np.ndarray):
            what = "a commit of" if statement.left is None else "a wait for"
            raise SwizzleError(
                f"{what} copies under a condition that depends on a hole",
                place=statement.place,
                expected="the same groups, whatever the holes become",
                fix="move it out of the `if`: a group may be empty",
            )
        if statement.left is None:
            for copy in self._pending:
                own = mask & (copy.group == _OPEN)
                copy.group[own] = self._committed[own]
                copy.committed[own] = len(self._passed)
            self._committed = self._committed + mask
            self._passed.append(statement)
            return
        rest = []
        for copy in self._pending:
            done = mask & (copy.group != _OPEN) & (copy.group < self._committed - statement.left)
            if done.any():
                self._arrive(statement, copy, done)
            if not done.all():
                copy.mask, copy.wanted = conjunction(copy.mask, ~done), conjunction(copy.wanted, ~done)
                copy.outlasted[mask] = len(self._passed)
                rest.append(copy)
        self._pending = rest
        self._passed.append(statement)

    def _arrive(self, statement: CopyGroup, copy: _Pending, done: Lanes) -> None:
        rules = self.rules
        mask, wanted = conjunction(copy.mask, done), conjunction(copy.wanted, done)
        outer = rules.loops
        rules.loops = (*outer, copy.number)
        self._hold(copy, mask, wanted, -1)
        rules.note_access(copy.node, mask, copy.address, writes=True, arrives=statement)
        rules.note_access(copy.node.load, wanted, copy.source, writes=False, arrives=statement)
        key = rules.key(statement, "arrival")
        rules.loops = outer
        epoch = len(rules.result.barriers)
        self.memories[copy.node.array].write(key, mask, copy.address, copy.value, epoch)

    def refuse(self, node: Store | CopyAsync, mask: Vector, address: Vector) -> None:
        """Refuse to write what a copy under way writes or reads, where that is certain."""
        held = self._held.get(node.array)
        if held is None or not isinstance(mask, np.ndarray) or not isinstance(address, np.ndarray):
            return
        threads = np.flatnonzero(mask & (address >= 0))
        wrong = threads[held[address[threads]] > 0]
        if not len(wrong) or len(self.rules.result.violations) >= self.rules.limit:
            return
        t = int(wrong[0])
        for copy in self._pending:
            for array, on, cells, key, what in (
                (copy.node.array, copy.mask, copy.address, copy.key, "the copy to it"),
                (copy.node.load.array, copy.wanted, copy.source, copy.read, "a copy of it"),
            ):
                if array != node.array or not isinstance(on, np.ndarray) or not isinstance(cells, np.ndarray):
                    continue
                for u in np.flatnonzero(on & (cells == address[t]))[:1].tolist():
                    memory, shape = self.memories[array], self.rules.shape
                    cell = cell_name(array, memory.shape, int(address[t]) % memory.cells)
                    message = f"{cell} is written before {what} has arrived ({shape.describe(t)})"
                    fix = f"wait before this: {self._story(copy, t, u)}"
                    own = self.rules.key(node, "copy" if isinstance(node, CopyAsync) else "access")
                    self.rules.result.violations.append(
                        Violation(own, t, message, node.place, fix, (key, u), under_way=True)
                    )
                    return

    def _hold(self, copy: _Pending, mask: Vector, wanted: Vector, by: int) -> None:
        """Count how many copies under way have a cell; those that nothing else may write are left out."""
        for array, on, cells in (
            (copy.node.array, mask, copy.address),
            (copy.node.load.array, wanted, copy.source),
        ):
            if array in self.rules.accesses and isinstance(on, np.ndarray) and isinstance(cells, np.ndarray):
                size = len(self.memories[array].written)
                held = self._held.setdefault(array, np.zeros(size, np.int32))
                np.add.at(held, cells[on & (cells >= 0)], by)

    def account(self, node: Load, cell: str, address: int, reader: int) -> tuple[str, str]:
        """Say why a cell holds nothing, and what to do about it."""
        for copy in self._pending:
            if copy.node.array == node.array and isinstance(copy.address, np.ndarray):
                assert isinstance(copy.mask, np.ndarray)
                copiers = np.flatnonzero(copy.mask & (copy.address == address))
                if len(copiers):
                    story = self._story(copy, reader, int(copiers[0]))
                    fix = "wait for it behind its commit, and then for the other threads, before this read"
                    if copy.committed[copiers[0]] < 0:
                        fix = "write cuda.commit_copies() behind the copy, and before the wait"
                    elif reader == copiers[0]:
                        fix = "wait for it behind its commit, before this read"
                    return f"{cell} is read before the copy to it has arrived: {story}", fix
        return f"{cell} is read before it is written", "write the cell on every path before this read"

    def _story(self, copy: _Pending, reader: int, copier: int) -> str:
        """Say how far a copy has come."""
        who = "" if reader == copier else f" by {self.rules.shape.describe(copier)}"
        begun = f"it was issued in line {copy.node.place.line}{who}"
        waited, committed = copy.outlasted[copier], copy.committed[copier]
        wait = self._passed[waited] if waited >= 0 else None
        if committed < 0:
            before = f", nor was it at the wait in line {wait.place.line}" if wait else ""
            return f"{begun}, and is in no group yet{before}"
        begun += f" and committed in line {self._passed[committed].place.line}"
        if wait is None:
            return f"{begun}, and nothing waited for it since"
        if waited < committed:
            return f"{begun}, behind the wait in line {wait.place.line}"
        groups = f"{wait.left} group{'s' * (wait.left != 1)}"
        return f"{begun}, and the wait in line {wait.place.line} may leave {groups} under way, of which it is one"
