"""A lower bound on the time of every implementation of a candidate (section 5.1).

Each quantity is an extremum over the values that are left of some choices, so that it only grows as they are decided:
how often a statement is executed, how many blocks there can be, how long a thread's chain of sums is. The bound is the
greatest of what the units of a GPU need for them by a device table, in which rates are upper limits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from cuda_out.devices.device import Device
from swizzle.derive.schedules.backbone import Backbone, Statement
from swizzle.derive.schedules.candidates import LowerBound
from swizzle.derive.schedules.decisions import (
    BLOCK,
    LOOP,
    MERGED,
    PADDED,
    SHARED,
    THREADS,
    UNROLLED,
    LoopDimension,
    ScheduleChoices,
)
from swizzle.derive.schedules.work import StatementWork, work_of
from symbolic.choices.conditions import ChoiceOf, Value
from symbolic.choices.grounding import GroundSpace
from symbolic.choices.propagation import PartialAssignment

WARP = 32
MOST_REGISTERS = 255
WIDEST = 4
"""Words of four bytes that one instruction of a lane moves at most."""
LINES = 4
"""Lines of 128 bytes that the first cache looks up in a clock, at most: NVIDIA Developer Forums, 49571 (Volta, and much
the same on Maxwell and Pascal); for Kepler it is not looked up."""


class ScheduleBound:
    """The bounds of a space's candidates on one device."""

    def __init__(self, backbone: Backbone, choices: ScheduleChoices, space: GroundSpace, device: Device) -> None:
        self.backbone, self.choices, self.space, self.device = backbone, choices, space, device
        self.variable = {name: number for number, name in enumerate(space.names)}
        self.work: dict[str, StatementWork] = {s.name: work_of(backbone, s) for s in backbone.statements}
        self.tiles = {tile.name: tile for loop in backbone.loops.values() for tile in loop.tiles}
        stores = [statement for statement in backbone.statements if statement.kind == "store"]
        self.store = stores[-1]
        self.by_array: dict[str, list[Statement]] = {}
        """The loads, or the stores, of each array: of two loads of one element a compiler may leave one out."""
        for statement in backbone.statements:
            if statement.index:
                self.by_array.setdefault(statement.array, []).append(statement)
        self.loads = sum(
            max(
                (_distinct(work) / _width(work) for s in some if s.kind == "load" for work in [self.work[s.name]]),
                default=0,
            )
            for some in self.by_array.values()
        )
        """Instructions of all lanes that load each element once, the widest ones taken."""
        self.bytes = sum(max(self.work[s.name].bytes for s in some) for some in self.by_array.values())

    def __call__(self, candidate: PartialAssignment) -> LowerBound:
        """Return the greatest of the parts, and what it is."""
        parts = list(_Parts(self, candidate).parts())
        seconds, why = max(parts)
        return LowerBound(seconds + self.device.launch_seconds, f"{why} on {self.device.title}")


class _Parts:
    """The quantities of one candidate."""

    def __init__(self, bound: ScheduleBound, candidate: PartialAssignment) -> None:
        self.of, self.masks = bound, candidate.masks
        self.device, self.backbone, self.choices = bound.device, bound.backbone, bound.choices
        self.left: dict[ChoiceOf, list[Value]] = {}
        self.grids = self.grid_sizes()

    # What is left of choices.

    def values(self, chosen: ChoiceOf) -> list[Value]:
        if chosen not in self.left:
            number = self.of.variable[chosen.choice, chosen.objects]
            mask, domain = self.masks[number], self.of.space.values[number]
            values = [value for position, value in enumerate(domain) if mask >> position & 1]
            turn = chosen.choice.opposite if chosen.turned else None
            self.left[chosen] = [turn[value] for value in values] if turn else values
        return self.left[chosen]

    def sizes(self, tile: str) -> list[int]:
        return [int(size) for size in self.values(self.choices.size(tile))]

    def kinds(self, dim: LoopDimension) -> list[Value]:
        return self.values(self.choices.kind(dim))

    def may(self, dim: LoopDimension, *kinds: str) -> bool:
        return any(kind in kinds for kind in self.kinds(dim))

    def must(self, dim: LoopDimension, *kinds: str) -> bool:
        return all(kind in kinds for kind in self.kinds(dim))

    def outermost(self, loop: str) -> set[int]:
        """Return the extents that the outermost level of a loop may have."""
        inner = [self.sizes(tile.name) for tile in self.backbone.loops[loop].tiles[1:]]
        extent = self.backbone.loops[loop].extent
        return {max(1, extent // math.prod(sizes)) for sizes in itertools.product(*inner)}

    def most_unrolled(self, statement: Statement, loops: Iterator[str] | list[str]) -> int:
        """Return how many values of some loops a thread may have in registers at once, at most."""
        return math.prod(
            max(self.sizes(tile.name))
            for loop in loops
            for tile in self.backbone.loops[loop].tiles
            if tile.sizes and self.may(LoopDimension(statement.name, tile.name), *UNROLLED)
        )

    def grid_sizes(self) -> set[int]:
        """Return how many blocks there may be."""
        options = {1}
        for loop in self.of.store.loops:
            tile = self.backbone.loops[loop].tiles[0]
            if tile.sizes:
                continue
            dim = LoopDimension(self.of.store.name, tile.name)
            some = self.outermost(loop) if self.may(dim, BLOCK) else set()
            some |= set() if self.must(dim, BLOCK) else {1}
            options = {blocks * more for blocks in options for more in some}
        return options

    # The units.

    def parts(self) -> Iterator[tuple[float, str]]:
        """Yield the time that each unit needs, and what for."""
        device = self.device
        clock, share = device.clock_hz, min(-(-blocks // device.multiprocessors) / blocks for blocks in self.grids)
        sms = f"at most {1 / share:.4g} of {device.multiprocessors} multiprocessors"
        full = min(1.0, self.most_threads() / WARP)
        if full < 1:
            share, sms = share / full, f"{sms}, {_lanes(self.most_threads())} of a warp"
        moved = self.of.bytes
        # What is read may lie in L2 before the kernel, and what is written stay there after it.
        beyond = max(0, moved - 2 * device.l2_bytes)
        yield (
            beyond / device.dram_bytes_per_second,
            f"{beyond:.3g} bytes of memory beyond L2 at {device.dram_bytes_per_second:.3g} B/s",
        )
        yield (
            moved / (device.l2_bytes_per_clock * clock),
            f"{moved:.3g} bytes of L2 at {device.l2_bytes_per_clock * clock:.3g} B/s",
        )
        operations, special = self.arithmetic()
        lanes = device.fp32_lanes
        if any(array.dtype[0] in "iu" for array in self.backbone.arrays.values()):
            lanes = max(lanes, device.int32_lanes)
        busy, hidden = self.busy()
        yield (
            operations * share / lanes / clock / busy,
            f"{operations:.3g} multiply-adds on {lanes} lanes of {sms}{hidden}",
        )
        yield (
            special * share / device.special_lanes / clock,
            f"{special:.3g} functions on {device.special_lanes} lanes of {sms}",
        )
        memory, lines = self.accesses()
        yield (
            memory * share / device.load_store_lanes / clock,
            f"{memory:.3g} loads and stores on {device.load_store_lanes} lanes of {sms}",
        )
        yield lines * share / clock, f"{lines:.3g} clocks of shared memory and the first cache, of {sms}"
        index = self.index_instructions()
        issue = WARP * device.schedulers * device.issue_per_scheduler
        slots = operations + memory + index
        yield slots * share / issue / clock, f"{slots:.3g} instructions on {issue} slots of {sms}"
        yield index * share / device.int32_lanes / clock, f"{index:.3g} instructions of indices on {sms}"
        yield self.threads_in_turn()

    def arithmetic(self) -> tuple[float, float]:
        """Return multiply-adds and functions.

        Halves are computed in pairs, on up to twice the lanes, so that they count a quarter; where an array has some,
        all may be.
        """
        each = 0.25 if any(work.word < 4 for work in self.of.work.values()) else 1
        operations = special = 0.0
        for statement in self.backbone.statements:
            work = self.of.work[statement.name]
            operations += work.count * -(-work.operations // 2) * each
            special += work.count * work.special
        return operations, special

    def busy(self) -> tuple[float, str]:
        """Return the part of a multiprocessor's lanes that its resident threads keep busy, at most."""
        device = self.device
        sums = [s for s in self.backbone.statements if s.kind == "accumulate"]
        if not sums:
            return 1.0, ""
        parallel = sum(self.most_unrolled(s, list(self.backbone.result_loops(s))) for s in sums)
        warps = min(device.warps_per_multiprocessor, self.resident() * -(-self.most_threads() // WARP))
        busy = min(1.0, warps * WARP * parallel / (device.latency_fma * device.fp32_lanes))
        return busy, "" if busy == 1 else f", {busy:.0%} busy with {warps} warps of {parallel} sums"

    def most_threads(self) -> int:
        most = math.prod(max(map(int, self.values(self.choices.threads(axis)))) for axis in THREADS)
        return min(most, self.device.threads_per_block)

    def least_threads(self) -> int:
        return math.prod(min(map(int, self.values(self.choices.threads(axis)))) for axis in THREADS)

    def resident(self) -> int:
        """Return how many blocks are on a multiprocessor at once, at most: threads, registers, shared memory."""
        device, threads = self.device, self.least_threads()
        blocks = min(device.blocks_per_multiprocessor, max(-(-grid // device.multiprocessors) for grid in self.grids))
        blocks = min(blocks, device.threads_per_multiprocessor // (WARP * -(-threads // WARP)))
        registers = min(
            sum(self.least_registers(s) for s in self.backbone.statements if s.kind == "begin"),
            device.registers_per_thread,
        )
        blocks = min(blocks, device.registers_per_multiprocessor // max(1, registers * threads))
        if shared := self.least_shared():
            blocks = min(blocks, device.shared_per_multiprocessor // shared)
        return max(1, blocks)

    def least_registers(self, begin: Statement) -> int:
        return math.prod(
            min(self.sizes(tile.name))
            for tile in self.backbone.tiles(begin)
            if tile.sizes and self.must(LoopDimension(begin.name, tile.name), *UNROLLED)
        )

    def least_shared(self) -> int:
        """Return the bytes of shared memory of a block, at least."""
        total = 0
        for copy in self.backbone.statements:
            if copy.kind != "copy" or self.values(self.choices.memory(copy.name)) != [SHARED]:
                continue
            cells = 1
            for tile in self.backbone.tiles(copy):
                order = self.values(
                    self.choices.order(LoopDimension(copy.reads[0], tile.name), LoopDimension(copy.name, tile.name))
                )
                if tile.sizes and MERGED not in order:
                    cells *= min(self.sizes(tile.name))
            total += cells * self.of.work[copy.reads[0]].word
        return total

    # Loads, stores and indices.

    def accesses(self) -> tuple[float, float]:
        """Return lanes that load or store, the widest instructions taken, and clocks that their places cost."""
        fewest = {
            s.name: float(self.of.work[s.name].count if s.kind == "copy" else 0) for s in self.backbone.statements
        }
        together = 0.0
        for statement in self.backbone.statements:
            if statement.kind == "accumulate":
                together += self.operands(statement, fewest)
        memory = lines = 0.0
        for some in self.of.by_array.values():
            memory += max(self.elements(statement, fewest) for statement in some)
            lines += max(_distinct(self.of.work[s.name]) * self.lines_each(s) for s in some)
        for statement in self.backbone.statements:
            if statement.kind == "copy" and self.values(self.choices.memory(statement.name)) == [SHARED]:
                memory += fewest[statement.name] / _width(self.of.work[statement.name])
                clocks = self.banks_each(statement) * 4 * WARP / self.device.shared_bytes_per_clock
                lines += self.of.work[statement.name].count * clocks
        return max(memory, together / WIDEST), lines

    def elements(self, statement: Statement, fewest: dict[str, float]) -> float:
        """Return how many lanes load or store for a statement, at least."""
        taken = self.taken_directly(statement)
        elements = float(_distinct(self.of.work[statement.name]))
        return max(elements, fewest[taken] if taken else 0.0) / _width(self.of.work[statement.name])

    def taken_directly(self, statement: Statement) -> str | None:
        """Return whose registers a load's value is loaded into: its own, or those of a copy that is no instruction."""
        copies = [user for user in self.backbone.users(statement.name) if user.kind == "copy"]
        if not copies:
            return statement.name if statement.kind == "load" else None
        return copies[0].name if SHARED not in self.values(self.choices.memory(copies[0].name)) else None

    def operands(self, statement: Statement, fewest: dict[str, float]) -> float:
        """Raise how often the operands of a sum are loaded, and return it for two that share the registers.

        A register is used again along loops that its value does not depend on, and there only for values that are
        unrolled: sums are kept in registers, so that what is not unrolled is around the loops that are summed along.
        """
        reduced = self.backbone.reduced(statement)
        if not any(self.backbone.loops[loop].open_ended for loop in reduced):
            return 0.0
        count = self.of.work[statement.name].count
        free: list[tuple[str, int]] = []
        for name in statement.reads:
            maker = self.backbone.statement(name)
            along = [loop for loop in reduced if loop in maker.loops and self.backbone.loops[loop].open_ended]
            if maker.kind not in ("load", "copy") or not along or self.overlaps(maker):
                continue
            again = [loop for loop in statement.loops if loop not in maker.loops and loop not in reduced]
            unrolled = min(self.most_unrolled(statement, again), MOST_REGISTERS)
            fewest[name] = max(fewest[name], count / unrolled)
            if len(again) == 1:
                free.append((again[0], unrolled))
        if len(free) != 2 or free[0][0] == free[1][0]:
            return 0.0
        (_, most), (_, other) = free
        return count * min(1 / u + 1 / max(1, min(other, MOST_REGISTERS // u)) for u in range(1, most + 1))

    def overlaps(self, maker: Statement) -> bool:
        """Say whether an element is one for several values of loops, `x[i + k]`, so that a register may do for them."""
        load = maker if maker.kind == "load" else self.backbone.statement(maker.reads[0])
        return any(index not in load.loops and not index.isdigit() for index in load.index)

    def lines_each(self, statement: Statement) -> float:
        """Return the clocks that an element costs the first cache where lanes are known to be far apart."""
        spread = self.lanes_apart(statement)
        return spread / LINES / WARP if spread > LINES else 0.0

    def lanes_apart(self, statement: Statement) -> int:
        """Return how many lines of 128 bytes a warp touches at once, at least; 1 where that is not decided."""
        lanes = 1
        for axis in THREADS[:1]:
            for tile in self.backbone.tiles(statement):
                if not self.must(LoopDimension(statement.name, tile.name), axis):
                    continue
                if not any(_mentions(index, tile.loop) for index in statement.index[-1:]) and any(
                    index == tile.loop for index in statement.index[:-1]
                ):
                    shape = self.backbone.arrays[statement.array].shape
                    if shape[-1] * self.of.work[statement.name].word >= 128:
                        lanes = min(WARP, min(self.sizes(tile.name)))
        return lanes

    def banks_each(self, copy: Statement) -> float:
        """Return the clocks that an element of a shared tile costs, of which all is decided that its place needs.

        A clock serves one word of each bank. So the words that a warp takes in a nest, unrolled loops included, need
        as many clocks as there are different ones in one bank.
        """
        cells: list[tuple[str, int, Value]] = []
        if PADDED in self.values(self.choices.layout(copy.name)):
            return 0.0
        for tile in self.backbone.tiles(copy):
            if tile.sizes:
                dim = LoopDimension(copy.name, tile.name)
                order = self.values(self.choices.order(LoopDimension(copy.reads[0], tile.name), dim))
                kinds, sizes = self.kinds(dim), self.sizes(tile.name)
                if len(sizes) != 1 or len(kinds) != 1 or (MERGED in order and len(order) > 1):
                    return 0.0
                if order != [MERGED]:
                    cells.append((tile.loop, sizes[0], kinds[0]))
        threads = [self.values(self.choices.threads(axis)) for axis in THREADS]
        if any(len(values) != 1 for values in threads) or self.of.work[copy.reads[0]].word != 4:
            return 0.0
        load = self.backbone.statement(copy.reads[0])
        order_of = {
            loop: position for position, index in enumerate(load.index) for loop in copy.loops if _mentions(index, loop)
        }
        cells.sort(key=lambda cell: order_of[cell[0]])
        return _bank_clocks(tuple((size, str(kind)) for _, size, kind in cells), tuple(int(v[0]) for v in threads))

    def index_instructions(self) -> float:
        """Return the least number of instructions that compute addresses: one of each thread; arrays may share it."""
        return float(self.least_threads() * min(self.grids))

    # Threads, one after the other.

    def threads_in_turn(self) -> tuple[float, str]:
        """Return the time of a thread's chain, as often as blocks have to wait for others."""
        device, resident = self.device, self.resident()
        each = [-(-blocks // device.multiprocessors) for blocks in self.grids]
        least = min(-(-blocks // resident) for blocks in each)
        longest = self.longest_chain()
        # The first blocks load from L2 at best, later ones from what is left in the first cache.
        clocks: float = device.latency_global + (least - 1) * device.latency_shared
        clocks += least * longest * device.latency_fma
        words = f"a load of {device.latency_global} clocks"
        before = self.of.loads / (self.most_threads() * max(self.grids)) - 1
        if before > 0:  # the last load of a thread is issued after its others
            clocks += before / device.issue_per_scheduler
            words += f" after {before:.3g} others of a thread"
        if least > 1:
            words += f", {least - 1:,} of {device.latency_shared}"
        if longest:
            words += f" and {least * longest:,} sums that wait for each other, {device.latency_fma} clocks each"
        return clocks / device.clock_hz, words

    def longest_chain(self) -> int:
        """Return how many sums of a thread wait for each other, at least."""
        longest = 0
        for statement in self.backbone.statements:
            if statement.kind == "accumulate":
                along = math.prod(self.backbone.loops[loop].extent for loop in self.backbone.reduced(statement))
                longest = max(longest, along * self.serial(statement))
        return longest

    def serial(self, statement: Statement) -> int:
        """Return how many sums a thread computes one after the other, at least."""
        product = 1
        for loop in self.backbone.result_loops(statement):
            for tile in self.backbone.loops[loop].tiles:
                if self.must(LoopDimension(statement.name, tile.name), LOOP):
                    product *= min(self.sizes(tile.name)) if tile.sizes else min(self.outermost(loop))
        return product


def _distinct(work: StatementWork) -> int:
    """Return how many elements are loaded or stored at least: those that memory moves, each once."""
    return min(work.count, work.bytes // max(work.word, 1))


def _lanes(number: int) -> str:
    return "1 lane" if number == 1 else f"{number} lanes"


def _width(work: StatementWork) -> int:
    """Return how many elements one instruction moves at most."""
    return max(1, WIDEST * 4 // work.word)


def _mentions(index: str, loop: str) -> bool:
    return loop in index.replace("(", " ").replace(")", " ").split()


def _bank_clocks(cells: tuple[tuple[int, str], ...], threads: tuple[int, ...]) -> float:
    """Return the clocks per element that a warp's words of a tile cost.

    Args:
        cells: the size and kind of each level of the tile, the last one side by side.
        threads: the threads of a block along each dimension.
    """
    coordinates = [
        (lane % threads[0], lane // threads[0] % threads[1], lane // threads[0] // threads[1])
        for lane in range(min(WARP, math.prod(threads)))
    ]
    strides = [math.prod(size for size, _ in cells[position + 1 :]) for position in range(len(cells))]
    lane_words = [
        sum(
            stride * at[THREADS.index(kind)]
            for stride, (_, kind) in zip(strides, cells, strict=True)
            if kind in THREADS
        )
        for at in coordinates
    ]
    unrolled = [(stride, size) for stride, (size, kind) in zip(strides, cells, strict=True) if kind in UNROLLED]
    offsets = [
        sum(stride * at for (stride, _), at in zip(unrolled, position, strict=True))
        for position in itertools.product(*(range(size) for _, size in unrolled))
    ]
    words = {word + offset for word in lane_words for offset in offsets}
    banks: dict[int, int] = {}
    for word in words:
        banks[word % WARP] = banks.get(word % WARP, 0) + 1
    return max(banks.values()) / (WARP * len(offsets))
