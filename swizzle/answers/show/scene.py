"""What a picture shows of one kernel: facts, panels, labels and holes together, however they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from swizzle.answers.show.holes import HoleTable
from swizzle.answers.show.labels import Labels
from swizzle.answers.show.panels import Panel
from swizzle.answers.show.rows import BlockTrace, Trace
from swizzle.solving.solution.solution import Solution
from symbolic.ir.program import Program

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
