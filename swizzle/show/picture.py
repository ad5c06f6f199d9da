"""The picture of one kernel: facts, panels, labels and holes together, and the two ways to draw them."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from swizzle.show.holes import HoleTable, hole_table
from swizzle.show.labels import Labels
from swizzle.show.panels import Panel, panels
from swizzle.show.rows import BlockTrace, Trace
from swizzle.show.trace import block_trace
from swizzle.solution import Solution
from swizzle.tables import fillings_of
from symbolic.errors import SwizzleError
from symbolic.program import Program

HEIGHT = 760
Colour: TypeAlias = Literal["element", "lane"]


@dataclass(frozen=True, eq=False)
class Picture:
    """What one warp of a kernel moves. `svg` is a figure for a paper, `html` one self-contained page to explore.

    `program` is the kernel without holes. Cells are coloured by their element, or by the lane that had it first.
    """

    program: Program
    block: BlockTrace
    trace: Trace
    panels: tuple[Panel, ...]
    labels: Labels
    holes: tuple[HoleTable, ...]
    colour: Colour = "element"

    @cached_property
    def svg(self) -> str:
        """The figure: panels, memory accesses and holes, as one SVG document."""
        from swizzle.show.svg import svg_of

        return svg_of(self)

    @cached_property
    def html(self) -> str:
        """The page: one HTML document that needs no network."""
        from swizzle.show.page import page_of

        return page_of(self)

    def save(self, path: str | Path) -> Path:
        """Write the figure (`.svg`) or the page (`.html`), whole or not at all."""
        from swizzle.commands.files import write_whole

        path = Path(path)
        write_whole(path, self.svg if drawable(path) == "svg" else self.html)
        return path

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" title="{html.escape(self.title)}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #8886; border-radius: 6px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Picture: {self.title}, {self.where}; .svg, .html, .save(path)>"

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


def drawable(path: Path) -> Literal["svg", "html"]:
    """Return what is drawn into a file of this name."""
    match path.suffix.lower():
        case ".svg":
            return "svg"
        case ".html" | ".htm":
            return "html"
        case _:
            raise SwizzleError(f"{path} is no name of a picture", expected="a file that ends in .svg or .html")


def picture_of(
    solution: Solution,
    spec: Callable[..., Any] | None = None,
    *,
    block: int = 0,
    warp: int = 0,
    colour: Colour = "element",
) -> Picture:
    """Draw a solution, or a kernel without holes; `spec` is what its outputs are compared with.

    Raises SwizzleError for a block or a warp that is not there, for a kernel that breaks a rule of the language, and
    for a naive template's solution, which has no constants to put into words.
    """
    fillings = fillings_of(solution)
    whole = block_trace(solution.sketch or solution.program, spec, fillings, block, warp)
    found = whole.warp(warp)
    laid = panels(found)
    tables = tuple(
        hole_table(filling, became.formula, asked)
        for filling, became, asked in zip(fillings, solution.holes, whole.asked, strict=False)
    )
    return Picture(solution.program, whole, found, laid, labels_for(found, laid), tables, colour)


def labels_for(found: Trace, laid: Sequence[Panel]) -> Labels:
    """Return the labels of one warp's panels."""
    seen = {term for panel in laid for strip in panel.strips for term in strip.terms if term >= 0}
    return Labels(found.program, found.terms, seen)
