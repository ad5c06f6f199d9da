"""What accesses take of memory: sectors and lines of global memory, and the turns of banks of shared memory, of one
warp or of many phases at once.

Global memory moves in sectors of 32 bytes, four to a line of 128. Shared memory has 32 banks, each one word of 4
bytes wide; lanes that want the same word are served together (broadcast), lanes that want different words of one
bank wait for each other. A warp is served in phases of as many lanes as fill the banks once: all of it where a lane
moves up to 4 bytes, half a warp at a time where it moves 8, a quarter where it moves 16 (`float4`). Arrays count as
aligned to a line; what is said of shared memory holds wherever an array begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.ir.program import DType

SECTOR, LINE, WORD, BANKS = 32, 128, 4, 32

MemoryKind: TypeAlias = Literal["global", "shared", "local"]


def bytes_of(dtype: DType) -> int:
    """Return the size of an element."""
    return dtype.bits // 8


def lanes_at_once(size: int, banks: int = BANKS, word: int = WORD) -> int:
    """Return how many lanes shared memory serves in one phase, where each moves `size` bytes."""
    return max(1, banks * word // max(size, word))


class WarpAccess(Struct, frozen=True):
    """One access of one warp: which element of `array` each lane wants, -1 where a lane is off.

    Where `width` is not 1, each lane moves so many neighbouring elements at once: the aligned group that its element is
    one of. `banks` and `word` are the hardware's.
    """

    array: str
    memory: MemoryKind
    writes: bool
    shape: tuple[int, ...]
    size: int
    cells: tuple[int, ...]
    width: int = 1
    banks: int = BANKS
    word: int = WORD

    @property
    def bytes(self) -> int:
        """How many bytes a lane moves."""
        return self.size * self.width

    @property
    def wanted(self) -> list[int]:
        return [cell for cell in self.cells if cell >= 0]

    @property
    def sectors(self) -> int:
        """How many 32-byte sectors the warp touches."""
        return len({cell // self.width * self.bytes // SECTOR for cell in self.wanted})

    @property
    def lines(self) -> int:
        """How many 128-byte lines the warp touches."""
        return len({cell // self.width * self.bytes // LINE for cell in self.wanted})

    @property
    def least_sectors(self) -> int:
        """How many sectors as many different elements take where they lie side by side."""
        return -(-len({cell // self.width for cell in self.wanted}) * self.bytes // SECTOR)

    @property
    def passes(self) -> int:
        """How many turns shared memory takes: in each, every bank serves one word, to whichever lanes want it."""
        return sum(
            max((len(words) for words in self._banks(lanes).values()), default=0) for lanes in self._served_together()
        )

    @property
    def least_passes(self) -> int:
        """How many turns the access takes where no two words meet in a bank."""
        return sum(1 for lanes in self._served_together() if any(cell >= 0 for cell in lanes))

    @property
    def clashes(self) -> frozenset[int]:
        """The banks of shared memory at which lanes wait for each other."""
        if self.memory != "shared":
            return frozenset()
        banks = (bank for lanes in self._served_together() for bank in self._banks(lanes).items())
        return frozenset(bank for bank, words in banks if len(words) > 1)

    def words(self, cell: int) -> range:
        """Return the words of memory that a lane moves which wants an element."""
        first = cell // self.width * self.bytes // self.word
        return range(first, first + max(1, self.bytes // self.word))

    def _served_together(self) -> list[Sequence[int]]:
        lanes = lanes_at_once(self.bytes, self.banks, self.word)
        return [self.cells[start : start + lanes] for start in range(0, len(self.cells), lanes)]

    def _banks(self, cells: Sequence[int]) -> dict[int, set[int]]:
        banks: dict[int, set[int]] = {}
        for word in {word for cell in cells if cell >= 0 for word in self.words(cell)}:
            banks.setdefault(word % self.banks, set()).add(word)
        return banks

    def summary(self) -> str:
        """Say in one line what the access costs."""
        at_once = f", {self.bytes} bytes a lane at once" if self.width > 1 else ""
        if not self.wanted:
            return "no lane is on"
        if self.memory == "local":
            return "registers"
        if self.memory == "global":
            cost = f"{_count(self.sectors, 'sector')} of 32 bytes in {_count(self.lines, 'line')} of 128"
            least = self.least_sectors
            best = "as few as possible" if self.sectors == least else f"at best {least}"
            return f"{cost}: {best}{at_once}"
        if self.passes == self.least_passes:
            most = max(Counter(cell // self.width for cell in self.wanted).values())
            return "no bank conflict" + (f", {most} lanes share a word" if most > 1 else "") + at_once
        return f"bank conflict: {self.passes} turns instead of {self.least_passes}{at_once}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


Words = npt.NDArray[np.int64]


def turns(words: Words, wide: int = 1, banks: int = BANKS, *, distinct: bool = False) -> npt.NDArray[np.int64]:
    """Return the turns of each phase, of shape (phases,).

    `words`, of shape (phases, lanes), is where each lane's vector of `wide` words begins, a multiple of `wide`; -1
    where a lane is off. `distinct` promises that no two lanes of a phase want the same vector, which saves a sort.
    """
    vectors = words // wide
    if not distinct:
        vectors = np.sort(vectors, axis=1)
        vectors[:, 1:][vectors[:, 1:] == vectors[:, :-1]] = -1
    groups = max(1, banks // wide)
    keys: npt.NDArray[Any] = np.arange(len(vectors))[:, None] * groups + vectors % groups
    counts = np.bincount(keys[vectors >= 0], minlength=len(vectors) * groups)
    most: npt.NDArray[np.int64] = counts.reshape(len(vectors), groups).max(axis=1, initial=0)
    return most * max(1, wide // banks)
