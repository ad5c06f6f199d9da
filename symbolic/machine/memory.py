"""Arrays of the machine: registers, shared and global memory, one flat address space each.

A `Memory` has `instances` copies of an array (one a thread for registers, one a block for shared memory, one for
parameters); an address is `instance * cells + row-major index`. A write whose mask and address are known goes
straight into the cells. A value that depends on holes is kept by reference (`version`, `writer`). A write whose
mask or address depends on holes is *diffuse*: it may touch any cell, and is kept in order. Reads see a snapshot,
because a deferred read is asked after later writes have happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from math import prod

import numpy as np
from msgspec import Struct, field

from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place
from symbolic.ir.program import DType
from symbolic.ir.sites import Key
from symbolic.values.data import (
    Data,
    DataVector,
    Kinds,
    Picked,
    PossibleTerms,
    combines,
    equals,
    kinds_of,
    possible,
    require,
    require_one,
    union_of,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Deferred, Encoding, Lanes, Vector, at, guard_at, reach


class Diffuse(Struct, frozen=True):
    """A write that holes decide: `number` orders it among all writes, `key` names its execution.

    `epoch` is how many barriers came before, `before` the cells as they stood; `nothing`: a copy is under way.
    """

    number: int
    key: Key
    mask: Vector
    address: Vector
    value: DataVector
    epoch: int
    before: Snapshot
    nothing: bool = False


DEEP = 50  # writes that holes decide, up to which a cell is asked one write after the other: a tower of questions
MANY = 64  # threads and cells, squared, from which on a memory is large
NEVER: Lanes = np.array([UNWRITTEN])  # the cell that nobody writes


class Snapshot(Struct, eq=False, dict=True):
    """The cells as they stood at one moment."""

    data: Lanes
    written: Lanes
    version: Lanes
    writer: Lanes
    number: Lanes
    values: tuple[Data, ...]
    diffuse: tuple[Diffuse, ...]
    possible: dict[int, PossibleTerms] = field(default_factory=dict)  # of each cell that was asked for
    instances: dict[int, PossibleTerms] = field(default_factory=dict)
    holders: dict[tuple[int, Term], list[int]] = field(default_factory=dict)  # threads whose write may be of a term
    cells: Cells | None = None

    @cached_property
    def places(self) -> dict[Term, list[int]]:
        """Which cells hold each term for certain, as long as no diffuse write touches them."""
        found: dict[Term, list[int]] = {}
        for address in np.flatnonzero(self.written & (self.version < 0)).tolist():
            found.setdefault(int(self.data[address]), []).append(address)
        return found

    @cached_property
    def open(self) -> frozenset[int]:
        """The cells whose value is data that depends on holes."""
        return frozenset(np.flatnonzero(self.written & (self.version >= 0)).tolist())


class Memory:
    """One array of the program, in all its instances."""

    def __init__(
        self,
        name: str,
        dtype: DType,
        shape: tuple[int, ...],
        base: Lanes,
        data: Lanes,
        written: bool,
        sharers: Callable[[int], range],
        place: Place,
    ) -> None:
        """`base` is each thread's first address; `sharers(address)` are the threads that can reach a cell."""
        self.name, self.dtype, self.shape, self.base, self.place = name, dtype, shape, base, place
        self.cells = prod(shape)
        self.sharers = sharers
        self._data = data
        self._written = np.full(len(data), written)
        self._version = np.full(len(data), -1, np.int32)
        self._writer = np.zeros(len(data), np.int32)
        self._number = np.zeros(len(data), np.int64)
        self._values: list[Data] = []
        self._diffuse: list[Diffuse] = []
        self._writes = 0
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """Return the present cells; the next write copies instead of changing them."""
        if self._snapshot is None:
            self._snapshot = Snapshot(
                self._data,
                self._written,
                self._version,
                self._writer,
                self._number,
                tuple(self._values),
                tuple(self._diffuse),
            )
        return self._snapshot

    @property
    def concrete(self) -> bool:
        """Whether no cell depends on a hole."""
        return not self._diffuse and not self._values

    @property
    def data(self) -> Lanes:
        """The cells of a concrete memory."""
        assert self.concrete
        return self._data

    @property
    def written(self) -> Lanes:
        return self._written

    def write(self, key: Key, mask: Vector, address: Vector, value: DataVector | None, epoch: int) -> None:
        """Write `value` at `address` for the threads in `mask`; the address of a thread that is off is ignored.

        Where a copy is under way there is no value.
        """
        before = self.snapshot() if isinstance(mask, Deferred) or isinstance(address, Deferred) else None
        if self._snapshot is not None:
            self._data, self._written = self._data.copy(), self._written.copy()
            self._version, self._writer, self._number = (
                self._version.copy(),
                self._writer.copy(),
                self._number.copy(),
            )
            self._snapshot = None
        self._writes += 1
        if before is not None:
            nothing = value is None
            value = np.full(len(self.base), UNWRITTEN) if value is None else value
            self._diffuse.append(Diffuse(self._writes, key, mask, address, value, epoch, before, nothing))
            return
        assert isinstance(mask, np.ndarray) and isinstance(address, np.ndarray)
        threads = np.flatnonzero(mask)
        cells = address[threads]
        self._written[cells] = value is not None
        self._number[cells] = self._writes
        if value is None:
            self._version[cells] = -1
            self._data[cells] = self._data.dtype.type(0)
        elif isinstance(value, Data):
            self._version[cells] = len(self._values)
            self._writer[cells] = threads
            self._values.append(value)
        else:
            self._data[cells] = value[threads]
            self._version[cells] = -1

    @property
    def writes(self) -> int:
        """How many writes there were."""
        return self._writes

    def forget(self, number: int) -> None:
        """Let the cells of a concrete memory that were last written up to a write hold nothing."""
        assert self.concrete
        self._written = self._written & (self._number > number)
        self._snapshot = None

    def read(self, address: Vector) -> Lanes | Read:
        """Return what each thread finds at its address; an address below 0 (out of bounds) finds UNWRITTEN."""
        if isinstance(address, np.ndarray):
            inside = address >= 0
            cells = np.where(inside, address, 0)
            if not self._diffuse and bool((self._version[cells] < 0).all()):
                found: Lanes = np.where(inside, self._data[cells], self._data.dtype.type(0))
                return found
        return Read(self, self.snapshot(), address)

    def unwritten(self, address: Lanes) -> Lanes:
        """Return which threads would read a cell that was certainly never written."""
        cells = np.where(address >= 0, address, 0)
        return ~self._written[cells] & (address >= 0)

    # -- under holes ----------------------------------------------------------------------------------------

    def cell_equals(self, encoding: Encoding, seen: Snapshot, address: int, term: Term) -> Guard:
        """Return the guard under which one cell holds a term."""
        if address < 0:
            return TRUE if term == UNWRITTEN else FALSE
        guards, found = encoding.guards, []
        if (few := self.only_writers(seen, address, term)) is not None and (len(seen.diffuse) == 1 or self.is_large):
            return guards.any(
                [
                    guards.both(when, equals(write.value, encoding, u, term))
                    for write, u, when in self._last(encoding, seen, few, address)
                ]
            )
        alive = TRUE
        for write, hits in self.overlay(encoding, seen, address):
            for u, hit in hits:
                found.append(guards.both(guards.both(alive, hit), equals(write.value, encoding, u, term)))
            alive = guards.both(alive, -guards.any(hit for _, hit in hits))
        version = int(seen.version[address])
        if not seen.written[address]:
            settled = TRUE if term == UNWRITTEN else FALSE
        elif version < 0:
            settled = TRUE if seen.data[address] == term else FALSE
        else:
            settled = seen.values[version].equals(encoding, int(seen.writer[address]), term)
        return guards.any((*found, guards.both(alive, settled)))

    def cells_of(self, seen: Snapshot) -> Cells:
        """Return the cells of a snapshot as data, one object for each."""
        if seen.cells is None:
            seen.cells = Cells(self, seen)
        return seen.cells

    def cell_unwritten(self, encoding: Encoding, seen: Snapshot, address: int) -> Guard:
        """Return the guard under which one cell was never written, or waits for a copy."""
        guards, alive, found = encoding.guards, TRUE, list[Guard]()
        if seen.written[address] and not any(write.nothing for write in seen.diffuse):
            return FALSE
        for write, hits in self.overlay(encoding, seen, address):
            hit = guards.any(hit for _, hit in hits)
            if write.nothing:
                found.append(guards.both(alive, hit))
            alive = guards.both(alive, -hit)
        return guards.any([*found, FALSE if seen.written[address] else alive])

    def require(
        self, encoding: Encoding, seen: Snapshot, address: int, term: Term, unless: tuple[Guard, ...] = ()
    ) -> None:
        """Require, unless one of these guards holds, that a cell holds a term of the specification.

        Where many threads may write the cell, but few the term, only these are asked, and the rule that no two threads
        write one cell at once is left to say the rest.
        """
        guards, alive = encoding.guards, TRUE
        if self.is_large and (few := self.only_writers(seen, address, term)) is not None:
            some = self._last(encoding, seen, few, address)
            guards.add((*unless, *(when for _, _, when in some)))
            for write, u, when in some:
                require(write.value, encoding, u, term, (*unless, -when))
            return
        for write, hits in self.overlay(encoding, seen, address):
            for u, hit in hits:
                require(write.value, encoding, u, term, (*unless, -guards.both(alive, hit)))
            alive = guards.both(alive, -guards.any(hit for _, hit in hits))
        version = int(seen.version[address])
        overwritten = () if alive == TRUE else (-alive,)
        if not seen.written[address]:
            guards.add((*unless, *overwritten))
        elif version >= 0:
            seen.values[version].require(encoding, int(seen.writer[address]), term, (*unless, *overwritten))
        elif seen.data[address] != term:
            guards.add((*unless, *overwritten))

    @cached_property
    def is_large(self) -> bool:
        return len(self.sharers(0)) * self.cells > MANY**2

    def only_writers(self, seen: Snapshot, address: int, term: Term) -> list[tuple[Diffuse, int]] | None:
        """Return the writes that may have put a term into a cell, each with its thread; later ones last.

        None if the cell may have held the term before, or if a barrier lies between the writes: else two threads that
        write the cell are a race.
        """
        writes = [write for write in seen.diffuse if write.number > seen.number[address]]
        settled = seen.written[address] and (seen.version[address] >= 0 or seen.data[address] == term)
        if not writes or settled or term == UNWRITTEN or writes[0].epoch != writes[-1].epoch:
            return None
        sharers = self.sharers(address)
        return [
            (write, u)
            for write in writes
            for u in self._holders(seen, write, term)
            if u in sharers and _may_hit(write, u, address)
        ]

    def _holders(self, seen: Snapshot, write: Diffuse, term: Term) -> list[int]:
        """Return the threads whose write may be of a term."""
        key = write.number, term
        if key not in seen.holders:
            if isinstance(write.value, Data):
                some = ((u, possible(write.value, u)) for u in range(len(self.base)))
                seen.holders[key] = [u for u, terms in some if terms is None or term in terms]
            else:
                seen.holders[key] = np.flatnonzero(write.value == term).tolist()
        return seen.holders[key]

    def _last(
        self, encoding: Encoding, seen: Snapshot, few: Sequence[tuple[Diffuse, int]], address: int
    ) -> list[tuple[Diffuse, int, Guard]]:
        """Return writes of a cell with the guard under which each is its thread's last one there."""
        guards, found = encoding.guards, []
        for write, u in few:
            when = hit_at(write, encoding, u, address)
            later = [other for other in seen.diffuse if other.number > write.number]
            overwritten = guards.any(hit_at(other, encoding, u, address) for other in later)
            found.append((write, u, when if overwritten == FALSE else guards.both(when, -overwritten)))
        return found

    def cell_possible(self, seen: Snapshot, address: int) -> PossibleTerms:
        """Return every term that a cell may hold."""
        if address not in seen.possible:
            found = union_of([possible(value, t) for value, t in self.sources(seen, address)])
            seen.possible[address] = found if found is None or seen.written[address] else found | {UNWRITTEN}
        return seen.possible[address]

    def sources(self, seen: Snapshot, address: int) -> Iterator[tuple[DataVector, int]]:
        """Yield the values that a cell may hold, each with its thread."""
        if address < 0:
            return
        for write in seen.diffuse:
            if write.number > seen.number[address]:
                yield from ((write.value, u) for u in self.sharers(address) if _may_hit(write, u, address))
        if seen.version[address] >= 0:
            yield seen.values[seen.version[address]], int(seen.writer[address])
        elif seen.written[address]:
            yield seen.data, address

    def instance_possible(self, seen: Snapshot, start: int) -> PossibleTerms:
        """Return every term that some cell of the instance beginning at an address may hold."""
        if start not in seen.instances:
            seen.instances[start] = union_of(list(self._instance_sources(seen, start)))
        return seen.instances[start]

    def _instance_sources(self, seen: Snapshot, start: int) -> Iterator[PossibleTerms]:
        """Yield what writes may have put into an instance, and what its cells hold besides."""
        cells = range(start, start + self.cells)
        last = int(seen.number[start : start + self.cells].max())
        if all(write.number > last for write in seen.diffuse):
            reached = frozenset(cells)
            for write in seen.diffuse:
                for u in self.sharers(start):
                    if True in reach(write.mask, u) and not reached.isdisjoint(reach(write.address, u)):
                        yield possible(write.value, u)
            version = seen.version[start : start + self.cells]
            settled = [(a, v) for a, v in zip(cells, version.tolist(), strict=True) if seen.written[a]]
            for a, v in settled:
                yield possible(seen.values[v], int(seen.writer[a])) if v >= 0 else frozenset((int(seen.data[a]),))
            if len(settled) < self.cells:
                yield frozenset((UNWRITTEN,))
            return
        yield from (self.cell_possible(seen, a) for a in cells)

    def overlay(
        self, encoding: Encoding, seen: Snapshot, address: int
    ) -> Iterator[tuple[Diffuse, list[tuple[int, Guard]]]]:
        """Yield each later diffuse write, newest first, with the threads that may hit a cell and when they do."""
        for write in reversed(seen.diffuse):
            if write.number <= seen.number[address]:
                break
            hits = [(u, hit_at(write, encoding, u, address)) for u in self.sharers(address)]
            yield write, [(u, hit) for u, hit in hits if hit != FALSE]


def _may_hit(write: Diffuse, u: int, address: int) -> bool:
    return address in reach(write.address, u) and True in reach(write.mask, u)


def hit_at(write: Diffuse, encoding: Encoding, u: int, address: int) -> Guard:
    """Return the guard under which thread u's diffuse write goes to a cell."""
    if not _may_hit(write, u, address):
        return FALSE
    hit = at(write.address, encoding, u).is_(address)
    return hit if hit == FALSE else encoding.guards.both(hit, guard_at(write.mask, encoding, u))


class Cells(Picked):
    """What the cells of a memory hold in a snapshot: one value per address instead of one per thread."""

    def __init__(self, memory: Memory, seen: Snapshot) -> None:
        super().__init__()
        self.memory, self.seen = memory, seen

    def cases(self, encoding: Encoding, t: int) -> list[tuple[Guard, DataVector, int]]:
        """See `Data`; `t` is an address. No cell is written by two threads at once in a right filling.

        What the last write left alone is the cell before that write, so that all later snapshots share its answers.
        """
        memo = encoding.cases.setdefault(self, {})
        found = memo.get(t)
        if found is None:
            found = memo[t] = self._cases(encoding, t)
        return found

    def _cases(self, encoding: Encoding, t: int) -> list[tuple[Guard, DataVector, int]]:
        guards, memory, seen = encoding.guards, self.memory, self.seen
        if t < 0:
            return [(TRUE, NEVER, 0)]
        cases: list[tuple[Guard, DataVector, int]] = []
        alive = TRUE
        for write, hits in memory.overlay(encoding, seen, t):
            cases += [(guards.both(alive, hit), write.value, u) for u, hit in hits]
            alive = guards.both(alive, -guards.any(hit for _, hit in hits))
            if len(seen.diffuse) <= DEEP:
                return [*cases, (alive, memory.cells_of(write.before), t)]
        return [*cases, (alive, *self._settled(t))]

    @cached_property
    def combines(self) -> bool:
        return any(map(combines, (*self.seen.values, *(w.value for w in self.seen.diffuse))))

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        seen = self.seen
        if t >= 0 and seen.diffuse and len(seen.diffuse) <= DEEP and seen.diffuse[-1].number > seen.number[t]:
            write = seen.diffuse[-1]
            writers = [(write.value, u) for u in self.memory.sharers(t) if _may_hit(write, u, t)]
            return [*writers, (self.memory.cells_of(write.before), t)]
        found = list(self.memory.sources(seen, t))
        return found if t >= 0 and seen.written[t] else [*found, (NEVER, 0)]

    @cached_property
    def stored(self) -> list[tuple[Data, int]]:
        """The values that depend on holes and may be in some cell, each with its thread."""
        seen, open_cells = self.seen, sorted(self.seen.open)
        found = dict.fromkeys(zip(seen.version[open_cells].tolist(), seen.writer[open_cells].tolist(), strict=True))
        settled = [(seen.values[version], t) for version, t in found]
        threads = range(len(self.memory.base))
        return settled + [(w.value, t) for w in seen.diffuse if isinstance(w.value, Data) for t in threads]

    @cached_property
    def some_by_items(self) -> bool:
        """Whether it has to be asked of some cell what it holds; then it is asked of all."""
        return any(value.by_items(t) for value, t in self.stored)

    def _is_by_items(self, t: int) -> bool:
        return self.some_by_items

    def _settled(self, address: int) -> tuple[DataVector, int]:
        """Return what a cell holds where no write that holes decide has touched it."""
        version = int(self.seen.version[address])
        if not self.seen.written[address]:
            return NEVER, 0
        return (self.seen.data, address) if version < 0 else (self.seen.values[version], int(self.seen.writer[address]))

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        return self.memory.cell_equals(encoding, self.seen, t, term)

    def _find_possible(self, t: int) -> PossibleTerms:
        return self.memory.cell_possible(self.seen, t) if t >= 0 else frozenset((UNWRITTEN,))


class Read(Picked):
    """What each thread finds at an address, in a snapshot of a memory that depends on holes, or at an open address."""

    def __init__(self, memory: Memory, seen: Snapshot, address: Vector) -> None:
        super().__init__()
        self.memory, self.seen, self.address = memory, seen, address
        self.cells = memory.cells_of(seen)

    def _cells(self, encoding: Encoding, t: int, term: Term) -> dict[int, Guard]:
        """Return the cells that may hold a term, with the guard under which thread t reads them."""
        where = at(self.address, encoding, t).values
        if self.seen.diffuse or term == UNWRITTEN:
            return where
        cells = [a for a in self.seen.places.get(term, ()) if a in where]
        if self.seen.open:
            cells += [a for a in where if a in self.seen.open and self._may_hold(a, term)]
        return {a: where[a] for a in cells}

    def _may_hold(self, cell: int, term: Term) -> bool:
        possible = self.memory.cell_possible(self.seen, cell)
        return possible is None or term in possible

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, cells = encoding.guards, self._cells(encoding, t, term)
        if not self.seen.diffuse and not self.seen.open and term != UNWRITTEN:  # the cells hold it for certain
            return guards.any(cells.values())
        return guards.any(
            guards.both(g, self.memory.cell_equals(encoding, self.seen, a, term)) for a, g in cells.items()
        )

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        if term == UNWRITTEN or (self.seen.diffuse and not self._told_by_writers(t, term)):
            return False
        cells = self._cells(encoding, t, term)
        require_one(
            encoding, {g: partial(self.memory.require, encoding, self.seen, a, term) for a, g in cells.items()}, unless
        )
        return True

    def _told_by_writers(self, t: int, term: Term) -> bool:
        """Say whether for a term, in so large a memory, only those are asked who may have written it."""
        cells = reach(self.address, t)
        if min(cells) < 0 or not self.memory.is_large:
            return False
        return all(self.memory.only_writers(self.seen, a, term) is not None for a in cells)

    def require_among(self, encoding: Encoding, t: int, terms: frozenset[Term], unless: tuple[Guard, ...]) -> None:
        for address, g in at(self.address, encoding, t).values.items():
            some = self.memory.cell_possible(self.seen, address) if address >= 0 else frozenset((UNWRITTEN,))
            if some is not None and not some & terms:
                encoding.guards.add((*unless, -g))

    def unwritten(self, encoding: Encoding, t: int) -> Guard:
        """Return the guard under which thread t reads a cell that was never written."""
        guards, where = encoding.guards, at(self.address, encoding, t).values
        return guards.any(
            guards.both(g, self.memory.cell_unwritten(encoding, self.seen, a)) for a, g in where.items() if a >= 0
        )

    def cases(self, encoding: Encoding, t: int) -> list[tuple[Guard, DataVector, int]]:
        return [(g, self.cells, address) for address, g in at(self.address, encoding, t).values.items()]

    def _is_by_items(self, t: int) -> bool:
        return self.cells.some_by_items

    @cached_property
    def combines(self) -> bool:
        return self.cells.combines

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        return [(self.cells, address) for address in sorted(reach(self.address, t))]

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [s for a in reach(self.address, t) for s in self.memory.sources(self.seen, a)])

    def _find_possible(self, t: int) -> PossibleTerms:
        memory, seen = self.memory, self.seen
        if isinstance(self.address, np.ndarray):
            address = int(self.address[t])
            return memory.cell_possible(seen, address) if address >= 0 else frozenset((UNWRITTEN,))
        cells = self.address.reach(t)
        if len(cells) < memory.cells:
            return union_of([memory.cell_possible(seen, a) if a >= 0 else frozenset((UNWRITTEN,)) for a in cells])
        found = memory.instance_possible(seen, int(memory.base[t]))
        return found if found is None or -1 not in cells else found | {UNWRITTEN}
