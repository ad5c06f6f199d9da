"""Registers of 8- and 16-bit elements arranged anew within each lane, so that shared memory moves whole words.

A word that goes through memory holds neighbours in the tile, which a lane has in several of its registers at times.
Byte permutes put them into one, or take them apart. Where both distributions are affine over bits, cells may be
numbered anew, too: what both sides hold in a lane's registers are then neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from swizzle.layouts.conversions.muxes import put_together
from swizzle.layouts.conversions.network import Builder, ExchangeNetwork, Tokens
from swizzle.layouts.distribution import Cells, Distribution
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
