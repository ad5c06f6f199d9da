"""What a block of any length sees of arrays: how much is left for it, and the window that it has of each.

A block depends on a length by what is left from its beginning on, up to what it accesses at most: a `Cut` for each such
remainder, and one with more behind it. A `Window` says where elements stand that are counted from the beginning of a
block's part, and whether an address, a polynomial in the block's number and the length, is one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.instructions.indices import Total, at_case
from cuda_out.ptx.instructions.polynomials import Polynomial, plus, product_of
from cuda_out.ptx.running.memory import Broken, Lanes
from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import TiledAxis, Tiling
from symbolic.ir.index import flat_index
from symbolic.ir.program import Axis, Parameter

MOST_BLOCKS: Final[Mapping[Axis, int]] = {"x": 2**31 - 1, "y": 65535, "z": 65535}
"""Blocks that a launch may have along each axis."""
_PITCH: Final = 16
"""Rows of a window begin at a multiple of so many elements, as far as vectors are wide."""


class Cut(Struct, frozen=True):
    """One remainder along one axis: so many units are left from the block's beginning on, or, with `more`, at least.

    `narrow` tells whether the length is one of the axis's narrow ones, and `first` whether nothing is before the block,
    where that is told apart.
    """

    axis: TiledAxis
    left: int
    more: bool = False
    narrow: bool | None = None
    first: bool | None = None

    @property
    def shortest(self) -> int:
        """The least length at which a block is cut like this."""
        return self.left + (self.axis.tile if self.first is False else 0)

    @property
    def own(self) -> int:
        return min(self.left, self.axis.tile)

    def fixed(self) -> dict[str, int]:
        """Return the variables of the length that are numbers."""
        name = self.axis.axis
        return {f"left {name}": self.left, **({} if self.more else {f"rest {name}": 0})}

    def total(self) -> Total | None:
        """Return between what the length is, as far as its variables say."""
        name = self.axis.axis
        names = (f"no block {name}" if self.first else f"block {name}", f"rest {name}" if self.more else "")
        if self.narrow is None:
            return None
        border = self.axis.narrow - self.shortest
        return Total(*names, self.axis.tile, *((0, border) if self.narrow else (border + 1, None)))

    def __str__(self) -> str:
        size = "" if self.narrow is None else f" of a length {'up to' if self.narrow else 'above'} {self.axis.narrow}"
        place = "" if self.first is None else "nothing and " if self.first else "a block or more before it and "
        return f"{place}{self.left}{' or more' if self.more else ''} left along {self.axis.axis}{size}"


def block_of(axis: Axis, first: bool | None) -> Polynomial:
    """Return the number of a block: 0 for the first one, more for another, any where they are not told apart."""
    return {} if first else plus({(f"block {axis}",): 1}, {} if first is None else {(): 1})


def length_of(axis: TiledAxis, first: bool | None = None) -> Polynomial:
    """Return the length along an axis, of which a block has `left` and `rest` units before it."""
    return plus({(f"left {axis.axis}",): 1, (f"rest {axis.axis}",): 1}, block_of(axis.axis, first), axis.tile)


def remainders(axis: TiledAxis, first: bool | None = None) -> list[Cut]:
    """Return what may be left for a block: up to its tile, or to its reach, and more.

    Lengths are told apart by whether they are narrow where a block has its reach, as others take no short strides; of
    a text in which they do, nothing is said.
    """
    most = max(axis.tile, axis.reach)
    found = [*(Cut(axis, left) for left in range(axis.step, most + 1, axis.step)), Cut(axis, most, more=True)]
    found = [replace(each, first=first) for each in found if not first or each.more or each.left >= axis.least]
    if not axis.narrow:
        return found
    return [
        replace(each, narrow=told)
        for each in found
        for told in ((True, False) if each.left >= axis.reach else (None,))
        if told is None or (each.shortest <= axis.narrow if told else _longest(each) > axis.narrow)
    ]


def _longest(cut: Cut) -> int:
    """Return the greatest length at which a block is cut like this."""
    most = cut.axis.tile * MOST_BLOCKS[cut.axis.axis]
    if cut.more:
        return most
    return cut.left if cut.first else most - cut.axis.tile + cut.left


class NotTiled(Exception):
    """A kernel that cannot be looked at in this way, and why."""


class NotMoved(NotInterpreted):
    """An access that is not at an element of the block's part, moved with it."""


class Window:
    """One array as each block sees it: dimensions one by one while rows have varying lengths, then the rest as one.

    A block sees as far as its reach, or to the end of its tile's inputs. `sizes` are the extents in the window, in
    elements, `strides` say how far one is from the next, and `begin` where the window begins. For each remainder
    `bounds` says how many elements there are, and whether the array ends there, and `own` how many are the block's;
    `lows` how many come before them, in each dimension, of which `before` are there, as blocks may be the `first` ones.
    """

    def __init__(
        self,
        parameter: Parameter,
        tiling: Tiling,
        cuts: Sequence[Mapping[Axis, Cut]],
        first: Mapping[Axis, bool] | None = None,
    ) -> None:
        numbers = {each.axis: block_of(each.axis, first[each.axis] if first else None) for each in tiling.axes}
        self.parameter, self.spans = parameter, tiling.spans[parameter.name]
        varying = [number for number, span in enumerate(self.spans) if span is not None and number > 0]
        self.levels = max(varying, default=0) + 1
        tiles = {each.axis: each.tile for each in tiling.axes}
        seen = {each.axis: max(each.tile, each.reach) for each in tiling.axes}
        pairs = list(zip(parameter.shape, self.spans, strict=True))
        before = {each.axis: each.before for each in tiling.axes}
        self.lows = tuple(s.scale * before[s.axis] if s else 0 for s in self.spans)
        self.shape = tuple(
            extent if s is None else low + s.scale * seen[s.axis] + s.halo
            for (extent, s), low in zip(pairs, self.lows, strict=True)
        )
        if any(s is not None and s.scale * tiles[s.axis] + s.halo > extent for extent, s in pairs):
            raise NotTiled(f"{parameter.name} of the sketch is smaller than what one block sees")
        if parameter.role != "in" and any(s is not None and s.halo for s in self.spans) and parameter.role != "const":
            raise NotTiled(f"{parameter.name} has elements that belong to no block")
        self.sizes = self._levels(self.shape)
        self.pitched = tuple(-(-size // _PITCH) * _PITCH if place else size for place, size in enumerate(self.sizes))
        bounds, own = list[list[tuple[int, bool]]](), list[list[int]]()
        for cut in cuts:
            bounds.append(
                [
                    (e, True) if s is None else (s.scale * cut[s.axis].left + s.halo, not cut[s.axis].more)
                    for e, s in pairs
                ]
            )
            own.append([e if s is None else s.scale * cut[s.axis].own for e, s in pairs])
        rest = prod(parameter.shape[self.levels :])
        last = self.levels - 1
        self.low_levels = np.array([*self.lows[:last], self.lows[last] * rest], np.int64)
        there = [0 if s and first and first[s.axis] else 1 for s in self.spans[: self.levels]]
        self.before = self.low_levels * np.array(there, np.int64)
        self.starts = not there[0]
        self.bounds = np.array([[each for each, _ in row[: self.levels]] for row in bounds], np.int64)
        self.ends = np.array([[ends for _, ends in row[: self.levels]] for row in bounds], np.bool_)
        self.bounds[:, last] *= rest
        self.owned = np.array(own, np.int64)
        self.own = np.array([self._levels(row) for row in own], np.int64)
        lengths = {each.axis: length_of(each, first[each.axis] if first else None) for each in tiling.axes}
        extents, begins = list[Polynomial](), list[Polynomial]()
        for e, s in pairs:
            extents.append({(): e} if s is None else plus({(): s.halo}, lengths[s.axis], s.scale))
            begins.append({} if s is None else product_of(numbers[s.axis], {(): s.scale * tiles[s.axis]}))
        self.strides: list[Polynomial] = [{(): 1}]
        for place in range(last, 0, -1):
            row = product_of(extents[place], {(): rest}) if place == last else extents[place]
            self.strides.insert(0, product_of(self.strides[0], row))
        self.begin: Polynomial = {}
        for place, stride in enumerate(self.strides):
            of_row = product_of(begins[place], {(): rest}) if place == last else begins[place]
            self.begin = plus(self.begin, product_of(of_row, stride))
        whole = extents[0] if last else product_of(extents[0], {(): rest})
        self.count = product_of(whole, self.strides[0])

    def _levels(self, extents: Sequence[int]) -> tuple[int, ...]:
        return *extents[: self.levels - 1], prod(extents[self.levels - 1 :])

    @property
    def cells(self) -> int:
        return prod(self.pitched)

    def cell(self, index: Sequence[int]) -> int:
        """Return where an element stands in the window, which is counted from the beginning of the block's part."""
        place = tuple(at + low for at, low in zip(index, self.lows, strict=True))
        flat = flat_index(self.shape[self.levels - 1 :], place[self.levels - 1 :])
        found: int = flat_index(self.pitched, (*place[: self.levels - 1], flat))
        return found

    def elements(self) -> Iterator[tuple[int, ...]]:
        """Yield all elements of the window, counted from the beginning of the block's part."""
        pairs = zip(self.shape, self.lows, strict=True)
        return itertools.product(*(range(-low, extent - low) for extent, low in pairs))

    def located(self, offset: Polynomial, fixed: Mapping[str, int]) -> tuple[int, ...] | None:
        """Return which element stands at an offset in elements, where some variables are fixed; None where that is none
        of the block's part, or not the same one for all that is open."""
        rest, found = plus(at_case(offset, fixed), at_case(self.begin, fixed), -1), list[int]()
        strides = [at_case(each, fixed) for each in self.strides[:-1]]
        if not any(map(any, (rest, *strides))):  # all are numbers: a column before the block's is no row before it
            first = rest.get((), 0) + self._to_first(strides)
            for each in strides:
                number, first = divmod(first, each[()])
                found.append(number)
            return tuple((np.array([*found, first], np.int64) - self.before).tolist())
        for stride in strides:
            leading = max((m for m in stride if m), key=lambda m: (len(m), m), default=())
            number, more = divmod(rest.get(leading, 0), stride[leading])
            rest = plus(rest, stride, -number)
            found.append(number)
            if more and leading:  # a stride that is a number is that of first blocks: a column is what is left over
                return None
        return None if any(rest) else (*found, rest.get((), 0))

    def _to_first(self, strides: Sequence[Polynomial]) -> int:
        """Return how many elements before the block's part its first one is."""
        return sum(int(low) * each[()] for low, each in zip(self.before, [*strides, {(): 1}], strict=True))

    def outside(self, numbers: Lanes, cuts: Lanes, count: int, *, writes: bool) -> npt.NDArray[np.bool_]:
        """Tell which elements, and the next `count` ones, are not in the part of a block; or not its own to write."""
        ends = numbers + 1
        ends[:, -1] += count - 1
        most = np.minimum(self.own, self.bounds) if writes else self.bounds
        found: npt.NDArray[np.bool_] = np.any((numbers < -self.before) | (ends > most[cuts]), axis=1)
        return found

    def why_outside(self, numbers: Sequence[int], cut: int, count: int) -> Broken | NotInterpreted:
        """Return what is wrong with an element that is outside."""
        where, bound = f"element {list(numbers)} of a block's part of {self.parameter.name}", int(self.bounds[cut][0])
        if self.ends[cut][0] and numbers[0] + (count if self.levels == 1 else 1) > bound and numbers[0] >= 0:
            return Broken(f"{where}, which has {bound} there, out of bounds")
        if self.starts and numbers[0] < 0:
            return Broken(f"{where}, before which nothing is, out of bounds")
        return NotMoved(f"{where}, which is not in it")
