"""The facts of a picture as data: rows, one for each step, with what every lane had there and from where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from symbolic.algebra.terms import Terms
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Program
from symbolic.machine.accesses import WarpAccess
from symbolic.machine.launch_shape import LaunchShape

Lanes: TypeAlias = npt.NDArray[np.int64]
Kind: TypeAlias = Literal["load", "shuffle", "compute", "store", "accumulate", "result"]


class LaneSource(Struct, frozen=True):
    """Where the lanes of a warp have a value from: a row, and the thread of the block that had it there.

    -1 is nowhere: the lane has nothing from here, or it has an input as it is.
    """

    row: Lanes
    thread: Lanes


class Row(Struct, frozen=True):
    """What the lanes of one warp, or the threads of one block, did at one step.

    `terms` are the values: of what was read, made or stored.

    `loops` are the sketch's own loops around it, with the values of their variables; `place` is in the sketch.
    `helper` says that it is part of what a call such as `warp_load` stands for. For an accumulate or a result,
    `accumulator` is the reduction's name, with its index where it has one.
    """

    number: int
    kind: Kind
    title: str
    place: Place
    loops: tuple[tuple[str, int], ...]
    helper: bool
    on: npt.NDArray[np.bool_]
    terms: Lanes
    sources: tuple[LaneSource, ...]
    holes: tuple[int, ...] = ()
    access: WarpAccess | None = None
    accumulator: str = ""


class Trace(Struct, frozen=True):
    """All rows of one warp. `lanes` is how many it has, `first` the number in the block of its lane 0.

    `asked` has for each hole the points at which the grid asks it, with its value there; `wrong` has the output cells
    that are not what the specification says, with what it says.
    """

    program: Program
    terms: Terms
    block: int
    warp: int
    first: int
    lanes: int
    rows: tuple[Row, ...]
    asked: tuple[Mapping[tuple[int, ...], int], ...]
    wrong: Mapping[tuple[str, int], int]


class BlockTrace(Struct, frozen=True):
    """All rows of one block, over all its threads; `warp` gives those of one warp."""

    program: Program
    terms: Terms
    block: int
    rows: tuple[Row, ...]
    asked: tuple[Mapping[tuple[int, ...], int], ...]
    wrong: Mapping[tuple[str, int], int]

    @property
    def warps(self) -> int:
        """How many warps a block has; the last one may be short."""
        return -(-LaunchShape.of(self.program).block_threads // self.program.warp_size)

    def warp(self, number: int) -> Trace:
        """Return what one warp of the block does."""
        require_number("warp", number, self.warps)
        size, threads = self.program.warp_size, LaunchShape.of(self.program).block_threads
        lanes = slice(number * size, min((number + 1) * size, threads))
        rows = tuple(_lanes_of(row, lanes) for row in self.rows)
        count = lanes.stop - lanes.start
        return Trace(self.program, self.terms, self.block, number, lanes.start, count, rows, self.asked, self.wrong)


def _lanes_of(row: Row, lanes: slice) -> Row:
    sources = (LaneSource(source.row[lanes], source.thread[lanes]) for source in row.sources)
    access = row.access and replace(row.access, cells=row.access.cells[lanes])
    given = tuple(source for source in sources if (source.row >= 0).any())
    return replace(row, on=row.on[lanes], terms=row.terms[lanes], sources=given, access=access)


def require_number(what: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        one = f"the only one is {what} 0"
        raise SwizzleError(
            f"there is no {what} {number}",
            expected=one if count == 1 else f"0 to {count - 1}",
            fix="leave it out, or give a number in this range",
        )
