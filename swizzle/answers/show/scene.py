"""What a picture shows of one kernel, however it is drawn: facts, panels, labels, and what each hole became, as a
table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from swizzle.answers.show.panels import BlockTrace, Labels, Panel, Trace
from swizzle.solving.solution.answered import WrittenHole
from swizzle.solving.solution.solution import Solution
from symbolic.errors import Place
from symbolic.ir.program import Program
from templates.holes import HOLE_KINDS
from templates.registry import FilledHole

MOST_ROWS, MOST_COLUMNS = 8, 64


class HoleTable(Struct, frozen=True):
    """A hole's values: one column for each value of its first argument, one row for each of the other arguments.

    `rows` are the first few, (`k = 2`, the values), or one where they are all the same; None where the kernel never
    asks. `more` is how many are left out.
    """

    name: str
    kind: str
    place: Place
    size: int
    formula: str
    words: str
    argument: str
    columns: tuple[int, ...]
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]
    more: int

    @property
    def drawn(self) -> int | None:
        """The row to draw with arrows: of a transform, the first that moves anything."""
        if self.kind not in HOLE_KINDS or not HOLE_KINDS[self.kind].moves:
            return None
        return next((n for n, (_, values) in enumerate(self.rows) if values != self.columns), None)


def hole_table(filling: FilledHole | WrittenHole, formula: str, asked: Mapping[tuple[int, ...], int]) -> HoleTable:
    """Lay out the values of a hole at the points where the kernel asks it."""
    hole = filling.hole
    columns = sorted({point[0] for point in asked if point})[:MOST_COLUMNS]
    others = sorted({point[1:] for point in asked})
    values = {other: tuple(asked.get((column, *other)) for column in columns) for other in others}
    if len(others) > 1 and len(set(values.values())) == 1:
        rows, more = [(f"any {', '.join(hole.arguments[1:])}", values[others[0]])], 0
    else:
        rows = [(_named(hole.arguments[1:], other), values[other]) for other in others[:MOST_ROWS]]
        more = max(0, len(others) - MOST_ROWS)
    return HoleTable(
        hole.name,
        hole.kind,
        hole.place,
        hole.size,
        formula,
        filling.words(),
        hole.arguments[0] if hole.arguments else "",
        tuple(columns),
        tuple(rows),
        more,
    )


def _named(names: Sequence[str], values: Sequence[int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))


Colour: TypeAlias = Literal["element", "lane"]


class Scene(Struct, frozen=True, eq=False):
    """What one warp of a kernel moves.

    `solution` has the kernel without holes, `program`. Cells are coloured by their element, or by the lane that had
    it first.
    """

    solution: Solution
    block: BlockTrace
    trace: Trace
    panels: tuple[Panel, ...]
    labels: Labels
    holes: tuple[HoleTable, ...]
    colour: Colour = "element"

    @property
    def program(self) -> Program:
        return self.solution.program

    @property
    def title(self) -> str:
        return f"What {self.program.name} moves"

    @property
    def where(self) -> str:
        """Say which warp is shown: `block 0 of 2, warp 1 of 4`."""
        return self.where_is(self.trace.warp)

    def where_is(self, warp: int) -> str:
        blocks = self.program.grid[0] * self.program.grid[1] * self.program.grid[2]
        return f"block {self.trace.block} of {blocks}, warp {warp} of {self.block.warps}"


def labels_for(found: Trace, laid: Sequence[Panel]) -> Labels:
    """Return the labels of one warp's panels."""
    seen = {term for panel in laid for strip in panel.strips for term in strip.terms if term >= 0}
    return Labels(found.program, found.terms, seen)
