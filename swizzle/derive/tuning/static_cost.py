"""What a proved kernel costs as far as its text says: instructions, registers, occupancy, conflicts, sectors.

Nothing runs. The seconds are an estimate to rank candidates by, a roofline: those of the unit that has most to do, on a
GPU that is full of blocks. Candidates that wait for the same unit are told apart by their instructions.
"""

from __future__ import annotations

from math import prod
from typing import Final

from msgspec import Struct

from cuda_out.compile.report import ThreadWay, disassembled, parse, shortest
from cuda_out.compile.toolchain import Resources, compile_cuda
from cuda_out.devices.device import Device
from cuda_out.devices.occupancy import WARP, resident_blocks
from cuda_out.passes.printed_accesses import PrintedMoves, printed_moves
from swizzle.answers.emit.emitters import Sizes, cuda_source
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program
from symbolic.machine.accesses import SECTOR

MOVING: Final = frozenset({"LDG", "STG", "LDS", "STS", "SHFL", "LDSM", "ATOMG", "ATOMS", "RED"})
"""Opcodes of what is counted in the program, too: from these follows how often a loop is gone through."""
HIDING: Final = 4
"""With a quarter of the warps that fit, latencies are taken to be hidden."""
TELLING_APART: Final = 100
"""The time of issue counts a hundredth beside that of the busiest unit."""


class StaticCost(Struct, frozen=True):
    """What is known of a kernel without running it.

    Attributes:
        architecture: what it was compiled for; '' where there is no compiler, and moves stand for instructions.
        instructions: on the way of a thread, those of loops as often as the moves of the program say.
        per_output: the same for each output.
        loops: whether there are loops on that way, so that the number is an estimate.
        registers, local_bytes, shared_bytes: as ptxas says.
        warps: that a multiprocessor holds at once, of the most that it can.
        conflicts: turns of shared memory beyond the fewest, of all warps.
        sectors: of 32 bytes that all warps load and store.
        outputs: elements that all threads compute.
        seconds: the estimate for all of them.
    """

    architecture: str
    instructions: float
    per_output: float
    loops: bool
    registers: int
    local_bytes: int
    shared_bytes: int
    warps: int
    most_warps: int
    conflicts: int
    sectors: int
    outputs: int
    seconds: float

    def __str__(self) -> str:
        what = "instructions" if self.architecture else "moves (no compiler)"
        about = "about " if self.loops else ""
        local = f", {self.local_bytes} bytes of local memory" if self.local_bytes else ""
        return (
            f"{about}{self.per_output:.4g} {what} an output, {self.registers} registers{local}, "
            f"{self.warps} of {self.most_warps} warps, {self.conflicts} conflicts, {self.sectors} sectors"
        )


def architecture(device: Device) -> str:
    return f"sm_{device.compute_capability.replace('.', '')}"


def static_cost(program: Program, sizes: Sizes, device: Device) -> StaticCost:
    """Return what a kernel without holes costs on a device.

    Raises CompileError where its text does not compile; without a compiler for the device, moves are counted.
    """
    moves = printed_moves(program)
    threads, blocks = prod(program.block), prod(program.grid)
    warps = blocks * -(-threads // WARP)
    written = [p for p in program.parameters if p.role in ("out", "inout")]
    outputs = sum(prod(p.shape) for p in written)
    compiled = _compiled(program, sizes, architecture(device))
    if compiled is None:
        way, taken = None, Resources(0, 0, 0, 0, 0)
        instructions = (len(moves.accesses) + moves.shuffles + moves.selects) / warps
    else:
        way, taken = compiled
        instructions = _executed(way, (len(moves.accesses) + moves.shuffles) / warps)
    local = taken.stack_bytes + taken.spill_load + taken.spill_store
    resident = resident_blocks(device, threads, taken.registers, taken.shared_bytes) * -(-threads // WARP)
    shared = [access for access in moves.accesses if access.memory == "shared"]
    sectors = sum(access.sectors for access in moves.accesses if access.memory == "global")
    return StaticCost(
        "" if way is None else architecture(device),
        instructions,
        instructions * threads * blocks / outputs,
        way is not None and way.loops,
        taken.registers,
        local,
        taken.shared_bytes,
        resident,
        device.warps_per_multiprocessor,
        sum(access.passes - access.least_passes for access in shared),
        sectors,
        outputs,
        _seconds(program, moves, instructions * warps, resident, device),
    )


def _seconds(program: Program, moves: PrintedMoves, issued: float, resident: int, device: Device) -> float:
    """Return the seconds of the busiest unit, and of issuing instructions besides; more where few warps hide latencies.

    Shared memory takes a clock for each turn, and each word of a shuffle; L1 one for each line of 128 bytes that a warp
    touches. From memory comes each sector once, as neighbouring blocks find in L2 what they share.
    """
    if not resident:
        return float("inf")  # no block of it fits a multiprocessor
    turns = sum(access.passes if access.memory == "shared" else access.lines for access in moves.accesses)
    sectors = {
        (access.array, cell * access.size // SECTOR)
        for access in moves.accesses if access.memory == "global" for cell in access.wanted
    }  # fmt: skip
    clocks = device.multiprocessors * device.clock_hz
    issue = issued / (device.schedulers * device.issue_per_scheduler) / clocks
    units = issue, (turns + moves.shuffles) / clocks, len(sectors) * SECTOR / device.dram_bytes_per_second
    hidden = max(1.0, device.warps_per_multiprocessor / HIDING / resident)
    return hidden * (max(units) + issue / TELLING_APART)


def _compiled(program: Program, sizes: Sizes, arch: str) -> tuple[ThreadWay, Resources] | None:
    source = cuda_source(program, (), sizes)
    try:
        made = compile_cuda(source.text, arch)
        listing = disassembled(made.cubin)
    except SwizzleError:  # no compiler, or none for this architecture
        return None
    if listing is None:
        return None
    return shortest(*parse(listing, source.entry)), made.kernels[source.entry]


def _executed(way: ThreadWay, moves: float) -> float:
    """Return the instructions of a thread; loops are gone through as often as makes its moves those of the program."""
    inside = sum(each.head in MOVING for each in way.repeated)
    if not inside:
        return len(way.instructions)
    outside = sum(each.head in MOVING for each in way.instructions) - inside
    trips = max(1.0, (moves - outside) / inside)
    return len(way.instructions) + (trips - 1) * len(way.repeated)
