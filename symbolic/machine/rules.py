"""The rules that a run has to keep: all lanes come to shuffles and barriers, and there are no races.

Where a rule is broken for certain there is a `Violation`; where that depends on open holes, an obligation under the
same key.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from symbolic.errors import Place
from symbolic.ir.layout import cell_name
from symbolic.ir.program import Load, Store
from symbolic.ir.sites import Key, Site, Sites
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.races import Touched, races
from symbolic.machine.run import PassedBarrier, Run, Violation
from symbolic.values.guard import TRUE, Guard
from symbolic.values.vector import Deferred, Encoding, Lanes, Vector, guard_at


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

    def note_access(self, node: Load | Store, mask: Vector, address: Vector, writes: bool) -> None:
        if node.array not in self.accesses:
            return
        key = self.key(node, "access")
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
                    atomic="add" if isinstance(node, Store) and node.atomic else "",
                )
            )

    def look_for_races(self, name: str) -> None:
        memory = self.result.memories[name]
        for race in races(self.accesses[name], self.shape, between_blocks=name in self.between_blocks):
            if len(self.result.violations) >= self.limit:
                return
            does = ["writes" if a.writes else "reads" for a in (race.first, race.second)]
            places = [self.places[a.key[0]] for a in (race.first, race.second)]
            apart = race.first_thread // self.shape.block_threads != race.second_thread // self.shape.block_threads
            self.result.violations.append(
                Violation(
                    race.second.key,
                    race.second_thread,
                    f"race on {cell_name(name, memory.shape, race.address % memory.cells)}: "
                    f"{self.shape.describe(race.first_thread)} {does[0]} it (line {places[0].line}) and "
                    f"{self.shape.describe(race.second_thread)} {does[1]} it (line {places[1].line}) "
                    "with no barrier between",
                    places[1],
                    "blocks do not wait for each other: let them use different cells, or add with cuda.atomic.add"
                    if apart
                    else "put cuda.syncthreads() between them, or let the threads use different cells",
                    (race.first.key, race.first_thread),
                )
            )


def _same_mask(encoding: Encoding, mask: Vector, threads: list[int], when: Guard) -> None:
    first = guard_at(mask, encoding, threads[0])
    for t in threads[1:]:
        other = guard_at(mask, encoding, t)
        encoding.guards.add((-when, -first, other))
        encoding.guards.add((-when, first, -other))
