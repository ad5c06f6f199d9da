"""What would mend an array: for each family of layouts the best one, with the turns that all its accesses take there.

The search is that of `swizzle.layouts`, over what a run asked. An element stays whole, and so does every vector that
the kernel moves at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from swizzle.layouts.access import Access, Asked
from swizzle.layouts.layout import Layout, agrees
from swizzle.layouts.requests import Requests, requests_of
from swizzle.layouts.search import FAMILIES, Family, search
from swizzle.layouts.steps import FlipBits, Listed, Pad, Rotate, Step
from swizzle.strangers.doctor.accesses import LineAccess, Offsets, distinct, passes_of
from symbolic.errors import SwizzleError
from symbolic.machine.accesses import WORD

_MOST_PHASES = 1 << 12


class Tile(Struct, frozen=True):
    """A shared array as the program has it: its extents, and the bytes of an element; or, where that is not known, all
    of it as elements of the width of the narrowest access. `fixed` says that it cannot grow."""

    shape: tuple[int, ...]
    element: int
    fixed: bool = False

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.element


class Mend(Struct, frozen=True):
    """A layout that takes fewer turns than the array as it is; `bytes` is what it takes more, a table included.

    `least` says that no layout takes fewer turns; `waits` is how many turns of constant memory its table takes.
    `apart`: what was moved as a vector is moved element by element under it.
    """

    kind: Family
    layout: Layout
    passes: int
    bytes: int
    least: bool
    waits: int = 0
    apart: bool = False

    @property
    def operations(self) -> int:
        return self.layout.instructions

    @property
    def cost(self) -> tuple[int, int, int]:
        """What mends are ordered by."""
        return self.passes, self.bytes, self.operations


class Asking(Struct, frozen=True):
    """What the accesses of one array ask of a tile; `parts` is how many cells of the requests make one element.

    `requests` is None where no layout search fits, and `why` says so.
    """

    tile: Tile
    accesses: tuple[LineAccess, ...]
    parts: int
    requests: Requests | None
    why: str = ""

    def least_of(self, access: LineAccess) -> int:
        """Return the turns that an access takes at least, in every layout that keeps elements and vectors whole."""
        phases = access.phases()
        if self.requests is None:
            return len(phases)
        cell = self.tile.element // self.parts
        floors = {
            (each.width, tuple(row[row >= 0].tolist())): int(least)
            for each in self.requests.phases
            for row, least in zip(each.cells, each.least, strict=True)
        }
        rows, times = np.unique(_compact(phases // cell), axis=0, return_counts=True)
        width = max(1, access.size // cell)
        found = (floors[width, tuple(row[row >= 0].tolist())] for row in rows)
        return sum(int(number) * floor for number, floor in zip(times, found, strict=True))


def asking(tile: Tile, accesses: Sequence[LineAccess]) -> Asking:
    """Return what accesses ask of an array."""
    narrow = gcd(*(each.size for each in accesses))
    cell = min(narrow, tile.element)
    nothing = Asking(tile, tuple(accesses), 1, None)
    if tile.element % cell or any(each.size % cell for each in accesses):
        return replace(nothing, why=f"elements of {tile.element} bytes, moved by {narrow}")
    parts = tile.element // cell
    if parts & (parts - 1) or tile.element > 16:
        return replace(nothing, why=f"elements of {tile.element} bytes, which no access moves at once")
    shape = (*tile.shape, parts) if parts > 1 else tile.shape
    if len(shape) > 4:
        return replace(nothing, why=f"an array with {len(tile.shape)} axes")
    some = []
    for width in sorted({each.size // cell for each in accesses}):
        rows = [_compact(each.phases() // cell) for each in accesses if each.size == width * cell]
        starts = np.concatenate(rows)
        first = starts[starts >= 0]
        if (first % shape[-1] + width > shape[-1]).any() or (first % width).any():
            return replace(nothing, why="a vector that goes beyond a row")
        some.append(_access(_weighted(starts), shape, width))
    if parts > 1:
        some.append(_access(np.arange(0, prod(shape), parts)[:, None], shape, parts))
    try:
        requests = requests_of(shape, some, 8 * cell)
    except SwizzleError as error:
        return replace(nothing, why=error.found)
    if requests.contradiction:
        return replace(nothing, why=requests.contradiction)
    return Asking(tile, tuple(accesses), parts, requests)


def _compact(cells: Offsets) -> Offsets:
    """Return rows of cells as requests have them: the largest first, each once, then -1 for lanes that are off."""
    found = -np.sort(-np.maximum(cells, -1), axis=1)
    found[:, 1:][found[:, 1:] == found[:, :-1]] = -1
    return -np.sort(-found, axis=1)


def _weighted(rows: Offsets) -> Offsets:
    """Return each row as often as it counts: once, if all are alike or there are very many."""
    rows, times = np.unique(rows, axis=0, return_counts=True)
    times = times // np.gcd.reduce(times)
    found: Offsets = rows if times.sum() > _MOST_PHASES else np.repeat(rows, times, axis=0)
    return found


def _access(cells: Offsets, shape: tuple[int, ...], width: int) -> Access:
    starts = np.stack(
        [np.where(cells >= 0, part, -1) for part in np.unravel_index(np.maximum(cells, 0), shape)], axis=2
    )
    return Access(f"accesses of {width}", lambda *_: Asked(starts, width, len(shape) - 1))


def mends(asked: Asking) -> list[Mend]:
    """Return the best layout of each family that takes fewer turns than the array as it is; the best mend first."""
    if asked.requests is None:
        return []
    now = sum(each.passes() for each in asked.accesses)
    least = sum(asked.least_of(each) for each in asked.accesses)
    at_most = asked.tile.bytes if asked.tile.fixed else None
    found: list[Mend] = []
    for family in FAMILIES if now > least else ():
        for row_major in (True, False):  # other orders of the axes, where the program's own does not reach the least
            answer = search(asked.requests, (family,), at_most, row_major=row_major)
            if answer.layout is None or not (answer.layout.steps or (family == "xor" and not row_major)):
                continue
            layout = _of_elements(answer.layout, asked.parts)
            if layout is None or not agrees(layout):
                continue
            passes = sum(passes_under(layout, asked.tile, each) for each in asked.accesses)
            if passes < min([now, *(each.passes for each in found if each.kind == family)]):
                found = [each for each in found if each.kind != family]
                more = _taken(layout) - asked.tile.bytes
                found.append(Mend(family, layout, passes, more, passes == least, _waits(layout, asked)))
            if passes == least or len(asked.tile.shape) == 1:
                break
    return sorted(found, key=lambda each: each.cost)


def mends_apart(asked: Asking) -> list[Mend]:
    """Return the best layouts where no vector of elements need stay whole: a compiler that has joined loads of elements
    can leave them as they are in the text. None, where there are no vectors, or where none takes fewer turns."""
    size = asked.tile.element
    if asked.requests is None or not any(each.size > size for each in asked.accesses):
        return []
    now = sum(each.passes() for each in asked.accesses)
    accesses = []
    for each in asked.accesses:
        parts = np.arange(max(1, each.size // size)) * size
        offsets = np.where(each.offsets[:, None] >= 0, each.offsets[:, None] + parts[:, None], -1)
        accesses.append(replace(each, size=min(each.size, size), offsets=offsets.reshape(-1, each.offsets.shape[1])))
    found = [each for each in mends(asking(asked.tile, accesses)) if each.passes < now and each.kind != "table"]
    return [replace(each, apart=True, least=False) for each in found]


def _waits(layout: Layout, asked: Asking) -> int:
    """Return how many turns a table takes itself: constant memory serves one word of a warp after the other."""
    entry = layout.table_bytes // prod(layout.shape)
    if not entry:
        return 0
    rows = [each.offsets for each in asked.accesses]
    return sum(distinct(np.where(row >= 0, row // asked.tile.element * entry // WORD, -1)) for row in rows)


def passes_under(layout: Layout, tile: Tile, access: LineAccess) -> int:
    """Return the turns that an access takes under a layout."""
    return passes_of(moved(layout.table(), tile, access.phases()), access.size)


def moved(table: npt.NDArray[np.int64], tile: Tile, offsets: Offsets) -> Offsets:
    """Return where bytes of an array lie under a layout of its elements; -1 stays."""
    places = table.reshape(-1)[np.maximum(offsets, 0) // tile.element]
    found: Offsets = np.where(offsets >= 0, places * tile.element + offsets % tile.element, -1)
    return found


def is_pitch(layout: Layout) -> bool:
    """Say whether a layout is the declaration with longer rows, and nothing else."""
    steps = layout.steps
    return (
        len(layout.shape) > 1
        and len(steps) == 1
        and isinstance(steps[0], Pad)
        and steps[0].every == layout.shape[-1]
        and layout.order == tuple(range(len(layout.shape)))
    )


def elements_of(layout: Layout) -> int:
    """Return how many elements an array of a layout is declared with."""
    if is_pitch(layout):
        (pad,) = layout.steps
        assert isinstance(pad, Pad)
        return prod(layout.shape[:-1]) * (pad.every + pad.by)
    return int(layout.table().max()) + 1


def _taken(layout: Layout) -> int:
    return elements_of(layout) * layout.bits // 8 + layout.table_bytes


def _of_elements(layout: Layout, parts: int) -> Layout | None:
    """Return a layout of cells as one of elements, `parts` cells each, which it keeps whole."""
    if parts == 1:
        return layout
    assert layout.shape[-1] == parts
    if layout.order[-1] != len(layout.shape) - 1:
        return None
    steps: list[Step] = []
    low = parts.bit_length() - 1
    for step in layout.steps:
        match step:
            case Pad(every, by) if every % parts == 0 and by % parts == 0:
                steps.append(Pad(every // parts, by // parts))
            case Rotate(n, by, per, unit) if n % parts == 0 and by % parts == 0 and unit % parts == 0:
                steps.append(Rotate(n // parts, by // parts, per, unit // parts))
            case FlipBits(columns) if not any(columns[:low]) and not any(c & (parts - 1) for c in columns):
                steps.append(FlipBits(tuple(column >> low for column in columns[low:])))
            case Listed(values):
                steps.append(Listed(tuple(value // parts for value in values[::parts])))
            case _:
                return None
    found = Layout(layout.shape[:-1], layout.bits * parts, layout.order[:-1], tuple(steps))
    same = (layout.table()[..., 0] == found.table() * parts).all()
    return found if same else None
