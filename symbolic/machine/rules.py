"""The rules that a run has to keep: all lanes come to shuffles and barriers, and there are no races.

Where a rule is broken for certain there is a `Violation`; where that depends on open holes, an obligation under the
same key.

Races: two threads touch one cell of shared or global memory, one of them writes, and no barrier lies between.

`syncthreads` orders the threads of a block, `syncwarp` those of a warp, or of a mask; nothing orders blocks. The
accesses of an epoch are gathered as they run and looked at together, in one sort.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.errors import Place, SwizzleError
from symbolic.ir.index import cell_name
from symbolic.ir.program import LANES, CopyAsync, CopyGroup, Load, Shuffle, Store
from symbolic.ir.sites import Key, Site, Sites
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.run import PassedBarrier, Run, Violation
from symbolic.values.guard import TRUE, Guard
from symbolic.values.vector import Deferred, Encoding, Lanes, Vector, at, guard_at

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


class Rules:
    """Checks the rules during one run; `loops` holds the current values of the loop variables."""

    def __init__(self, sites: Sites, shape: LaunchShape, result: Run, limit: int) -> None:
        self.sites, self.shape, self.result, self.limit = sites, shape, result, limit
        self.loops: tuple[int, ...] = ()
        self.places: dict[Site, Place] = {}
        self.block_epoch = self.warp_epoch = np.zeros(shape.count, np.int64)
        self.accesses: dict[str, list[Touched[Key]]] = {}
        self.between_blocks: set[str] = set()

    def watch(self, name: str, between_blocks: bool) -> None:
        """Look for races on a memory from now on; `between_blocks`: it is global, so that blocks meet there too."""
        if name in self.accesses:
            self.look_for_races(name)
        self.accesses[name] = []
        if between_blocks:
            self.between_blocks.add(name)

    def finish(self) -> None:
        """Check what can only be checked when the run is over."""
        for name in self.accesses:
            self.look_for_races(name)

    def key(self, node: Any, rule: str) -> Key:
        """Name this execution of a node: the same in every run of an equal program."""
        site = self.sites.of(node)
        self.places[site] = node.place
        return (site, self.loops, rule)

    def violate(self, node: Any, rule: str, thread: int, message: str, fix: str) -> None:
        if len(self.result.violations) < self.limit:
            self.result.violations.append(Violation(self.key(node, rule), thread, message, node.place, fix))

    def passed(self, scope: Literal["block", "warp"], mask: Vector) -> None:
        """Note a barrier. One whose mask depends on holes counts as passed by all threads, since a race that it may
        prevent is not certain."""
        self.result.barriers.append(PassedBarrier(scope, mask))
        through = mask if isinstance(mask, np.ndarray) else np.ones(self.shape.count, np.bool_)
        self.warp_epoch = self.warp_epoch + through
        if scope == "block":
            self.block_epoch = self.block_epoch + through

    def all_present(self, node: Any, mask: Vector, groups: Lanes, who: str) -> None:
        """Require that where one thread of a group is on, all of them are."""
        if isinstance(mask, Deferred):
            self.result.obligations[self.key(node, "present")] = lambda encoding, t, when=TRUE: _same_mask(
                encoding, mask, np.flatnonzero(groups == groups[t]).tolist(), when
            )
            return
        if mask.all():
            return
        on = np.zeros(self.shape.count, np.int64)
        np.add.at(on, groups, mask)
        size = np.bincount(groups, minlength=self.shape.count)
        bad = np.flatnonzero(mask & (on[groups] != size[groups]))
        if len(bad):
            absent = int(np.flatnonzero((groups == groups[bad[0]]) & ~mask)[0])
            self.violate(
                node,
                "present",
                int(bad[0]),
                f"not all {who} get here: {self.shape.describe(absent)} is missing",
                "move it out of the `if`; predicate what is stored instead",
            )

    def named_present(self, node: Shuffle, mask: Vector, named: int, source: Vector) -> None:
        """Require that just the lanes that a mask names get to a shuffle, and that they ask each other."""
        inside = (named >> self.shape.lane & 1).astype(bool)
        if isinstance(mask, Deferred):
            raise SwizzleError(
                "a shuffle of some lanes under a condition that depends on a hole",
                place=node.place,
                expected="the same lanes, whatever the holes become",
                fix="let all lanes shuffle, with cuda.FULL_MASK, and choose what is used",
            )
        warp, names = self.shape.warp_base, f"the mask 0x{named:x}"
        some = np.zeros(self.shape.count, np.bool_)
        some[warp[mask]] = True  # the warps of which a lane is on
        if len(bad := np.flatnonzero(some[warp] & (mask != inside))):
            t = int(bad[0])
            here = "gets here, and is not named by" if mask[t] else "is named by"
            message = f"{self.shape.describe(t)} {here} {names}" + ("" if mask[t] else ", and does not get here")
            self.violate(node, "present", t, message, "name the lanes that get here, or put the shuffle in an `if`")
            return
        if isinstance(source, Deferred):

            def oblige(encoding: Encoding, t: int, when: Guard = TRUE) -> None:
                if mask[t]:
                    for lane, guard in at(source, encoding, t).values.items():
                        if not named >> lane & 1:
                            encoding.guards.add((-when, -guard))

            self.result.obligations[self.key(node, "named")] = oblige
        elif len(bad := np.flatnonzero(mask & ~inside[np.clip(source, 0, LANES - 1) + warp])):
            t = int(bad[0])
            message = f"{self.shape.describe(t)} asks lane {int(source[t])}, which {names} does not name"
            self.violate(node, "named", t, message, "name that lane as well, and let it get here")

    def note_access(
        self,
        node: Load | Store | CopyAsync,
        mask: Vector,
        address: Vector,
        writes: bool,
        arrives: CopyGroup | None = None,
    ) -> None:
        """Note what the threads in `mask` touch; `arrives` is the wait at which a copy does so."""
        if node.array not in self.accesses:
            return
        key = self.key(node, "copy" if isinstance(node, CopyAsync) else "access")
        if arrives is not None:
            key = self.key(arrives, "arrival" if writes else "copied")
        self.result.accesses[key] = (mask, address, len(self.result.barriers))
        if isinstance(mask, np.ndarray) and isinstance(address, np.ndarray):
            threads = np.flatnonzero(mask & (address >= 0))
            self.accesses[node.array].append(
                Touched(
                    key,
                    writes,
                    threads,
                    address[threads],
                    self.block_epoch[threads],
                    self.warp_epoch[threads],
                    atomic=node.joins if isinstance(node, Store) and node.atomic else "",
                )
            )

    def look_for_races(self, name: str) -> None:
        memory = self.result.memories[name]
        for race in races(self.accesses[name], self.shape, between_blocks=name in self.between_blocks):
            if len(self.result.violations) >= self.limit:
                return
            does = [_deed(each) for each in (race.first, race.second)]
            places = [self.places[a.key[0]] for a in (race.first, race.second)]
            apart = race.first_thread // self.shape.block_threads != race.second_thread // self.shape.block_threads
            self.result.violations.append(
                Violation(
                    race.second.key,
                    race.second_thread,
                    f"race on {cell_name(name, memory.shape, race.address % memory.cells)}: "
                    f"{self.shape.describe(race.first_thread)} {does[0]} (line {places[0].line}) and "
                    f"{self.shape.describe(race.second_thread)} {does[1]} (line {places[1].line}) "
                    "with no barrier between",
                    places[1],
                    "blocks do not wait for each other: let them use different cells, or add with cuda.atomic.add"
                    if apart
                    else "put cuda.syncthreads() between them, behind the wait for the copy"
                    if race.first.key[-1] in ("copy", "arrival")
                    else "put cuda.syncthreads() between them, or let the threads use different cells",
                    (race.first.key, race.first_thread),
                )
            )


def _deed(access: Touched[Key]) -> str:
    """Say what an access does."""
    return {"copy": "copies to it", "arrival": "waits for the copy to it", "copied": "waits for a copy of it"}.get(
        access.key[-1], "writes it" if access.writes else "reads it"
    )


def _same_mask(encoding: Encoding, mask: Vector, threads: list[int], when: Guard) -> None:
    first = guard_at(mask, encoding, threads[0])
    for t in threads[1:]:
        other = guard_at(mask, encoding, t)
        encoding.guards.add((-when, -first, other))
        encoding.guards.add((-when, first, -other))
