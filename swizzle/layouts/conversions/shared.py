"""Conversions through shared memory: what always works, and what several warps need.

The tile is stored as the source holds it and loaded as the target wants it, in the widest vectors for which
`swizzle.layouts.best` finds a layout, with as few conflicts as there can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.layouts.access import Access, Asked
from swizzle.layouts.answer import FoundLayout
from swizzle.layouts.distribution import LANES, Cells, Distribution
from swizzle.layouts.layout import Layout
from swizzle.layouts.search import FAMILIES, Family, best

_ENOUGH = 24


class Moves(Struct, frozen=True):
    """One side: of each instruction the slots that it moves, and the address of the first for each thread, in elements.

    `on` is False where a thread does nothing, as another one stores the same cell, or as it holds nothing.
    """

    width: int
    slots: tuple[tuple[int, ...], ...]
    addresses: Cells
    on: npt.NDArray[np.bool_]
    bits: int

    @property
    def pieces(self) -> int:
        """Instructions that take a part of a word out of it, or put it into one."""
        if self.width * self.bits >= 32:
            return 0
        per = 32 // self.bits
        return sum(some[0] % per > 0 for some in self.slots)


class SharedPlan(Struct, frozen=True):
    """Stores, a barrier, loads; `found` is the layout of the tile and what is known of it."""

    shape: tuple[int, ...]
    bits: int
    warps: int
    stores: Moves
    loads: Moves
    found: FoundLayout

    @property
    def layout(self) -> Layout:
        assert self.found.layout is not None
        return self.found.layout

    @property
    def passes(self) -> int:
        """The turns of shared memory for all warps."""
        return self.found.passes or 0

    @property
    def selects(self) -> int:
        """Shifts and byte permutes of a warp, where words are stored or loaded in parts."""
        return self.stores.pieces + self.loads.pieces

    @property
    def clocks(self) -> float:
        """The clocks of a warp by the bound of pipes: a turn takes one."""
        return max(self.passes / self.warps, self.selects / 2)

    def gives(self, source: Distribution, target: Distribution) -> bool:
        """Say whether every element lands where the target says, by running the stores and loads on the cells."""
        size = int(self.layout.table().max()) + 1
        memory = np.full(size, -1, np.int64)
        for some, address, on in zip(self.stores.slots, self.stores.addresses, self.stores.on, strict=True):
            for k, slot in enumerate(some):
                before = memory[address[on] + k]
                new = _flat(source)[:, slot][on]
                if ((before >= 0) & (before != new)).any():
                    return False
                memory[address[on] + k] = new
        held = np.full((target.warps * LANES, target.slots), -1, np.int64)
        for some, address in zip(self.loads.slots, self.loads.addresses, strict=True):
            for k, slot in enumerate(some):
                held[:, slot] = memory[address + k]
        wanted = _flat(target)
        return bool(((wanted < 0) | (held == wanted)).all())


def _flat(each: Distribution) -> Cells:
    found: Cells = each.cells.reshape(-1, each.slots)
    return found


def through_shared(
    source: Distribution, target: Distribution, bits: int, widest: int = 128, families: Sequence[Family] = FAMILIES
) -> SharedPlan:
    """Return the plan with the fewest turns: wide vectors first, narrower ones where no layout keeps them whole.

    Vectors have up to `widest` bits, and at least one element. `families` are those of the tile's layout.
    """
    shape = source.shape
    if len(shape) > 4:
        shape = (prod(shape),)
        source, target = (Distribution(shape, each.cells, each.name) for each in (source, target))
    best_plan: SharedPlan | None = None
    stores, loads = (list(_vectors(each, bits, widest)) for each in (source, target))
    pairs = sorted(product(stores, loads), key=lambda pair: -(pair[0][1] + pair[1][1]))[:_ENOUGH]
    narrow = product([min(stores, key=lambda v: v[1])], [min(loads, key=lambda v: v[1])])
    for one, two in [*pairs, *narrow]:
        on = _first_holders(source, one[2])
        accesses = [_access("stores", source, *one, on), _access("loads", target, *two, None)]
        lower = sum(-(-each.warps * LANES * each.slots * bits // (32 * LANES)) for each in (source, target))
        found = best(shape, accesses, bits=bits, families=families)
        if found.layout is None or (best_plan is not None and (found.passes or 0) >= best_plan.passes):
            continue
        plan = SharedPlan(
            shape,
            bits,
            source.warps,
            _moves(source, one, found.layout, bits, on),
            _moves(target, two, found.layout, bits, None),
            found,
        )
        if plan.gives(source, target):
            best_plan = plan
            if plan.passes <= lower and not plan.selects:
                break
    assert best_plan is not None, "single elements can always be stored and loaded"
    return best_plan


Vectors = tuple[int, int, tuple[tuple[int, ...], ...]]
"""The axis that vectors run along, their width, and the slots of each."""


def _vectors(each: Distribution, bits: int, widest: int) -> Iterator[Vectors]:
    """Yield the ways to group slots into vectors along an axis, of `widest` bits or less, as registers hold them."""
    flat = _flat(each)
    per = max(1, 32 // bits)
    by_cells = {flat[:, slot].tobytes(): slot for slot in reversed(range(each.slots))}
    for axis, length in enumerate(each.shape):
        stride = prod(each.shape[axis + 1 :])
        width = max(1, widest // bits)
        while width > 1 or axis == len(each.shape) - 1:
            groups = []
            left = set(range(each.slots))
            for slot in range(each.slots):
                first = flat[:, slot]
                at = first // stride % length
                if slot not in left or ((first < 0).any() and width > 1) or ((at % width).any() and width > 1):
                    continue
                some = [slot, *(by_cells.get((first + k * stride).tobytes(), -1) for k in range(1, width))]
                chunk = min(per, width)
                in_words = all(some[k] == some[k - k % chunk] + k % chunk for k in range(width))
                in_words &= all(some[k] % chunk == 0 for k in range(0, width, chunk))
                if in_words and left.issuperset(some) and (at + width <= length).all():
                    groups.append(tuple(some))
                    left -= set(some)
            if not left:
                yield axis, width, tuple(groups)
            if width == 1:
                break
            width //= 2


def _first_holders(each: Distribution, groups: tuple[tuple[int, ...], ...]) -> npt.NDArray[np.bool_]:
    """Return which threads store each vector: the first that holds its cells. Of shape (vectors, threads)."""
    flat = _flat(each)
    seen: set[int] = set()
    on = np.zeros((len(groups), len(flat)), np.bool_)
    for n, some in enumerate(groups):
        for thread in range(len(flat)):
            cells = set(flat[thread, list(some)].tolist()) - {-1}
            if not cells <= seen:
                on[n, thread] = True
                seen |= cells
    return on


def _access(
    name: str,
    each: Distribution,
    axis: int,
    width: int,
    groups: tuple[tuple[int, ...], ...],
    on: npt.NDArray[np.bool_] | None,
) -> Access:
    flat = _flat(each)
    firsts = np.stack([flat[:, some[0]] for some in groups])
    if on is not None:
        firsts = np.where(on, firsts, -1)
    starts = np.stack(np.unravel_index(np.maximum(firsts, 0), each.shape), -1)
    starts = np.where(firsts[..., None] < 0, -1, starts).reshape(-1, LANES, len(each.shape))
    return Access(name, lambda shape, bits: Asked(starts, width, axis))


def _moves(each: Distribution, vectors: Vectors, layout: Layout, bits: int, on: npt.NDArray[np.bool_] | None) -> Moves:
    _, width, groups = vectors
    flat, table = _flat(each), layout.table().reshape(-1)
    firsts = np.stack([flat[:, some[0]] for some in groups])
    held = firsts >= 0
    if on is None:  # a load of nothing may load anything
        on = np.ones_like(held)
    return Moves(width, groups, np.where(held, table[np.maximum(firsts, 0)], 0), on, bits)
