"""Validation of blocks that are far from the first one: their numbers are so large that offsets pass 2^31 and 2^32.

It is the run of `cuda_out.ptx.every_length.tiles` with numbers in the place of its variables, so that nothing is left
undecided. Of an array there is what a block sees, wherever that is; the rest has no memory. It says less than a proof
for every block, and it can be had where there is none: where loops run along a length, where blocks may be cut in too
many ways, where a text compares with a block's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Final

import numpy as np
from msgspec.structs import replace

from cuda_out.ptx.every_length.tiles import Said, TileMachine, TileRegisters, TileValidator
from cuda_out.ptx.every_length.windows import MOST_BLOCKS, Cut, NotMoved, NotTiled
from cuda_out.ptx.instructions.indices import Case, at_case
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.kinds import KIND_OF, Bits, width
from cuda_out.ptx.running.memory import Lanes
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.validate import Validation, WrittenOut
from cuda_out.ptx.syntax import Kernel, NotInterpreted
from cuda_out.tiling.tiling import AXES, TiledAxis, Tiling
from symbolic.algebra.terms import Term
from symbolic.ir.program import Axis, Program

MOST_BYTES: Final = (1 << 38) - (1 << 20)
"""Bytes of an array, as far as an address counts as one of it."""


class FarMachine(TileMachine):
    """One run of blocks whose numbers, and the lengths, are known."""

    def __init__(
        self, kernel: Kernel, tiles: TileValidator, cuts: Lanes, deferred: Notes, operators: Mapping[str, Operation],
        dynamic: int,
    ) -> None:  # fmt: skip
        super().__init__(kernel, tiles, cuts, deferred, operators, dynamic)
        assert isinstance(tiles, FarValidator)
        registers = self.registers
        assert isinstance(registers, TileRegisters)
        registers.blocks = {axis: at_case(own, tiles.numbers) for axis, own in registers.blocks.items()}
        counts: dict[str, Bits] = {}
        names = kernel.parameters[len(tiles.arguments) :]
        for (name, _), axis in zip(names, tiles.taken, strict=True):
            lengths = [tiles.length(axis, cut.get(axis.axis)) for cut in tiles.cuts]
            every = np.array(lengths, np.uint64)[registers.case_of]
            self.parameters[name] = every, np.zeros(len(every), np.int64)
            counts[axis.axis] = np.array([axis.blocks(length) for length in lengths], np.uint64)
        registers.counts = counts
        self.transfers.numbers = frozenset(name for (name, _), _ in zip(names, tiles.taken, strict=True))


class FarValidator(TileValidator):
    """Validates one block far out along `far`, with a unit, a whole tile or more left for it.

    Along the other axes it is as near to the first block as may be, or, with `more`, as far as arrays have room. With
    `border`, it is at the first length along `far` that is not narrow.
    """

    machine = FarMachine

    def __init__(
        self, program: Program, tiling: Tiling, wanted: Mapping[str, Sequence[Term]], written: WrittenOut,
        alignment: Sequence[int] | None, said: Said | None, far: Axis, more: bool,
        border: bool = False,
    ) -> None:  # fmt: skip
        of_grid = tiling.without_loops() if tiling.of_loops else tiling
        if of_grid is None:
            raise NotTiled("its grid follows no length")
        self.far, self.more, self.declared = far, more, tiling.declared
        told = {axis.axis: False for axis in of_grid.axes} if said else None
        self.at = _numbers(program, of_grid, far, more, 1 if said else 0, border)
        self.numbers = {f"block {axis}": number - bool(said) for axis, number in self.at.items()}
        super().__init__(program, of_grid, wanted, written, alignment, said, told)
        self.taken = tiling.axes

    def length(self, axis: TiledAxis, cut: Cut | None) -> int:
        """Return the length along an axis at which a block is cut so; the declared one where the grid has none such."""
        if cut is None:
            return self.declared[axis.axis]
        return self.at[axis.axis] * axis.tile + cut.left + cut.more * axis.step

    def _remainders(self, axis: TiledAxis) -> list[Cut]:
        return _cuts(axis, axis.axis == self.far or self.more, None if self.first is None else False)

    def _case(self, cuts: Mapping[Axis, Cut]) -> Case:
        rests = {f"rest {axis}": cut.more * cut.axis.step for axis, cut in cuts.items()}
        return Case({**rests, **super()._case(cuts).fixed, **self.numbers})

    def _refused(self, error: NotInterpreted, outputs: int) -> Validation:
        if isinstance(error, NotMoved):  # what a block does is known, and is not what the first one does
            return Validation("different", outputs, (str(error),))
        return super()._refused(error, outputs)

    def __str__(self) -> str:
        return f"block ({', '.join(str(self.at.get(axis, 0)) for axis in AXES)})"


def _cuts(axis: TiledAxis, all_of_them: bool, first: bool | None) -> list[Cut]:
    """Return a unit, a tile, and more than a block can see; of which the last is left out along other axes."""
    most = max(axis.tile, axis.reach)
    found = [Cut(axis, axis.step), Cut(axis, axis.tile)] + [Cut(axis, most, more=True)] * all_of_them
    return [replace(each, first=first) for each in dict.fromkeys(found)]


def _numbers(program: Program, tiling: Tiling, far: Axis, more: bool, least: int, border: bool) -> dict[Axis, int]:
    """Return the number of a block along each axis: the largest along one for which arrays have room, or at most the
    one that is at the border of narrow lengths."""
    found = {axis.axis: least for axis in tiling.axes}

    def fits(axis: Axis, number: int) -> bool:
        at = {**found, axis: number}
        lengths = {a.axis: at[a.axis] * a.tile + max(a.tile, a.reach) + a.step for a in tiling.axes}
        return has_room(program, tiling, lengths)

    for each in sorted(tiling.axes, key=lambda axis: axis.axis != far):
        if each.axis != far and not more:
            continue
        most = each.narrow // each.tile if border and each.axis == far else MOST_BLOCKS[each.axis] - 3
        found[each.axis] = last(least, most, partial(fits, each.axis))
    return found


def last(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, if the least one does."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def has_room(program: Program, tiling: Tiling, lengths: Mapping[Axis, int]) -> bool:
    """Tell whether arrays of these lengths have no more bytes than an address may be away from where they begin."""
    arrays = [p for p in program.parameters if not p.is_scalar and not p.by_value]
    return all(prod(tiling.shape(p, lengths)) * (width(KIND_OF[p.dtype]) // 8) <= MOST_BYTES for p in arrays)


def far_validators(
    program: Program, tiling: Tiling, wanted: Mapping[str, Sequence[Term]], written: WrittenOut,
    alignment: Sequence[int] | None, said: Said | None,
) -> Iterator[FarValidator]:  # fmt: skip
    """Yield what validates blocks far out along each axis, alone and with the other axes; raise NotTiled where no such
    block can be looked at."""
    for axis in tiling.of_grid:
        for more, border in ((False, False), (True, False), (True, True)):
            if (len(tiling.of_grid) > 1 or not more) and (axis.narrow or not border):
                yield FarValidator(program, tiling, wanted, written, alignment, said, axis.axis, more, border)
    if not tiling.of_grid:
        raise NotTiled("its grid follows no length")
