"""The instructions of PTX that move values: between registers, to and from memory, across the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cuda_out.ptx.columns import NEVER, is_data
from cuda_out.ptx.instructions.operation import InstructionForm
from cuda_out.ptx.instructions.table import decode, form
from cuda_out.ptx.kinds import width
from cuda_out.ptx.running.gathers import Gathers
from cuda_out.ptx.running.memory import WINDOWS, Broken, Lanes, Region
from cuda_out.ptx.running.registers import Register, Registers
from cuda_out.ptx.syntax import Address, Group, Instruction, Name, NotInterpreted, Operand
from symbolic.algebra.terms import Term


class Transfers:
    """Moves values for some threads at a time; `parameters` are the kernel's, addresses and numbers, and `kinds` the
    element types of its arrays."""

    atomic_by_data: frozenset[str] = frozenset(("shared", "global"))
    """The state spaces in which atomic additions may go where data says."""

    def __init__(
        self,
        registers: Registers,
        parameters: Mapping[str, int | Register | dict[tuple[int, int], int | Register]],
        kinds: Mapping[str, str],
    ) -> None:
        self.registers, self.parameters = registers, parameters
        self.gathers = Gathers(registers.deferred.normal, kinds)
        self.shape, self.memory = registers.shape, registers.memory
        self.whole, self.numbers = frozenset[str](), frozenset[str]()
        """The parameters of 64 bits, and those that are numbers, of which the lower half may be taken."""
        self.ended = np.zeros(self.shape.count, np.bool_)
        """Which threads have ended: no barrier and no mask waits for them."""

    def move(self, instruction: Instruction, at: Lanes) -> None:
        target, source = instruction.operands
        size = width(instruction.op[-1])
        if isinstance(source, Group):
            piece = size // len(source.items)
            parts = [self.registers.read(item, f"b{piece}", at) for item in source.items]
            self.registers.write(target, self.registers.packed(parts, piece), at)
        elif isinstance(target, Group):
            piece = size // len(target.items)
            for item, part in zip(
                target.items,
                self.registers.unpacked(self.registers.read(source, f"b{size}", at), piece, len(target.items)),
                strict=True,
            ):
                self.registers.write(item, part, at)
        else:
            self.registers.write(target, self.registers.read(source, instruction.op[-1], at), at)

    def convert_address(self, instruction: Instruction, at: Lanes) -> None:
        """Turn an address of a state space into a generic one, or, with `.to`, back."""
        target, source = instruction.operands
        back, window = "to" in instruction.op, np.uint64(WINDOWS[str(_form(instruction).space)])
        value = self.registers.read(source, "u64", at)
        if window:  # generic addresses of global memory are its own
            bits = self.registers.known(instruction, value, at, "an address")
            value = (bits - window if back else bits + window), value[1]
        self.registers.write(target, value, at)

    def addresses(
        self, instruction: Instruction, operand: Operand, at: Lanes, how: InstructionForm | None = None
    ) -> Lanes:
        """Return the addresses of an access; `how` is its form where the instruction has several."""
        assert isinstance(operand, Address)
        if operand.base in self.registers.symbols:
            return np.full(len(at), self.registers.symbols[operand.base] + operand.offset, np.int64)
        value = self.registers.read(Name(operand.base), "u64", at)
        bits = self.registers.known(instruction, value, at, "an address")
        found: Lanes = (bits + np.uint64(operand.offset & (1 << 64) - 1)).astype(np.int64)
        return found

    def load(self, instruction: Instruction, place: int, at: Lanes) -> None:
        target, source = instruction.operands[:2]
        how = _form(instruction)
        count, kind = how.count, how.kind
        if how.space == "param":
            assert isinstance(source, Address)
            if source.base not in self.parameters:  # what a function was given, or gave
                self.registers.write(target, self.registers.read(Name(source.base), kind, at), at)
                return
            targets = target.items if isinstance(target, Group) else (target,)
            for number, each in enumerate(targets):
                given = self.parameters[source.base]
                if isinstance(given, dict):
                    field = source.offset + number * width(kind) // 8, width(kind)
                    if field not in given:
                        raise NotInterpreted(f"{instruction}, a part of a structure that is none of its fields")
                    given = given[field]
                if source.base in self.whole and width(kind) == 32:
                    if source.base not in self.numbers:
                        raise NotInterpreted(f"{instruction} (a part of the parameter {source.base})")
                    low = (1 << 32) - 1
                    given = given & low if isinstance(given, int) else (given[0] & np.uint64(low), given[1])
                if isinstance(given, int):
                    full = np.full(len(self.registers.every), given & (1 << 64) - 1, np.uint64)
                    given = full, 0 * self.registers.every
                self.registers.write(each, (given[0][at], given[1][at]), at)
            return
        item = width(kind) // 8
        results = [(np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)) for _ in range(count)]
        data = self._by_data(instruction, source, how, at)
        for lane, term in data.items():
            results[0][1][lane] = term
        known = (
            np.array([lane for lane in range(len(at)) if lane not in data], np.int64) if data else np.arange(len(at))
        )
        where = self.addresses(instruction, source, at[known])
        for region, among, first in self.memory.cells(instruction, at[known], where, how, writes=False):
            some, pieces = known[among], item // region.cell
            if "nc" in instruction.op:
                region.constant |= set((first[:, None] + np.arange(pieces * count)).ravel().tolist())
            for number, (bits, terms) in enumerate(results):
                cells = first + number * pieces
                bits[some], terms[some] = self.taken(instruction, place, region, at[some], cells, pieces)
        targets = target.items if isinstance(target, Group) else (target,)
        for name, result in zip(targets, results, strict=True):
            self.registers.write(name, self.registers.extended(name, kind, result, at), at)

    def _by_data(self, instruction: Instruction, operand: Operand, how: InstructionForm, at: Lanes) -> dict[int, int]:
        """Return what the lanes load whose address depends on data, by their place among the threads."""
        assert isinstance(operand, Address)
        if operand.base in self.registers.symbols or how.space not in (None, "global"):
            return {}
        bits, terms = self.registers.read(Name(operand.base), "u64", at)
        lanes = np.flatnonzero(is_data(terms))
        if len(lanes) == 0:
            return {}
        _, written = self.registers.deferred.written_out(bits[lanes], terms[lanes])
        found: dict[int, int] = {}
        for lane, term in zip(lanes.tolist(), written.tolist(), strict=True):
            if term > 0:
                if how.count != 1:
                    raise NotInterpreted(f"{instruction}, several elements by data")
                element = self.gathers.element(instruction, self.memory.regions, term, operand.offset, width(how.kind))
                found[lane] = element
        return found

    def store(self, instruction: Instruction, place: int, at: Lanes) -> None:
        target, source = instruction.operands[:2]
        how = _form(instruction)
        count, kind = how.count, how.kind
        if how.space == "param":
            assert isinstance(target, Address)
            self.registers.write(Name(target.base), self.registers.read(source, kind, at), at)
            return
        item = width(kind) // 8
        sources = source.items if isinstance(source, Group) else (source,)
        values = [self.registers.read(one, kind, at) for one in sources]
        where = self.addresses(instruction, target, at)
        assert len(values) == count
        for region, some, first in self.memory.cells(instruction, at, where, how, writes=True):
            pieces = item // region.cell
            for number, value in enumerate(values):
                self.put(place, region, at[some], first + number * pieces, pieces, (value[0][some], value[1][some]))

    def changed_by(self, instruction: Instruction, at: Lanes) -> list[Register]:
        """Return with what an atomic operation changes cells."""
        return [self.registers.read(value, _form(instruction).kind, at) for value in _targets(instruction)[1][1:]]

    def atomic(self, instruction: Instruction, place: int, at: Lanes, values: Sequence[Register]) -> None:
        """Change cells by some values, one thread after the other where several name the same cell, in order."""
        target, (where, *_) = _targets(instruction)
        how = _form(instruction)
        item, op = width(how.kind) // 8, tuple(word for word in instruction.op if word != "noftz")[-2:]
        at, addresses, values = self._wherever(instruction, where, how, op, at, values)
        old_bits, old_terms = np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        for region, some, first in self.memory.cells(instruction, at, addresses, how, writes=True, atomic=True):
            order = np.argsort(first, kind="stable")
            in_order = first[order]
            begins = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])
            turn = np.empty(len(first), np.int64)
            turn[order] = np.arange(len(first)) - np.repeat(begins, np.diff(np.r_[begins, len(first)]))
            for number in range(int(turn.max(initial=-1)) + 1):
                now = some[turn == number]
                cells, threads, pieces = first[turn == number], at[now], item // region.cell
                old = self.taken(instruction, place, region, threads, cells, pieces, atomic=instruction.op)
                mine = [(bits[now], terms[now]) for bits, terms in values]
                new = self._changed(op, old, mine, threads)
                self.put(place, region, threads, cells, pieces, new, atomic=instruction.op)
                old_bits[now], old_terms[now] = old
        if target:  # of what data places nobody uses what it gives
            self.registers.write(target[0], (old_bits, old_terms), at)

    def _wherever(
        self, instruction: Instruction, where: Operand, how: InstructionForm, op: tuple[str, ...], at: Lanes,
        values: Sequence[Register],
    ) -> tuple[Lanes, Lanes, Sequence[Register]]:  # fmt: skip
        """Return threads, addresses and values of an atomic operation: of one that adds where data says, each element
        that it may be, with what it adds if it is that one, and else 0."""
        assert isinstance(where, Address)
        symbol = where.base in self.registers.symbols
        bits, terms = self.registers.read(Name(where.base), "u64", at) if not symbol else (at, 0 * at)
        data = is_data(terms)
        if data.any():
            data[data] = self.registers.deferred.written_out(bits[data], terms[data])[1] > 0
        if not data.any() or op[0] != "add" or how.space not in self.atomic_by_data:
            return at, self.addresses(instruction, where, at), values
        _, written = self.registers.deferred.written_out(bits[data], terms[data])
        lanes, found, conditions = list[int](), list[int](), list[Term]()
        for lane, term in zip(np.flatnonzero(data).tolist(), written.tolist(), strict=True):
            region, index, places = self.gathers.placed(
                instruction, self.memory.regions, term, where.offset, width(how.kind), str(how.space)
            )
            lanes += [lane] * len(places)
            found += [region.base + region.cell * place for place in places]
            conditions += [self.gathers.is_at(index, place) for place in places]
        every, count = np.array(lanes, np.int64), len(lanes)
        (given, own), none = values[0], np.zeros(count, np.int64)
        condition = np.zeros(count, np.uint64), np.array(conditions, np.int64)
        zero = np.zeros(count, np.uint64), none
        chosen = self.registers.apply(
            decode(("selp", f"b{width(how.kind)}")), [(given[every], own[every]), zero, condition], at[every]
        )
        rest = np.flatnonzero(~data)
        where_known = self.addresses(instruction, where, at[rest])
        threads = np.concatenate([at[rest], at[every]])
        more = np.concatenate([where_known, np.array(found, np.int64)])
        return threads, more, [tuple(map(np.concatenate, zip((given[rest], own[rest]), chosen, strict=True)))]  # type: ignore[list-item]

    def _changed(self, op: tuple[str, ...], old: Register, given: list[Register], threads: Lanes) -> Register:
        """Return what an atomic operation makes of what a cell holds."""
        kind = op[1]

        def apply(*name: str) -> Callable[..., Register]:
            return lambda *values: self.registers.apply(decode(name), list(values), threads)

        one, zero = ((np.full(len(threads), number, np.uint64), np.zeros(len(threads), np.int64)) for number in (1, 0))
        match op[0]:
            case "exch":
                return given[0]
            case "cas":
                return apply("selp", kind)(given[1], old, apply("setp", "eq", kind)(old, given[0]))
            case "inc":
                return apply("selp", kind)(zero, apply("add", kind)(old, one), apply("setp", "ge", kind)(old, given[0]))
            case "dec":
                ends = [apply("setp", "eq", kind)(old, zero), apply("setp", "gt", kind)(old, given[0])]
                return apply("selp", kind)(given[0], apply("sub", kind)(old, one), apply("or", "pred")(*ends))
        return apply(*op)(old, *given)

    def taken(
        self, instruction: Instruction, place: int, region: Region, threads: Lanes, first: Lanes, pieces: int,
        *, atomic: Sequence[str] = (),
    ) -> Register:  # fmt: skip
        """Read some neighbouring cells, as one value for each thread."""
        parts = []
        for piece in range(pieces):
            cells = first + piece
            self.memory.note(region, place, threads, cells, writes=False, atomic=atomic)
            found = region.terms[cells]
            if (found == NEVER).any():
                bad = int(np.flatnonzero(found == NEVER)[0])
                nothing = self.memory.unwritten(region, instruction, int(threads[bad]), int(cells[bad]))
                found = np.where(found == NEVER, nothing, found)
            parts.append((region.bits[cells], found))
        return parts[0] if pieces == 1 else self.registers.packed(parts, 8 * region.cell)

    def put(
        self, place: int, region: Region, threads: Lanes, first: Lanes, pieces: int, value: Register,
        *, atomic: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Write each thread's value into some neighbouring cells."""
        parts = [value] if pieces == 1 else self.registers.unpacked(value, 8 * region.cell, pieces)
        for piece, (bits, terms) in enumerate(parts):
            cells = first + piece
            self.memory.note(region, place, threads, cells, writes=True, atomic=atomic)
            if not atomic:  # which changes a cell by nothing where its condition does not hold
                self.memory.keep(region, cells)
            region.bits[cells] = bits & np.uint64((1 << 8 * region.cell) - 1)
            region.terms[cells] = terms
            region.writer[cells], region.thread[cells] = place, threads

    def mask(self, instruction: Instruction, at: Lanes) -> Lanes:
        bits = self.registers.known(instruction, self.registers.read(instruction.operands[-1], "b32", at), at, "a mask")
        found: Lanes = (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)
        return found

    def agreed_mask(self, instruction: Instruction, at: Lanes) -> Lanes:
        """Return the masks with which threads meet; the lanes that one names must be those that have it."""
        masks, warp = self.mask(instruction, at), self.shape.warp_base[at]
        whole = (1 << self.shape.warp_lanes[at]) - 1
        if self.ended.any():
            gone = np.bincount(
                self.shape.warp_base, np.where(self.ended, 1 << self.shape.thread - self.shape.warp_base, 0)
            )
            whole &= ~gone.astype(np.int64)[warp]
        if (masks & whole != whole).any():
            group = np.unique(warp << 32 | masks, return_inverse=True)[1].reshape(-1)
            lanes = np.zeros(int(group.max()) + 1, np.int64)
            np.add.at(lanes, group, 1 << at - warp)
            for wrong, why in (
                (masks >> at - warp & 1 == 0, "is not in its own mask"),
                (lanes[group] != masks & whole, "names lanes that have other masks"),
            ):
                if wrong.any():
                    raise Broken(f"{instruction}: {self.shape.describe(int(at[np.flatnonzero(wrong)[0]]))} {why}")
        return masks

    def shuffle(self, instruction: Instruction, at: Lanes) -> None:
        target, *more = instruction.operands[:-4]
        value, steer, clamp, _ = instruction.operands[-4:]
        b, c = (self._steering(instruction, operand, at) for operand in (steer, clamp))
        mask, lane = self.agreed_mask(instruction, at), (at - self.shape.warp_base[at])
        segment, bound = c >> 8 & 31, c & 31
        lowest, highest = lane & segment, (lane & segment) | (bound & ~segment & 31)
        b = b & 31
        match instruction.op[2]:
            case "up":
                giver, inside = lane - b, lane - b >= highest
            case "down":
                giver, inside = lane + b, lane + b <= highest
            case "bfly":
                giver, inside = lane ^ b, (lane ^ b) <= highest
            case _:
                giver, inside = lowest | (b & ~segment & 31), (lowest | (b & ~segment & 31)) <= highest
        giver = np.where(inside, giver, lane)
        bits, terms = self.registers.read(value, "b32", at)
        all_bits, all_terms = np.zeros(self.shape.count, np.uint64), np.zeros(self.shape.count, np.int64)
        here = np.zeros(self.shape.count, np.bool_)
        all_bits[at], all_terms[at], here[at] = bits, terms, True
        source = self.shape.warp_base[at] + giver
        absent = (source >= self.shape.count) | (mask >> giver & 1 == 0)
        source = np.where(absent, at, source)
        absent |= ~here[source] | (self.shape.warp_base[source] != self.shape.warp_base[at])
        result = all_bits[source], all_terms[source]
        if absent.any():
            bad = int(np.flatnonzero(absent)[0])
            nothing = self.memory.nothing(
                f"lane {int(giver[bad])}, which {self.shape.describe(int(at[bad]))} asks and which takes no part "
                f"({instruction})"
            )
            result = result[0], np.where(absent, nothing, result[1])
        self.registers.write(target, result, at)
        for predicate in more:
            self.registers.write(predicate, (inside.astype(np.uint64), np.zeros(len(at), np.int64)), at)

    def vote(self, instruction: Instruction, at: Lanes) -> None:
        """Ask all lanes of a mask for a predicate: which of them have it, or whether all, any, all or none have it."""
        target, predicate, _ = instruction.operands
        mask = self.agreed_mask(instruction, at)
        own = self.registers.known(instruction, self.registers.read(predicate, "pred", at), at, "a predicate")
        group = np.unique(self.shape.warp_base[at] << 32 | mask, return_inverse=True)[1].reshape(-1)
        lane = at - self.shape.warp_base[at]
        yes, asked = (np.zeros(int(group.max()) + 1, np.int64) for _ in range(2))
        np.add.at(yes, group, np.where(own != 0, 1 << lane, 0))
        np.add.at(asked, group, 1 << lane)
        match instruction.op[2]:
            case "ballot":
                found = yes
            case "any":
                found = yes != 0
            case "all":
                found = yes == asked
            case _:
                found = (yes == asked) | (yes == 0)
        self.registers.write(target, (found[group].astype(np.uint64), np.zeros(len(at), np.int64)), at)

    def _steering(self, instruction: Instruction, operand: Operand, at: Lanes) -> Lanes:
        bits = self.registers.known(instruction, self.registers.read(operand, "b32", at), at, "a lane")
        found: Lanes = (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)
        return found


def _targets(instruction: Instruction) -> tuple[list[Operand], list[Operand]]:
    """Return what an atomic operation writes, if it gives something, and its other operands."""
    gives = instruction.op[0] == "atom"
    return list(instruction.operands[:gives]), list(instruction.operands[gives:])


def _form(instruction: Instruction) -> InstructionForm:
    found = form(instruction.op)
    assert found is not None, "the reader knows every instruction that runs"
    return found
