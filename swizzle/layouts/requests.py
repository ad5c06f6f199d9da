"""All accesses of a tile, ready to be counted under any layout, with what no layout can go below.

Lanes whose words lie in one bank wait for each other; a phase takes at least one turn. Vectors can force more: where a
cell is part of a vector of 16 bytes, its word lies at the same place of four in every layout that keeps the vector
whole, so it has 8 of the 32 banks to choose from, and 32 such words take four turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.layouts.access import Access, Asked, mistake
from swizzle.layouts.steps import Addresses
from symbolic.machine.accesses import BANKS, WORD, lanes_at_once, turns

Cells = npt.NDArray[np.int64]


class Phases(Struct, frozen=True):
    """The phases of one access: the cells that vectors begin at, of shape (phases, lanes), -1 where a lane is off.

    A cell is its number in row-major order. Lanes that want what another lane of the phase wants are off, and stand
    last. `stride` is from one cell of a vector to the next, in cells. `least` is what each phase takes at least.
    """

    name: str
    cells: Cells
    width: int
    stride: int
    least: npt.NDArray[np.int64]


class Requests(Struct, frozen=True):
    """What is asked of a tile, with the hardware's banks.

    `contradiction` says why no layout can keep all vectors whole; '' where some can. `unit` is how many elements the
    longest vector has, `along` the axes that vectors run along.
    """

    shape: tuple[int, ...]
    bits: int
    banks: int
    word: int
    phases: tuple[Phases, ...]
    unit: int
    along: tuple[int, ...]
    contradiction: str
    forced: str

    @property
    def least(self) -> int:
        """The turns that every layout takes at least."""
        return sum(int(each.least.sum()) for each in self.phases)

    @property
    def free(self) -> int:
        """The turns without any conflict: one a phase."""
        return sum(len(each.cells) for each in self.phases)

    @property
    def cycle(self) -> int:
        """How many elements lie from one bank to the same bank again."""
        return self.banks * self.word * 8 // self.bits

    @property
    def per_word(self) -> int:
        """How many elements a word has, at least one."""
        return max(1, self.word * 8 // self.bits)

    def whole(self, table: Addresses) -> bool:
        """Say whether a layout keeps every vector whole: in order, and at a multiple of its size."""
        flat = table.reshape(-1)
        for each in self.phases:
            if each.width > 1:
                first = each.cells[each.cells >= 0]
                places = flat[first[:, None] + np.arange(each.width) * each.stride]
                if (places[:, 0] % each.width).any() or (np.diff(places, axis=1) != 1).any():
                    return False
        return True

    def turns(self, table: Addresses) -> list[int]:
        """Return the turns that each access takes under a layout that keeps vectors whole."""
        flat = table.reshape(-1)
        return [int(self.turns_of(each, flat[each.cells], each.cells >= 0).sum()) for each in self.phases]

    def turns_of(self, phases: Phases, places: Addresses, on: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the turns of some phases of one access, of which `places` are the addresses, (phases, lanes)."""
        words = np.where(on, places * self.bits // (8 * self.word), -1)
        wide = max(1, phases.width * self.bits // (8 * self.word))
        return turns(words, wide, self.banks, distinct=phases.width * self.bits >= 8 * self.word)


def requests_of(
    shape: tuple[int, ...], accesses: Sequence[Access], bits: int, banks: int = BANKS, word: int = WORD
) -> Requests:
    """Return what accesses ask of a tile. Raises SwizzleError where one of them does not fit the tile."""
    asked = [(each.name, each.of(shape, bits)) for each in accesses]
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    split = []
    for name, each in asked:
        _check_fits(name, each, shape, bits)
        split.append((name, each, _phases(each, shape, strides, bits, banks, word)))
    homes = _Homes(prod(shape))
    contradiction = ""
    for name, each, cells in sorted(split, key=lambda part: -part[1].width):
        contradiction = contradiction or homes.join(name, cells[cells >= 0], each.width, strides[each.along], shape)
    found = tuple(
        Phases(name, cells, each.width, strides[each.along], _least(homes, cells, each.width, bits, banks, word))
        for name, each, cells in split
    )
    longest = max((each.width for _, each in asked), default=1)
    along = tuple(sorted({each.along for _, each in asked if each.width > 1}))
    return Requests(shape, bits, banks, word, found, longest, along, contradiction, _reason(found, longest, bits, word))


def _check_fits(name: str, asked: Asked, shape: tuple[int, ...], bits: int) -> None:
    size = asked.width * bits
    if size > 128 or size & (size - 1):
        mistake(
            f"{name} moves {asked.width} elements of {bits} bits a lane, {size} bits",
            "8, 16, 32, 64 or 128 bits a lane at once",
            f"width={max(1, 128 // bits)}",
        )
    ends = asked.starts[:, :, asked.along] + asked.width
    outside = np.argwhere(ends > shape[asked.along])
    if len(outside):
        instruction, lane = map(int, outside[0])
        cell = tuple(map(int, asked.starts[instruction, lane]))
        mistake(
            f"{name}, lane {lane}: the vector of {asked.width} that begins at {cell} leaves the tile",
            f"vectors that end within {shape[asked.along]} along axis {asked.along}",
            fix="begin the vector earlier, make it narrower, or enlarge the tile",
        )


def _phases(asked: Asked, shape: tuple[int, ...], strides: Sequence[int], bits: int, banks: int, word: int) -> Cells:
    """Return cells by phases, without lanes that want the same cell, and without phases in which all are off."""
    on = asked.starts[:, :, 0] >= 0
    cells = np.where(on, asked.starts @ np.array(strides, np.int64), -1)
    at_once = lanes_at_once(max(1, asked.width * bits // 8), banks, word)
    spare = -cells.shape[1] % at_once
    if spare:
        cells = np.concatenate([cells, np.full((len(cells), spare), -1, np.int64)], axis=1)
    cells = -np.sort(-cells.reshape(-1, at_once), axis=1)
    repeated = cells[:, 1:] == cells[:, :-1]
    if repeated.any():
        cells[:, 1:][repeated] = -1
        cells = -np.sort(-cells, axis=1)
    return cells[cells[:, 0] >= 0]


class _Homes:
    """Of each cell, the longest vector that it is part of (by its first cell), its place there, and the length."""

    def __init__(self, cells: int) -> None:
        self.vector = np.full(cells, -1, np.int64)
        self.place = np.zeros(cells, np.int64)
        self.length = np.ones(cells, np.int64)

    def join(self, name: str, first: Cells, width: int, stride: int, shape: tuple[int, ...]) -> str:
        """Take in vectors no longer than those before; say what contradicts, or ''."""
        members = np.unique(first)[:, None] + np.arange(width) * stride
        vector, place = self.vector[members], self.place[members]
        new = (vector < 0).all(axis=1)
        fits = (vector == vector[:, :1]).all(axis=1) & (place == place[:, :1] + np.arange(width)).all(axis=1)
        wrong = ~new & ~(fits & (place[:, 0] % width == 0))
        own = members[new]
        self.vector[own], self.place[own], self.length[own] = own[:, :1], np.arange(width), width
        clash = (self.vector[own] != own[:, :1]).any(axis=1)  # two of the same length overlap
        for some in (members[wrong], own[clash]):
            if len(some):
                cells = [tuple(map(int, np.unravel_index(cell, shape))) for cell in some[0]]
                return (
                    f"{name} moves the cells from {cells[0]} to {cells[-1]} at once, and another vector holds some of "
                    f"them at other places: no layout keeps both whole"
                )
        return ""


def _least(homes: _Homes, cells: Cells, width: int, bits: int, banks: int, word: int) -> npt.NDArray[np.int64]:
    """Return what each phase takes in every layout that keeps vectors whole, by counting words at each place."""
    least = np.full(len(cells), max(1, width * bits // (8 * word * banks)), np.int64)
    on = cells >= 0
    vector, place, length = (np.where(on, part[cells], -1) for part in (homes.vector, homes.place, homes.length))
    at = place * bits // (8 * word)
    wide = max(1, width * bits // (8 * word))
    for whole in np.unique(length[on]):
        words = int(whole) * bits // (8 * word)
        if words <= wide or words > banks:
            continue
        for first in range(0, words, wide):
            there = np.where(on & (length == whole) & (at == first), vector, -1)
            there = np.sort(there, axis=1)
            count = (there[:, :1] >= 0).sum(axis=1) + ((there[:, 1:] != there[:, :-1]) & (there[:, 1:] >= 0)).sum(
                axis=1
            )
            least = np.maximum(least, -(-count * words // banks))
    return least


def _reason(phases: Sequence[Phases], unit: int, bits: int, word: int) -> str:
    """Say what forces conflicts, '' where nothing does."""
    for each in phases:
        most = int(each.least.max(initial=1))
        if most > 1:
            size = unit * bits // 8
            phase = each.cells[int(each.least.argmax())]
            return (
                f"a phase of {each.name} wants {int((phase >= 0).sum())} words that lie at few places of the aligned "
                f"vectors of {size} bytes that hold them, in every layout: {most} turns at least"
            )
    return ""
