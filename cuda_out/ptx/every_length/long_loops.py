"""Loops along a huge length, run sparsely: a few trips, one that stands for all that follow, and the last ones.

The run is that of `cuda_out.ptx.every_length.far`, at a length of 2^31 or so. Which trips are left out is shown by an
induction (`cuda_out.ptx.every_length.induction`). Of arrays there are the first elements along the length and the last
ones, as many as the specification is asked for (`cuda_out.ptx.every_length.long_tiles`); what the trips between take is
moved by as much as their trips are. Every output must then be what the specification says at the short length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import floor
from typing import Final

from msgspec.structs import replace

from cuda_out.ptx.every_length.far import has_room, last
from cuda_out.ptx.every_length.induction import LongMachine
from cuda_out.ptx.every_length.long_tiles import UNIT, LongTiles
from cuda_out.ptx.every_length.windows import MOST_BLOCKS, NotTiled
from cuda_out.ptx.running.machine import of_one_length
from cuda_out.ptx.running.run import kernel_of
from cuda_out.ptx.running.validate import Validation, WrittenOut
from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import Tiling
from symbolic.algebra.terms import Term
from symbolic.ir.program import Axis, Program

_FAR: Final = 1 << 21
"""About how long loops are in blocks far out."""


class LongValidator(LongTiles):
    """Validates some blocks at the length `long` along loops."""

    machine = LongMachine

    def validate(self, ptx: str, entry: str, shared_bytes: int = 0) -> Validation:
        self.decided = False
        with suppress(NotInterpreted):
            if any(of_one_length(each) for each in kernel_of(ptx, entry).instructions):
                raise NotTiled(
                    "matrices, asynchronous copies, matches and reductions of warps are not looked at in this way"
                )
        found = super().validate(ptx, entry, shared_bytes)
        if found.verdict == "different" and not found.broken:  # of trips that are left out, no more than this is known
            return replace(found, verdict="unknown")
        return found

    def has_room(self, length: int) -> bool:
        """Tell whether arrays have room at a length along loops."""
        lengths = [{a.axis: self.length(a, cut.get(a.axis)) for a in self.taken} for cut in self.cuts]
        return all(has_room(self.program, self.every, {**each, "k": length}) for each in lengths)

    def __str__(self) -> str:
        return f"{super().__str__()} at length {self.long} along its loops"


def long_validators(
    program: Program, tiling: Tiling, wanted: Mapping[str, Sequence[Term]], written: WrittenOut,
    alignment: Sequence[int] | None, short: int, longest: int,
) -> Iterator[LongValidator]:  # fmt: skip
    """Yield what validates the second blocks at the greatest length along loops for which arrays have room, the first
    ones if that is much more, and blocks far out along each axis at a lesser length."""
    axes = tiling.of_grid
    assert tiling.of_loops is not None
    unit = UNIT * tiling.of_loops.tile

    def room(units: int, at: Mapping[Axis, int]) -> bool:
        lengths: dict[Axis, int] = {a.axis: at[a.axis] * a.tile + max(a.tile, a.reach) + a.step for a in axes}
        return has_room(program, tiling, {**lengths, "k": short + units * unit})

    tried: list[tuple[dict[Axis, int], int]] = []
    for number in (1, 0):
        at: dict[Axis, int] = {each.axis: number for each in axes}
        units = last(0, (longest - short) // unit, lambda units: room(units, at))  # noqa: B023
        tried.append((at, units))
        if units * unit >= longest // 2:
            break
    for far in axes:
        at = {each.axis: 0 for each in axes}
        for each in sorted(axes, key=lambda axis: axis.axis != far.axis):
            most = MOST_BLOCKS[each.axis] - 3
            at[each.axis] = last(0, most, lambda n: room(_FAR // unit, {**at, each.axis: n}))  # noqa: B023
        tried.append((at, _FAR // unit))
    for place, (at, units) in enumerate(tried):
        if units and (at, units) not in tried[:place]:
            yield LongValidator(program, tiling, wanted, written, alignment, at, (short + units * unit, short))


def turning(one: LongValidator, other: LongValidator, few: int) -> list[int]:
    """Return the lengths at which comparisons of two runs turn, as far as their sides follow the length, and the next
    ones: one of each stretch of lengths between them. Below `few` only what is asked to be equal counts, as compilers
    ask how many trips there are."""
    found, apart = set[int](), one.long - other.long
    for place in one.compared.keys() & other.compared.keys():
        slope = (one.compared[place] - other.compared[place]) / apart
        if slope:
            at = floor(one.long - one.compared[place] / slope)
            found |= {each for each in (at, at + 1) if place[2] or each >= few}
    return sorted(found)
