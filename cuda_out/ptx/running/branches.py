"""Branches on data: both ways are run to where they meet, and what they leave is a choice between the two.

A condition that is a term says nothing of where a thread goes. So it goes both ways, the second from where the first
began, up to the instruction that every way leads to (the branch's postdominator). A register or cell that differs then
is a choice; an instruction whose guard depends on data is such a branch around itself. Threads do not meet in between:
barriers, shuffles, matrices and copies are refused there. Atomic operations, whose order makes no difference, change a
cell by nothing where the condition does not hold. What goes wrong on one way goes wrong only for some inputs, of which
it is not known that there are any: nothing is claimed then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
from msgspec import Struct

from cuda_out.ptx.columns import NEVER, is_data, is_known, is_unwritten
from cuda_out.ptx.instructions.choices import SELECT
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.kinds import KINDS, is_float, width
from cuda_out.ptx.running.control_flow import ControlFlow
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.memory import Broken, KeptCells, Lanes, Region
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.syntax import Instruction, Name, NotInterpreted

MOST_TRIPS: Final = 64
"""So often a thread may come to one branch on data again before its ways meet: by a loop that data ends."""
_NEUTRAL: Final = {"add": 0, "or": 0, "xor": 0, "and": -1}
_END: Final = {"min": "max", "max": "min"}
"""Atomic operations, and the number, or the end of integers, with which they change nothing."""
_AND, _OR, _NOT = (decode((op, "pred")) for op in ("and", "or", "not"))


class _Left(Struct, frozen=True):
    """What one way from a branch leaves: all registers, and the cells that it wrote, by the address of their array."""

    registers: dict[str, Register]
    cells: dict[int, KeptCells]


class _Way(Struct, frozen=True):
    """One way from a branch: the number of the way in which that stands, -1 for none, the condition under which each
    thread goes this way from there (0: it does not), and under which it comes here at all."""

    outer: int
    own: Lanes
    whole: Lanes


class BranchingMachine(PtxMachine):
    """One launch of one kernel, in which data may say which way a thread goes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._inside: Counter[int] = Counter()
        self._ways: list[_Way] = []
        self._way = -1
        self._steps = self._unknowns = 0

    @cached_property
    def _flow(self) -> ControlFlow:
        return ControlFlow(self.kernel, self._target)

    def run(self) -> None:
        super().run()
        if any(each.holds is not None for region in self.memory.regions for each in region.accesses):
            self._look_for_races()

    # -- one instruction -----------------------------------------------------------------------------------------------

    def _goes_both_ways(self, instruction: Instruction, place: int, at: Lanes, counter: Lanes) -> bool:
        assert instruction.guard is not None
        guard = Name(instruction.guard.text, instruction.guard.negated)
        bits, terms = self.registers.read(guard, "pred", at)
        data = np.flatnonzero(is_data(terms))
        if len(data) == 0:
            return False
        bits, terms = self.deferred.written_out(bits[data], terms[data])
        lanes, condition = at[data[terms > 0]], (bits[terms > 0], terms[terms > 0])
        if len(lanes) == 0:
            return False
        if self._synchronises(instruction) or instruction.op[0] == "cp" or "uni" in instruction.op:
            return False  # what asks for the predicate says why not
        self._inside[place] += 1
        if self._inside[place] > MOST_TRIPS:
            raise NotInterpreted(f"{instruction}, a loop whose end depends on data: not left after {MOST_TRIPS} trips")
        known = np.setdiff1d(at, lanes)
        on = known[self._predicate(instruction, instruction.guard, known)]
        if instruction.op[0] in ("bra", "ret", "exit"):
            end, meeting = len(self.kernel.instructions), self._flow.meeting(place)
            to = self._target(instruction) if instruction.op[0] == "bra" else end
            yes = self._go(instruction, lanes, condition, lambda: self._from(to, meeting, lanes))
            other = self.registers.apply(_NOT, [condition], lanes)
            no = self._go(instruction, lanes, other, lambda: self._from(place + 1, meeting, lanes))
            self._merge(lanes, condition, yes, no, meeting)
            counter[known], counter[on], counter[lanes] = place + 1, to, meeting
            if to == end:
                self.transfers.ended[on] = self.early_returns
            if meeting == end:
                self.transfers.ended[lanes] = self.early_returns
        else:
            if len(on):
                self._execute(instruction, place, on)
            yes = self._go(instruction, lanes, condition, lambda: self._execute(instruction, place, lanes))
            self._merge(lanes, condition, yes, _Left(dict(self.registers.registers), {}), place + 1)
            counter[at] = place + 1
        self._inside[place] -= 1
        return True

    def _from(self, start: int, meeting: int, lanes: Lanes) -> None:
        counter = np.full(self.shape.count, meeting, np.int64)
        counter[lanes] = start
        self._run(counter, meeting)

    def _go(self, instruction: Instruction, lanes: Lanes, condition: Register, steps: Callable[[], None]) -> _Left:
        """Go one way and return what it leaves; then all is as it was before, but for what atomic operations did."""
        memory, registers, outer = self.memory, dict(self.registers.registers), self._way
        own = np.zeros(self.shape.count, np.int64)
        own[lanes] = condition[1]
        whole = own
        if outer >= 0:
            whole, sides = own.copy(), (self._ways[outer].whole[lanes], condition[1])
            whole[lanes] = self.registers.apply(_AND, [_as_data(each) for each in sides], lanes)[1]
        kept, held = memory.kept, memory.holds
        self._way = len(self._ways)
        memory.kept, memory.holds = [], 1 + self._way * self.shape.count + self.shape.thread
        self._ways.append(_Way(outer, own, whole))
        try:
            steps()
        except Broken as error:
            raise NotInterpreted(f"{error}, on one way from a branch on data ({instruction})") from None
        finally:
            left, memory.kept, memory.holds, self._way = memory.kept, kept, held, outer
        found = _Left(self.registers.registers, memory.put_back(left))
        self.registers.registers = registers
        return found

    def _synchronises(self, instruction: Instruction) -> bool:
        found = super()._synchronises(instruction)
        stops = instruction.op[0] == "trap" or Name("__assertfail") in instruction.operands
        if self._way >= 0 and (found or stops or instruction.op[0] in ("cp", "activemask")):
            raise NotInterpreted(f"{instruction}, on one way from a branch on data")
        return found

    def _execute(self, instruction: Instruction, place: int, at: Lanes) -> None:
        if self._way >= 0:
            self._steps += 1
            if self._steps > self.steps // 4:
                raise NotInterpreted(f"{instruction}, to which branches on data lead in too many ways")
        super()._execute(instruction, place, at)

    def _changed_by(self, instruction: Instruction, at: Lanes) -> list[Register]:
        """Return with what an atomic operation changes cells: by nothing where the condition of its way is not so."""
        name, kind = instruction.op[-2:]
        given = super()._changed_by(instruction, at)
        if self._way < 0:
            return given
        if name in _NEUTRAL:
            neutral = _NEUTRAL[name]
        elif name in _END and not is_float(kind):
            neutral = int(getattr(np.iinfo(KINDS[kind]), _END[name]))
        else:
            raise NotInterpreted(f"{instruction}, on one way from a branch on data")
        nothing = np.full(len(at), neutral & (1 << width(kind)) - 1, np.uint64), np.zeros(len(at), np.int64)
        condition = _as_data(self._ways[self._way].whole[at])
        return [self._choice(kind, condition, each, nothing, at) for each in given]

    def split_cells(self, region: Region, size: int) -> None:
        if self._way >= 0:
            raise NotInterpreted(f"parts of elements of {region.name}, on one way from a branch on data")
        super().split_cells(region, size)

    # -- choices -------------------------------------------------------------------------------------------------------

    def _choice(self, kind: str, condition: Register, yes: Register, no: Register, at: Lanes) -> Register:
        """Return what is chosen; between predicates it is one again."""
        apply = self.registers.apply
        if kind == "pred":
            other = apply(_AND, [apply(_NOT, [condition], at), no], at)
            return apply(_OR, [apply(_AND, [condition, yes], at), other], at)
        return apply(Operation("selp", (kind, kind, "pred"), kind, _chosen, None, SELECT), [yes, no, condition], at)

    def _anything(self, value: Register, what: str) -> Register:
        """Return a value in which what was never set may be anything."""
        bits, terms = value
        if len(never := np.flatnonzero(is_unwritten(terms))):
            table, terms = self.deferred.normal.terms, terms.copy()
            for lane in never.tolist():
                self._unknowns += 1
                terms[lane] = table.apply(f"{what}, which one way does not set {self._unknowns}", (table.const(0),))
        return bits, terms

    def _merge(self, lanes: Lanes, condition: Register, yes: _Left, no: _Left, meeting: int) -> None:
        """Leave what both ways leave, where they meet."""
        live, registers = self._flow.live(meeting), dict[str, Register]()
        for name in yes.registers.keys() | no.registers.keys():
            one, two = yes.registers.get(name), no.registers.get(name)
            if one is None or two is None or one[0] is not two[0] or one[1] is not two[1]:
                registers[name] = self._merged(name, lanes, condition, one, two, name in live)
            else:
                registers[name] = one
        self.registers.registers = registers
        conditions = np.zeros(self.shape.count, np.int64)
        conditions[lanes] = condition[1]
        for region in self.memory.regions:
            if region.base in yes.cells or region.base in no.cells:
                self._merge_cells(region, conditions, yes.cells.get(region.base), no.cells.get(region.base))

    def _merged(
        self, name: str, lanes: Lanes, condition: Register, one: Register | None, two: Register | None, live: bool
    ) -> Register:
        """Return a register in which ways may have left different values; one that nobody reads counts as never set."""
        never = NEVER
        if not live or one is None or two is None:
            never = self.memory.nothing(f"{name}, a register that ways from a branch on data leave different")
        none: Register = np.zeros(self.shape.count, np.uint64), np.full(self.shape.count, never, np.int64)
        one, two = one or none, two or none
        unequal = (one[1] != two[1]) | ((one[1] == 0) & (one[0] != two[0]))
        places = np.flatnonzero(unequal[lanes])
        bits, terms, differ = two[0].copy(), two[1].copy(), lanes[places]
        if two is none:
            bits, terms = one[0].copy(), one[1].copy()
        if not live:
            terms[differ] = never
        elif len(differ):
            sides = [self._anything((each[0][differ], each[1][differ]), name) for each in (one, two)]
            kind, which = self.registers.types.get(name, "b64"), (condition[0][places], condition[1][places])
            bits[differ], terms[differ] = self._choice(kind, which, sides[0], sides[1], differ)
        return bits, terms

    def _merge_cells(self, region: Region, conditions: Lanes, yes: KeptCells | None, no: KeptCells | None) -> None:
        cells = np.union1d(*(np.zeros(0, np.int64) if each is None else each.cells for each in (yes, no)))
        now = KeptCells.of(region, cells)
        one, two = (now if each is None else now.replaced(each) for each in (yes, no))
        first, second = (np.isin(cells, [] if each is None else each.cells) for each in (yes, no))
        thread = np.where(first, one.thread, two.thread)
        other = np.where(second, two.thread, thread)
        if (apart := (thread != other) & (conditions[thread] != conditions[other])).any():
            cell, *both = (int(each[apart][0]) for each in (cells, thread, other))
            who = " and ".join(map(self.shape.describe, both))
            raise NotInterpreted(f"{region.where(cell)}, which {who} write on different ways from a branch on data")
        self.memory.keep(region, cells)
        writer = np.where(first, one.writer, two.writer)
        left = KeptCells(cells, two.bits.copy(), two.terms.copy(), writer, thread)
        differ = np.flatnonzero((one.terms != two.terms) | (is_known(one.terms) & (one.bits != two.bits)))
        if len(differ):
            which, at = _as_data(conditions[thread[differ]]), thread[differ]
            assert (which[1] > 0).all(), "whoever wrote on one way went by data"
            sides = [self._anything((each.bits[differ], each.terms[differ]), region.name) for each in (one, two)]
            left.bits[differ], left.terms[differ] = self._choice(f"b{8 * region.cell}", which, sides[0], sides[1], at)
        left.put_back(region)

    # -- races ---------------------------------------------------------------------------------------------------------

    def races(self) -> Iterator[str]:
        """Yield the races that there are whatever data says."""
        return self._races(lambda one, two: one != 0 or two != 0)

    def _look_for_races(self) -> None:
        """Raise NotInterpreted for races of what data decides, unless there are others."""
        if next(self.races(), None) is None:
            for race in self._races(self._never_together):
                raise NotInterpreted(f"{race}, if branches on data go that way")

    def _never_together(self, one: int, two: int) -> bool:
        """Tell whether what two threads do never comes together, and was run as what does not; 0 is done always.

        What all threads of one way store there is seen by all of them, so that in a way in which both are they must be
        together.
        """
        if not (one and two):
            return False
        (way, thread), (other, another) = (divmod(each - 1, self.shape.count) for each in (one, two))
        if any(
            self._ways[each].own[thread] != self._ways[each].own[another]
            for each in {*self._out_of(way)} & {*self._out_of(other)}
        ):
            return False
        sides = [self._ways[way].whole[[thread]], self._ways[other].whole[[another]]]
        both = self.registers.apply(_AND, [_as_data(each) for each in sides], self.registers.every[:1])
        bits, terms = self.deferred.written_out(*both)
        return not terms.any() and not bits.any()

    def _out_of(self, way: int) -> Iterator[int]:
        """Yield a way and those in which it stands."""
        while way >= 0:
            yield way
            way = self._ways[way].outer


def _as_data(terms: Lanes) -> Register:
    return np.zeros(len(terms), np.uint64), terms


def _chosen(a: Any, b: Any, condition: Any) -> Any:
    return np.where(condition, a, b)
