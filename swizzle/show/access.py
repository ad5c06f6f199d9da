"""What one warp's access costs in memory: sectors and lines of global memory, banks of shared memory.

Global memory moves in sectors of 32 bytes, four to a line of 128. Shared memory has 32 banks, each one word of 4
bytes wide; lanes that want the same word are served together (broadcast), lanes that want different words of one
bank wait for each other. Elements of 8 bytes are served for half a warp at a time. Arrays count as aligned to a
line; what is said of shared memory holds wherever an array begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from symbolic.ir.program import DType

SECTOR, LINE, WORD, BANKS = 32, 128, 4, 32

Memory: TypeAlias = Literal["global", "shared", "local"]


def bytes_of(dtype: DType) -> int:
    """Return the size of an element."""
    return int(dtype.value[1:]) // 8


@dataclass(frozen=True, slots=True)
class Access:
    """One access of one warp: which element of `array` each lane wants, -1 where a lane is off."""

    array: str
    memory: Memory
    writes: bool
    shape: tuple[int, ...]
    size: int
    cells: tuple[int, ...]

    @property
    def wanted(self) -> list[int]:
        return [cell for cell in self.cells if cell >= 0]

    @property
    def sectors(self) -> int:
        """How many 32-byte sectors the warp touches."""
        return len({cell * self.size // SECTOR for cell in self.wanted})

    @property
    def lines(self) -> int:
        """How many 128-byte lines the warp touches."""
        return len({cell * self.size // LINE for cell in self.wanted})

    @property
    def least_sectors(self) -> int:
        """How many sectors as many different elements take where they lie side by side."""
        return -(-len(set(self.wanted)) * self.size // SECTOR)

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

    def _served_together(self) -> list[Sequence[int]]:
        half = BANKS * WORD // self.size
        if self.size <= WORD:
            return [self.cells]
        return [self.cells[start : start + half] for start in range(0, len(self.cells), half)]

    def _banks(self, cells: Sequence[int]) -> dict[int, set[int]]:
        words = {c * self.size // WORD + part for c in cells if c >= 0 for part in range(max(1, self.size // WORD))}
        banks: dict[int, set[int]] = {}
        for word in words:
            banks.setdefault(word % BANKS, set()).add(word)
        return banks

    def summary(self) -> str:
        """Say in one line what the access costs."""
        if not self.wanted:
            return "no lane is on"
        if self.memory == "local":
            return "registers"
        if self.memory == "global":
            cost = f"{_count(self.sectors, 'sector')} of 32 bytes in {_count(self.lines, 'line')} of 128"
            least = self.least_sectors
            best = "as few as possible" if self.sectors == least else f"{least} would do side by side"
            return f"{cost}: {best}"
        if self.passes == self.least_passes:
            most = max(Counter(self.wanted).values())
            return "no bank conflict" + (f", {most} lanes share a word" if most > 1 else "")
        return f"bank conflict: {self.passes} turns instead of {self.least_passes}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
