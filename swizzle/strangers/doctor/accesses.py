"""What a run asked of memory, line by line: turns of shared memory, sectors of global memory, and the least of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cuda_out.ptx.instructions.table import form
from cuda_out.ptx.kinds import width
from cuda_out.ptx.running.memory import Seen
from cuda_out.ptx.syntax import Immediate, Instruction
from swizzle.strangers.reading.compiled import line_of
from swizzle.strangers.reading.run import Ran
from symbolic.ir.program import LANES
from symbolic.machine.accesses import SECTOR, WORD, lanes_at_once, turns
from symbolic.machine.launch_shape import LaunchShape

Offsets = npt.NDArray[np.int64]
Kind = Literal["load", "store", "atomic"]


class LineAccess(Struct, frozen=True):
    """What one line does to one array, `size` bytes a lane: of each warp that does it, which bytes lanes begin at.

    `offsets` has the shape (warp-wide instructions, 32), -1 where a lane is off. An array is known by its name in PTX.
    """

    array: str
    space: str
    line: int
    kind: Kind
    size: int
    offsets: Offsets

    @property
    def bits(self) -> int:
        return 8 * self.size

    def phases(self) -> Offsets:
        """Return what shared memory serves at once: offsets of shape (phases, lanes), in each some lane is on."""
        rows = self.offsets.reshape(-1, min(LANES, lanes_at_once(self.size)))
        return rows[(rows >= 0).any(axis=1)]

    def passes(self, offsets: Offsets | None = None) -> int:
        """Return the turns of all phases; with `offsets`, where those bytes lie elsewhere."""
        return passes_of(self.phases() if offsets is None else offsets, self.size)

    @property
    def sectors(self) -> int:
        """How many sectors of 32 bytes all warps touch, each warp-wide instruction by itself."""
        found = np.where(self.offsets >= 0, self.offsets // SECTOR, -1)
        return distinct(found) * max(1, self.size // SECTOR)

    @property
    def least_sectors(self) -> int:
        """How many sectors as many different elements take where they lie side by side."""
        different = np.sort(self.offsets, axis=1)
        new = np.diff(different, axis=1, prepend=-1) != 0
        return int((-(-(new & (different >= 0)).sum(axis=1) * self.size // SECTOR)).sum())


def passes_of(phases: Offsets, size: int) -> int:
    """Return the turns of phases, given by the bytes at which lanes begin."""
    words = np.where(phases >= 0, phases // WORD, -1)
    return int(turns(words, max(1, size // WORD)).sum())


def distinct(rows: Offsets) -> int:
    """Return how many different numbers rows hold, each row by itself; -1 counts for none."""
    found = np.sort(rows, axis=1)
    return int(((np.diff(found, axis=1, prepend=-2) != 0) & (found >= 0)).sum())


def by_line(ran: Ran) -> list[LineAccess]:
    """Return what a run did, by line, array, kind and width; shared arrays first, in the order of lines."""
    kernel, shape = ran.machine.kernel, ran.machine.shape
    found: dict[tuple[str, str, int, Kind, int], list[Offsets]] = defaultdict(list)
    for seen in ran.seen:
        line = line_of(kernel, seen.instruction.source)
        key = (seen.region, seen.space, line, _kind(seen), seen.size)
        found[key].append(_by_warp(seen, shape))
    accesses = [LineAccess(*key, np.concatenate(rows)) for key, rows in found.items()]
    return sorted(accesses, key=lambda each: (each.space != "shared", each.line, each.array, each.kind, each.size))


def not_run(ran: Ran) -> dict[int, int]:
    """Return the lines with accesses to shared memory that no thread came to, and the most bytes that one moves there.

    A line that threads came to is among them where another access of it moves more than those that were run.
    """
    kernel = ran.machine.kernel
    done, found = defaultdict[int, int](int), defaultdict[int, int](int)
    for seen in ran.seen:
        if seen.space == "shared":
            line = line_of(kernel, seen.instruction.source)
            done[line] = max(done[line], seen.size)
    for each in kernel.instructions:
        line = line_of(kernel, each.source)
        if line and (size := _shared_bytes(each)) > done.get(line, 0):
            found[line] = max(found[line], size)
    return dict(sorted(found.items()))


def _shared_bytes(instruction: Instruction) -> int:
    """Return how many bytes of shared memory a thread moves at once, 0 for none."""
    name, how = ".".join(instruction.op), form(instruction.op)
    head, size = instruction.op[0], instruction.operands[2:3]
    if how is None or (".shared" not in name and (how.space is not None or head not in ("ld", "st", "atom", "red"))):
        return 0
    if head == "cp":
        return size[0].bits if size and isinstance(size[0], Immediate) else 0
    if head in ("ldmatrix", "stmatrix"):
        return 16
    return how.count * width(how.kind) // 8 if head in ("ld", "st", "atom", "red") else 0


def _kind(seen: Seen) -> Kind:
    return "atomic" if seen.atomic else "store" if seen.writes else "load"


def _by_warp(seen: Seen, shape: LaunchShape) -> Offsets:
    """Return the offsets of an execution, a row a warp."""
    base = shape.warp_base[seen.threads]
    warps, row = np.unique(base, return_inverse=True)
    rows: Offsets = np.full((len(warps), LANES), -1, np.int64)
    rows[row.reshape(-1), seen.threads - base] = seen.offsets
    return rows


def of_array(accesses: Sequence[LineAccess], array: str) -> list[LineAccess]:
    return [each for each in accesses if each.array == array and each.space == "shared"]
