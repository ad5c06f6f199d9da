"""Races: two threads touch one cell of shared or global memory, one of them writes, and no barrier lies between.

`syncthreads` orders the threads of a block, `syncwarp` those of a warp; nothing orders blocks. The accesses of an
epoch are gathered as they run and looked at together, in one sort.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from symbolic.launch_shape import LaunchShape
from symbolic.vector import Lanes


@dataclass(frozen=True, slots=True)
class Access:
    """One statement's accesses: which threads touched which addresses, in which warp epoch of each."""

    key: tuple[Hashable, ...]
    writes: bool
    threads: Lanes
    addresses: Lanes
    block_epoch: int
    warp_epoch: int


@dataclass(frozen=True, slots=True)
class Race:
    """Two conflicting accesses to one cell."""

    first: Access
    first_thread: int
    second: Access
    second_thread: int
    address: int


def races(accesses: list[Access], shape: LaunchShape, between_blocks: bool) -> Iterator[Race]:
    """Yield one race for each cell (and epoch) that has one; `between_blocks`: the memory is global."""
    if not any(a.writes for a in accesses):
        return
    address = np.concatenate([a.addresses for a in accesses])
    thread = np.concatenate([a.threads for a in accesses])
    which = np.concatenate([np.full(len(a.addresses), i) for i, a in enumerate(accesses)])
    if not between_blocks:  # a cell in another epoch is another cell: the barrier lies between
        epochs = 1 + max(a.block_epoch for a in accesses)
        address = address * epochs + np.array([a.block_epoch for a in accesses])[which]
    writes = np.array([a.writes for a in accesses])[which]
    written = np.unique(address[writes])
    keep = np.isin(address, written)
    address, thread, which = address[keep], thread[keep], which[keep]
    order = np.lexsort((which, thread, address))
    address, thread, which = address[order], thread[order], which[order]
    starts = np.flatnonzero(np.r_[True, address[1:] != address[:-1]]) if len(address) else np.array([], np.int64)
    ends = np.r_[starts[1:], len(address)]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if thread[start] == thread[end - 1]:
            continue
        found = _conflict(accesses, thread[start:end], which[start:end], shape)
        if found is not None:
            i, j = found
            yield Race(
                accesses[which[start + i]],
                int(thread[start + i]),
                accesses[which[start + j]],
                int(thread[start + j]),
                int(address[start]) // (1 if between_blocks else epochs),
            )


def _conflict(accesses: list[Access], thread: Lanes, which: Lanes, shape: LaunchShape) -> tuple[int, int] | None:
    block, warp = thread // shape.block_threads, shape.warp_base[thread]
    for i in range(len(thread)):
        a = accesses[which[i]]
        if not a.writes:
            continue
        for j in range(len(thread)):
            b = accesses[which[j]]
            if thread[j] == thread[i]:
                continue
            if block[i] == block[j] and a.block_epoch != b.block_epoch:
                continue
            if warp[i] == warp[j] and a.warp_epoch != b.warp_epoch:
                continue
            return (i, j) if which[i] <= which[j] else (j, i)
    return None
