"""How a block of threads does a scan of one size: who works on which element, and what warps ask of shared memory.

A step whose elements can be counted is done by threads without gaps (`dense.py`), so that half as many threads as
elements are enough; any other step by a thread for each element.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.layouts import Access
from swizzle.layouts.access import Asked
from swizzle.scans.algorithm import Algorithm, ScanStep, sizes
from swizzle.scans.dense import DenseStep, dense, elements
from swizzle.scans.mistakes import mistake
from swizzle.scans.text import shown
from symbolic.expressions.columns import on_columns
from symbolic.ir.program import LANES

LARGEST: Final = 1024
"""Threads of a block."""
NONE: Final = -1


class BlockScan(Struct, frozen=True):
    """A scan at a size, with the threads that do it."""

    algorithm: Algorithm
    size: int
    threads: int
    together: bool
    """Whether elements may be read in a step in which they change, so that all are read first."""
    steps: tuple[tuple[DenseStep | None, ...], ...]

    def accesses(self) -> list[Access]:
        """Return what warps ask of the shared array: one access for what is taken and one for each element's own.

        An element's own is read and written, so it counts twice.
        """
        rows = [np.arange(at, at + self.threads) for at in range(0, self.size, self.threads)]
        found = [access_of_rows("load and store", rows * 2)]
        for loop, own in zip(self.algorithm.loops, self.steps, strict=True):
            for step, form in zip(loop.steps, own, strict=True):
                taken, changed = [], []
                for d in loop.distances(self.size):
                    for element, source in self._cells(step, form, d):
                        taken.append(source)
                        own_cells = np.arange(self.size) if self.together else element
                        changed += [own_cells, own_cells]
                found += [
                    access_of_rows(f"taken where {shown(step.when)}", taken),
                    access_of_rows(f"changed where {shown(step.when)}", changed),
                ]
        return found

    def _cells(self, step: ScanStep, form: DenseStep | None, d: int) -> list[tuple[Any, Any]]:
        """Return the elements of a step and what they take by thread, NONE where a thread is off."""
        if form is not None:
            row = np.full(self.threads, NONE)
            own = elements(step, self.size, d)
            row[form.first : form.first + len(own)] = own
            return [(row, np.where(row == NONE, NONE, on_columns(step.source, {"i": row, "d": d, "N": self.size})))]
        moved = step.at(self.size, d)
        changed = np.where(moved.taking | moved.gone, np.arange(self.size), NONE)
        return list(zip(changed.reshape(-1, self.threads), moved.sources.reshape(-1, self.threads), strict=True))


def block_scan(algorithm: Algorithm, size: int, threads: int | None) -> BlockScan:
    """Return a scan of one block by so many threads, or by as few as are kept busy."""
    base = algorithm.base
    if not isinstance(size, int) or size not in sizes(base, LARGEST * base):
        mistake(
            f"the size is {size!r}",
            f"a power of {base}, up to {sizes(base, LARGEST * base)[-1]}",
            fix="round up, and leave the last elements unused",
        )
    network = algorithm.network(size)
    if isinstance(network, str):
        mistake(f"the scan is none: {network}", "a scan that was found", fix="find it first: scans.solve(sketch)")
    few, gaps = size // base, tuple((None,) * len(loop.steps) for loop in algorithm.loops)
    forms = dense(algorithm, size) if algorithm.in_place else gaps
    some = [(form, loop) for loop, own in zip(algorithm.loops, forms, strict=True) for form in own if form is not None]
    fits = network.apart and len(some) > 0 and size > base
    fits = fits and all(_end(form, size, d) <= few for form, loop in some for d in loop.distances(size))
    if threads not in (None, size, *([few] if fits else [])):
        mistake(
            f"{threads!r} threads for a scan of {size} elements",
            f"{few} threads, or {size}" if fits else f"{size} threads, as there are elements",
            fix="leave threads= out",
        )
    chosen = threads or (few if fits else size)
    if chosen > LARGEST:
        mistake(f"the scan takes {chosen} threads", f"at most {LARGEST}", "a smaller size")
    return BlockScan(algorithm, size, chosen, not network.apart, gaps if chosen == size else forms)


def _end(form: DenseStep, size: int, d: int) -> int:
    return int(on_columns(form.end, {"d": d, "N": size}))


def access_of_rows(name: str, rows: list[Any]) -> Access:
    """Return an access of warps: each row has a cell for each thread of a block."""
    threads = len(rows[0])
    whole = -(-threads // LANES) * LANES
    lanes = np.full((len(rows), whole), NONE, np.int64)
    for row, cells in zip(lanes, rows, strict=True):
        row[:threads] = cells
    starts = lanes.reshape(-1, LANES, 1)
    starts = starts[(starts >= 0).any(axis=(1, 2))]
    return Access(name, lambda shape, bits: Asked(starts, 1, 0))
