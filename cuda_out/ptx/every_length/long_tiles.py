"""What there is of arrays at a huge length along loops: the first elements along it, and the last ones.

They stand in arrays of a short length, as many as the specification is asked for. Those between them stand nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np
from msgspec.structs import replace

from cuda_out.ptx.every_length.far import FarValidator
from cuda_out.ptx.every_length.tiles import TileRegisters, TileTransfers, TileValidator
from cuda_out.ptx.every_length.windows import Cut
from cuda_out.ptx.instructions.indices import Value
from cuda_out.ptx.instructions.operation import InstructionForm, Operation
from cuda_out.ptx.kinds import is_float, typed, width
from cuda_out.ptx.running.memory import Lanes
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.running.validate import WrittenOut
from cuda_out.ptx.syntax import Instruction, NotInterpreted
from cuda_out.tiling.tiling import TiledAxis, Tiling
from symbolic.algebra.terms import Term
from symbolic.ir.program import Axis, Parameter, Program

UNIT: Final = 64
"""Elements that are left out are a multiple of so many chunks, as compilers put trips together by powers of two."""


class LongTiles(FarValidator):
    """Some blocks at the length `long` along loops; the program and `wanted` have the length `short` instead."""

    decided = False
    """Where validation does not succeed: whether it would not with more trips kept either."""
    compared: dict[tuple[int, int, bool], int]
    """Of a run, how far apart the sides of each comparison were: by its place, the thread, and whether it asks if they
    are equal."""

    def __init__(
        self, program: Program, tiling: Tiling, wanted: Mapping[str, Sequence[Term]], written: WrittenOut,
        alignment: Sequence[int] | None, at: Mapping[Axis, int], lengths: tuple[int, int],
    ) -> None:  # fmt: skip
        self.at, self.far, self.more, self.declared = dict(at), "x", True, tiling.declared
        self.numbers = {f"block {axis}": number for axis, number in at.items()}
        self.long, self.short = lengths
        self.left_out, self.counts, self.every = self.long - self.short, tiling.masks.counts, tiling
        fixed = {name: (None,) * len(spans) for name, spans in tiling.spans.items()}
        of_grid = tiling.without_loops() or replace(tiling, axes=(), spans=fixed)
        TileValidator.__init__(self, program, of_grid, wanted, written, alignment)
        self.taken = tiling.axes
        self.shapes = {p.name: [self._shapes(p, number) for number in range(len(self.cuts))] for p in self._arrays()}
        self.strides = {name: [self._stride(name, long) for long, _ in each] for name, each in self.shapes.items()}

    def _together(self, remaining: Sequence[Sequence[Cut]]) -> Iterator[tuple[Cut, ...]]:
        return zip(*remaining, strict=True) if remaining else iter(((),))

    def _remainders(self, axis: TiledAxis) -> list[Cut]:
        return [Cut(axis, axis.step), Cut(axis, axis.tile)]

    def _arrays(self) -> list[Parameter]:
        return [p for p in self.program.parameters if not p.is_scalar and not p.by_value]

    def _shapes(self, parameter: Parameter, cut: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        lengths = {a.axis: self.length(a, self.cuts[cut].get(a.axis)) for a in self.every.axes}
        shape = self.every.shape(parameter, lengths)
        return shape, self.every.shape(parameter, {**lengths, "k": self.short})

    def _along(self, name: str) -> int | None:
        places = [place for place, span in enumerate(self.every.spans[name]) if span and span.axis == "k"]
        return places[0] if places else None

    def _stride(self, name: str, shape: tuple[int, ...]) -> int:
        """Return how many elements one along the length is further on, 0 in an array that does not follow it."""
        along = self._along(name)
        return 0 if along is None else prod(shape[along + 1 :])

    def length(self, axis: TiledAxis, cut: Cut | None) -> int:
        return self.long if axis.axis == "k" else super().length(axis, cut)

    def short_index(self, name: str, cut: int, element: int) -> int | None:
        """Return which element of an array of the short length stands for one; None if it is left out."""
        (long, short), along = self.shapes[name][cut], self._along(name)
        index = list[int]()
        for extent in reversed(long[1:]):
            element, place = divmod(element, extent)
            index.insert(0, place)
        index.insert(0, element)
        if along is not None and index[along] >= self.short:
            index[along] -= self.left_out
            if index[along] < 0:
                return None
        flat = 0
        for extent, place in zip(short, index, strict=True):
            flat = flat * extent + place
        return flat


class LongRegisters(TileRegisters):
    """Registers where data that is made of the length has the short one: a mean is divided by it."""

    lengths: tuple[int, int] | None

    def computed(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        if self.lengths and not operation.name.startswith(("setp", "selp")):
            data = any(terms.any() for _, terms in values)
            if data or (operation.name.startswith("cvt.") and is_float(operation.result)):
                values = [self._short(*each) for each in zip(values, operation.sources, strict=True)]
        return super().computed(operation, values, at)

    def _short(self, value: Register, kind: str) -> Register:
        assert self.lengths is not None
        if is_float(kind) or width(kind) < 32:
            return value
        is_length = (value[1] == 0) & (typed(value[0], kind) == self.lengths[0])
        return np.where(is_length, np.uint64(self.lengths[1]), value[0]), value[1]


class LongTransfers(TileTransfers):
    """Loads and stores in arrays of which the first and the last elements along the length are there."""

    tiles: LongTiles
    why: str = ""

    def _located(self, instruction: Instruction, value: Value, cuts: Lanes, add: int, how: InstructionForm) -> Lanes:
        found = np.zeros(len(cuts), np.int64)
        for cut in np.unique(cuts).tolist():
            some = cuts == cut
            here = value[0] + add
            for name, (window, region) in self.windows.items():
                if abs(here - region.base) < 1 << 39:
                    element, byte = divmod(here - region.base, region.cell)
                    short = self.tiles.short_index(name, cut, element)
                    if short is None:
                        raise NotInterpreted(
                            f"{instruction}: an element of {window.parameter.name} that is in the middle of length "
                            f"{self.tiles.long}, which is left out{self.why and f' ({self.why})'}"
                        )
                    here = region.base + short * region.cell + byte
                    break
            found[some] = super()._located(instruction, (here, 0), cuts[some], 0, how)
        return found
