"""Conversions through shared memory: what always works, and what several warps need.

The tile is stored as the source holds it and loaded as the target wants it, in the widest vectors for which
`swizzle.layouts.best` finds a layout, with as few conflicts as there can be. Where a warp keeps words in all of its
lanes, it neither stores nor loads them, if that saves turns.

Registers of 8- and 16-bit elements may be arranged anew within each lane, so that shared memory moves whole words. A
word that goes through memory holds neighbours in the tile, which a lane has in several of its registers at times.
Byte permutes put them into one, or take them apart. Where both distributions are affine over bits, cells may be
numbered anew, too: what both sides hold in a lane's registers are then neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.layouts.access import Access, Asked, mistake
from swizzle.layouts.answer import FoundLayout
from swizzle.layouts.conversions.muxes import put_together
from swizzle.layouts.conversions.network import Builder, ExchangeNetwork, Tokens
from swizzle.layouts.distribution import Cells, Distribution
from swizzle.layouts.layout import Layout
from swizzle.layouts.search import FAMILIES, Family, best
from symbolic.ir.program import LANES
from symbolic.machine.accesses import BANKS, WORD

Vectors = tuple[int, int, tuple[tuple[int, ...], ...]]
"""The axis that vectors run along, their width, and the slots of each."""


class Arrangement(Struct, frozen=True):
    """Slots in another order: `network` takes the registers of a distribution to it, or from it (`back`)."""

    held: Distribution
    vectors: Vectors
    network: ExchangeNetwork | None
    back: ExchangeNetwork | None

    def selects(self, back: bool) -> int:
        network = self.back if back else self.network
        return network.selects if network else 0


def arrangements(each: Distribution, bits: int, widest: int) -> Iterator[Arrangement]:
    """Yield arrangements of a lane's slots in vectors of whole words along an axis."""
    per = 32 // bits
    if (each.cells < 0).any() or each.slots % per:
        return
    flat = flat_cells(each)
    for axis in range(len(each.shape)):
        width = widest // bits
        while width >= per:
            groups = neighbours(flat, each.shape, axis, width)
            if groups is not None:
                order = [slot for some in groups for slot in some]
                held = Distribution(each.shape, each.cells[..., order], each.name)
                slots = np.arange(len(order)).reshape(-1, width)
                vectors = axis, width, tuple(tuple(row) for row in slots.tolist())
                if order == sorted(order):
                    yield Arrangement(held, vectors, None, None)
                else:
                    yield Arrangement(
                        held, vectors, _reordered(order, per), _reordered(np.argsort(order).tolist(), per)
                    )
            width //= 2


def neighbours(flat: Cells, shape: Sequence[int], axis: int, width: int, per: int = 1) -> list[tuple[int, ...]] | None:
    """Group slots so that all threads hold neighbours along an axis in each group, at a multiple of its width, and in
    words of `per` slots as registers hold them. None where a slot is left over."""
    stride, length, chunk = prod(shape[axis + 1 :]), shape[axis], min(per, width)
    by_cells = {flat[:, slot].tobytes(): slot for slot in reversed(range(flat.shape[1]))}
    groups, left = [], set(range(flat.shape[1]))
    for slot in range(flat.shape[1]):
        first = flat[:, slot]
        at = first // stride % length
        if slot not in left or ((first < 0).any() and width > 1) or ((at % width).any() and width > 1):
            continue
        some = [slot, *(by_cells.get((first + k * stride).tobytes(), -1) for k in range(1, width))]
        in_words = all(some[k] == some[k - k % chunk] + k % chunk for k in range(width))
        in_words &= all(some[k] % chunk == 0 for k in range(0, width, chunk))
        if in_words and left.issuperset(some) and (at + width <= length).all():
            groups.append(tuple(some))
            left -= set(some)
    return None if left else groups


def _reordered(order: Sequence[int], per: int) -> ExchangeNetwork:
    """Return the network after which slot k of each lane is what slot `order[k]` was."""
    words = len(order) // per
    builder = Builder(words, per)
    lane = np.arange(LANES)[:, None]
    wants = [lane * len(order) + np.array(order[per * word : per * (word + 1)]) for word in range(words)]
    made = put_together(builder, wants, range(words), True)
    assert made is not None, "a lane has what it is to have"
    network = builder.network(made)
    assert network.gives(np.stack(wants)), "a network does what it was made for"
    return network


def slots_after(network: ExchangeNetwork | None, cells: Cells) -> Cells:
    """Return what lanes hold, (threads, slots), after a network within lanes."""
    if network is None:
        return cells
    values = network.run()
    at: Tokens = np.concatenate([values[n] for n in network.outputs], axis=1) % (network.words * network.per)
    moved = np.take_along_axis(cells.reshape(-1, LANES, cells.shape[1]), at[None], axis=2)
    found: Cells = moved.reshape(len(cells), -1)
    return found


def renumbered(source: Distribution, target: Distribution, bits: int) -> Iterator[tuple[Distribution, Distribution]]:
    """Yield both as distributions of a tile whose neighbours are what both hold in a lane's registers."""
    size, sides = prod(source.shape), [_columns(source), _columns(target)]
    if size & size - 1 or None in sides:
        return
    place = (32 // bits).bit_length() - 1
    registers = [
        side[: each.slots.bit_length() - 1] for side, each in zip(sides, (source, target), strict=True) if side
    ]
    both = _span(registers[0]) & _span(registers[1])
    row = min(size, BANKS * WORD * 8 // bits)
    for mine in registers:
        units = [1 << bit for bit in range(size.bit_length() - 1)]
        basis = _independent([*sorted(_span(mine[:place]) & both), *sorted(both), *mine, *units])
        number = np.zeros(size, np.int64)
        for bit, vector in enumerate(basis):
            number ^= np.where(np.arange(size) >> bit & 1, vector, 0)
        cells = np.argsort(number)
        yield (
            Distribution((size // row, row), cells[source.cells], source.name),
            Distribution((size // row, row), cells[target.cells], target.name),
        )


def _columns(each: Distribution) -> list[int] | None:
    """Return the cell that each bit of a slot's and a thread's number adds; None where cells are not affine in them."""
    flat = each.cells.reshape(-1)
    if len(flat) & len(flat) - 1 or each.slots & each.slots - 1 or (flat < 0).any():
        return None
    columns = [int(flat[1 << bit] ^ flat[0]) for bit in range(len(flat).bit_length() - 1)]
    number = np.full(len(flat), flat[0])
    for bit, column in enumerate(columns):
        number ^= np.where(np.arange(len(flat)) >> bit & 1, column, 0)
    return columns if (number == flat).all() else None


def _span(vectors: Sequence[int]) -> set[int]:
    found = {0}
    for vector in vectors:
        found |= {vector ^ other for other in found}
    return found


def _independent(vectors: Sequence[int]) -> list[int]:
    """Return the vectors of a list that are no sums of earlier ones."""
    found: list[int] = []
    span = {0}
    for vector in vectors:
        if vector not in span:
            found.append(vector)
            span |= {vector ^ other for other in span}
    return found


def flat_cells(each: Distribution) -> Cells:
    """Return what threads hold, (threads, slots)."""
    found: Cells = each.cells.reshape(-1, each.slots)
    return found


_ENOUGH = 24


class Moves(Struct, frozen=True):
    """One side: of each instruction the slots that it moves, and the address of the first for each thread, in elements.

    `on` is False where a thread does nothing: another one stores the cell, it holds nothing, or it keeps its words.
    A thread that wants nothing loads what another one of its phase does, which takes no turn; where none of a phase
    wants anything, none of it loads.
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
    """Stores, a barrier, loads; `found` is the layout of the tile and what is known of it.

    Where words are not loaded, each is one of the thread's own: `own` has its number for each word. Registers may be
    arranged anew in each lane before they are stored (`packing`), and after they are loaded.
    """

    shape: tuple[int, ...]
    bits: int
    warps: int
    stores: Moves
    loads: Moves
    found: FoundLayout
    own: tuple[int, ...] = ()
    packing: ExchangeNetwork | None = None
    unpacking: ExchangeNetwork | None = None

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
        """Shifts and byte permutes of a warp, where words are stored or loaded in parts, or arranged anew."""
        networks = (network.selects for network in (self.packing, self.unpacking) if network)
        return self.stores.pieces + self.loads.pieces + sum(networks)

    @property
    def proof(self) -> str:
        """What is proved of the turns: that what is stored and loaded fills as many, or of these vectors only."""
        sides = [(int(moves.on.sum()) * moves.width * self.bits) // 8 for moves in (self.stores, self.loads)]
        least = sum(-(-side // (BANKS * WORD)) for side in sides)
        if self.passes <= least:
            return self.found.proof
        return (
            f"open: {sides[0]} bytes are stored and {sides[1]} loaded, which takes {least} turns at least; by these "
            f"instructions, {self.found.proof}"
        )

    @property
    def clocks(self) -> float:
        """The clocks of a warp by the bound of pipes: a turn takes one."""
        return max(self.passes / self.warps, self.selects / 2)

    def gives(self, source: Distribution, target: Distribution) -> bool:
        """Say whether every element lands where the target says, by running the stores and loads on the cells."""
        before = slots_after(self.packing, flat_cells(source))
        size = int(self.layout.table().max()) + 1
        memory = np.full(size, -1, np.int64)
        for some, address, on in zip(self.stores.slots, self.stores.addresses, self.stores.on, strict=True):
            for k, slot in enumerate(some):
                known, new = memory[address[on] + k], before[:, slot][on]
                if ((known >= 0) & (known != new)).any():
                    return False
                memory[address[on] + k] = new
        held = np.full((target.warps * LANES, target.slots), -1, np.int64)
        per = max(1, 32 // self.bits)
        for some, address, on in zip(self.loads.slots, self.loads.addresses, self.loads.on, strict=True):
            for k, slot in enumerate(some):
                held[on, slot] = memory[address[on] + k]
                if self.own and not on.all():
                    held[~on, slot] = before[~on, self.own[slot // per] * per + slot % per]
        wanted = flat_cells(target)
        return bool(((wanted < 0) | (slots_after(self.unpacking, held) == wanted)).all())


class _Keepers(Struct, frozen=True):
    """Of each word of the target which word of the source it is where a warp keeps it, and which warps do."""

    own: tuple[int, ...]
    stays: npt.NDArray[np.bool_]

    def loads(self, groups: tuple[tuple[int, ...], ...], per: int) -> npt.NDArray[np.bool_]:
        """Return which threads load each vector: all but those of warps that keep all of its words."""
        words = [sorted({slot // per for slot in some}) for some in groups]
        return np.stack([np.repeat(~self.stays[some].all(axis=0), LANES) for some in words])


def _keepers(source: Distribution, target: Distribution, bits: int) -> _Keepers | None:
    """Return what warps keep in all of their lanes; None where they keep nothing."""
    per = max(1, 32 // bits)
    before, after = (
        np.pad(each.cells, ((0, 0), (0, 0), (0, -each.slots % per)), constant_values=-1).reshape(
            each.warps, LANES, -1, per
        )
        for each in (source, target)
    )
    want = after[:, :, :, None, :]
    same = ((want == before[:, :, None, :, :]) | (want < 0)).all(axis=(1, 4))  # warp, word after, word before
    own = same.sum(axis=0).argmax(axis=1)
    stays = same[:, np.arange(len(own)), own].T
    return _Keepers(tuple(own.tolist()), stays) if stays.any() else None


def through_shared(
    source: Distribution,
    target: Distribution,
    bits: int,
    widest: int = 128,
    families: Sequence[Family] = FAMILIES,
    *,
    keep: bool = False,
    repack: bool = False,
    at_most: int | None = None,
) -> SharedPlan:
    """Return the plan with the fewest turns: wide vectors first, narrower ones where no layout keeps them whole.

    Vectors have up to `widest` bits, and at least one element. `families` are those of the tile's layout. With `keep`,
    warps may keep words that they hold; with `repack`, lanes may arrange their registers anew, so that whole words are
    stored and loaded. `at_most` limits the bytes of the tile: the user's error where none is as small.
    """
    shape = source.shape
    if len(shape) > 4:
        shape = (prod(shape),)
        source, target = (Distribution(shape, each.cells, each.name) for each in (source, target))
    plan = _fewest_turns(source, target, bits, widest, families, None, at_most)
    if plan is None:
        assert at_most is not None, "single elements can always be stored and loaded"
        mistake(
            f"a tile of {prod(shape) * bits // 8} bytes, which shared memory does not hold",
            f"{at_most} bytes at most, which is what a block of the largest GPUs may have",
            fix="convert parts of the tile one after the other",
        )
    keepers = _keepers(source, target, bits) if keep else None
    if keepers is not None:
        split = _fewest_turns(source, target, bits, widest, families, keepers, at_most)
        if split is not None and split.passes < plan.passes and split.clocks < plan.clocks:
            plan = split
    return _in_words(source, target, bits, widest, families, at_most, plan) if repack else plan


def _fewest_turns(
    source: Distribution,
    target: Distribution,
    bits: int,
    widest: int,
    families: Sequence[Family],
    keepers: _Keepers | None,
    at_most: int | None,
) -> SharedPlan | None:
    best_plan: SharedPlan | None = None
    stores, loads = (list(_vectors(each, bits, widest)) for each in (source, target))
    pairs = sorted(product(stores, loads), key=lambda pair: -(pair[0][1] + pair[1][1]))[:_ENOUGH]
    narrow = product([min(stores, key=lambda v: v[1])], [min(loads, key=lambda v: v[1])])
    for one, two in [*pairs, *narrow]:
        if keepers is None:
            gets = np.ones((len(two[2]), len(flat_cells(target))), np.bool_)
        elif two[1] * bits >= 32:
            gets = keepers.loads(two[2], max(1, 32 // bits))
        else:
            continue
        gets &= _phases_asking(target, *two[1:], bits)
        loaded = np.unique(
            flat_cells(target)[:, [slot for some in two[2] for slot in some]][np.repeat(gets, two[1], 0).T]
        )
        puts = _first_holders(source, one[2], set(loaded.tolist()) - {-1})
        accesses = [_access("stores", source, *one, puts), _access("loads", target, *two, gets)]
        moved = (int(on.sum()) * width for on, width in ((puts, one[1]), (gets, two[1])))
        lower = sum(-(-count * bits // (32 * LANES)) for count in moved)
        found = best(source.shape, accesses, bits=bits, families=families, at_most=at_most)
        if found.layout is None or (best_plan is not None and (found.passes or 0) >= best_plan.passes):
            continue
        plan = SharedPlan(
            source.shape,
            bits,
            source.warps,
            _moves(source, one, found.layout, bits, puts),
            _moves(target, two, found.layout, bits, gets),
            found,
            keepers.own if keepers else (),
        )
        if plan.gives(source, target):
            best_plan = plan
            if plan.passes <= lower and not plan.selects:
                break
    return best_plan


def _in_words(
    source: Distribution, target: Distribution, bits: int, widest: int, families: Sequence[Family], at_most: int | None,
    plan: SharedPlan,
) -> SharedPlan:  # fmt: skip
    """Return a plan of fewer clocks that arranges registers anew in each lane; `plan` where there is none."""
    least = 2 * -(-prod(source.shape) * bits // (32 * LANES))  # where every cell goes through memory
    if bits >= 32 or plan.clocks * plan.warps <= least or len(np.unique(source.cells)) < source.cells.size:
        return plan
    ways: list[tuple[int, tuple[Distribution, Distribution], Arrangement, Arrangement]] = []
    for numbered in [(source, target), *renumbered(source, target, bits)]:
        for first, last in product(*(list(arrangements(each, bits, widest)) for each in numbered)):
            ways.append((first.selects(back=False) + last.selects(back=True), numbered, first, last))
    ways.sort(key=lambda way: (way[0], -way[2].vectors[1] - way[3].vectors[1]))
    for selects, numbered, first, last in ways[:_ENOUGH]:
        if selects / 2 >= plan.clocks:
            break
        puts, gets = (np.ones((len(each.vectors[2]), each.held.warps * LANES), np.bool_) for each in (first, last))
        accesses = [
            _access("stores", first.held, *first.vectors, puts),
            _access("loads", last.held, *last.vectors, gets),
        ]
        found = best(first.held.shape, accesses, bits=bits, families=families, at_most=at_most)
        if found.layout is None:
            continue
        made = SharedPlan(
            first.held.shape,
            bits,
            source.warps,
            _moves(first.held, first.vectors, found.layout, bits, puts),
            _moves(last.held, last.vectors, found.layout, bits, gets),
            found,
            packing=first.network,
            unpacking=last.back,
        )
        if made.clocks < plan.clocks:
            assert made.gives(*numbered), "registers are arranged as they were before"
            plan = made
        if plan.passes <= least:
            break
    return plan


def _vectors(each: Distribution, bits: int, widest: int) -> Iterator[Vectors]:
    """Yield the ways to group slots into vectors along an axis, of `widest` bits or less, as registers hold them."""
    flat = flat_cells(each)
    for axis in range(len(each.shape)):
        width = max(1, widest // bits)
        while width > 1 or axis == len(each.shape) - 1:
            groups = neighbours(flat, each.shape, axis, width, max(1, 32 // bits))
            if groups is not None:
                yield axis, width, tuple(groups)
            if width == 1:
                break
            width //= 2


def _by_phase(threads: npt.NDArray[Any], width: int, bits: int) -> npt.NDArray[Any]:
    """Part the last axis, of threads, into those that are served together."""
    lanes = min(LANES, 32 * LANES // (width * bits))
    return threads.reshape(*threads.shape[:-1], -1, lanes)


def _phases_asking(
    each: Distribution, width: int, groups: tuple[tuple[int, ...], ...], bits: int
) -> npt.NDArray[np.bool_]:
    """Return which threads are in a phase where somebody wants a vector: (vectors, threads)."""
    wants = np.stack([flat_cells(each)[:, some[0]] >= 0 for some in groups])
    phases = _by_phase(wants, width, bits)
    return np.broadcast_to(phases.any(axis=-1, keepdims=True), phases.shape).reshape(wants.shape)


def _first_holders(each: Distribution, groups: tuple[tuple[int, ...], ...], loaded: set[int]) -> npt.NDArray[np.bool_]:
    """Return which threads store each vector, the first that holds cells that are loaded: (vectors, threads)."""
    flat = flat_cells(each)
    seen: set[int] = set()
    on = np.zeros((len(groups), len(flat)), np.bool_)
    for n, some in enumerate(groups):
        for thread in range(len(flat)):
            cells = loaded.intersection(flat[thread, list(some)].tolist())
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
    on: npt.NDArray[np.bool_],
) -> Access:
    flat = flat_cells(each)
    firsts = np.where(on, np.stack([flat[:, some[0]] for some in groups]), -1)
    starts = np.stack(np.unravel_index(np.maximum(firsts, 0), each.shape), -1)
    starts = np.where(firsts[..., None] < 0, -1, starts).reshape(-1, LANES, len(each.shape))
    return Access(name, lambda shape, bits: Asked(starts, width, axis))


def _moves(each: Distribution, vectors: Vectors, layout: Layout, bits: int, on: npt.NDArray[np.bool_]) -> Moves:
    _, width, groups = vectors
    flat, table = flat_cells(each), layout.table().reshape(-1)
    firsts = np.stack([flat[:, some[0]] for some in groups])
    held = _by_phase(firsts >= 0, width, bits)
    addresses = _by_phase(np.where(firsts < 0, 0, table[np.maximum(firsts, 0)]), width, bits)
    with_another = np.take_along_axis(addresses, held.argmax(axis=-1)[..., None], -1)
    return Moves(width, groups, np.where(held, addresses, with_another).reshape(firsts.shape), on, bits)
