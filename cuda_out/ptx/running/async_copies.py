"""cp.async: copies from global to shared memory that are there only once their thread has waited for them.

Until then a cell that is copied to holds nothing: who reads it reads what was never written. The copy counts as a write
where it is issued and where it is waited for, so that barriers must lie before and behind.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from cuda_out.ptx.instructions.operation import InstructionForm
from cuda_out.ptx.running.memory import Broken, Lanes, Region
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.running.transfers import Transfers
from cuda_out.ptx.syntax import Immediate, Instruction, NotInterpreted, Operand

_OPEN = -1


class _Pending(Struct):
    """Copies under way: for each thread its group, where its cells begin, and what they will hold, piece by piece."""

    place: int
    region: Region
    threads: Lanes
    group: Lanes
    first: Lanes
    parts: list[Register]


class AsyncCopies:
    """The copies of a launch that are under way."""

    def __init__(self, transfers: Transfers) -> None:
        self.transfers, self.memory = transfers, transfers.memory
        self.pending: list[_Pending] = []
        self.committed: Lanes = np.zeros(transfers.shape.count, np.int64)

    def execute(self, instruction: Instruction, place: int, at: Lanes) -> None:
        """Issue copies, commit them as a group, or wait."""
        match instruction.op[2]:
            case "commit_group":
                for each in self.pending:
                    mine = np.isin(each.threads, at) & (each.group == _OPEN)
                    each.group[mine] = self.committed[each.threads[mine]]
                self.committed[at] += 1
            case "wait_all":
                self._finish(at, self.committed, everything=True)
            case "wait_group":
                (last,) = instruction.operands
                assert isinstance(last, Immediate)
                self._finish(at, self.committed - last.bits, everything=False)
            case _:
                self._issue(instruction, place, at)

    def _issue(self, instruction: Instruction, place: int, at: Lanes) -> None:
        to, source, size, *fewer = instruction.operands
        assert isinstance(size, Immediate)
        if fewer:  # the rest is filled with zeros
            wanted = self.transfers.registers.known(
                instruction, self.transfers.registers.read(fewer[0], "b32", at), at, "a size"
            )
            if (wanted > size.bits).any():
                raise Broken(f"{instruction} copies {int(wanted.max())} bytes of {size.bits}")
            if ((wanted != 0) & (wanted != size.bits)).any():
                raise NotInterpreted(f"{instruction}, a copy of which a part is filled with zeros")
            if (empty := at[wanted == 0]).size:
                self._zeros(instruction, place, empty, to, size.bits)
            at = at[wanted != 0]
            if not at.size:
                return
        if size.bits not in (4, 8, 16):
            raise Broken(f"{instruction} copies {size.bits} bytes, not 4, 8 or 16")
        kind, count = ("b32", 1) if size.bits == 4 else ("b64", size.bits // 8)
        here, there = (InstructionForm(kind, "", space, count, ()) for space in ("shared", "global"))
        from_ = self.transfers.addresses(instruction, source, at, there)
        into = self.transfers.addresses(instruction, to, at, here)
        for given, some, read in self.memory.cells(instruction, at, from_, there, writes=False):
            threads = at[some]
            for region, part, first in self.memory.cells(instruction, threads, into[some], here, writes=True):
                whole = max(given.cell, region.cell)
                parts: list[Register] = []
                for byte in range(0, size.bits, whole):
                    cells = read[part] + byte // given.cell
                    value = self.transfers.taken(instruction, place, given, threads[part], cells, whole // given.cell)
                    pieces = whole // region.cell
                    split = (
                        [value] if pieces == 1 else self.transfers.registers.unpacked(value, 8 * region.cell, pieces)
                    )
                    parts += split
                self._hide(instruction, place, region, threads[part], first, len(parts))
                group = np.full(len(part), _OPEN, np.int64)
                self.pending.append(_Pending(place, region, threads[part], group, first, parts))

    def _zeros(self, instruction: Instruction, place: int, at: Lanes, to: Operand, size: int) -> None:
        """Issue copies of nothing: zeros arrive."""
        form = InstructionForm(*(("b32", "", "shared", 1) if size == 4 else ("b64", "", "shared", size // 8)), ())
        into = self.transfers.addresses(instruction, to, at, form)
        for region, part, first in self.memory.cells(instruction, at, into, form, writes=True):
            none = np.zeros(len(part), np.uint64), np.zeros(len(part), np.int64)
            parts = [none] * (size // region.cell)
            self._hide(instruction, place, region, at[part], first, len(parts))
            self.pending.append(_Pending(place, region, at[part], np.full(len(part), _OPEN, np.int64), first, parts))

    def _hide(
        self, instruction: Instruction, place: int, region: Region, threads: Lanes, first: Lanes, count: int
    ) -> None:
        nothing = self.memory.nothing(f"{region.where(int(first[0]))}, whose copy was not waited for ({instruction})")
        none = np.zeros(len(threads), np.uint64), np.full(len(threads), nothing, np.int64)
        for piece in range(count):
            self.transfers.put(place, region, threads, first + piece, 1, none)

    def _finish(self, at: Lanes, before: Lanes, *, everything: bool) -> None:
        """Let the copies of some threads arrive: of all groups before a number, or also those of no group."""
        waiting = np.zeros(len(before), np.bool_)
        waiting[at] = True
        left = []
        for each in self.pending:
            done = waiting[each.threads] & (each.group < before[each.threads])
            done &= everything | (each.group != _OPEN)
            for piece, (bits, terms) in enumerate(each.parts):
                cells, value = each.first[done] + piece, (bits[done], terms[done])
                if len(cells):
                    self.transfers.put(each.place, each.region, each.threads[done], cells, 1, value)
            if not done.all():
                rest = ~done
                parts = [(bits[rest], terms[rest]) for bits, terms in each.parts]
                left.append(
                    _Pending(each.place, each.region, each.threads[rest], each.group[rest], each.first[rest], parts)
                )
        self.pending = left
