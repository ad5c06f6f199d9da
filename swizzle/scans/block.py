"""How a block of threads does a scan of one size: who works on which element, and what warps ask of shared memory.

A step whose elements can be counted is done by threads without gaps, so that half as many threads as
elements are enough; any other step by a thread for each element.

Threads without gaps: the element that thread t works on in a step, and how many threads do.

Where a step is done by every second, fourth, ... element, a thread for each element leaves most of a warp idle. So the
elements of a step are counted, and thread t takes number t of them; or thread t + 1 does, where the first element of a
row is done already. Of both, that is taken in which thread t reads the t-th stretch of the array, as other steps do, so
that one layout suits all. The element and the count are expressions, found as conditions are, and compared at every
size that is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.layouts import Access
from swizzle.layouts.access import Asked
from swizzle.scans.algorithm import DISTANCE, SIZE, Algorithm, ScanLoop, ScanStep, shown, sizes
from swizzle.scans.bank import Column, IndexTerm, IndexTerms
from swizzle.scans.network import mistake
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import ZERO, Expression, add, constant, floor_divide, multiply, number_name
from symbolic.ir.program import LANES

THREAD = number_name("t")
Rounds = Sequence[tuple[int, int]]
"""Sizes and distances."""
SAMPLES = 64
"""The size up to which expressions are looked for."""


class DenseStep(Struct, frozen=True):
    """A step by threads: thread t from `first` on, below `end`, works on `element`; over t, d and N."""

    first: int
    element: Expression
    end: Expression


def dense(algorithm: Algorithm, tried: int) -> tuple[tuple[DenseStep | None, ...], ...]:
    """Return the steps of each loop by threads without gaps; None for a step that has no such expressions."""
    return tuple(tuple(_dense(loop, step, tried) for step in loop.steps) for loop in algorithm.loops)


def elements(step: ScanStep, size: int, distance: int) -> Column:
    """Return the elements that a step works on, in order."""
    on = on_columns(step.when, {"i": np.arange(size), "d": distance, "N": size})
    return np.nonzero(np.broadcast_to(on, (size,)))[0]


def _dense(loop: ScanLoop, step: ScanStep, tried: int) -> DenseStep | None:
    base = loop.base
    rounds = [(size, d) for size in sizes(base, max(SAMPLES, base**3)) for d in loop.distances(size)]
    lists = [elements(step, size, d) for size, d in rounds]
    count = _count(loop, rounds, lists)
    free = all(len(own) < size // base for own, (size, _) in zip(lists, rounds, strict=True))  # a thread to leave out
    firsts = (0, 1) if free else (0,)
    terms = [(first, term) for first in firsts if (term := _element(loop, rounds, lists, first))]
    if count is None or not terms:
        return None
    choices = [(_astray(step, rounds, lists, first), term.weight, first, term) for first, term in terms]
    _, _, first, term = min(choices, key=lambda choice: choice[:3])
    found = DenseStep(first, term.expression, add(count, constant(first)))
    for size in sizes(base, tried):
        for d in loop.distances(size):
            wanted = elements(step, size, d)
            values = {"t": np.arange(len(wanted)) + first, "d": d, "N": size}
            if (
                on_columns(found.end, values) != len(wanted) + first
                or (on_columns(term.expression, values) != wanted).any()
            ):
                return None
    return found


def _astray(step: ScanStep, rounds: Rounds, lists: Sequence[Column], first: int) -> bool:
    """Tell whether some thread takes an element that is not in its stretch of the array."""
    for (size, d), own in zip(rounds, lists, strict=True):
        if len(own) > 1:
            taken = np.broadcast_to(on_columns(step.source, {"i": own, "d": d, "N": size}), own.shape)
            if (taken // (own[1] - own[0]) != np.arange(len(own)) + first).any():
                return True
    return False


def _element(loop: ScanLoop, rounds: Rounds, lists: Sequence[Column], first: int) -> IndexTerm | None:
    """Return the lightest term that gives a step's elements to threads from the first on."""
    base, lengths = loop.base, [len(each) for each in lists]
    t = np.concatenate([np.arange(each) + first for each in lengths])
    d = np.repeat([distance for _, distance in rounds], lengths)
    leaves = [(ZERO, 1, 0 * t), (THREAD, 1, t)]
    leaves += [(multiply(constant(k), THREAD), 2, k * t) for k in range(2, base + 1)]
    leaves += [(constant(k), 1, 0 * t + k) for k in range(1, base + 1)]
    if loop.way in ("up", "down", "last"):
        leaves += [(multiply(constant(k), DISTANCE), 1 + (k > 1), k * d) for k in range(1, base + 2)]
        leaves += [(multiply(constant(k), DISTANCE, THREAD), 2 + (k > 1), k * d * t) for k in range(1, base + 1)]
    moduli = [DISTANCE, multiply(constant(base), DISTANCE)]
    return _lightest(IndexTerms(leaves, moduli, 8, bitwise=base == 2), np.concatenate(lists))


def _count(loop: ScanLoop, rounds: Rounds, lists: Sequence[Column]) -> Expression | None:
    """Return the lightest term that says how many elements a step has."""
    base, n, d = loop.base, np.array([size for size, _ in rounds]), np.array([distance for _, distance in rounds])
    leaves = [(ZERO, 1, 0 * n), (SIZE, 1, n), (floor_divide(SIZE, constant(base)), 2, n // base)]
    leaves += [(constant(k), 1, 0 * n + k) for k in range(1, base + 1)]
    if loop.way in ("up", "down", "last"):
        leaves += [(DISTANCE, 1, d), (floor_divide(DISTANCE, constant(base)), 2, d // base)]
        leaves += [(floor_divide(SIZE, DISTANCE), 2, n // d)]
        leaves += [(floor_divide(SIZE, multiply(constant(base), DISTANCE)), 3, n // (base * d))]
    found = _lightest(IndexTerms(leaves, [], 7, bitwise=False), np.array([len(each) for each in lists]))
    return None if found is None else found.expression


def _lightest(terms: IndexTerms, want: Column) -> IndexTerm | None:
    right = np.nonzero((terms.rows == want).all(axis=1))[0]
    return terms.made[int(right[0])] if len(right) else None


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
