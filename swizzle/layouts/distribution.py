"""How a tile is held by threads: which cell lies in which register of which lane of which warp.

A distribution of bits is written with the lowest bit first: "c0 r3 | c1 c2 r0 r1 r2" is what mma.m16n8 accumulates. Two
bits of the register's number are bit 0 of the column and bit 3 of the row, the five bits of the lane are the rest. A
third part is for the warp.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.layouts.access import Access, is_int, mistake
from swizzle.layouts.layout import svg, with_text
from symbolic.ir.program import LANES

MOST_SLOTS = 256
Cells = npt.NDArray[np.int64]
_BIT = re.compile(r"([a-z]+)(\d*)")


class Distribution(Struct, frozen=True):
    """`cells[warp, lane, slot]` is the number of a cell, row-major in a tile of `shape`; -1 where nothing is held.

    A slot is a place for one element in a lane's registers: registers hold as many slots as elements fit into 32 bits.
    """

    shape: tuple[int, ...]
    cells: Cells
    name: str

    @property
    def slots(self) -> int:
        """How many elements a lane holds."""
        return int(self.cells.shape[2])

    @property
    def warps(self) -> int:
        return int(self.cells.shape[0])

    def cell(self, cell: int) -> tuple[int, ...]:
        """Return the coordinates of a cell by its number."""
        return tuple(map(int, np.unravel_index(cell, self.shape)))

    def within(self, shape: tuple[int, ...]) -> Distribution:
        """Return the same cells of a tile that is as large or larger."""
        if self.shape == shape:
            return self
        at = np.unravel_index(np.maximum(self.cells, 0), self.shape)
        return Distribution(shape, np.where(self.cells < 0, -1, np.ravel_multi_index(at, shape)), self.name)

    def holders(self) -> Cells:
        """Return the first thread that holds each cell, -1 for none: an array of the tile's shape."""
        held = self.cells.reshape(-1, self.slots)
        found = np.full(prod(self.shape), -1, np.int64)
        for thread in reversed(range(len(held))):
            found[held[thread][held[thread] >= 0]] = thread
        return found.reshape(self.shape)

    def __repr__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        return with_text(self.name, svg(self.holders(), f"the lanes of {self.name}", LANES))

    def __eq__(self, other: object) -> bool:
        """Whether every slot of every lane holds the same cell; names do not matter."""
        if not isinstance(other, Distribution):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self.cells, other.cells)

    def __hash__(self) -> int:
        return hash((self.shape, self.cells.tobytes()))


def of_bits(text: str) -> Distribution:
    """Return the distribution that "registers | lanes" or "registers | lanes | warps" says, in bits, lowest first.

    A bit is a letter for the axis and a number: r3 is bit 3 of axis r. Axes stand in the reverse order of the alphabet,
    so that r comes before c, y before x. Raises SwizzleError at the caller's line.
    """
    example = '"c0 r3 | c1 c2 r0 r1 r2": bits of the register, of the lane (five), and of the warp'
    parts = [part.split() for part in text.split("|")]
    bits = [bit for part in parts for bit in part]
    if not 2 <= len(parts) <= 3 or len(parts[1]) != 5:
        mistake(f"the distribution is {text!r}", example, fix=f"write it as in {example}")
    matches = [_BIT.fullmatch(bit) for bit in bits]
    if wrong := [bit for bit, match in zip(bits, matches, strict=True) if match is None]:
        mistake(f"{wrong[0]!r} in {text!r} is no bit of an axis", "a letter and a number", "c0")
    named = [(match[1], int(match[2] or 0)) for match in matches if match]
    if len(set(named)) < len(named):
        twice = next(bit for bit, name in zip(bits, named, strict=True) if named.count(name) > 1)
        mistake(f"{twice!r} stands twice in {text!r}", "every bit of the tile once", fix="leave out one of them")
    axes = sorted({axis for axis, _ in named}, reverse=True)
    heights = [sum(axis == each for each, _ in named) for axis in axes]
    for axis, height in zip(axes, heights, strict=True):
        if missing := [bit for bit in range(height) if (axis, bit) not in named]:
            mistake(
                f"{text!r} has {height} bits of {axis}, without {axis}{missing[0]}",
                "bits from 0 on, none left out",
                fix=f"add {axis}{missing[0]}, or number the bits anew",
            )
    shape = tuple(1 << height for height in heights)
    if len(parts[0]) > MOST_SLOTS.bit_length() - 1:
        mistake(
            f"{text!r} has {1 << len(parts[0])} elements a lane",
            f"at most {MOST_SLOTS}",
            fix="give more of the bits to lanes and warps",
        )
    sizes = [1 << len(part) for part in (parts[2] if len(parts) == 3 else [], parts[1], parts[0])]
    position = np.arange(prod(sizes), dtype=np.int64)
    cells = np.zeros_like(position)
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    for place, (axis_name, bit) in enumerate(named):
        cells += (position >> place & 1) * (strides[axes.index(axis_name)] << bit)
    return Distribution(shape, cells.reshape(sizes), text)


def axes_of(text: str) -> list[str]:
    """Return the letters of the axes that a distribution in bits names."""
    return sorted({match[1] for bit in text.replace("|", " ").split() if (match := _BIT.fullmatch(bit))})


def distribution(
    cell: Callable[..., Any] | str,
    *,
    registers: int = 1,
    warps: int = 1,
    shape: tuple[int, ...] | None = None,
    name: str = "",
) -> Distribution:
    """Return how threads hold a tile: by a function of (register, lane) or (register, lane, warp), or bits as text.

    The function returns the cell that a lane has in its `register`-th element, as an int or a tuple, or None for
    nothing. `shape` is the tile's; without it, it is as large as the cells that are held say. Raises SwizzleError at
    the caller's line.
    """
    if isinstance(cell, str):
        return of_bits(cell)
    if not callable(cell):
        mistake(f"a distribution is {cell!r}", "a function of register and lane, or bits", "of lane*3 + register")
    own = name or getattr(cell, "__name__", "distribution").replace("<lambda>", "lambda")
    for what, value, most in (("registers", registers, MOST_SLOTS), ("warps", warps, 32)):
        if not is_int(value) or not 1 <= value <= most:
            mistake(f"{own} has {value!r} {what}", f"an int from 1 to {most}", fix="write a number in this range")
    names = "register, lane" if warps == 1 else "register, lane, warp"
    try:
        inspect.signature(cell).bind(*names.split(", "))
    except TypeError as error:
        mistake(
            f"{own} cannot be called with ({names}): {error}",
            f"a function of {names}",
            fix=f"write `def {own}({names}):`",
        )
    found: list[tuple[int, ...] | None] = []
    for warp in range(warps):
        for lane in range(LANES):
            for register in range(registers):
                one = cell(register, lane) if warps == 1 else cell(register, lane, warp)
                found.append(_coordinates(one, f"{own} at register {register}, lane {lane}, warp {warp}"))
    held = [each for each in found if each is not None]
    axes = {len(each) for each in held}
    if len(axes) != 1:
        mistake(
            f"{own} gives cells of {' and '.join(map(str, sorted(axes))) or 'no'} axes",
            "cells of one tile",
            fix="return as many indices for every element",
        )
    sizes = shape or tuple(1 + max(each[axis] for each in held) for axis in range(axes.pop()))
    for each in held:
        if len(each) != len(sizes) or not all(0 <= at < size for at, size in zip(each, sizes, strict=True)):
            mistake(
                f"{own} gives the cell {each}, which is outside of the tile",
                f"cells of {tuple(sizes)}",
                fix="return indices from 0, or give the tile's shape",
            )
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    flat = [-1 if each is None else sum(a * s for a, s in zip(each, strides, strict=True)) for each in found]
    return Distribution(tuple(sizes), np.array(flat, np.int64).reshape(warps, LANES, registers), own)


def _coordinates(found: Any, where: str) -> tuple[int, ...] | None:
    one = (found,) if is_int(found) else found
    if one is None:
        return None
    if not isinstance(one, tuple | list) or not one or not all(is_int(each) and each >= 0 for each in one):
        mistake(
            f"{where} gives {found!r}",
            "a cell, an int or a tuple of ints from 0, or None where nothing is held",
            fix="return the cell's indices, or None",
        )
    return tuple(int(each) for each in one)


def held_by(access: Access, shape: tuple[int, ...], bits: int) -> Distribution:
    """Return what lanes hold of a tile after an access has loaded it: its instructions' vectors in order."""
    if access.holds is not None:
        coordinates = access.holds(shape, bits)
    else:
        asked = access.of(shape, bits)
        coordinates = np.repeat(asked.starts[:, None], asked.width, axis=1)
        off = asked.starts[:, None, :, :1] < 0
        coordinates[..., asked.along] += np.arange(asked.width)[None, :, None]
        coordinates = np.where(off, -1, coordinates).reshape(-1, asked.starts.shape[1], len(shape))
    slots, lanes = coordinates.shape[:2]
    if slots > MOST_SLOTS:
        mistake(
            f"{access.name} over a tile of {shape} has {slots} elements a lane",
            f"at most {MOST_SLOTS}",
            fix="use more lanes or warps, or a smaller tile",
        )
    strides = np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)
    cells = np.full((1, LANES, slots), -1, np.int64)
    cells[0, :lanes] = np.where(coordinates[..., 0] < 0, -1, coordinates @ strides).T
    return Distribution(shape, cells, access.name)
