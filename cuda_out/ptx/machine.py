"""PTX interpreted for all threads of a grid at once, on numbers and on terms.

Steering is concrete: every thread has its own program counter, and those that are furthest behind run next, which
brings threads together again after a branch. What was loaded from memory may be a term (`cuda_out.ptx.normal`). At a
shuffle all lanes that its mask names must meet, at a barrier all threads of the block. The warp is the hardware's,
32 lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from cuda_out.ptx import symbolic
from cuda_out.ptx.concrete import Operation, decode
from cuda_out.ptx.kinds import KINDS, Bits, typed, untyped, width
from cuda_out.ptx.memory import UNWRITTEN, Broken, Lanes, Memory, Region
from cuda_out.ptx.normal import Normal
from cuda_out.ptx.parse import Address, Group, Immediate, Instruction, Kernel, Name, NotInterpreted, Operand
from symbolic.errors import Place
from symbolic.launch_shape import HARDWARE_WARP, LaunchShape
from symbolic.program import Coordinate
from symbolic.races import races

STEPS: Final = 1_000_000
"""Instructions that a run may execute, each for all its threads together."""
_SPACES: Final = ("global", "shared", "local", "const")
_NO_EFFECT: Final = frozenset(("membar", "fence", "prefetch", "nanosleep"))
_COORDINATES: Final = {"%tid": "threadIdx", "%ctaid": "blockIdx", "%ntid": "blockDim", "%nctaid": "gridDim"}
_NOWHERE: Final = Place("", 0, 0)
Register: TypeAlias = "tuple[Bits, Lanes]"


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that a launch is given: element type, bits, and terms where the elements are not numbers.

    `filled` False: its elements count as unwritten. Cells of `terms` that are 0 are the numbers in `bits`.
    """

    name: str
    kind: str
    bits: Bits
    terms: Lanes
    filled: bool
    writable: bool


class Machine:
    """One launch of one kernel."""

    def __init__(self, kernel: Kernel, shape: LaunchShape, arguments: Sequence[Argument | int], normal: Normal) -> None:
        assert shape.warp_size == HARDWARE_WARP
        self.kernel, self.shape, self.normal = kernel, shape, normal
        self.memory = Memory(shape)
        self.registers: dict[str, Register] = {}
        self.symbols: dict[str, int] = {}
        self.parameters: dict[str, int] = {}
        self.arrays: dict[str, Region] = {}
        self.every: Lanes = shape.thread
        self.block_epoch = self.warp_epoch = np.zeros(shape.count, np.int64)
        self.memo: dict[Any, symbolic.Value] = normal.memo
        if len(arguments) != len(kernel.parameters):
            raise NotInterpreted(f"{kernel.name} with {len(arguments)} arguments: it takes {len(kernel.parameters)}")
        for (name, _), argument in zip(kernel.parameters, arguments, strict=True):
            self.parameters[name] = argument if isinstance(argument, int) else self._place(argument)
        cell = {space: self._narrowest(space) for space in ("shared", "local", "const", "global")}
        for array in kernel.arrays:
            size = cell[array.space]
            data = None if array.data is None else np.frombuffer(array.data, f"u{size}").astype(np.uint64)
            if array.size % size:
                raise NotInterpreted(f"{array.name}, {array.size} bytes accessed by {size}")
            writable = array.space not in ("const", "global")
            space = array.space if array.space != "global" else "const"
            self.symbols[array.name] = self.memory.add(array.name, space, array.size, size, data, None, writable).base

    def _place(self, argument: Argument) -> int:
        cell = width(argument.kind) // 8
        terms = argument.terms if argument.filled else np.full(len(argument.bits), UNWRITTEN, np.int64)
        region = self.memory.add(
            argument.name, "global", len(argument.bits) * cell, cell, argument.bits, terms, argument.writable
        )
        self.arrays[argument.name] = region
        return region.base

    def _narrowest(self, space: str) -> int:
        sizes = [
            width(i.op[-1]) // 8
            for i in self.kernel.instructions
            if i.op[0] in ("ld", "st") and i.op[-1] in KINDS and (space in i.op or not set(_SPACES) & set(i.op))
        ]
        return min(sizes, default=1)

    # -- control -----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the launch to its end."""
        count, code = self.shape.count, self.kernel.instructions
        end = len(code)
        counter, waiting = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        together = True
        for _ in range(STEPS):
            if together:
                at, place = self.every, int(counter[0])
                if place >= end:
                    return
            else:
                ready = np.where(waiting, end, counter)
                place = int(ready.min())
                if place >= end:
                    if waiting.any():
                        self._deadlock(counter, waiting)
                    return
                at = np.flatnonzero((counter == place) & ~waiting)
            instruction = code[place]
            on = at if instruction.guard is None else at[self._predicate(instruction, instruction.guard, at)]
            head = instruction.op[0]
            if head == "bra":
                counter[at] += 1
                (target,) = instruction.operands[-1:]
                assert isinstance(target, Name)
                counter[on] = self.kernel.labels[target.text]
                together = bool((counter == counter[0]).all()) and not waiting.any()
                continue
            if head in ("ret", "exit"):
                counter[at] += 1
                counter[on] = end
                together = bool((counter == counter[0]).all()) and not waiting.any()
                continue
            if self._synchronises(instruction) and len(on) < count:
                # Threads that wait here may be joined by those that come now.
                on = np.union1d(on, np.flatnonzero(waiting & (counter == place)))
                met = self._met(instruction, on)
                counter[np.setdiff1d(at, on)] += 1
                waiting[on], waiting[met] = True, False
                if len(met):
                    self._execute(instruction, place, met)
                    counter[met] += 1
                together = bool((counter == counter[0]).all()) and not waiting.any()
                continue
            if len(on):
                self._execute(instruction, place, on)
            counter[at] += 1
        raise Broken(f"the kernel still runs after {STEPS:,} instructions")

    def _synchronises(self, instruction: Instruction) -> bool:
        return instruction.op[0] in ("shfl", "bar", "barrier", "vote")

    def _met(self, instruction: Instruction, threads: Lanes) -> Lanes:
        """Return those of the threads at a shuffle or barrier whose partners are all there."""
        here = np.zeros(self.shape.count, np.bool_)
        here[threads] = True
        inner = self.shape.thread % self.shape.block_threads
        if instruction.op[0] in ("bar", "barrier") and "warp" not in instruction.op:
            group, wanted = self.shape.block_of, np.ones(self.shape.count, np.bool_)
            missing = np.bincount(group, wanted & ~here) > 0
            found: Lanes = threads[~missing[group[threads]]]
            return found
        masks = self._mask(instruction, threads)
        base = self.shape.warp_base[threads]
        ready = np.ones(len(threads), np.bool_)
        for lane in range(HARDWARE_WARP):
            other = np.minimum(base + lane, self.shape.count - 1)
            exists = (base + lane < self.shape.count) & (inner[other] == inner[base] + lane)
            ready &= ~exists | (masks >> lane & 1 == 0) | here[other]
        return threads[ready]

    def _deadlock(self, counter: Lanes, waiting: Any) -> None:
        first = int(np.flatnonzero(waiting)[0])
        instruction = self.kernel.instructions[int(counter[first])]
        block = self.shape.block_of == self.shape.block_of[first]
        warp = self.shape.warp_base == self.shape.warp_base[first]
        wide = instruction.op[0] in ("bar", "barrier") and "warp" not in instruction.op
        partners = np.flatnonzero((block if wide else warp) & ((counter != counter[first]) | ~waiting))
        who = self.shape.describe(int(partners[0])) if len(partners) else "a lane of its mask"
        raise Broken(f"{instruction}: {self.shape.describe(first)} waits here for {who}, which never comes")

    def _predicate(self, instruction: Instruction, name: Name, at: Lanes) -> Any:
        bits, terms = self._read(name, "pred", at)
        self._known(instruction, terms, at, "a branch or predicate")
        return (bits != 0) ^ name.negated

    def _known(self, instruction: Instruction, terms: Lanes, at: Lanes, what: str) -> None:
        """Refuse what steers and is no number."""
        if terms.any():
            bad = int(np.flatnonzero(terms)[0])
            if terms[bad] < 0:
                raise Broken(
                    f"{instruction}: {what} of {self.shape.describe(int(at[bad]))} depends on "
                    f"{self.memory.account(int(terms[bad]))}"
                )
            shown = self.normal.terms.show(int(terms[bad]))
            raise NotInterpreted(f"{instruction}, {what} that depends on data: {shown[:200]}")

    # -- registers ---------------------------------------------------------------------------------------------

    def _read(self, operand: Operand, kind: str, at: Lanes) -> Register:
        """Return an operand's bits and terms for some threads; floats in decimal registers as they are."""
        match operand:
            case Immediate(bits, size):
                if size == 0 and kind[0] == "f":
                    raise NotInterpreted(f"the integer {bits} where {kind} is read")
                full = np.full(len(at), bits, np.uint64)
                return full, np.zeros(len(at), np.int64)
            case Name(text, negated, offset):
                if text in self.registers:
                    bits_, terms = self.registers[text]
                    found = bits_[at], terms[at]
                    if negated and kind == "pred":
                        return self._apply(decode(("not", "pred")), [found], at)
                    return found
                return np.full(len(at), 0, np.uint64) + self._constant(text, at) + np.uint64(offset), np.zeros(
                    len(at), np.int64
                )
            case _:
                raise NotInterpreted(f"the operand {operand}")

    def _constant(self, text: str, at: Lanes) -> Bits:
        if text in self.symbols:
            return np.full(len(at), self.symbols[text], np.uint64)
        if text == "%laneid":
            return (self.shape.thread % self.shape.block_threads % HARDWARE_WARP)[at].astype(np.uint64)
        if text == "WARP_SZ":
            return np.full(len(at), HARDWARE_WARP, np.uint64)
        name, _, axis = text.partition(".")
        if name in _COORDINATES and axis in ("x", "y", "z"):
            node = Coordinate(_COORDINATES[name], axis, _NOWHERE)  # type: ignore[arg-type]
            return self.shape.coordinate(node)[at].astype(np.uint64)
        if text.startswith("%") and not text.startswith(("%clock", "%globaltimer", "%smid", "%warpid", "%lanemask")):
            nothing = self.memory.nothing(f"{text}, a register that was never set")
            raise Broken(self.memory.account(nothing))
        raise NotInterpreted(f"the operand {text}")

    def _write(self, operand: Operand, value: Register, at: Lanes) -> None:
        assert isinstance(operand, Name)
        if operand.text == "_":
            return
        if at is self.every:
            self.registers[operand.text] = value
            return
        old = self.registers.get(operand.text)
        if old is None:
            nothing = self.memory.nothing(f"{operand.text}, a register that was never set")
            bits, terms = np.zeros(self.shape.count, np.uint64), np.full(self.shape.count, nothing, np.int64)
        else:
            bits, terms = old[0].copy(), old[1].copy()
        bits[at], terms[at] = value
        self.registers[operand.text] = bits, terms

    # -- instructions ------------------------------------------------------------------------------------------

    def _execute(self, instruction: Instruction, place: int, at: Lanes) -> None:
        op, operands = instruction.op, instruction.operands
        match op[0]:
            case "ld":
                self._load(instruction, place, at)
            case "st":
                self._store(instruction, place, at)
            case "shfl":
                self._shuffle(instruction, at)
            case "bar" | "barrier":
                self._barrier(instruction, at)
            case "mov" | "cvta":
                self._move(instruction, at)
            case _ if op[0] in _NO_EFFECT:
                pass
            case _:
                try:
                    operation = decode(op)
                except NotInterpreted:
                    raise NotInterpreted(str(instruction)) from None
                pairs = zip(operands[-len(operation.sources) :], operation.sources, strict=True)
                values = [self._read(operand, kind, at) for operand, kind in pairs]
                if len(operands) != len(operation.sources) + 1:
                    raise NotInterpreted(str(instruction))
                self._write(operands[0], self._apply(operation, values, at), at)

    def _apply(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        """Compute an operation: on numbers all lanes at once, on terms each distinct row of operands."""
        terms = np.stack([t for _, t in values])
        with np.errstate(all="ignore"):
            numbers = [typed(b, kind) for (b, _), kind in zip(values, operation.sources, strict=True)]
            bits = untyped(operation.compute(*numbers), operation.result)
        found = np.zeros(len(at), np.int64)
        lanes = np.flatnonzero(terms.any(axis=0))
        if len(lanes) == 0:
            return bits, found
        if operation.name == "selp" and not terms[2].any():
            chosen = numbers[2]
            return np.where(chosen, values[0][0], values[1][0]), np.where(chosen, terms[0], terms[1])
        for lane in lanes.tolist():
            row = tuple((0, int(t)) if t else (int(b), 0) for b, t in ((b[lane], t[lane]) for b, t in values))
            key = (operation.name, operation.sources, row)
            value = self.memo.get(key)
            if value is None:
                value = self.memo[key] = symbolic.evaluate(self.normal, operation, row)
            bits[lane], found[lane] = value
        return bits, found

    def _move(self, instruction: Instruction, at: Lanes) -> None:
        target, source = instruction.operands
        size = width(instruction.op[-1])
        if isinstance(source, Group):
            piece = size // len(source.items)
            parts = [self._read(item, f"b{piece}", at) for item in source.items]
            self._write(target, self._packed(parts, piece), at)
        elif isinstance(target, Group):
            piece = size // len(target.items)
            for item, part in zip(
                target.items, self._unpacked(self._read(source, f"b{size}", at), piece, len(target.items)), strict=True
            ):
                self._write(item, part, at)
        else:
            self._write(target, self._read(source, instruction.op[-1], at), at)

    def _packed(self, parts: list[Register], size: int) -> Register:
        rows = [symbolic.pack(self.normal, row, size) for row in _rows(parts)]
        return _columns(rows)

    def _unpacked(self, value: Register, size: int, count: int) -> list[Register]:
        rows = [symbolic.unpack(self.normal, row[0], size, count) for row in _rows([value])]
        return [_columns([row[place] for row in rows]) for place in range(count)]

    def _barrier(self, instruction: Instruction, at: Lanes) -> None:
        # Threads that come here alone have been found to be all that are waited for.
        through = np.zeros(self.shape.count, np.int64)
        through[at] = 1
        self.warp_epoch = self.warp_epoch + through
        if "warp" in instruction.op:
            return
        if instruction.operands[0] != Immediate(0, 0) or len(instruction.operands) > 1 or "red" in instruction.op:
            raise NotInterpreted(str(instruction))
        self.block_epoch = self.block_epoch + through

    # -- memory ------------------------------------------------------------------------------------------------

    def _addresses(self, instruction: Instruction, operand: Operand, at: Lanes) -> Lanes:
        assert isinstance(operand, Address)
        if operand.base in self.symbols:
            return np.full(len(at), self.symbols[operand.base] + operand.offset, np.int64)
        if operand.base.lstrip("-").isdigit():
            return np.full(len(at), int(operand.base) + operand.offset, np.int64)
        bits, terms = self._read(Name(operand.base), "u64", at)
        self._known(instruction, terms, at, "an address")
        found: Lanes = bits.astype(np.int64) + operand.offset
        return found

    def _vector(self, instruction: Instruction) -> tuple[int, str]:
        op = instruction.op
        if op[-1] not in KINDS or op[-1] == "pred":
            raise NotInterpreted(str(instruction))
        count = {"v2": 2, "v4": 4, "v8": 8}.get(op[-2], 1)
        return count, op[-1]

    def _load(self, instruction: Instruction, place: int, at: Lanes) -> None:
        target, source = instruction.operands
        count, kind = self._vector(instruction)
        if "param" in instruction.op:
            assert isinstance(source, Address)
            if source.base not in self.parameters or source.offset or count > 1:
                raise NotInterpreted(str(instruction))
            bits = np.full(len(at), self.parameters[source.base] & (1 << 64) - 1, np.uint64)
            self._write(target, (bits, np.zeros(len(at), np.int64)), at)
            return
        item = width(kind) // 8
        results = [(np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)) for _ in range(count)]
        where = self._addresses(instruction, source, at)
        for region, some, first in self.memory.cells(instruction, at, where, item, count, writes=False):
            pieces = item // region.cell
            for number, (bits, terms) in enumerate(results):
                parts = []
                for piece in range(pieces):
                    cells = first + number * pieces + piece
                    self.memory.note(region, place, at[some], cells, (self.block_epoch, self.warp_epoch), writes=False)
                    found = region.terms[cells]
                    if (found == UNWRITTEN).any():
                        bad = int(np.flatnonzero(found == UNWRITTEN)[0])
                        nothing = self.memory.unwritten(region, instruction, int(at[some[bad]]), int(cells[bad]))
                        found = np.where(found == UNWRITTEN, nothing, found)
                    parts.append((region.bits[cells], found))
                value = parts[0] if pieces == 1 else self._packed(parts, 8 * region.cell)
                bits[some], terms[some] = value
        if kind in ("s8", "s16"):
            results = [(untyped(typed(bits, kind), kind), terms) for bits, terms in results]
        targets = target.items if isinstance(target, Group) else (target,)
        for name, result in zip(targets, results, strict=True):
            self._write(name, result, at)

    def _store(self, instruction: Instruction, place: int, at: Lanes) -> None:
        target, source = instruction.operands
        count, kind = self._vector(instruction)
        item = width(kind) // 8
        sources = source.items if isinstance(source, Group) else (source,)
        values = [self._read(one, kind, at) for one in sources]
        where = self._addresses(instruction, target, at)
        assert len(values) == count
        for region, some, first in self.memory.cells(instruction, at, where, item, count, writes=True):
            pieces = item // region.cell
            for number, value in enumerate(values):
                mine = value[0][some], value[1][some]
                parts = [mine] if pieces == 1 else self._unpacked(mine, 8 * region.cell, pieces)
                for piece, (bits, terms) in enumerate(parts):
                    cells = first + number * pieces + piece
                    self.memory.note(region, place, at[some], cells, (self.block_epoch, self.warp_epoch), writes=True)
                    region.bits[cells] = bits & np.uint64((1 << 8 * region.cell) - 1)
                    region.terms[cells] = terms
                    region.writer[cells], region.thread[cells] = place, at[some]

    # -- warps -------------------------------------------------------------------------------------------------

    def _mask(self, instruction: Instruction, at: Lanes) -> Lanes:
        bits, terms = self._read(instruction.operands[-1], "b32", at)
        self._known(instruction, terms, at, "a mask")
        found: Lanes = (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)
        return found

    def _shuffle(self, instruction: Instruction, at: Lanes) -> None:
        if instruction.op[1] != "sync" or instruction.op[2] not in ("idx", "up", "down", "bfly"):
            raise NotInterpreted(str(instruction))
        target, *more = instruction.operands[:-4]
        value, steer, clamp, _ = instruction.operands[-4:]
        b, c = (self._steering(instruction, operand, at) for operand in (steer, clamp))
        mask, lane = self._mask(instruction, at), (at - self.shape.warp_base[at])
        if (mask >> lane & 1 == 0).any():
            bad = int(at[np.flatnonzero(mask >> lane & 1 == 0)[0]])
            raise Broken(f"{instruction}: {self.shape.describe(bad)} is not in its own mask")
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
        bits, terms = self._read(value, "b32", at)
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
        self._write(target, result, at)
        for predicate in more:
            self._write(predicate, (inside.astype(np.uint64), np.zeros(len(at), np.int64)), at)

    def _steering(self, instruction: Instruction, operand: Operand, at: Lanes) -> Lanes:
        bits, terms = self._read(operand, "b32", at)
        self._known(instruction, terms, at, "a lane")
        found: Lanes = (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)
        return found

    # -- races -------------------------------------------------------------------------------------------------

    def races(self) -> Iterator[str]:
        """Yield the races of a run that ended, in words."""
        code, shape = self.kernel.instructions, self.shape
        for region in self.memory.regions:
            for race in races(region.accesses, shape, between_blocks=region.space == "global"):
                first, second = (code[int(str(a.key[0]))] for a in (race.first, race.second))
                does = ["writes" if a.writes else "reads" for a in (race.first, race.second)]
                yield (
                    f"race on {region.where(race.address)}: {shape.describe(race.first_thread)} {does[0]} it "
                    f"({first}) and {shape.describe(race.second_thread)} {does[1]} it ({second}) "
                    "with no barrier between"
                )


def _rows(values: Sequence[Register]) -> Iterator[tuple[symbolic.Value, ...]]:
    """Yield for each thread its values."""
    lists = [zip(bits.tolist(), terms.tolist(), strict=True) for bits, terms in values]
    return zip(*lists, strict=True)


def _columns(rows: Sequence[symbolic.Value]) -> Register:
    return np.array([b for b, _ in rows], np.uint64), np.array([t for _, t in rows], np.int64)
