"""The picture of one kernel, and the two ways to draw it."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from swizzle.answers.emit.files import write_whole
from swizzle.answers.show.page import page_of
from swizzle.answers.show.panels import panels
from swizzle.answers.show.scene import Colour, Scene, hole_table, labels_for
from swizzle.answers.show.svg import svg_of
from swizzle.answers.show.tracer import block_trace
from swizzle.solving.solution.answered import fillings_of
from swizzle.solving.solution.solution import Solution
from symbolic.errors import SwizzleError

HEIGHT = 760


class Picture(Scene, frozen=True, eq=False, dict=True):
    """What one warp of a kernel moves. `svg` is a figure for a paper, `html` one self-contained page to explore."""

    @cached_property
    def svg(self) -> str:
        """The figure: panels, memory accesses and holes, as one SVG document."""
        return svg_of(self)

    @cached_property
    def html(self) -> str:
        """The page: one HTML document that needs no network."""
        return page_of(self)

    def save(self, path: str | Path) -> Path:
        """Write the figure (`.svg`) or the page (`.html`), whole or not at all."""
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


def drawable(path: Path) -> Literal["svg", "html"]:
    """Return the kind of drawing for a file of this name."""
    match path.suffix.lower():
        case ".svg":
            return "svg"
        case ".html" | ".htm":
            return "html"
        case _:
            raise SwizzleError(
                f"{path} is not a file name for a picture", expected="a file that ends in .svg or .html",
                fix=f"write {path.with_suffix('.svg')}",
            )  # fmt: skip


def picture_of(
    solution: Solution,
    spec: Callable[..., Any] | None = None,
    *,
    block: int = 0,
    warp: int = 0,
    colour: Colour = "element",
) -> Picture:
    """Draw a solution, or a kernel without holes; `spec` is what its outputs are compared with.

    Raises SwizzleError for a block or a warp that does not exist, and for a kernel that breaks a rule of the language.
    """
    fillings = fillings_of(solution)
    whole = block_trace(solution.sketch or solution.program, spec, fillings, block, warp, solution.program)
    found = whole.warp(warp)
    laid = panels(found)
    tables = tuple(
        hole_table(filling, became.formula, asked)
        for filling, became, asked in zip(fillings, solution.holes, whole.asked, strict=False)
    )
    return Picture(solution, whole, found, laid, labels_for(found, laid), tables, colour)
