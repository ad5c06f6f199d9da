"""One trip of a loop that stands for many: an induction on registers that grow by the same in each.

When threads begin a loop's second trip, each register is taken to grow by what it grew by in the first, and that trip
is followed with that (`cuda_out.ptx.instructions.slopes`): how what its instructions give grows, and up to which trip
every comparison has the same answer. If the registers that a trip takes from the one before have grown so at its end,
this is an induction, and trip t is the first one with t times the growth, elements of arrays that follow the length
included. So those trips are left out, and the registers have what they have behind them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from cuda_out.ptx.columns import is_known
from cuda_out.ptx.every_length.carried import longest_way
from cuda_out.ptx.every_length.far import FarMachine
from cuda_out.ptx.every_length.long_tiles import UNIT, LongRegisters, LongTiles, LongTransfers
from cuda_out.ptx.every_length.tiles import TileValidator
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.slopes import FOREVER, NoSlope, slope_of
from cuda_out.ptx.instructions.table import decode, form, written_and_read
from cuda_out.ptx.kinds import is_float, typed, width
from cuda_out.ptx.running.memory import Lanes, Region
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.running.validate import unknown
from cuda_out.ptx.syntax import (
    Address,
    Group,
    Instruction,
    Kernel,
    Name,
    NotInterpreted,
    Operand,
    names_of,
)
from symbolic.algebra.terms import Term

Flags = npt.NDArray[np.bool_]
_Kind = TypeVar("_Kind", bound=np.generic)


@dataclass
class _Trip:
    """The trip that is followed: of the loop from `header` to `end`, by some threads.

    `first` are the registers that it reads before it writes them, `step` is how many elements along the length the
    next one is further on, and up to trip `most` all is decided alike; then `why` is no longer so.
    """

    header: int
    end: int
    threads: Lanes
    before: Mapping[str, Register]
    guessed: Mapping[str, Lanes]
    odd: Mapping[str, Flags]
    cells: list[tuple[Region, npt.NDArray[np.uint64], Lanes]]
    first: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    step: int = 0
    most: int = FOREVER
    why: str = ""

    def reads(self, names: Sequence[str]) -> None:
        self.first.update(name for name in names if name not in self.written)


class _Differs(Exception):
    """Why trips are not alike."""


class LongMachine(FarMachine):
    """One run of blocks at a huge length along loops."""

    parts = LongRegisters, LongTransfers

    def __init__(
        self, kernel: Kernel, tiles: TileValidator, cuts: Lanes, deferred: Notes, operators: Mapping[str, Operation],
        dynamic: int,
    ) -> None:  # fmt: skip
        super().__init__(kernel, tiles, cuts, deferred, operators, dynamic)
        assert isinstance(tiles, LongTiles)
        assert isinstance(self.registers, LongRegisters)
        assert isinstance(self.transfers, LongTransfers)
        self.long = self.transfers.tiles = tiles
        tiles.compared = {}
        self.registers.lengths = (tiles.long, tiles.short) if tiles.counts else None
        self._trip: _Trip | None = None
        self._slopes: dict[str, Lanes] = {}
        self._odd: dict[str, Flags] = {}
        self.loops = {
            kernel.labels[target.text]: place
            for place, each in enumerate(kernel.instructions)
            if each.op[0] == "bra" and isinstance(target := each.operands[-1], Name)
            if kernel.labels.get(target.text, place + 1) <= place
        }  # of two branches back to one instruction, the last one
        self._floats = {
            name for each in kernel.instructions if _gives_float(each) for name in written_and_read(each)[0]
        }
        self._numbers = itertools.count()
        self._begun: dict[int, tuple[Lanes, Mapping[str, Register]]] = {}
        self._left_out: set[int] = set()

    # -- loops -------------------------------------------------------------------------------------------------

    def _begins_trip(self, header: int, at: Lanes) -> None:
        trip, end = self._trip, self.loops[header]
        if trip is not None:
            if header == trip.header and np.array_equal(at, trip.threads):
                self._leave_out(trip)
                return
            if trip.header < header and end <= trip.end:
                return
            self._gives_up("not all threads go on")
        last = self._begun.pop(header, None)
        if any(header < each <= end for each in self._left_out):  # trips of a loop within this one are left out
            return
        now = self._begun[header] = at, dict(self.registers.registers)
        if last is not None and np.array_equal(last[0], at):
            self._follow(header, end, at, last[1], now[1])

    def _follow(
        self, header: int, end: int, on: Lanes, before: Mapping[str, Register], now: Mapping[str, Register]
    ) -> None:
        """Follow the next trip, whose registers grow by as much as in the one before."""
        guessed, odd = dict[str, Lanes](), dict[str, Flags]()
        for name in now.keys() & before.keys():
            (bits, terms), (old, old_terms) = now[name], before[name]
            kind = self.registers.types.get(name, "b64")
            grown = _signed(bits[on] - old[on], kind) * ((terms[on] == 0) & (old_terms[on] == 0))
            if grown.any() and (is_float(kind) or kind == "pred" or name in self._floats):
                odd[name] = _with(np.zeros(self.shape.count, np.bool_), on, grown != 0)
            elif grown.any():
                guessed[name] = _with(np.zeros(self.shape.count, np.int64), on, grown)
        cells = [(r, r.bits.copy(), r.terms.copy()) for r in self.memory.regions if r.space in ("shared", "local")]
        self._slopes, self._odd = dict(guessed), dict(odd)
        self._trip = _Trip(header, end, on, now, guessed, odd, cells)

    def _gives_up(self, why: str) -> None:
        assert isinstance(self.transfers, LongTransfers)
        if self._trip is not None and (self._trip.step or not self.transfers.why):
            self.transfers.why = why
        self._trip, self._slopes, self._odd = None, {}, {}

    def _leave_out(self, trip: _Trip) -> None:
        """Leave trips out, if this one has shown what they do."""
        try:
            self._as_guessed(trip)
            if not trip.step:
                raise _Differs("trips take nothing along the length")
            times, rest = divmod(self.long.left_out, abs(trip.step))
            if rest:
                raise _Differs(f"trips take {trip.step} elements")
            kept, way = self.long.short // abs(trip.step), self._longest_way(trip)
            if way >= kept:
                raise _Differs(f"elements may be handed on through {way} places, and {kept} trips are kept")
            if times > trip.most:
                self.long.decided |= trip.most > UNIT
                raise _Differs(f"after {trip.most} trips, {trip.why} is not what it was")
        except _Differs as why:
            self._gives_up(str(why))
            self._begun.pop(trip.header, None)
            return
        on, slopes, odd = trip.threads, self._slopes, self._odd
        for name, each in slopes.items():
            bits, terms = self.registers.registers[name]
            bits = bits.copy()
            bits[on] += each[on].astype(np.uint64) * np.uint64(times)
            size = max(width(self.registers.types.get(name, "b64")), 8)
            self.registers.registers[name] = bits & np.uint64((1 << size) - 1), terms
        for name, flags in odd.items():
            bits, terms = self.registers.registers[name]
            some = on[flags[on]]
            self.registers.registers[name] = bits, _with(terms, some, self._unknown(name, len(some)))
        self._left_out.add(trip.header)
        self._trip, self._slopes, self._odd = None, {}, {}

    def _longest_way(self, trip: _Trip) -> int:
        """Return through how many places an element may be handed on from trip to trip."""
        on, now = trip.threads, self.registers.registers
        within = self.kernel.instructions[trip.header : trip.end + 1]
        crosses = any(each.op[0] == "shfl" or (each.op[0] == "ld" and "shared" in each.op) for each in within)
        names = trip.first & trip.before.keys() & {name for each in within for name in written_and_read(each)[0]}
        places = [(on, trip.before[name][1][on], now[name][1][on]) for name in names]
        places += [(np.full(len(terms), -1), terms, region.terms) for region, _, terms in trip.cells]
        pairs, count = set[tuple[Term, Term]](), Counter[tuple[int, Term]]()
        for threads, old, new in places:
            data = old > 0
            pairs.update(zip(old[data].tolist(), np.maximum(new[data], 0).tolist(), strict=True))
            count.update(zip(threads[data].tolist(), old[data].tolist(), strict=True))
        alike = Counter[Term]()
        for (_, term), many in count.items():
            alike[term] = alike[term] + many if crosses else max(alike[term], many)
        return longest_way(pairs, self.deferred.made_of, alike)

    def _unknown(self, name: str, count: int) -> Lanes:
        """Return variables for what trips that were left out leave in a register."""
        kind, terms = self.registers.types.get(name, "b64"), self.long.written.terms
        array = unknown("u16" if kind == "pred" else kind)
        first = next(self._numbers)
        return np.array([terms.atom(array, first * self.shape.count + number) for number in range(count)], np.int64)

    def _as_guessed(self, trip: _Trip) -> None:
        """Require that what a trip takes from the one before has grown as was guessed."""
        on, none = trip.threads, np.zeros(self.shape.count, np.int64)
        for name in sorted((trip.first | trip.guessed.keys()) & self.registers.registers.keys()):
            (bits, terms), (old, old_terms) = self.registers.registers[name], trip.before[name]
            grown, guess = self._slopes.get(name, none)[on], trip.guessed.get(name, none)[on]
            number, was = terms[on] == 0, old_terms[on] == 0
            kind = self.registers.types.get(name, "b64")
            moved = _signed(bits[on] - old[on], kind)
            wrong = (number != was) | (grown != guess) | (number & (moved != guess))
            if name in self._odd:
                wrong |= self._odd[name][on]
            if name in trip.odd:  # of which nothing was taken for granted
                wrong &= ~trip.odd[name][on]
            if wrong.any() and name in trip.first:
                raise _Differs(f"{name} does not grow by the same in each trip")
            if wrong.any() and name not in trip.written:
                self._odd[name] = _with(self._odd.get(name, none != 0), on, wrong)
        for region, bits, terms in trip.cells:
            numbers = is_known(terms) | is_known(region.terms)
            if ((terms != region.terms) | (bits != region.bits))[numbers].any():
                raise _Differs(f"{region.name} holds other numbers after each trip")

    # -- instructions ------------------------------------------------------------------------------------------

    def _goes_both_ways(self, instruction: Instruction, place: int, at: Lanes, counter: Lanes) -> bool:
        return False  # nothing is known of what one way leaves after many trips

    def _predicate(self, instruction: Instruction, name: Name, at: Lanes) -> Flags:
        if self._trip is not None:
            self._trip.reads([name.text])
            if name.text in self._odd and self._odd[name.text][at].any():
                self._gives_up(f"{instruction}, a branch")
        found: Flags = super()._predicate(instruction, name, at)
        return found

    def _notes(self, instruction: Instruction, place: int, at: Lanes) -> None:
        """Keep how far apart the sides of a comparison are where it is made first, for the first and last thread."""
        (a, b), kind = instruction.operands[1:3], instruction.op[-1]
        equal = instruction.op[1] in ("eq", "ne")
        if (place, 0, equal) in self.long.compared or is_float(kind) or kind == "pred":
            return
        (left, of_left), (right, of_right) = (self.registers.read(each, kind, at[[0, -1]]) for each in (a, b))
        if not (of_left.any() or of_right.any()):
            for which, pair in enumerate(zip(typed(left, kind).tolist(), typed(right, kind).tolist(), strict=True)):
                self.long.compared[place, which, equal] = pair[0] - pair[1]

    def _execute(self, instruction: Instruction, place: int, at: Lanes) -> None:
        if instruction.op[0] in ("setp", "min", "max"):
            self._notes(instruction, place, at)
        if self._trip is None:
            super()._execute(instruction, place, at)
            return
        targets, sources = written_and_read(instruction)
        self._trip.reads(sources)
        grown, odd = np.zeros(len(at), np.int64), np.zeros(len(at), np.bool_)
        why = ""
        try:
            if self._synchronises(instruction) and not _contains(self._trip.threads, at):
                raise _Differs(f"{instruction} waits for other threads")
            if any(name in self._slopes or name in self._odd for name in sources):
                grown, odd = self._grown(instruction, sources, at)
        except _Differs as differs:
            why = str(differs)
        super()._execute(instruction, place, at)
        for name in targets:
            if name in self._slopes or grown.any():
                old = self._slopes.get(name, np.zeros(self.shape.count, np.int64))
                self._slopes[name] = _with(old, at, grown)
            if name in self._odd or odd.any():
                was = self._odd.get(name, np.zeros(self.shape.count, np.bool_))
                self._odd[name] = _with(was, at, odd)
        if _contains(at, self._trip.threads):
            self._trip.written.update(targets)
        if why:
            self._gives_up(why)

    def _grown(self, instruction: Instruction, sources: Sequence[str], at: Lanes) -> tuple[Lanes, Flags]:
        """Return by how much what an instruction gives grows with each trip, and where that is not the same."""
        none, odd = np.zeros(len(at), np.int64), np.zeros(len(at), np.bool_)
        grows = none != 0
        for name in sources:
            if name in self._slopes:
                grows |= self._slopes[name][at] != 0
            if name in self._odd:
                odd |= self._odd[name][at]
        if not (grows | odd).any():
            return none, odd
        head, operands = instruction.op[0], instruction.operands
        if head == "call":  # a function of what it is given
            return none, odd | grows
        if head == "shfl":
            return self._shuffled(instruction, at)
        if head in ("ld", "st") and "param" in instruction.op:
            return self._of(sources[0], at), odd
        if head in ("ld", "st"):
            if head == "st" and any(self._of(name, at).any() for name in names_of(operands[1])):
                raise _Differs(f"{instruction} stores a number that grows")
            if odd.any():
                raise _Differs(f"{instruction} is not moved by the same in each trip")
            self._moves(instruction, operands[1] if head == "ld" else operands[0], at)
            return none, odd
        if head in ("mov", "cvta") and not any(isinstance(each, Group) for each in operands):
            return self._of(sources[0], at), odd
        try:
            operation = decode(instruction.op)
        except NotInterpreted:
            raise _Differs(f"{instruction} takes a number that grows") from None
        if len(operands) != len(operation.sources) + 1:
            raise _Differs(f"{instruction} takes a number that grows")
        target = operands[0]
        assert isinstance(target, Name)
        wider = width(self.registers.types.get(target.text, operation.result)) > width(operation.result)
        columns = list[list[int]]()
        for operand, kind in zip(operands[1:], operation.sources, strict=True):
            bits, terms = self.registers.read(operand, kind, at)
            odd = odd | (grows & ~is_known(terms))  # what is made of data and of a number that grows
            columns.append(typed(bits, kind).tolist() if not is_float(kind) else [0] * len(at))
        slopes = [
            self._of(each.text, at).tolist() if isinstance(each, Name) else none.tolist() for each in operands[1:]
        ]
        found, known = none.copy(), dict[tuple[object, ...], tuple[int, int] | None]()
        for place, row in enumerate(zip(*columns, *slopes, strict=True)):
            if odd[place] or not grows[place]:
                continue
            if row not in known:
                try:
                    known[row] = slope_of(operation, row[: len(columns)], row[len(columns) :])
                except NoSlope:
                    known[row] = None
            answer = known[row]
            if answer is None or (wider and answer[0]):
                odd[place] = True
                continue
            found[place] = answer[0]
            assert self._trip is not None
            if answer[1] < self._trip.most and at[place] in self._trip.threads:
                self._trip.most, self._trip.why = answer[1], str(instruction)
        return found, odd

    def _of(self, name: str, at: Lanes) -> Lanes:
        return self._slopes[name][at] if name in self._slopes else np.zeros(len(at), np.int64)

    def _shuffled(self, instruction: Instruction, at: Lanes) -> tuple[Lanes, Flags]:
        """Move what is known of values as a shuffle moves them."""
        value, *steers = instruction.operands[-4:]
        for each in (name for operand in steers for name in names_of(operand)):
            if self._of(each, at).any() or (each in self._odd and self._odd[each][at].any()):
                raise _Differs(f"{instruction} asks other lanes in each trip")
        assert isinstance(value, Name)
        columns = []
        for known in (self._slopes.get(value.text), self._odd.get(value.text)):
            bits = np.zeros(self.shape.count, np.uint64) if known is None else known.astype(np.uint64)
            self.registers.registers["a shuffle"] = bits, np.zeros(self.shape.count, np.int64)
            name = Name("a shuffle")
            self.transfers.shuffle(replace(instruction, operands=(name, name, *steers)), at)
            columns.append(self.registers.registers.pop("a shuffle")[0][at])
        return _signed(columns[0], "b32"), ~is_known(columns[1])

    def _moves(self, instruction: Instruction, operand: Operand, at: Lanes) -> None:
        """Require that an access is moved along the length, or not at all; by as much as others are."""
        assert isinstance(operand, Address)
        assert self._trip is not None
        slopes, how = self._of(operand.base, at), form(instruction.op)
        if not slopes.any():
            return
        assert how is not None
        bits = self.registers.read(Name(operand.base), "u64", at)[0].astype(np.int64)
        for name, region in self.arrays.items():
            near = (np.abs(bits - region.base) < 1 << 39) & (slopes != 0)
            if not near.any() or how.space not in (None, "global"):
                continue
            strides = np.array(self.long.strides[name], np.int64)[self.cuts[self.shape.block_of[at]]] * region.cell
            steps = np.unique(slopes[near] // np.maximum(strides[near], 1))
            even = strides.all() and not (slopes[near] % strides[near]).any() and len(steps) == 1
            if not even or self._trip.step not in (0, int(steps[0])):
                raise _Differs(f"{instruction} is not moved along the length as others are")
            self._trip.step = int(steps[0])
            slopes = np.where(near, 0, slopes)
        if slopes.any():
            raise _Differs(f"{instruction} is at another place in each trip")


def _gives_float(instruction: Instruction) -> bool:
    """Tell whether an instruction computes a floating-point number, in whatever register."""
    op = instruction.op
    if len(op) == 1 or op[0] in ("setp", "ld", "st", "mov", "selp"):
        return False
    return op[-2 if op[0] == "cvt" else -1].startswith(("f", "bf"))


def _signed(bits: npt.NDArray[np.uint64], kind: str) -> Lanes:
    size = max(width(kind), 8)
    low = (bits & np.uint64((1 << size) - 1)).astype(f"u{size // 8}")
    found: Lanes = low.view(f"i{size // 8}").astype(np.int64)
    return found


def _contains(threads: Lanes, some: Lanes) -> bool:
    return threads is some or (len(some) <= len(threads) and bool(np.isin(some, threads).all()))


def _with(old: npt.NDArray[_Kind], at: Lanes, new: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
    found = old.copy()
    found[at] = new
    return found
