"""The proof of a mend: the patched text, compiled and run again, is the kernel that it was, with its cells renamed.

Nothing of how the patch was made is trusted. For the launch that was given, and for all values of the inputs:

- every access of every thread is the one that it was, in the same order of barriers, at the cell that the layout gives;
  no two cells share a place, and each vector is whole, at a multiple of its size, or moved element by element;
- the outputs come of the same instructions on the same operands, so they are the same to the bit;
- there is no race, and no access out of bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cuda_out.ptx.columns import NEVER
from cuda_out.ptx.running.memory import Seen
from swizzle.strangers.doctor.accesses import not_run
from swizzle.strangers.doctor.mends import Mend, Tile, moved
from swizzle.strangers.reading.run import Ran

Keys = npt.NDArray[np.int64]


def why_not(before: Ran, after: Ran, mended: Mapping[str, tuple[Tile, Mend]]) -> str:
    """Return why a patched kernel is not shown to be the one that it was, '' where it is.

    `mended` gives the tile and the mend of each array that was mended, by its name in PTX.
    """
    if after.races:
        return f"the patched kernel has a {after.races[0]}"
    for name in sorted({each.region for each in before.seen if each.space == "shared"}):
        tile, mend = mended.get(name, (None, None))
        if tile is not None and mend is not None:
            table = mend.layout.table()
            if len(np.unique(table)) != table.size or table.min() < 0:
                return f"two cells of {name} share a place"
            if _torn_where_not_run(after, tile, mend):
                lines = [str(line) for line, size in not_run(before).items() if size > tile.element]
                where = f" (line {', '.join(lines)})" if lines else ""
                return f"a vector is moved where no thread of this launch comes{where}, and the mend takes some apart"
        if why := _accesses_differ(name, before, after, tile, mend):
            return why
    return _outputs_differ(before, after)


def _accesses_differ(name: str, before: Ran, after: Ran, tile: Tile | None, mend: Mend | None) -> str:
    """Compare who touched which bytes after how many barriers, as sets: how often is the compiler's business."""
    old_seen = [each for each in before.seen if each.region == name]
    new_seen = [each for each in after.seen if each.region == name]
    if not new_seen:
        return f"{name} is not accessed any more"
    sizes = [each.size for each in (*old_seen, *new_seen)]
    unit = int(np.gcd.reduce([*sizes, *([tile.element] if tile else [])]))
    old, fresh = (_touched(some, unit) for some in (old_seen, new_seen))
    if tile is not None and mend is not None:
        if not mend.apart and (whole := _torn(old_seen, tile, mend)) is not None:
            return whole
        bytes_ = old[-1] * unit
        if bytes_.max() >= tile.bytes:
            return f"{name} is accessed beyond its extents"
        old = (*old[:-1], moved(mend.layout.table(), tile, bytes_) // unit)
    limits = [1 + max(int(a.max()), int(b.max())) for a, b in zip(old, fresh, strict=True)]
    mine, theirs = (np.unique(np.ravel_multi_index(keys, limits)) for keys in (old, fresh))
    if len(mine) == len(theirs) and (mine == theirs).all():
        return ""
    wrong = np.setdiff1d(theirs, mine)
    if not len(wrong):
        return f"the patched kernel leaves accesses of {name} out"
    thread, _, _, writes, piece = (int(part) for part in np.unravel_index(wrong[0], limits))
    does, who = "writes" if writes else "reads", after.machine.shape.describe(thread)
    return f"{who} {does} byte {piece * unit} of {name}, which is not where the mend puts a cell"


def _torn(seen: list[Seen], tile: Tile, mend: Mend) -> str | None:
    """Say which access would be torn apart by a layout, None for none."""
    table = mend.layout.table()
    for each in seen:
        if each.size > tile.element:
            count = each.size // tile.element
            places = moved(table, tile, each.offsets[:, None] + np.arange(count) * tile.element)
            if (np.diff(places, axis=1) != tile.element).any() or (places[:, 0] % each.size).any():
                return f"{each.instruction} moves {each.size} bytes at once, which the mend takes apart"
    return None


def _torn_where_not_run(after: Ran, tile: Tile, mend: Mend) -> bool:
    """Say whether a layout takes vectors apart that are as large as one in code that was not run.

    That code may move them by a cast: the text as it was patched is asked, as there the compiler joins fewer elements.
    """
    table = mend.layout.table()
    for size in not_run(after).values():
        if size > tile.element:
            begins = np.arange(0, tile.bytes - size + 1, size)
            pieces = begins[:, None] + np.arange(0, size, tile.element)
            places = moved(table, tile, pieces)
            if size % tile.element or (np.diff(places, axis=1) != tile.element).any() or (places[:, 0] % size).any():
                return True
    return False


def _touched(seen: list[Seen], unit: int) -> tuple[Keys, ...]:
    """Return for each piece of `unit` bytes that was touched: thread, barriers before of its block and of its warp,
    whether it was written, and which piece it is."""
    rows = []
    for each in seen:
        pieces = each.size // unit
        thread, block, warp = (np.repeat(part, pieces) for part in (each.threads, each.block_epoch, each.warp_epoch))
        piece = (each.offsets[:, None] // unit + np.arange(pieces)).reshape(-1)
        rows.append(np.stack([thread, block, warp, np.full(len(piece), each.writes, np.int64), piece]))
    found = np.concatenate(rows, axis=1)
    return tuple(found)


def unwritten(ran: Ran) -> str:
    """Return which output depends on what was never written, '' for none."""
    for name, region in ran.machine.arrays.items():
        if region.writable and len(never := np.flatnonzero(region.terms < NEVER)):
            return f"{name}[{never[0]}] depends on {ran.machine.memory.account(int(region.terms[never[0]]))}"
    return ""


def _outputs_differ(before: Ran, after: Ran) -> str:
    """Return which output is computed in another way, '' where all are the same.

    Floats, and bits that may be some, must come of the same instructions on the same operands; of integers it is enough
    that they are equal.
    """
    if why := unwritten(before) or unwritten(after):
        return why
    notes = before.machine.deferred
    for name, old in before.machine.arrays.items():
        if not old.writable:
            continue
        new = after.machine.arrays[name]
        for ran, mine, other in ((before, old, new), (after, new, old)):
            if mine.cell > other.cell:
                ran.machine.split_cells(mine, other.cell)
        cells = np.flatnonzero((old.terms != new.terms) | (old.bits != new.bits))
        terms, others = (notes.computed_alike(each.terms[cells]) for each in (old, new))
        cells = cells[(terms != others) | (old.bits[cells] != new.bits[cells])]
        if not len(cells):
            continue
        if notes.normal.kinds[name][0] not in "us":  # to write both out may take long, and says no more
            return f"{name}[{cells[0]}] is not computed as it was"
        (bits, terms), (other_bits, others) = (
            notes.written_out(each.bits[cells], each.terms[cells]) for each in (old, new)
        )
        unequal = np.flatnonzero((bits != other_bits) | (terms != others))
        if len(unequal):
            at = int(unequal[0])
            was, is_now = (
                notes.normal.terms.show(int(some[at]))[:120] if some[at] > 0 else str(numbers[at])
                for numbers, some in ((bits, terms), (other_bits, others))
            )
            return f"{name}[{cells[at]}] is {is_now}, and was {was}"
    return ""
