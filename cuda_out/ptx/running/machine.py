"""PTX interpreted for all threads of a grid at once, on numbers and on terms.

Steering is concrete: every thread has its own program counter, and those that are furthest behind run next, which
brings threads together again after a branch. What was loaded from memory may be a term
(`cuda_out.ptx.instructions.normal`). At a shuffle all lanes that its mask names must meet, at a barrier all threads of
the block. The warp is the hardware's, 32 lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import gcd
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from cuda_out.ptx.columns import NEVER, is_unwritten
from cuda_out.ptx.instructions.mathematics import operation_of
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.kinds import KINDS, Bits, Typed, record_size, typed, untyped, width
from cuda_out.ptx.running.arguments import (
    LaunchArgument,
    LaunchArray,
    LaunchRecord,
    LaunchScalar,
    as_variable,
    bits_of,
    check_block,
    check_promised,
    check_shared,
    parts_of,
)
from cuda_out.ptx.running.async_copies import AsyncCopies
from cuda_out.ptx.running.fragments import Fragments, moved_bytes
from cuda_out.ptx.running.matrices import Matrices
from cuda_out.ptx.running.memory import Broken, Lanes, PtxMemory, Region
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.registers import Register, Registers
from cuda_out.ptx.running.transfers import Transfers
from cuda_out.ptx.running.warps import Warps
from cuda_out.ptx.syntax import SPECIAL, Group, Instruction, Kernel, Name, NotInterpreted, names_of
from symbolic.algebra.terms import Terms
from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.rules import Apart, races

STEPS: Final = 1_000_000
"""Instructions that a run may execute, each for all its threads together."""
WIDEST: Final = 16
"""Bytes that one access moves at most."""
_SPACES: Final = ("global", "shared", "local", "const")
MATRICES: Final = frozenset(("ldmatrix", "stmatrix", "movmatrix", "mma", "wmma"))
_OUTSIDE: Final = MATRICES | frozenset(
    ("cp", "shfl", "bar", "barrier", "vote", "match", "redux", "activemask", "atom", "red", "exit", "trap")
)
_OF_THE_DEVICE: Final = (Name("vprintf"), Name("__assertfail"))
"""What the driver has: what is printed changes nothing that a kernel computes."""
_NO_EFFECT: Final = frozenset(("membar", "fence", "nanosleep", "prefetch", "prefetchu"))
_MEETING: Final = MATRICES | {"shfl", "vote", "match", "redux", "bar", "barrier"}
"""Where threads wait for each other."""


class PtxMachine:
    """One launch of one kernel; `operators` are the functions of its module that are known by what they compute.

    `dynamic` is how many bytes of shared memory the launch gives an array without a size. Atomic operations on one cell
    come in the order of threads, which is as good as any other where nobody uses what they give; else they are refused,
    unless `any_order` says that one order will do. A parameter with the name of a variable of the module is what that
    one holds. `early_returns`: barriers and shuffles wait for no thread that has
    ended, which is so from sm_70 on; else it is an error that threads miss a barrier, as CUDA's guide has it. Variables
    of the module that are `written` begin as the module is loaded, and are outputs; others are read-only, and hold what
    the host may have put there, unless the module is `just_loaded`. `fragments` is at which of many places WMMA's
    fragments lie, 0 where such instructions are refused. A run executes `steps` instructions at most.
    """

    def __init__(
        self,
        kernel: Kernel,
        shape: LaunchShape,
        arguments: Sequence[LaunchArgument],
        deferred: Notes,
        operators: Mapping[str, Operation] | None = None,
        dynamic: int = 0,
        any_order: bool = False,
        early_returns: bool = False,
        just_loaded: bool = False,
        written: Collection[str] = (),
        fragments: int = 0,
        steps: int = STEPS,
    ) -> None:
        assert shape.warp_size == LANES
        check_block(kernel, shape)
        check_shared(kernel, dynamic)
        self.kernel, self.shape, self.deferred = kernel, shape, deferred
        self.memory = PtxMemory(shape)
        self.registers = Registers(shape, self.memory, deferred, kernel.registers)
        self.registers.symbols["%dynamic_smem_size"] = dynamic
        self.operators = operators or {}
        self.loops: Mapping[int, int] = {}
        self.executed = 0  # instructions, each by all threads that come to it together
        self.parameters: dict[str, int | Register | dict[tuple[int, int], int | Register]] = {}
        parts = [part for each in arguments for part in parts_of(each)]
        self.kinds = {each.name: each.kind for each in parts if isinstance(each, LaunchArray)}
        self.transfers = Transfers(self.registers, self.parameters, self.kinds)
        self.warps = Warps(self.transfers)
        self.matrices, self.copies = Matrices(self.transfers), AsyncCopies(self.transfers)
        self.fragments = Fragments(self.matrices, fragments)
        self.arrays: dict[str, Region] = {}
        named = Counter(name for i in kernel.instructions for part in (*i.operands, i.guard) for name in names_of(part))
        self._used_results = {
            i.operands[0] for i in kernel.instructions
            if i.op[0] == "atom" and isinstance(i.operands[0], Name) and named[i.operands[0].text] > 1
        }  # fmt: skip
        self.any_order, self.early_returns, self.steps = any_order, early_returns, steps
        self.left_out = False
        """Whether a barrier, a vote or a shuffle was passed without threads that had ended."""
        if len(arguments) != len(kernel.parameters):
            raise NotInterpreted(f"{kernel.name} with {len(arguments)} arguments: it takes {len(kernel.parameters)}")
        variables = {array.name: array for array in kernel.arrays}
        for (name, kind), argument in zip(kernel.parameters, arguments, strict=True):
            check_promised(name, kernel.promised.get(name, 0), argument)
            size = 8 * argument.size if isinstance(argument, LaunchRecord) else bits_of(argument)
            record = 8 * record_size(kind)
            if name in variables:
                held = as_variable(argument, variables[name])
                self.registers.symbols[name] = self._place(held, variables[name].space)
            elif isinstance(argument, LaunchRecord) and record == size:
                self.parameters[name] = {(at, bits_of(part)): self._given(part) for at, part in argument.parts}
            elif record or isinstance(argument, LaunchRecord) or width(kind) != size:
                has = f"a structure of {record // 8} bytes" if record else f".{kind}"
                raise NotInterpreted(f"the parameter {name} is {has}: {size} bits are passed")
            else:
                self.parameters[name] = self._given(argument)
        given = zip(kernel.parameters, arguments, strict=True)
        self.transfers.whole = frozenset(name for name, kind in kernel.parameters if kind in ("u64", "s64", "b64"))
        self.transfers.numbers = frozenset(
            name for (name, _), each in given if isinstance(each, int | np.integer) and name in self.transfers.whole
        )
        cell = {space: self._narrowest(space) for space in ("shared", "local", "const", "global")}
        arrays = [array if array.size else replace(array, size=dynamic) for array in kernel.arrays]
        by_launch = {array.name for array in kernel.arrays if not array.size}
        for array in arrays:
            if array.name in self.registers.symbols and array.name in dict(kernel.parameters):
                continue
            if array.name in by_launch and by_launch & self.registers.symbols.keys():  # they are one place
                first = next(iter(by_launch & self.registers.symbols.keys()))
                self.registers.symbols[array.name] = self.registers.symbols[first]
                continue
            size = gcd(cell[array.space], array.size or 1)
            data = None if array.data is None else np.frombuffer(array.data, f"u{size}").astype(np.uint64)
            known, terms = just_loaded or array.name in written, None
            writable = array.space not in ("const", "global") or (array.space == "global" and array.name in written)
            if data is None and array.space in ("const", "global"):
                data = np.zeros(array.size // size, np.uint64)
                terms = None if known else deferred.normal.unknown_array(array.name, f"u{8 * size}", len(data))
            align = max(array.align, WIDEST) if array.name in by_launch else array.align
            align = 0 if array.name.startswith("$str") else align  # a string's address is only handed on, in parts
            region = self.memory.add(array.name, array.space, array.size, size, data, terms, writable, align=align)
            self.registers.symbols[array.name] = region.base
            if array.name in written:
                self.arrays[array.name], self.kinds[array.name] = region, f"b{8 * size}"
                deferred.normal.kinds[array.name] = f"b{8 * size}"

    def _given(self, argument: LaunchArray | LaunchScalar | int | np.generic) -> int | Register:
        """Return what a parameter holds: an address, a term, or the bits of a number."""
        match argument:
            case LaunchArray():
                return self._place(argument)
            case LaunchScalar(term=term):
                every = self.registers.every
                return np.zeros(len(every), np.uint64), np.full(len(every), term, np.int64)
            case np.generic():
                return int(np.array(argument).view(f"u{argument.itemsize}"))
            case _:
                return argument

    def _place(self, argument: LaunchArray, space: str = "global") -> int:
        cell = width(argument.kind) // 8
        terms = argument.terms if argument.filled else np.full(len(argument.bits), NEVER, np.int64)
        region = self.memory.add(
            argument.name, space, len(argument.bits) * cell, cell, argument.bits, terms, argument.writable,
            align=argument.align,
        )  # fmt: skip
        self.arrays[argument.name] = region
        return region.base

    def _narrowest(self, space: str) -> int:
        sizes = [
            width(i.op[-1]) // 8
            for i in self.kernel.instructions
            if i.op[0] in ("ld", "st", "atom", "red")
            and i.op[-1] in KINDS
            and (space in i.op or not set(_SPACES) & set(i.op))
        ]
        sizes += [moved_bytes(i) for i in self.kernel.instructions if i.op[0] == "wmma" and i.op[1] != "mma"]
        heads = {i.op[0] for i in self.kernel.instructions}
        if space == "shared" and heads & {"ldmatrix", "stmatrix"}:
            sizes.append(2)
        if space == "shared" and "cp" in heads:
            sizes.append(4)
        return min(sizes, default=1)

    # -- control -----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the launch to its end."""
        self._run(np.zeros(self.shape.count, np.int64), len(self.kernel.instructions))

    def _run(self, counter: Lanes, stop: int) -> None:
        """Run threads from where each is to where they stop, or to their end."""
        count, code = self.shape.count, self.kernel.instructions
        end, waiting = len(code), np.zeros(count, np.bool_)
        every, together = self.registers.every, bool((counter == counter[0]).all())
        for _ in range(self.steps):
            if together:
                at, place = every, int(counter[0])
                if place in (stop, end):
                    return
            else:
                ready = np.where(waiting | (counter == stop), end, counter)
                place = int(ready.min())
                if place >= end:
                    if not waiting.any():
                        return
                    if not self._released(counter, waiting):
                        self._deadlock(counter, waiting)
                    together = bool((counter == counter[0]).all()) and not waiting.any()
                    continue
                at = np.flatnonzero((counter == place) & ~waiting)
            if place in self.loops:
                self._begins_trip(place, at)
            instruction = code[place]
            self.executed += 1
            if instruction.guard is not None and self._goes_both_ways(instruction, place, at, counter):
                together = bool((counter == counter[0]).all()) and not waiting.any()
                continue
            on = at if instruction.guard is None else at[self._predicate(instruction, instruction.guard, at)]
            head = instruction.op[0]
            if "uni" in instruction.op:
                self._together(instruction, at, on)
            if head == "bra":
                counter[at] += 1
                counter[on] = self._target(instruction)
                together = bool((counter == counter[0]).all()) and not waiting.any()
                continue
            if head in ("ret", "exit"):
                counter[at] += 1
                counter[on] = end
                self.transfers.ended[on] = self.early_returns
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
        raise Broken(f"the kernel still runs after {self.steps:,} instructions")

    def _goes_both_ways(self, instruction: Instruction, place: int, at: Lanes, counter: Lanes) -> bool:
        """Do what an instruction does whose guard depends on data, and move threads on; False where it does not."""
        return False

    def _begins_trip(self, header: int, at: Lanes) -> None:
        """Take note that threads are where a loop begins."""

    def _released(self, counter: Lanes, waiting: npt.NDArray[np.bool_]) -> bool:
        """Let threads go on that waited for others which ended instead; say whether there are any."""
        for place in np.unique(counter[waiting]).tolist():
            instruction = self.kernel.instructions[place]
            met = self._met(instruction, np.flatnonzero(waiting & (counter == place)))
            if len(met):
                self._execute(instruction, place, met)
                waiting[met] = False
                counter[met] += 1
                return True
        return False

    def contents(self, name: str) -> tuple[Bits, Lanes]:
        """Return what an array holds: for each element its bits, or a term that is written out."""
        return self.forms(name)[0]

    def forms(self, name: str) -> list[tuple[Bits, Lanes]]:
        """Return the same, and once more with each rounding where operations of a type were computed in a wider one."""
        bits, terms = self.elements(name)
        found = [self.deferred.written_out(bits, terms)]
        if self.deferred.in_types:
            found.append(self.deferred.written_out(bits, terms, rounding=True))
        return found

    def elements(self, name: str) -> Register:
        """Return what an array holds, element by element, also where its cells were made smaller."""
        region, size = self.arrays[name], width(self.kinds[name]) // 8
        if region.cell >= size:
            return region.bits, region.terms
        count = size // region.cell
        parts = [(region.bits[place::count], region.terms[place::count]) for place in range(count)]
        bits, terms = parts[0][0].copy(), np.min([each for _, each in parts], axis=0)
        if (whole := np.flatnonzero(~is_unwritten(terms))).size:
            some = [(b[whole], t[whole]) for b, t in parts]
            bits[whole], terms[whole] = self.registers.packed(some, 8 * region.cell)
        return bits, terms

    def _target(self, instruction: Instruction) -> int:
        (target,) = instruction.operands[-1:]
        if not isinstance(target, Name) or target.text not in self.kernel.labels:
            raise NotInterpreted(str(instruction))
        return self.kernel.labels[target.text]

    def _together(self, instruction: Instruction, at: Lanes, on: Lanes) -> None:
        """Raise Broken where a warp parts at a branch that says that it does not."""
        warps = self.shape.warp_base
        off = np.setdiff1d(at, on)
        if parted := np.intersect1d(warps[on], warps[off]).tolist():
            who = self.shape.describe(int(off[warps[off] == parted[0]][0]))
            raise Broken(f"{instruction}: {who} does not go where others of its warp go, and .uni says that all do")

    def _synchronises(self, instruction: Instruction) -> bool:
        return instruction.op[0] in _MEETING

    def _met(self, instruction: Instruction, threads: Lanes) -> Lanes:
        """Return those of the threads at a shuffle or barrier whose partners are all there, or have ended.

        An instruction on matrices needs all of its warp, also where threads may return early.
        """
        matrices = instruction.op[0] in MATRICES
        here = np.zeros(self.shape.count, np.bool_) if matrices else self.transfers.ended.copy()
        here[threads] = True
        inner = self.shape.thread % self.shape.block_threads
        if instruction.op[0] in ("bar", "barrier") and "warp" not in instruction.op:
            group, wanted = self.shape.block_of, np.ones(self.shape.count, np.bool_)
            missing = np.bincount(group, wanted & ~here) > 0
            found: Lanes = threads[~missing[group[threads]]]
            self.left_out |= bool(np.isin(group[found], group[self.transfers.ended]).any())
            return found
        whole = np.full(len(threads), (1 << LANES) - 1, np.int64)
        masks = whole if matrices else self.transfers.mask(instruction, threads)
        base = self.shape.warp_base[threads]
        ready = np.ones(len(threads), np.bool_)
        for lane in range(LANES):
            other = np.minimum(base + lane, self.shape.count - 1)
            exists = (base + lane < self.shape.count) & (inner[other] == inner[base] + lane)
            ready &= ~exists | (masks >> lane & 1 == 0) | here[other]
        self.left_out |= bool(np.isin(base[ready], self.shape.warp_base[self.transfers.ended]).any())
        return threads[ready]

    def _deadlock(self, counter: Lanes, waiting: Any) -> None:
        first = int(np.flatnonzero(waiting)[0])
        instruction = self.kernel.instructions[int(counter[first])]
        block = self.shape.block_of == self.shape.block_of[first]
        warp = self.shape.warp_base == self.shape.warp_base[first]
        wide = instruction.op[0] in ("bar", "barrier") and "warp" not in instruction.op
        others = (counter != counter[first]) | ~waiting
        partners = np.flatnonzero((block if wide else warp) & others & ~self.transfers.ended)
        who = self.shape.describe(int(partners[0])) if len(partners) else "a lane of its mask"
        raise Broken(f"{instruction}: {self.shape.describe(first)} waits here for {who}, which never comes")

    def _predicate(self, instruction: Instruction, name: Name, at: Lanes) -> Any:
        value = self.registers.read(Name(name.text), "pred", at)
        bits = self.registers.known(instruction, value, at, "a branch or predicate")
        return (bits != 0) ^ name.negated

    def _execute(self, instruction: Instruction, place: int, at: Lanes) -> None:
        op, operands = instruction.op, instruction.operands
        match op[0]:
            case "ld":
                self.transfers.load(instruction, place, at)
            case "st":
                self.transfers.store(instruction, place, at)
            case "shfl":
                self.transfers.shuffle(instruction, at)
            case "vote":
                self.transfers.vote(instruction, at)
            case "match":
                self.warps.match(instruction, at)
            case "redux":
                self.warps.reduce(instruction, at)
            case "activemask":
                self.warps.active(instruction, at)
            case "bar" | "barrier":
                self._barrier(instruction, at)
            case "ldmatrix":
                self.matrices.load(instruction, place, at)
            case "stmatrix":
                self.matrices.store(instruction, place, at)
            case "movmatrix":
                self.matrices.transpose(instruction, at)
            case "mma":
                self.matrices.multiply(instruction, at)
            case "wmma":
                self.fragments.execute(instruction, place, at)
            case "cp":
                self.copies.execute(instruction, place, at)
            case "call":
                self._call(instruction, at)
            case "trap":
                raise Broken(f"{instruction}: {self.shape.describe(int(at[0]))} stops the launch")
            case "atom" | "red":
                if operands[0] in self._used_results and not self.any_order:
                    raise NotInterpreted(f"{instruction}, whose result depends on the order in which threads come")
                self.transfers.atomic(instruction, place, at, self._changed_by(instruction, at))
            case "mov":
                self.transfers.move(instruction, at)
            case "cvta":
                self.transfers.convert_address(instruction, at)
            case _ if op[0] in _NO_EFFECT:
                pass
            case _:
                try:
                    operation = decode(op)
                except NotInterpreted:
                    raise NotInterpreted(str(instruction)) from None
                pairs = zip(operands[-len(operation.sources) :], operation.sources, strict=True)
                read = self.registers.read_in_part if op[0] == "prmt" else self.registers.read
                values = [read(operand, kind, at) for operand, kind in pairs]
                if len(operands) != len(operation.sources) + 1:
                    raise NotInterpreted(str(instruction))
                try:
                    value = self.registers.apply(operation, values, at)
                except NotInterpreted as error:
                    said = str(error)
                    raise NotInterpreted(said if "line " in said else f"line {instruction.line}: {said}") from None
                self.registers.write(operands[0], self.registers.extended(operands[0], operation.result, value, at), at)

    def _changed_by(self, instruction: Instruction, at: Lanes) -> list[Register]:
        """Return with what an atomic operation changes cells."""
        return self.transfers.changed_by(instruction, at)

    def _call(self, instruction: Instruction, at: Lanes) -> None:
        """Apply a function of the module: one that is known as what it computes, another one by running it."""
        target, called, given = ([*instruction.operands, None, None])[:3]
        if called in _OF_THE_DEVICE and isinstance(target, Group):
            if called != Name("vprintf"):
                raise Broken(f"{instruction}: {self.shape.describe(int(at[0]))} is where an assertion fails")
            nothing = self.memory.nothing(f"what printf gives ({instruction})")
            self.registers.write(target.items[0], (np.zeros(len(at), np.uint64), np.full(len(at), nothing)), at)
            return
        function = self.kernel.functions.get(called.text) if isinstance(called, Name) else None
        if function is None or not (isinstance(target, Group) and isinstance(given, Group)):
            raise NotInterpreted(str(instruction))
        operation = self.operators.get(function.name) or operation_of(function) or call_results(function)
        if operation is None or len(given.items) != len(operation.sources) or len(target.items) != 1:
            raise NotInterpreted(f"{instruction}{function.refused and f' ({function.refused})'}")
        values = [self.registers.read(v, kind, at) for v, kind in zip(given.items, operation.sources, strict=True)]
        self.registers.write(target.items[0], self.registers.apply(operation, values, at), at)

    def split_cells(self, region: Region, size: int) -> None:
        """Make the cells of an array smaller: what is in one of them becomes parts of `size` bytes."""
        region.split(self.registers.unpacked((region.bits, region.terms), 8 * size, region.cell // size))

    def _barrier(self, instruction: Instruction, at: Lanes) -> None:
        if "warp" in instruction.op:
            self.memory.passed("warp", at, self.transfers.agreed_mask(instruction, at))
            return
        self._whole_block(instruction, at)
        self.memory.passed("block", at)
        if "red" in instruction.op:
            self.warps.count(instruction, at)

    def _whole_block(self, instruction: Instruction, at: Lanes) -> None:
        """Raise NotInterpreted for a barrier that a part of a block waits at."""
        counts = "red" in instruction.op
        for place, operand in enumerate(instruction.operands[counts : -1 if counts else None]):
            value = self.registers.read(operand, "u32", at)
            numbers = self.registers.known(instruction, value, at, "the number of a barrier or of its threads")
            if (numbers != numbers[0]).any():
                raise NotInterpreted(f"{instruction}, several barriers at once")
            if place and (numbers[0] != self.shape.block_threads or self.transfers.ended.any()):
                raise NotInterpreted(f"{instruction}, a barrier for a part of the block")

    def races(self) -> Iterator[str]:
        """Yield the races of a run that ended, in words, and cells that were read as constant and are not."""
        return self._races(None)

    def _races(self, apart: Apart | None) -> Iterator[str]:
        code, shape = self.kernel.instructions, self.shape
        for region in self.memory.regions:
            for cell in sorted(region.constant.intersection(np.flatnonzero(region.writer >= 0).tolist())):
                yield (
                    f"{region.where(cell)} is read as what no thread writes (ld.global.nc), and "
                    f"{shape.describe(int(region.thread[cell]))} writes it ({code[int(region.writer[cell])]})"
                )
            for race in races(region.accesses, shape, between_blocks=region.space == "global", apart=apart):
                first, second = (code[a.key] for a in (race.first, race.second))
                does = ["writes" if a.writes else "reads" for a in (race.first, race.second)]
                yield (
                    f"race on {region.where(race.address)}: {shape.describe(race.first_thread)} {does[0]} it "
                    f"({first}) and {shape.describe(race.second_thread)} {does[1]} it ({second}) "
                    "with no barrier between"
                )


def call_results(function: Kernel) -> Operation | None:
    """Return what calls of a function compute; None unless it is a function of what it is given and of nothing else."""
    if function.result is None or not is_pure(function):
        return None
    result, kinds = function.result[1], tuple(kind for _, kind in function.parameters)

    def compute(*values: Typed) -> Typed:
        return results_of_function(function, kinds, result, values)

    return Operation(f"call.{function.name}", kinds, result, compute)


def of_one_length(instruction: Instruction) -> bool:
    """Say whether an instruction is run at one length only."""
    head = instruction.op[0]
    return head in MATRICES | {"cp", "match", "redux", "activemask"} or (head != "red" and "red" in instruction.op)


def is_pure(function: Kernel, callers: frozenset[str] = frozenset()) -> bool:
    """Say whether a function touches no memory but its own, no other thread, and asks not which thread it is."""
    if operation_of(function) is not None or (function.name in callers and not function.refused):
        return True
    if function.refused:
        return False
    for each in function.instructions:
        names = [part.text for part in each.operands if isinstance(part, Name)]
        if not SPECIAL.isdisjoint(names):
            return False
        if each.op[0] == "call":
            called = [function.functions[name] for name in names if name in function.functions]
            if len(called) != 1 or not is_pure(called[0], callers | {function.name}):
                return False
        elif each.op[0] in _OUTSIDE or (each.op[0] in ("ld", "st") and not {"param", "local"} & set(each.op)):
            return False
    return True


def results_of_function(function: Kernel, kinds: Sequence[str], result: str, values: Sequence[Typed]) -> Typed:
    """Return what a function gives, of the type `result`, for numbers of some `kinds`: one thread for each row."""
    arguments = [untyped(each, kind) for each, kind in zip(values, kinds, strict=True)]
    count = len(arguments[0])
    blocks = -(-count // LANES)
    machine = PtxMachine(
        replace(function, parameters=()), LaunchShape((LANES, 1, 1), (blocks, 1, 1), LANES), (),
        Notes(Normal(Terms(), {})),
    )  # fmt: skip
    every, none = machine.registers.every, np.zeros(machine.shape.count, np.int64)
    for (name, _), bits in zip(function.parameters, arguments, strict=True):
        machine.registers.write(Name(name), (np.resize(bits, machine.shape.count), none), every)
    machine.run()
    assert function.result is not None
    bits, terms = machine.registers.read(Name(function.result[0]), function.result[1], every)
    if terms.any():
        raise Broken(f"{function.name} gives what was never set")
    return typed(bits[:count], result)
