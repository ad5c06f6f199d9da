"""Arrays of the machine: registers, shared and global memory, one flat address space each.

A `Memory` has `instances` copies of an array (one a thread for registers, one a block for shared memory, one for
parameters); an address is `instance * cells + row-major index`. A write whose mask and address are known goes
straight into the cells. A value that depends on holes is kept by reference (`version`, `writer`). A write whose
mask or address depends on holes is *diffuse*: it may touch any cell, and is kept in order. Reads see a snapshot,
because a deferred read is asked after later writes have happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbolic.accumulator import Value, merge_values, require_equal
from symbolic.errors import Place
from symbolic.guard import FALSE, TRUE, Guard
from symbolic.program import DType
from symbolic.terms import UNWRITTEN, Term
from symbolic.union import Union
from symbolic.vector import Deferred, Encoding, Lanes, Vector, at, guard_at


@dataclass(frozen=True, slots=True)
class Diffuse:
    """A write that holes decide: `number` orders it among all writes."""

    number: int
    mask: Vector
    address: Vector
    value: Vector


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cells as they stood at one moment."""

    data: Lanes
    written: Lanes
    version: Lanes
    writer: Lanes
    number: Lanes
    values: tuple[Vector, ...]
    diffuse: tuple[Diffuse, ...]


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
        self.cells = int(np.prod(shape, dtype=np.int64))
        self.sharers = sharers
        self._data = data
        self._written = np.full(len(data), written)
        self._version = np.full(len(data), -1, np.int32)
        self._writer = np.zeros(len(data), np.int32)
        self._number = np.zeros(len(data), np.int64)
        self._values: list[Vector] = []
        self._diffuse: list[Diffuse] = []
        self._writes = 0
        self._seen = False

    def snapshot(self) -> Snapshot:
        """Return the present cells; the next write copies instead of changing them."""
        self._seen = True
        return Snapshot(
            self._data,
            self._written,
            self._version,
            self._writer,
            self._number,
            tuple(self._values),
            tuple(self._diffuse),
        )

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

    def write(self, mask: Vector, address: Vector, value: Vector) -> None:
        """Write `value` at `address` for the threads in `mask`; the address of a thread that is off is ignored."""
        if self._seen:
            self._data, self._written = self._data.copy(), self._written.copy()
            self._version, self._writer, self._number = (
                self._version.copy(),
                self._writer.copy(),
                self._number.copy(),
            )
            self._seen = False
        self._writes += 1
        if isinstance(mask, Deferred) or isinstance(address, Deferred):
            self._diffuse.append(Diffuse(self._writes, mask, address, value))
            return
        threads = np.flatnonzero(mask)
        cells = address[threads]
        self._written[cells] = True
        self._number[cells] = self._writes
        if isinstance(value, Deferred):
            self._version[cells] = len(self._values)
            self._writer[cells] = threads
            self._values.append(value)
        else:
            self._data[cells] = value[threads]
            self._version[cells] = -1

    def read(self, mask: Vector, address: Vector) -> Vector:
        """Return what each thread finds at its address; an address below 0 (out of bounds) finds UNWRITTEN."""
        if isinstance(address, np.ndarray):
            inside = address >= 0
            cells = np.where(inside, address, 0)
            known = not self._diffuse and bool((self._version[cells] < 0).all())
            if known:
                return np.where(inside, self._data[cells], self._data.dtype.type(0))
        seen = self.snapshot()

        def compute(encoding: Encoding, t: int) -> Value:
            where: Union = at(address, encoding, t)
            return merge_values(
                encoding, [(g, self.cell(encoding, seen, a)) for a, g in where.values.items()], self.place
            )

        return Deferred(compute)

    def unwritten(self, address: Lanes) -> Lanes:
        """Return which threads would read a cell that was certainly never written."""
        cells = np.where(address >= 0, address, 0)
        return ~self._written[cells] & (address >= 0)

    # -- under holes ----------------------------------------------------------------------------------------

    def cell(self, encoding: Encoding, seen: Snapshot, address: int) -> Value:
        """Return the guarded value of one cell."""
        if address < 0:
            return Union.single(UNWRITTEN)
        parts: list[tuple[Guard, Value]] = []
        alive = self._overlay(encoding, seen, address, lambda guard, value: parts.append((guard, value)))
        parts.append((alive, self._settled(encoding, seen, address)))
        return merge_values(encoding, parts, self.place)

    def require(self, encoding: Encoding, seen: Snapshot, address: int, term: Term) -> None:
        """Require that a cell holds a term of the specification."""
        alive = self._overlay(
            encoding, seen, address, lambda guard, value: require_equal(encoding, value, term, guard)
        )
        require_equal(encoding, self._settled(encoding, seen, address), term, alive)

    def _settled(self, encoding: Encoding, seen: Snapshot, address: int) -> Value:
        """Return the value of the last write that no hole decides."""
        if not seen.written[address]:
            return Union.single(UNWRITTEN)
        version = int(seen.version[address])
        if version < 0:
            return Union.single(seen.data[address].item())
        value: Value = at(seen.values[version], encoding, int(seen.writer[address]))
        return value

    def _overlay(
        self, encoding: Encoding, seen: Snapshot, address: int, visit: Callable[[Guard, Value], None]
    ) -> Guard:
        """Visit each later diffuse write that may be the last one to a cell; return the guard of 'none was'."""
        guards = encoding.guards
        alive = TRUE
        for write in reversed(seen.diffuse):
            if write.number <= seen.number[address]:
                break
            hits: list[Guard] = []
            for u in self.sharers(address):
                if isinstance(write.address, np.ndarray) and write.address[u] != address:
                    continue
                if isinstance(write.mask, np.ndarray) and not write.mask[u]:
                    continue
                hit = at(write.address, encoding, u).is_(address)
                if hit != FALSE:
                    hit = guards.both(hit, guard_at(write.mask, encoding, u))
                if hit != FALSE:
                    visit(guards.both(alive, hit), at(write.value, encoding, u))
                    hits.append(hit)
            alive = guards.both(alive, -guards.any(hits))
        return alive


def cell_name(name: str, shape: tuple[int, ...], index: int) -> str:
    """Return `y[3]` or `y[1, 2]` for a row-major index."""
    return f"{name}[{', '.join(map(str, np.unravel_index(index, shape)))}]" if shape else name


def linear(shape: tuple[int, ...], indices: tuple[Any, ...]) -> Any:
    """Return the row-major index, or -1 where any index is out of bounds (ints, or lanes of them)."""
    total: Any = 0
    inside: Any = True
    for extent, index in zip(shape, indices, strict=True):
        inside = inside & (index >= 0) & (index < extent)
        total = total * extent + index
    if isinstance(total, np.ndarray):
        return np.where(inside, total, -1)
    return total if inside else -1
