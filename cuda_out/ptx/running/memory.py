"""The memories of a launch: cells that hold bits or a term, found by address, each remembering who wrote it.

Every array has a stretch of addresses of its own, far from the next one, so that an access that leaves its array is
seen, and named. A cell is an element of a parameter; of shared and local arrays it is as wide as the narrowest
access to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.columns import NEVER, is_unwritten
from cuda_out.ptx.instructions.operation import InstructionForm
from cuda_out.ptx.kinds import Bits, width
from cuda_out.ptx.syntax import Instruction, NotInterpreted
from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.rules import Touched

Lanes = npt.NDArray[np.int64]

_PLACES: Final = {
    "shared": (1 << 24, 1 << 24),
    "local": (1 << 36, 1 << 36),
    "global": ((1 << 40) + 0x5A5A5A5A00, 1 << 40),
    "const": (1 << 56, 1 << 40),
}
"""For each space the address of its first array, and from one array to the next. No sum or double of two global arrays'
addresses is near a third one."""
_NEAR: Final = 1 << 38
"""How far from where an array begins, in bytes, an address still counts as one of that array."""
WINDOWS: Final = {"global": 0, "const": 1 << 58, "shared": 1 << 60, "local": 1 << 61}
"""What a generic address has more than the address in its space."""


class Broken(Exception):
    """A kernel that does what CUDA leaves undefined: which instruction, which thread, what."""


class Misaligned(Broken):
    """An access of `size` bytes at once to an array that is known to begin at fewer."""

    def __init__(self, message: str, region: str, size: int) -> None:
        super().__init__(message, region, size)
        self.region, self.size = region, size

    def __str__(self) -> str:
        return str(self.args[0])


class ReadOnly(Broken):
    """A store to an array that is not to be written."""

    def __init__(self, message: str, region: str) -> None:
        super().__init__(message, region)
        self.region = region

    def __str__(self) -> str:
        return str(self.args[0])


class Seen(Struct, frozen=True):
    """One execution of a load or store: which threads moved `size` bytes, how many bytes into the array.

    `block_epoch` and `warp_epoch` count, for each thread, its barriers before it.
    """

    region: str
    space: str
    instruction: Instruction
    writes: bool
    threads: Lanes
    offsets: Lanes
    size: int
    block_epoch: Lanes
    warp_epoch: Lanes
    atomic: bool = False


@dataclass(slots=True)
class Region:
    """One array: `instance` says for each thread which copy is its own.

    `align` is what its address is a multiple of, in bytes, and all that is known of it; 0: its address is `base`.
    """

    name: str
    space: str
    base: int
    size: int
    cell: int
    instance: Lanes
    bits: Bits
    terms: Lanes
    writable: bool
    align: int = 0
    writer: Lanes = field(init=False)
    thread: Lanes = field(init=False)
    accesses: list[Touched[int]] = field(default_factory=list)
    constant: set[int] = field(default_factory=set)
    """The cells that were read as what no thread writes (`ld.global.nc`)."""

    def __post_init__(self) -> None:
        self.writer = np.full(len(self.bits), -1, np.int64)
        self.thread = np.full(len(self.bits), -1, np.int64)

    @property
    def cells(self) -> int:
        return self.size // self.cell

    def where(self, cell: int) -> str:
        """Name a cell."""
        return f"{self.name}[{cell % max(self.cells, 1)}]"

    def split(self, parts: Sequence[tuple[Bits, Lanes]]) -> None:
        """Make cells smaller: each becomes its parts, the lowest first."""
        count, never, within = len(parts), is_unwritten(self.terms), np.arange(len(parts))
        self.bits = np.stack([bits for bits, _ in parts], axis=1).reshape(-1)
        self.terms = np.stack([np.where(never, self.terms, terms) for _, terms in parts], axis=1).reshape(-1)
        self.writer, self.thread = np.repeat(self.writer, count), np.repeat(self.thread, count)
        self.constant = {cell * count + part for cell in self.constant for part in range(count)}
        self.accesses = [
            replace(
                each,
                addresses=(each.addresses[:, None] * count + within).reshape(-1),
                **{
                    name: np.repeat(getattr(each, name), count, axis=0)
                    for name in ("threads", "block_epoch", "warp_epoch", "known", "holds")
                    if getattr(each, name) is not None
                },
            )
            for each in self.accesses
        ]
        self.cell, self.instance = self.cell // count, self.instance * count


class KeptCells(Struct, frozen=True):
    """Some cells of an array, each once, with what they held and who had written it."""

    cells: Lanes
    bits: Bits
    terms: Lanes
    writer: Lanes
    thread: Lanes

    @staticmethod
    def of(region: Region, cells: Lanes) -> KeptCells:
        return KeptCells(
            cells, region.bits[cells], region.terms[cells], region.writer[cells], region.thread[cells]
        )  # fmt: skip

    def replaced(self, others: KeptCells) -> KeptCells:
        """Return the cells with what is kept of some of them in another place."""
        found = KeptCells(
            self.cells, self.bits.copy(), self.terms.copy(), self.writer.copy(), self.thread.copy()
        )  # fmt: skip
        where = np.searchsorted(self.cells, others.cells)
        found.bits[where], found.terms[where] = others.bits, others.terms
        found.writer[where], found.thread[where] = others.writer, others.thread
        return found

    def put_back(self, region: Region) -> None:
        region.bits[self.cells], region.terms[self.cells] = self.bits, self.terms
        region.writer[self.cells], region.thread[self.cells] = self.writer, self.thread


class PtxMemory:
    """All regions of one launch; `seen` keeps every access to shared and global memory, if it is a list."""

    def __init__(self, shape: LaunchShape) -> None:
        self.shape = shape
        self.seen: list[Seen] | None = None
        self.split: Callable[[Region, int], None] | None = None
        """Makes the cells of a region smaller: as many bytes as an access moves. None: such an access is refused."""
        self.regions: list[Region] = []
        self.kept: list[tuple[Region, KeptCells]] | None = None
        """What stores replace, where it may be put back."""
        self.holds: Lanes | None = None
        """For each thread the condition under which it is where it is, a term; 0, and None for all: always."""
        self.block_epoch = self.warp_epoch = np.zeros(shape.count, np.int64)
        self.unwritten_reads: list[str] = []
        self._known: Lanes | None = None
        self._starts: Lanes = np.zeros(0, np.int64)

    def add(
        self, name: str, space: str, size: int, cell: int, bits: Bits | None, terms: Lanes | None, writable: bool,
        *, of_block: bool = False, align: int = 0,
    ) -> Region:  # fmt: skip
        """Place an array; without bits and terms it is unwritten. `of_block`: each block has one of its own."""
        shape = self.shape
        instances, instance = 1, np.zeros(shape.count, np.int64)
        if space == "shared" or of_block:
            instances, instance = shape.blocks, shape.block_of
        elif space == "local":
            instances, instance = shape.count, shape.thread
        count = size // cell * instances
        first, span = _PLACES[space]
        if size >= span // 2:
            raise NotInterpreted(f"{name}, an array of {size} bytes")
        region = Region(
            name,
            space,
            first + span * sum(region.space == space for region in self.regions),
            size,
            cell,
            instance * (size // cell),
            np.zeros(count, np.uint64) if bits is None else bits.copy(),
            np.full(count, NEVER if bits is None else 0, np.int64) if terms is None else terms.copy(),
            writable,
            align,
        )
        self.regions = sorted([*self.regions, region], key=lambda r: r.base)
        self._starts = np.array([r.base - _PLACES[r.space][1] // 2 for r in self.regions], np.int64)
        return region

    def cells(
        self, instruction: Instruction, threads: Lanes, addresses: Lanes, form: InstructionForm, writes: bool,
        *, atomic: bool = False,
    ) -> list[tuple[Region, Lanes, Lanes]]:  # fmt: skip
        """Return for each region touched the positions among `threads`, and their first cells there."""
        found = []
        item, count = width(form.kind) // 8, form.count
        if form.space is None:
            addresses, spaces = _out_of_windows(addresses)
        number = np.searchsorted(self._starts, addresses, side="right") - 1
        alone = (number == number[:1]).all()
        for one in number[:1] if alone else np.unique(number):
            at = np.arange(len(number)) if alone else np.flatnonzero(number == one)
            if one < 0 or not 0 <= one < len(self.regions):
                raise Broken(f"{instruction}: {self._who(threads, at)} uses {int(addresses[at[0]]):#x}, no address")
            region = self.regions[one]
            wanted = np.full(len(at), form.space) if form.space else spaces[at]
            if (wanted != region.space).any():
                bad = int(np.flatnonzero(wanted != region.space)[0])
                raise Broken(
                    f"{instruction}: {self._who(threads, at[bad:])} looks for {region.name} in .{wanted[bad]}, "
                    f"and it is in .{region.space}"
                )
            offset = addresses[at] - region.base
            wrong = (offset < 0) | (offset + item * count > region.size)
            if wrong.any():
                bad = np.flatnonzero(wrong)[0]
                element = int(offset[bad]) // region.cell
                raise Broken(
                    f"{instruction}: {self._who(threads, at[bad:])} {'writes' if writes else 'reads'} "
                    f"{region.name}[{element}], out of bounds: {region.name} has {region.cells} elements"
                )
            if (offset % (item * count)).any():
                bad = np.flatnonzero(offset % (item * count))[0]
                raise Broken(
                    f"{instruction}: {self._who(threads, at[bad:])} touches {item * count} bytes of {region.name} "
                    f"at byte {int(offset[bad])}, which is not a multiple"
                )
            if region.align and item * count > region.align:
                raise Misaligned(
                    f"{instruction}: {self._who(threads, at)} touches {item * count} bytes of {region.name} at once, "
                    f"which is aligned to {region.align}",
                    region.name,
                    item * count,
                )
            if writes and not region.writable:
                why = f"{instruction}: {self._who(threads, at)} writes {region.name}, which is read-only"
                raise ReadOnly(why, region.name)
            if item < region.cell:
                if self.split is None:
                    raise NotInterpreted(f"{instruction}, an access to a part of an element of {region.name}")
                self.split(region, item)
            if self.seen is not None and region.space in ("shared", "global"):
                epochs = self.block_epoch[threads[at]], self.warp_epoch[threads[at]]
                self.seen.append(
                    Seen(
                        region.name,
                        region.space,
                        instruction,
                        writes,
                        threads[at],
                        offset,
                        item * count,
                        *epochs,
                        atomic,
                    )
                )
            found.append((region, at, region.instance[threads[at]] + offset // region.cell))
        return found

    def near(self, numbers: Bits) -> Lanes:
        """Return for each number the array of an unknown address that it is near, counted from 1; 0: there is none."""
        if not (numbers >= _PLACES["global"][0] - _NEAR).any():
            return np.zeros(len(numbers), np.int64)
        (first, span), arrays = _PLACES["global"], self._global()
        found, rest = np.divmod(numbers.astype(np.int64) - (first - _NEAR), span)
        inside = (found >= 0) & (found < len(arrays)) & (rest < 2 * _NEAR)
        near: Lanes = np.where(inside, found + 1, 0)
        return np.where(np.array([0, *(region.align for region in arrays)])[near] > 0, near, 0)

    def of_number(self, near: int) -> str:
        """Return the name of an array as `near` counts them."""
        return self._global()[near - 1].name

    def _global(self) -> list[Region]:
        return [region for region in self.regions if region.space == "global"]

    def note(
        self,
        region: Region,
        instruction: int,
        threads: Lanes,
        cells: Lanes,
        *,
        writes: bool,
        atomic: Sequence[str] = (),
    ) -> None:
        """Remember an access, for races; `atomic` has the words of an atomic operation."""
        if region.space == "local" or not region.writable:
            return
        epochs = self.block_epoch[threads], self.warp_epoch[threads]
        known = None if self._known is None else self._known[threads]
        holds = None if self.holds is None else self.holds[threads]
        name, in_block = ".".join(atomic[-2:]), "cta" in atomic
        region.accesses.append(Touched(instruction, writes, threads, cells, *epochs, known, name, in_block, holds))

    def keep(self, region: Region, cells: Lanes) -> None:
        """Remember what is about to be replaced, where it may be put back."""
        if self.kept is not None:
            self.kept.append((region, KeptCells.of(region, cells)))

    def put_back(self, kept: list[tuple[Region, KeptCells]]) -> dict[int, KeptCells]:
        """Put back what stores replaced; return what they had stored, by the address of the array."""
        cells: dict[int, list[Lanes]] = {}
        for region, each in kept:
            cells.setdefault(region.base, []).append(each.cells)
        regions = {region.base: region for region, _ in kept}
        stored = {at: KeptCells.of(regions[at], np.unique(np.concatenate(parts))) for at, parts in cells.items()}
        for region, each in reversed(kept):
            each.put_back(region)
        return stored

    def passed(self, scope: Literal["block", "warp"], threads: Lanes, masks: Lanes | None = None) -> None:
        """Remember that threads passed a barrier together: those of a block, or of a warp those that the masks name."""
        through = np.zeros(self.shape.count, np.int64)
        through[threads] = 1
        self.warp_epoch = self.warp_epoch + through
        if scope == "block":
            self.block_epoch = self.block_epoch + through
        warp = self.shape.warp_base[threads]
        groups = warp if masks is None else warp << 32 | masks
        if self._known is None and masks is not None:
            whole = (1 << self.shape.warp_lanes[threads]) - 1
            if (masks & whole != whole).any():  # from here on lanes of a warp know different things
                before = self.warp_epoch - through
                self._known = np.repeat(before[:, None], LANES, axis=1)
        if self._known is not None:
            self._known[threads, threads - warp] += 1
            group = np.unique(groups, return_inverse=True)[1].reshape(-1)
            merged = np.zeros((int(group.max(initial=0)) + 1, LANES), np.int64)
            np.maximum.at(merged, group, self._known[threads])
            self._known[threads] = merged[group]

    def unwritten(self, region: Region, instruction: Instruction, thread: int, cell: int) -> int:
        """Return the term that stands for reading a cell before it is written."""
        self.unwritten_reads.append(
            f"{region.where(cell)}, which {self.shape.describe(thread)} reads before it is written ({instruction})"
        )
        return NEVER - len(self.unwritten_reads)

    def nothing(self, what: str) -> int:
        """Return a term for a value that does not exist."""
        self.unwritten_reads.append(what)
        return NEVER - len(self.unwritten_reads)

    def account(self, term: int) -> str:
        """Say where a negative term comes from."""
        return "never written" if term == NEVER else self.unwritten_reads[NEVER - term - 1]

    def _who(self, threads: Lanes, at: Lanes) -> str:
        return self.shape.describe(int(threads[at[0]]))


def _out_of_windows(addresses: Lanes) -> tuple[Lanes, npt.NDArray[np.str_]]:
    """Return the addresses that generic ones are in their spaces, and those spaces."""
    found, spaces = addresses.copy(), np.full(len(addresses), "global", "U6")
    for space, window in sorted(WINDOWS.items(), key=lambda item: item[1]):
        inside = addresses >= window
        found[inside], spaces[inside] = addresses[inside] - window, space
    return found, spaces
