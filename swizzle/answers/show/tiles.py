"""In which bank of shared memory each element of an input lies: the tile that a layout makes, beside the plain one.

An element is drawn at its own row and column, its colour is the bank. What a warp wants at once should be colourful.
"""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.answers.show.colours import CHROMA, LIGHT, oklch
from swizzle.answers.show.rows import BlockTrace
from symbolic.ir.index import unflattened
from symbolic.ir.program import DeclareArray, Parameter
from symbolic.ir.walk import statements
from symbolic.machine.accesses import BANKS, WORD, bytes_of

MOST = 64
"""Rows and columns that are drawn."""
PER_ROW = 32
"""Elements of a row of an input of one dimension."""
Banks = npt.NDArray[np.int64]


class BankTile(Struct, frozen=True):
    """Where a shared array keeps a rectangle of an input's elements: the bank of each, -1 where it has none.

    `plain` are the banks that row-major order would give them.
    """

    array: str
    of: str
    first: tuple[int, int]
    banks: Banks
    plain: Banks

    @property
    def title(self) -> str:
        return f"{self.array}: the bank of each element of {self.of}"


def bank_tiles(block: BlockTrace) -> tuple[BankTile, ...]:
    """Return the tiles of all shared arrays that take elements of inputs as they are, in several rows."""
    parameters = {p.name: p for p in block.program.parameters if p.shape}
    shared = {
        each.name: each
        for each in statements(block.program.body)
        if isinstance(each, DeclareArray) and each.memory == "shared"
    }
    found = []
    for name, declared in shared.items():
        kept: dict[str, dict[int, int]] = {}
        for row in block.rows:
            if row.access is None or not row.access.writes or row.access.array != name:
                continue
            for cell, term in zip(row.access.cells, row.terms.tolist(), strict=True):
                op, arguments = block.terms.nodes[max(term, 0)]
                if cell >= 0 and op == "atom" and arguments[0] in parameters:
                    kept.setdefault(arguments[0], {}).setdefault(arguments[1], cell)
        if kept:
            of = max(kept, key=lambda one: len(kept[one]))
            tile = _tile(declared, parameters[of], kept[of])
            found += [tile] if tile is not None else []
    return tuple(found)


def _tile(declared: DeclareArray, of: Parameter, kept: dict[int, int]) -> BankTile | None:
    shape = of.shape if len(of.shape) > 1 else (-(-prod(of.shape) // PER_ROW), PER_ROW)
    at = np.array([unflattened((prod(shape[:-1]), shape[-1]), index) for index in kept], np.int64)
    first, last = at.min(axis=0), at.max(axis=0)
    height, width = (last - first + 1).tolist()
    if height < 2 or width < 2:
        return None
    size = bytes_of(declared.dtype)
    banks = np.full((height, width), -1, np.int64)
    rows, columns = (at - first).T
    banks[rows, columns] = np.array(list(kept.values()), np.int64) * size // WORD % BANKS
    plain = np.where(banks < 0, -1, (np.arange(height * width) * size // WORD % BANKS).reshape(height, width))
    row, column = first.tolist()
    return BankTile(declared.name, of.name, (row, column), banks[:MOST, :MOST], plain[:MOST, :MOST])


def colour_of(bank: int) -> str:
    """Return the colour of a bank."""
    return oklch(LIGHT, CHROMA, bank * 360 / BANKS)
