"""What `convert` is asked for, two distributions of one tile and the permutation of an axis that is free; and its
result: counts, what is proved of them, and the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from msgspec import Struct

from cuda_out.c.emitter import is_c_name
from swizzle.layouts.access import Access, is_int, mistake
from swizzle.layouts.answer import plural
from swizzle.layouts.conversions.bounds import SelectBound, ShuffleBound, bound_of
from swizzle.layouts.conversions.network import ExchangeNetwork
from swizzle.layouts.conversions.shared import SharedPlan
from swizzle.layouts.conversions.text import cuda_text, shared_text
from swizzle.layouts.distribution import Distribution, axes_of, held_by, of_bits
from swizzle.layouts.layout import side_by_side, with_text
from symbolic.ir.program import LANES

_MOST_FREE_BITS = 5


def distributions_of(
    src: Distribution | Access | str, dst: Distribution | Access | str, shape: tuple[int, ...] | None, bits: int
) -> tuple[Distribution, Distribution]:
    """Return what is asked for as distributions of one tile; an error where it is none."""
    source, target = (_distribution(each, shape, bits, name) for each, name in ((src, "src"), (dst, "dst")))
    if isinstance(src, str) and isinstance(dst, str):
        mine, theirs = axes_of(src), axes_of(dst)
        if mine != theirs and len(mine) == len(theirs):
            mistake(
                f"src has the axes {', '.join(mine)}, and dst has {', '.join(theirs)}",
                "two distributions of one tile, with the same letters",
                fix="name the axes of both alike",
            )
    return _matching(source, target)


def _distribution(each: Any, shape: Any, bits: int, name: str) -> Distribution:
    match each:
        case Distribution():
            found = each
        case str():
            found = of_bits(each)
        case Access():
            if shape is None:
                mistake(f"{name} is the access {each.name}, of no tile", "the tile's shape", "shape=(16, 16)")
            if not isinstance(shape, tuple) or not shape or not all(is_int(n) and n >= 1 for n in shape):
                mistake(f"the shape is {shape!r}", "a tuple of ints from 1", "shape=(16, 16)")
            found = held_by(each, shape, bits)
        case _:
            example = 'layouts.distribution(...), "c0 r3 | c1 c2 r0 r1 r2", or layouts.mma("A", "m16n8k16")'
            mistake(f"{name} is {each!r}", "a distribution, bits as text, or an access", example)
    return found


def _matching(source: Distribution, target: Distribution) -> tuple[Distribution, Distribution]:
    """Return both as distributions of one tile; an error where they are not."""
    if len(source.shape) != len(target.shape):
        mistake(
            f"src holds a tile of {len(source.shape)} axes, {source.shape}, and dst one of {len(target.shape)}, "
            f"{target.shape}",
            "two distributions of one tile",
            fix="describe both with the same extents",
        )
    if source.warps != target.warps:
        mistake(
            f"src is held by {_warps(source.warps)}, dst by {_warps(target.warps)}",
            "the same warps",
            fix="give both the same number of warps",
        )
    shape = tuple(map(max, source.shape, target.shape))
    source, target = source.within(shape), target.within(shape)
    missing = np.argwhere((target.cells >= 0) & ~np.isin(target.cells, source.cells))
    if len(missing):
        warp, lane, slot = map(int, missing[0])
        mistake(
            f"dst wants the cell {target.cell(int(target.cells[warp, lane, slot]))} in element {slot} of lane {lane}, "
            f"warp {warp}, and src does not hold it",
            "cells that src holds",
            fix="add the cell to src, or leave it out of dst",
        )
    return source, target


def _warps(count: int) -> str:
    return "1 warp" if count == 1 else f"{count} warps"


def free_permutation(source: Distribution, target: Distribution, axis: int, bits: int) -> tuple[int, ...]:
    """Return which index of the source stands for each index of the target along an axis, so that little has to move.

    Indices are matched where the same lanes hold them: in the same slots, else in the same words, else anywhere. Where
    that does not match all of them, permutations of the index's bits are compared by their bound.
    """
    if not is_int(axis) or not 0 <= axis < len(source.shape):
        mistake(
            f"the free axis is {axis!r}",
            f"an axis of the tile, from 0 to {len(source.shape) - 1}",
            fix="give the axis along which dst may be shifted, or leave it out",
        )
    size = target.shape[axis]
    per = max(1, 32 // bits)
    marks = [_marks(each, axis) for each in (source, target)]
    for scale in (1, per, max(source.slots, target.slots)):
        found = _matched(marks[0], marks[1], size, per, scale)
        if found is not None:
            return found
    identity = tuple(range(size))
    height = (size - 1).bit_length()
    if size & size - 1 or height > _MOST_FREE_BITS:
        return identity
    best: tuple[tuple[int, bool], tuple[int, ...]] | None = None
    for order in permutations(range(height)):
        some = tuple(sum((k >> j & 1) << order[j] for j in range(height)) for k in range(size))
        rank = bound_of(source.cells[0], permuted(target, axis, some).cells[0], per).shuffles, some != identity
        if best is None or rank < best[0]:
            best = rank, some
    return best[1] if best else identity


def _marks(each: Distribution, axis: int) -> list[list[tuple[tuple[int, ...], int, int, int]]]:
    """Return, for each index along an axis, where its cells are: the other coordinates, warp, lane, slot."""
    found: list[list[tuple[tuple[int, ...], int, int, int]]] = [[] for _ in range(each.shape[axis])]
    for (warp, lane, slot), cell in np.ndenumerate(each.cells):
        if cell >= 0:
            at = each.cell(int(cell))
            found[at[axis]].append((at[:axis] + at[axis + 1 :], warp, lane, slot))
    return found


def _matched(source: Any, target: Any, size: int, per: int, scale: int) -> tuple[int, ...] | None:
    def key(marks: Sequence[tuple[tuple[int, ...], int, int, int]], scale: int) -> tuple[Any, ...]:
        return tuple(sorted((rest, warp, lane, slot // scale) for rest, warp, lane, slot in marks))

    if len(source) != size:
        return None
    left: dict[Any, list[int]] = {}
    for index, marks in enumerate(source):
        left.setdefault(key(marks, scale), []).append(index)
    found = []
    for marks in target:
        some = left.get(key(marks, scale))
        if not some:
            return None
        found.append(some.pop(0))
    return tuple(found)


def permuted(target: Distribution, axis: int, permutation: Sequence[int]) -> Distribution:
    """Return a distribution that holds the cells of other indices along an axis."""
    cells = target.cells.copy()
    stride = int(np.prod(target.shape[axis + 1 :], dtype=np.int64))
    index = cells // stride % target.shape[axis]
    moved = cells + (np.array(permutation)[index] - index) * stride
    return Distribution(target.shape, np.where(cells >= 0, moved, -1), target.name)


class Conversion(Struct, frozen=True):
    """How threads get from one distribution of a tile to another: by a `network` in registers, or a plan for `shared`.

    It was run on tokens: every element lands where `target` says. `permutation[k]` is the source's index that stands
    for index k of the target along the free axis; empty where none is.
    """

    source: Distribution
    target: Distribution
    bits: int
    network: ExchangeNetwork | None
    shared: SharedPlan | None
    least: ShuffleBound
    permutation: tuple[int, ...] = ()
    fewer: SelectBound | None = None

    @property
    def via(self) -> str:
        """'shuffles' (or nothing but moves) in registers, or 'shared'."""
        return "shuffles" if self.network is not None else "shared"

    @property
    def shuffles(self) -> int:
        """How many shuffles a warp does."""
        return self.network.shuffles if self.network else 0

    @property
    def selects(self) -> int:
        """How many selects, byte permutes and shifts a warp does."""
        return self.network.selects if self.network else self._plan.selects

    @property
    def transpositions(self) -> int:
        """How many matrices of 8x8 elements a warp transposes by `movmatrix`."""
        return self.network.transpositions if self.network else 0

    @property
    def clocks(self) -> float:
        """The clocks of a warp by the bound of pipes.

        A shuffle takes 1, and `movmatrix` is counted alike, although it was not measured. A select or a byte permute
        takes 1/2, and 128 bytes of shared memory in one turn take 1.
        """
        return self.network.clocks if self.network else self._plan.clocks

    @property
    def bound(self) -> int:
        """The shuffles that every program in registers does at least; with `movmatrix`, of both together."""
        return self.least.shuffles

    @property
    def clocks_bound(self) -> float:
        """The clocks that every program of shuffles and selects in registers takes at least, as far as is known."""
        return max(float(self.bound), self.fewer.clocks if self.fewer else 0.0)

    @property
    def _plan(self) -> SharedPlan:
        assert self.shared is not None
        return self.shared

    @property
    def proof(self) -> str:
        """What is proved to be minimal, and why; 'open' is what is not."""
        if self.shared is not None:
            return self.shared.proof
        if self.transpositions:
            both = self.shuffles + self.transpositions
            return (
                f"{'open: ' if both > self.bound or self.selects else ''}every way in registers takes "
                f"{plural(self.bound, 'shuffle or movmatrix', 'shuffles or movmatrix')} at least, as "
                f"{self.least.reason}"
            )
        if self.fewer is not None:
            return self._proof_by_selects(self.fewer)
        moves = f"{plural(self.shuffles, 'shuffle')} at least: {self.least.reason}"
        if self.shuffles > self.bound:
            return (
                f"open: every way in registers takes {plural(self.bound, 'shuffle')} at least, as {self.least.reason}"
            )
        if self.selects == 0:
            return f"{moves}; no select is needed"
        if self.clocks > self.shuffles:
            return f"{moves}; the selects are open"
        return f"{moves}; the selects take no longer, so the clocks are minimal, too"

    def _proof_by_selects(self, fewer: SelectBound) -> str:
        takes = f"{plural(fewer.shuffles, 'shuffle')} take {plural(fewer.selects, 'select')} at least"
        if self.clocks <= self.clocks_bound:
            return (
                f"{self.clocks:g} clocks at least for whole words in registers: {takes}, by the entropy of their ways"
            )
        if self.shuffles == fewer.shuffles == self.bound:
            moves = f"{plural(self.shuffles, 'shuffle')} at least: {self.least.reason}"
            some = f"{takes}, by the entropy of the ways of whole words"
            return f"{moves}; {some}" if self.selects == fewer.selects else f"{moves}; the selects are open: {some}"
        return (
            f"open: every way of whole words in registers takes {self.clocks_bound:g} clocks at least, as {takes}, by "
            "the entropy of their ways"
        )

    def cuda(self, name: str = "convert") -> str:
        """Return a CUDA device function, `void name(const unsigned (&x)[...], unsigned (&y)[...])`.

        x and y are different arrays of registers. Through shared memory it takes the tile as a third argument,
        a pointer to `shared.layout.bytes` bytes at a multiple of `shared.layout.alignment` that nobody else uses.
        """
        if not is_c_name(name):
            mistake(f"the function's name is {name!r}", "a name in C++", "convert")
        title = f"{self.source} to {self.target}: {self._counts()}"
        return cuda_text(self.network, name, title) if self.network else shared_text(self._plan, name, title)

    def _counts(self) -> str:
        selects = plural(self.selects, "select")
        if self.shared is not None:
            return f"{plural(self.shared.passes, 'turn')} of shared memory, {selects}"
        moves = f"{self.transpositions} movmatrix, " if self.transpositions else ""
        return f"{moves}{plural(self.shuffles, 'shuffle')}, {selects}"

    def __repr__(self) -> str:
        return f"{self.source} to {self.target}: {self._counts()}; {self.clocks:g} clocks\n  {self.proof}"

    def svg(self) -> str:
        """Return a figure of the tile with the lanes that hold its cells, before and after."""
        tiles = [(each.name, each.holders()) for each in (self.source, self.target)]
        return side_by_side(tiles, "the lanes that hold the tile, before and after", LANES)

    def _repr_html_(self) -> str:
        return with_text(repr(self), self.svg())
