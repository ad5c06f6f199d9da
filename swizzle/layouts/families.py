"""The layouts that a search tries, as batches: one family's parameters side by side, as NumPy columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.layouts.layout import linear
from swizzle.layouts.requests import Requests
from swizzle.layouts.steps import Addresses, Pad, Rotate, Step, exchanged, padded, rotated, swizzle

Column = npt.NDArray[np.int64]
_MOST_ROTATIONS = 128


class Base(Struct, frozen=True):
    """What families start from: an order of the axes, rows padded to whole vectors, the address of each cell.

    The fastest axis has `pitch` elements with what pads it, the others have `rows` together; all of it is `size` long.
    """

    order: tuple[int, ...]
    steps: tuple[Step, ...]
    x: Addresses
    pitch: int
    rows: int
    size: int


class Batch(Struct, frozen=True):
    """Layouts of one family: `of` gives some cells' addresses under some of them, (layouts, cells); `steps` is
    one of them.

    `sizes` is how many elements each takes, None where only its table says that. Two layouts of the same `alike` have
    an index of the same form, which takes as many instructions.
    """

    base: Base
    count: int
    of: Callable[[Addresses, Column], Addresses]
    steps: Callable[[int], tuple[Step, ...]]
    alike: Callable[[int], tuple[Any, ...]]
    sizes: Column | None = None


def bases(requests: Requests, orders: Sequence[tuple[int, ...]]) -> list[Base]:
    """Return what to start from: those orders in which every vector runs along the fastest axis."""
    found = []
    for order in orders:
        if requests.along and requests.along != (order[-1],):
            continue
        x, pitch = linear(requests.shape, order), requests.shape[order[-1]]
        steps: tuple[Step, ...] = ()
        if pitch % requests.unit:
            steps = (Pad(pitch, -pitch % requests.unit),)
            x, pitch = steps[0].of(x), pitch + -pitch % requests.unit
        found.append(Base(order, steps, x, pitch, prod(requests.shape) // requests.shape[order[-1]], int(x.max()) + 1))
    return found


def swizzles(base: Base, requests: Requests) -> Batch:
    """Return every Swizzle<B, M, S> that keeps vectors whole and flips bits that pick the bank."""
    low, high = requests.unit.bit_length() - 1, requests.cycle.bit_length() - 1
    top = (base.size - 1).bit_length()
    all_of = [
        (b, m, s) for b in range(1, high - low + 1) for m in range(low, high - b + 1) for s in range(b, top - m - b + 1)
    ]
    b, m, s = _columns(all_of, 3)
    masks = ((1 << b) - 1) << m

    def of(x: Addresses, which: Column) -> Addresses:
        found: Addresses = exchanged(x[None], masks[which], s[which])
        return found

    return Batch(base, len(all_of), of, lambda k: (*base.steps, swizzle(*all_of[k])), lambda k: ("xor", *all_of[k]))


def rotations(base: Base, requests: Requests, *, per: bool) -> Batch:
    """Return rows turned by a multiple of their number; with `per` also by a unit more after each so many rows."""
    n, unit = base.pitch, max(requests.unit, requests.per_word)
    most = min(n, requests.cycle if n % requests.cycle == 0 else _MOST_ROTATIONS * unit)
    turns = range(0 if per else unit, most, unit)
    pers = range(2, min(base.rows, 32) + 1) if per else [0]
    all_of = [(by, each) for each in pers for by in turns] if n % unit == 0 and n > unit and base.rows > 1 else []
    by, every = _columns(all_of, 2)
    units, every = np.where(every > 0, unit, 0), np.maximum(every, 1)

    def of(x: Addresses, which: Column) -> Addresses:
        found: Addresses = rotated(x[None], n, by[which], every[which], units[which])
        return found

    def alike(k: int) -> tuple[Any, ...]:
        by, every = all_of[k]
        return "rotate", min(by, 2), every and 1 + (every & (every - 1) == 0)

    def steps(k: int) -> tuple[Step, ...]:
        by, every = all_of[k]
        return (*base.steps, Rotate(n, by, every, unit if every else 1))

    return Batch(base, len(all_of), of, steps, alike, np.full(len(all_of), base.size))


def pads(base: Base, requests: Requests) -> Batch:
    """Return free elements between rows, several rows, or stretches that fit the banks; fewest bytes first."""
    n, rows, unit, cycle = base.pitch, base.rows, max(requests.unit, 1), requests.cycle
    stretches = {d * each for each in (n, rows) for d in (1, 2, 4, 8, 16, 32)} | {
        cycle,
        lcm(n, cycle),
        lcm(rows, cycle),
    }
    some = [every for every in stretches if every % unit == 0 and every < base.size]
    sizes = {
        (every, by): base.size + (base.size - 1) // every * by for every in some for by in range(unit, cycle, unit)
    }
    all_of = sorted(sizes, key=lambda each: (sizes[each], each[0] != n, each))
    every, by = _columns(all_of, 2)

    def of(x: Addresses, which: Column) -> Addresses:
        found: Addresses = padded(x[None], every[which], by[which])
        return found

    def alike(k: int) -> tuple[Any, ...]:
        every, by = all_of[k]
        rows_of = every // n if every % n == 0 else 0
        return "pad", rows_of == 1, rows_of and rows_of & (rows_of - 1) == 0, every & (every - 1) == 0, min(by, 2)

    def steps(k: int) -> tuple[Step, ...]:
        return (*base.steps, Pad(*all_of[k]))

    return Batch(base, len(all_of), of, steps, alike, np.array([sizes[each] for each in all_of], np.int64))


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[Column]:
    found = np.array(rows, np.int64).reshape(-1, width)
    return [found[:, k : k + 1] for k in range(width)]
