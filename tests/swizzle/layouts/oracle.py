"""What the tests compare with: one lane after the other, by `WarpAccess`; and every layout of a small tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from swizzle.layouts import Access
from symbolic.machine.accesses import WarpAccess

Table = npt.NDArray[np.int64]


def turns(table: Table, accesses: Sequence[Access], bits: int, banks: int = 32, word: int = 4) -> int:
    """Return the turns of accesses under a table of addresses; asserts that vectors are whole."""
    return sum(access.passes for each in accesses for access in warps(table, each, bits, banks, word))


def warps(table: Table, access: Access, bits: int, banks: int = 32, word: int = 4) -> Iterator[WarpAccess]:
    """Yield each instruction of an access as the machine sees it."""
    asked = access.of(table.shape, bits)
    for instruction in asked.starts.tolist():
        addresses = []
        for cell in instruction:
            if cell[0] < 0:
                addresses.append(-1)
                continue
            vector = [tuple(x + j * (a == asked.along) for a, x in enumerate(cell)) for j in range(asked.width)]
            places = [int(table[each]) for each in vector]
            assert places == list(range(places[0], places[0] + asked.width)) and places[0] % asked.width == 0
            addresses.append(places[0])
        yield WarpAccess("x", "shared", False, table.shape, bits // 8, tuple(addresses), asked.width, banks, word)


def every_bank(cells: int, banks: int) -> Iterator[list[int]]:
    """Yield every way to give cells banks, up to the banks' names."""

    def below(chosen: list[int], used: int) -> Iterator[list[int]]:
        if len(chosen) == cells:
            yield chosen
            return
        for bank in range(min(used + 1, banks)):
            yield from below([*chosen, bank], max(used, bank + 1))

    yield from below([], 0)
