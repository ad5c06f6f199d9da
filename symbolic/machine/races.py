"""Races: two threads touch one cell of shared or global memory, one of them writes, and no barrier lies between.

`syncthreads` orders the threads of a block, `syncwarp` those of a warp, or of a mask; nothing orders blocks. The
accesses of an epoch are gathered as they run and looked at together, in one sort.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape
from symbolic.values.vector import Lanes

K = TypeVar("K", bound=Hashable)
Apart: TypeAlias = Callable[[int, int], bool]


class Touched(Struct, Generic[K], frozen=True):
    """What one execution of a statement or instruction, named by `key`, touched.

    Which threads touched which addresses, each after how many of its barriers. Where barriers of a part of a warp are
    about, `known` has for each of the threads how many barriers of each lane come before it, by a chain of barriers.
    `atomic` names an atomic operation, '' for none: one does not race with others of its name, as any order will do.
    One that is atomic for the threads of its block only (`in_block`) does race with those of other blocks. `holds` has
    for each of the threads a number for the condition under which it does so, 0 for always; None: all do.
    """

    key: K
    writes: bool
    threads: Lanes
    addresses: Lanes
    block_epoch: Lanes
    warp_epoch: Lanes
    known: Lanes | None = None
    atomic: str = ""
    in_block: bool = False
    holds: Lanes | None = None

    def before(self, row: int) -> Lanes:
        """Return how many barriers of each lane of its warp come before what a thread did."""
        if self.known is None:
            return np.full(LANES, self.warp_epoch[row])
        found: Lanes = self.known[row]
        return found


class Race(Struct, Generic[K], frozen=True):
    """Two conflicting accesses to one cell."""

    first: Touched[K]
    first_thread: int
    second: Touched[K]
    second_thread: int
    address: int


def races(
    accesses: list[Touched[K]], shape: LaunchShape, between_blocks: bool, apart: Apart | None = None
) -> Iterator[Race[K]]:
    """Yield one race for each cell (and epoch) that has one; `between_blocks`: the memory is global; `apart` tells
    whether two conditions never hold together."""
    if not any(a.writes for a in accesses):
        return
    address = np.concatenate([a.addresses for a in accesses])
    thread = np.concatenate([a.threads for a in accesses])
    which = np.concatenate([np.full(len(a.addresses), i, np.int64) for i, a in enumerate(accesses)])
    block_epoch = np.concatenate([a.block_epoch for a in accesses])
    row = np.concatenate([np.arange(len(a.addresses)) for a in accesses])
    writes = np.array([a.writes for a in accesses])[which]
    if not writes.any():
        return
    epochs = 1
    if not between_blocks:  # a cell in another epoch is another cell: the barrier lies between
        epochs = 1 + int(block_epoch.max())
        address = address * epochs + block_epoch
    if not writes.all():
        kept = np.isin(address, address[writes])  # most cells are only read until the next barrier
        address, thread, which, row = address[kept], thread[kept], which[kept], row[kept]
        block_epoch, writes = block_epoch[kept], writes[kept]
    in_order = np.sort(address)
    if (in_order[1:] != in_order[:-1]).all():
        return
    order = np.lexsort((which, thread, address))
    address, thread, which, row = address[order], thread[order], which[order], row[order]
    block_epoch = block_epoch[order]
    starts = np.flatnonzero(np.r_[True, address[1:] != address[:-1]])
    ends = np.r_[starts[1:], len(address)]
    shared = (thread[starts] != thread[ends - 1]) & np.logical_or.reduceat(writes[order], starts)
    if any(a.atomic for a in accesses):
        kinds = {"": -1, **{a.atomic: number for number, a in enumerate(accesses) if a.atomic}}
        kind = np.array([kinds[a.atomic] for a in accesses])[which]
        least = np.minimum.reduceat(kind, starts)
        conflicting = (least < 0) | (least != np.maximum.reduceat(kind, starts))
        in_block = np.array([a.in_block for a in accesses])[which]
        if in_block.any():
            block = thread // shape.block_threads
            conflicting |= np.logical_or.reduceat(in_block, starts) & (block[starts] != block[ends - 1])
        shared &= conflicting
    if not between_blocks and all(a.known is None for a in accesses):
        shared &= ~_kept_apart(accesses, shape, address, thread, which, row, writes[order], starts)
    for start, end in zip(starts[shared].tolist(), ends[shared].tolist(), strict=True):
        here = slice(start, end)
        found = _conflict(accesses, shape, thread[here], which[here], row[here], block_epoch[here], apart)
        if found is not None:
            i, j = found
            yield Race(
                accesses[which[start + i]],
                int(thread[start + i]),
                accesses[which[start + j]],
                int(thread[start + j]),
                int(address[start]) // epochs,
            )


def _kept_apart(
    accesses: list[Touched[K]], shape: LaunchShape, address: Lanes, thread: Lanes, which: Lanes, row: Lanes,
    writes: npt.NDArray[np.bool_], starts: Lanes,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Say of each cell of one block, between two of its barriers, whether one warp's own barriers order all that
    touches it: the accesses come in the order of cells and threads, and each cell begins at one of `starts`."""
    warp = shape.warp_base[thread]
    one_warp = np.minimum.reduceat(warp, starts) == np.maximum.reduceat(warp, starts)
    first = np.cumsum([0, *(len(a.warp_epoch) for a in accesses)])[:-1]
    epoch = np.concatenate([a.warp_epoch for a in accesses])[first[which] + row]
    cell = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(thread)]))
    order = np.lexsort((thread, epoch, cell))
    cell, epoch, thread = cell[order], epoch[order], thread[order]
    begins = np.flatnonzero(np.r_[True, (cell[1:] != cell[:-1]) | (epoch[1:] != epoch[:-1])])
    ends = np.r_[begins[1:], len(cell)]
    wrong = (thread[begins] != thread[ends - 1]) & np.logical_or.reduceat(writes[order], begins)
    found: npt.NDArray[np.bool_] = one_warp.copy()
    found[cell[begins[wrong]]] = False
    return found


def _conflict(
    accesses: list[Touched[K]], shape: LaunchShape, thread: Lanes, which: Lanes, row: Lanes, block_epoch: Lanes,
    apart: Apart | None,
) -> tuple[int, int] | None:  # fmt: skip
    block, warp = thread // shape.block_threads, shape.warp_base[thread]
    warp_epoch = np.array([accesses[a].warp_epoch[r] for a, r in zip(which, row, strict=True)])
    kind, in_block = [accesses[a].atomic for a in which], [accesses[a].in_block for a in which]
    partly = any(accesses[a].known is not None for a in set(which.tolist()))

    def ordered(i: int, j: int) -> bool:
        if not partly:
            return bool(warp_epoch[i] != warp_epoch[j])
        first, second = accesses[which[i]].before(row[i]), accesses[which[j]].before(row[j])
        a, b = thread[i] - warp[i], thread[j] - warp[j]
        return bool(second[a] > first[a] or first[b] > second[b])

    def condition(i: int) -> int:
        holds = accesses[which[i]].holds
        return 0 if holds is None else int(holds[row[i]])

    for i in range(len(thread)):
        if not accesses[which[i]].writes:
            continue
        for j in range(len(thread)):
            if thread[j] == thread[i]:
                continue
            if kind[i] and kind[i] == kind[j] and (block[i] == block[j] or not (in_block[i] or in_block[j])):
                continue
            if block[i] == block[j] and block_epoch[i] != block_epoch[j]:
                continue
            if warp[i] == warp[j] and ordered(i, j):
                continue
            if apart is not None and apart(condition(i), condition(j)):
                continue
            return (i, j) if which[i] <= which[j] else (j, i)
    return None
