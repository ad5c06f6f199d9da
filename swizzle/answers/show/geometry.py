"""How large things are, so that no text meets another: from the longest label, in a font of even width."""

from __future__ import annotations

from msgspec import Struct

from swizzle.answers.show.labels import Labels
from swizzle.answers.show.panels import Panel, Strip
from symbolic.machine.accesses import BANKS, WarpAccess

CHARACTER = 6.3  # of a fixed-width font of 10 px, rounded up
LINE_HEIGHT = 12
PADDING = 3
LEAST_CELL = 20
LONGEST_TITLE = 38
GAP, REGISTER_GAP, ARROW_GAP = 4, 0, 44
MEMORY_WORD, MEMORY_LINE, MOST_LINES = 15, 14, 32


class Geometry(Struct, frozen=True):
    """Widths that a whole picture has in common."""

    title: float
    cell: float
    lanes: int

    @property
    def width(self) -> float:
        return self.title + self.lanes * self.cell


def geometry(panels: tuple[Panel, ...], labels: Labels, lanes: int) -> Geometry:
    """Return widths that fit every label and, up to a limit, every title of the panels."""
    strips = [strip for panel in panels for strip in panel.strips]
    longest = max((len(line) for strip in strips for lines in strip_lines(strip, labels) for line in lines), default=1)
    titles = max((min(len(strip.title), LONGEST_TITLE) for strip in strips), default=4)
    return Geometry(
        round(max(titles, 4) * CHARACTER + 14), max(LEAST_CELL, round(longest * CHARACTER + 2 * PADDING)), lanes
    )


def strip_lines(strip: Strip, labels: Labels) -> list[tuple[str, ...]]:
    """Return what each cell of a strip says, line by line; a store also says where it goes."""
    found: list[tuple[str, ...]] = [labels.lines(term) if term >= 0 else () for term in strip.terms]
    if not strip.cells:
        return found
    targets = [labels.place(strip.array, cell) if cell >= 0 else "" for cell in strip.cells]
    return [
        (*lines, f"\N{RIGHTWARDS ARROW}{target}") if lines else () for lines, target in zip(found, targets, strict=True)
    ]


def strip_height(strip: Strip, labels: Labels) -> int:
    """Return the height of a strip's cells."""
    return max([1, *(len(lines) for lines in strip_lines(strip, labels))]) * LINE_HEIGHT + 2 * PADDING


def space_above(strip: Strip, before: Strip | None) -> int:
    """Return the room between a strip and the one above it."""
    if before is None:
        return 0
    if strip.asked:
        return ARROW_GAP
    return REGISTER_GAP if strip.row < 0 and not strip.starts else GAP


def clipped(text: str, most: int = LONGEST_TITLE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def memory_lines(access: WarpAccess) -> list[tuple[int, dict[int, list[int]]]]:
    """Return the 128-byte lines (or rows of banks) that an access touches: which lanes want each of the 32 words."""
    lines: dict[int, dict[int, list[int]]] = {}
    for lane, cell in enumerate(access.cells):
        if cell < 0:
            continue
        for word in access.words(cell):
            lines.setdefault(word // BANKS, {}).setdefault(word % BANKS, []).append(lane)
    return sorted(lines.items())
