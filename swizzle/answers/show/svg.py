"""The figure for a paper: panels, the memory accesses of each, the banks of each tile, and the holes, as one SVG
document in colours for paper.

The same picture always gives the same text. It needs no style sheet, script or network.

Björn Ottosson's Oklab: equal lightness looks equally light, so that text on any cell reads alike.

An element is drawn at its own row and column, its colour is the bank. What a warp wants at once should be colourful.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.answers.show.panels import (
    ARC,
    ARROW_GAP,
    CHARACTER,
    FIRST_HUE,
    LINE_HEIGHT,
    MEMORY_LINE,
    MEMORY_WORD,
    MOST_LINES,
    BlockTrace,
    Lanes,
    Panel,
    Strip,
    Tone,
    Trace,
    clipped,
    geometry,
    memory_lines,
    space_above,
    strip_height,
    strip_lines,
)
from swizzle.answers.show.scene import HoleTable, Scene
from symbolic.ir.index import cell_name, unflattened
from symbolic.ir.program import DeclareArray, Parameter
from symbolic.ir.walk import statements
from symbolic.machine.accesses import BANKS, WORD, WarpAccess, bytes_of

INK = "#1f2430"
SANS = "system-ui, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Canvas:
    """Collects elements."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        fill: str = INK,
        size: float = 10,
        bold: bool = False,
        anchor: str = "start",
        family: str = "",
    ) -> None:
        more = f' font-size="{size:g}"' if size != 10 else ""
        more += f' fill="{fill}"' if fill != INK else ""
        more += ' font-weight="600"' if bold else ""
        more += f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += f' font-family="{SANS}"' if bold or family else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{more}>{escape(text)}</text>')

    def rect(self, x: float, y: float, width: float, height: float, fill: str, edge: str = "", more: str = "") -> None:
        stroke = f' stroke="{edge}"' if edge else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
            f'fill="{fill}"{stroke}{" " + more if more else ""}/>'
        )

    def arrow(self, a: float, b: float, top: float, bottom: float, colour: str) -> None:
        bend = (bottom - top) * 0.45
        points = [(a, top), (a, top + bend), (b, bottom - bend), (b, bottom - 4)]
        start, *curve = (f"{number(x)} {number(y)}" for x, y in points)
        path = f"M{start}C{' '.join(curve)}"
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3"/>')
        tip = f"M{number(b - 3)} {number(bottom - 5)}l3 5l3 -5z"
        self.parts.append(f'<path d="{tip}" fill="{colour}"/>')


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


LIGHT, CHROMA, PALE_CHROMA = 0.87, 0.085, 0.03
STROKE_LIGHT, STROKE_CHROMA = 0.58, 0.13
NEUTRAL = "#eceef1"


def fill_of(tone: Tone | None) -> str:
    """Return the colour of a cell."""
    return NEUTRAL if tone is None else oklch(LIGHT, PALE_CHROMA if tone.pale else CHROMA, tone.hue)


def stroke_of(tone: Tone | None) -> str:
    """Return the colour of an arrow."""
    return "#7a828e" if tone is None else oklch(STROKE_LIGHT, STROKE_CHROMA, tone.hue)


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """Return an Oklab colour, given by lightness, chroma and hue in degrees, as `#rrggbb`.

    >>> oklch(1.0, 0.0, 0.0), oklch(0.628, 0.2577, 29.23)
    ('#ffffff', '#ff0000')
    """
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, part)))):02x}" for part in linear)


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


MOST = 64
"""Rows and columns that are drawn."""
PER_ROW = 32
"""Elements of a row of an input of one dimension."""
Banks = npt.NDArray[np.int64]


class BankTile(Struct, frozen=True):
    """Where a shared array keeps a rectangle of an input's elements: the bank of each, -1 where it has none.

    `plain` are the banks that row-major order would give them.
    """

    array: str
    of: str
    first: tuple[int, int]
    banks: Banks
    plain: Banks

    @property
    def title(self) -> str:
        return f"{self.array}: the bank of each element of {self.of}"


def bank_tiles(block: BlockTrace) -> tuple[BankTile, ...]:
    """Return the tiles of all shared arrays that take elements of inputs as they are, in several rows."""
    parameters = {p.name: p for p in block.program.parameters if p.shape}
    shared = {
        each.name: each
        for each in statements(block.program.body)
        if isinstance(each, DeclareArray) and each.memory == "shared"
    }
    found = []
    for name, declared in shared.items():
        kept: dict[str, dict[int, int]] = {}
        for row in block.rows:
            if row.access is None or not row.access.writes or row.access.array != name:
                continue
            for cell, term in zip(row.access.cells, row.terms.tolist(), strict=True):
                op, arguments = block.terms.nodes[max(term, 0)]
                if cell >= 0 and op == "atom" and arguments[0] in parameters:
                    kept.setdefault(arguments[0], {}).setdefault(arguments[1], cell)
        if kept:
            of = max(kept, key=lambda one: len(kept[one]))
            tile = _tile(declared, parameters[of], kept[of])
            found += [tile] if tile is not None else []
    return tuple(found)


def _tile(declared: DeclareArray, of: Parameter, kept: dict[int, int]) -> BankTile | None:
    shape = of.shape if len(of.shape) > 1 else (-(-prod(of.shape) // PER_ROW), PER_ROW)
    at = np.array([unflattened((prod(shape[:-1]), shape[-1]), index) for index in kept], np.int64)
    first, last = at.min(axis=0), at.max(axis=0)
    height, width = (last - first + 1).tolist()
    if height < 2 or width < 2:
        return None
    size = bytes_of(declared.dtype)
    banks = np.full((height, width), -1, np.int64)
    rows, columns = (at - first).T
    banks[rows, columns] = np.array(list(kept.values()), np.int64) * size // WORD % BANKS
    plain = np.where(banks < 0, -1, (np.arange(height * width) * size // WORD % BANKS).reshape(height, width))
    row, column = first.tolist()
    return BankTile(declared.name, of.name, (row, column), banks[:MOST, :MOST], plain[:MOST, :MOST])


def colour_of(bank: int) -> str:
    """Return the colour of a bank."""
    return oklch(LIGHT, CHROMA, bank * 360 / BANKS)


MARGIN = 16
ELEMENT = "element"
TIMES = "\N{MULTIPLICATION SIGN}"
FIRST_PANELS, LAST_PANELS = 8, 2
BANK_CELL, GAP = 9.0, 24
FAINT, RULE, CLASH = "#6b7280", "#c9ced6", "#c81e1e"


def svg_of(picture: Scene) -> str:
    """Return the whole document."""
    return _Drawing(picture).document()


def tiles_svg(picture: Scene) -> str:
    """Return the tiles of shared memory alone, '' where there are none."""
    drawing, tiles = _Drawing(picture), bank_tiles(picture.block)
    for tile in tiles:
        drawing.tile(tile)
    width, height = number(drawing.width), number(drawing.y)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return "".join([head, *drawing.canvas.parts, "</svg>"]) if tiles else ""


class _Drawing:
    def __init__(self, picture: Scene) -> None:
        self.picture, self.labels = picture, picture.labels
        self.shown = _chosen(picture.panels)
        self.geometry = geometry(picture.panels, picture.labels, picture.trace.lanes)
        self.width = max(self.geometry.width, 110 + BANKS * MEMORY_WORD) + 2 * MARGIN
        self.homes = homes(picture.trace) if picture.colour == "lane" else ()
        self.canvas = Canvas()
        self.y = float(MARGIN)

    def document(self) -> str:
        picture = self.picture
        self.canvas.text(MARGIN, self.y + 14, picture.title, size=16, bold=True)
        self.canvas.text(
            MARGIN, self.y + 31, f"{picture.where}; columns are lanes, time runs downward", fill=FAINT, size=11
        )
        self.y += 46
        for panel in self.shown:
            if isinstance(panel, int):
                note = f"… {panel} panels left out; the page has them all"
                self.canvas.text(MARGIN, self.y + 12, note, fill=FAINT, size=11)
                self.y += 26
            else:
                self._panel(panel)
        for table in picture.holes:
            self._hole(table)
        for tile in bank_tiles(picture.block):
            self.tile(tile)
        width, height = number(self.width), number(self.y + MARGIN)
        described = f"{picture.where}. {len(picture.panels)} panels; each cell is what a lane holds, each row one step."
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc" font-family="{MONO}" '
            f'font-size="10" fill="{INK}">'
        )
        names = f'<title id="title">{escape(picture.title)}</title><desc id="desc">{escape(described)}</desc>'
        back = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        return "\n".join([head, names, back, *self.canvas.parts, "</svg>"]) + "\n"

    # -- panels ---------------------------------------------------------------------------------------------

    def _panel(self, panel: Panel) -> None:
        self.canvas.parts.append(f"<g><title>{escape(panel.title)}</title>")
        self.canvas.text(MARGIN, self.y + 11, panel.title, size=13, bold=True)
        if len(panel.title) * CHARACTER * 1.3 > self.geometry.title:  # in this size; the lanes go below it
            self.y += 15
        left = MARGIN + self.geometry.title
        for lane in range(self.geometry.lanes):
            middle = left + (lane + 0.5) * self.geometry.cell
            self.canvas.text(middle, self.y + 11, str(lane), fill=FAINT, size=8.5, anchor="middle")
        self.y += 18
        before: Strip | None = None
        for strip in panel.strips:
            self.y += space_above(strip, before)
            if strip.asked and before is not None:
                self._arrows(strip, before)
            self._strip(strip)
            before = strip
        self.y += 8
        for row in panel.accesses:
            access = self.picture.trace.rows[row].access
            assert access is not None
            self._memory(self.picture.trace.rows[row].title, access)
        self.canvas.parts.append("</g>")
        self.y += 14

    def _strip(self, strip: Strip) -> None:
        height = strip_height(strip, self.labels)
        title = clipped(("↺ " if strip.again else "") + strip.title)
        middle = self.y + height / 2 + 3.5
        self.canvas.text(MARGIN, middle, title, fill=FAINT if strip.row < 0 or strip.again else INK)
        left, cell, tones = MARGIN + self.geometry.title, self.geometry.cell, self._tones(strip)
        for lane, lines in enumerate(strip_lines(strip, self.labels)):
            x = left + lane * cell
            if not lines:
                self.canvas.rect(x, self.y, cell, height, "none", RULE, 'stroke-dasharray="2 2"')
                continue
            wrong = bool(strip.cells) and self._is_wrong(strip, lane)
            edge, more = (CLASH, 'stroke-width="2"') if wrong else (INK, 'stroke-width="1.6"')
            if not (wrong or lane in strip.read):
                edge, more = "#ffffff", ""
            self.canvas.rect(
                x + 0.8,
                self.y + 0.8,
                cell - 1.6,
                height - 1.6,
                fill_of(tones[lane]),
                edge,
                more,
            )
            top = self.y + height / 2 - (len(lines) - 1) * LINE_HEIGHT / 2 + 3.5
            for at, line in enumerate(lines):
                self.canvas.text(x + cell / 2, top + at * LINE_HEIGHT, line, anchor="middle")
        self.y += height

    def _tones(self, strip: Strip) -> list[Tone | None]:
        """Return the tone of each cell: of its element, or of the lane that had its value first."""
        if self.picture.colour == "element":
            return [self.labels.tone(term) if term >= 0 else None for term in strip.terms]
        known = strip_homes(strip, self.homes)
        return [Tone(_hue(home, self.geometry.lanes), False) if home >= 0 else None for home in known]

    def _is_wrong(self, strip: Strip, lane: int) -> bool:
        access = self.picture.trace.rows[strip.row].access
        return access is not None and (access.array, access.cells[lane]) in self.picture.trace.wrong

    def _arrows(self, strip: Strip, before: Strip) -> None:
        """Draw who reads whom: from the strip above, across the gap."""
        left, cell, tones = MARGIN + self.geometry.title, self.geometry.cell, self._tones(before)
        top, bottom = self.y - ARROW_GAP + 1, self.y - 1
        for lane, source in enumerate(strip.asked):
            if not 0 <= source < self.geometry.lanes:
                continue
            a, b = left + (source + 0.5) * cell, left + (lane + 0.5) * cell
            colour = stroke_of(tones[source])
            self.canvas.arrow(a, b, top, bottom, colour)

    # -- memory ---------------------------------------------------------------------------------------------

    def _memory(self, title: str, access: WarpAccess) -> None:
        verb = "stores to" if access.writes else "loads from"
        what = f"{verb} {access.array}, {access.memory}: {access.summary()}"
        self.canvas.text(MARGIN, self.y + 10, what, size=10.5, family=SANS)
        self.y += 16
        lines = memory_lines(access)
        for line, words in lines[:MOST_LINES]:
            first = line * BANKS * 4 // access.size
            self.canvas.text(
                MARGIN, self.y + 10, clipped(cell_name(access.array, access.shape, first), 15), fill=FAINT, size=9
            )
            for word in range(BANKS):
                lanes = words.get(word, [])
                x = MARGIN + 100 + word * MEMORY_WORD
                fill = oklch(LIGHT, CHROMA, _hue(lanes[0], len(access.cells))) if lanes else NEUTRAL
                edge = CLASH if lanes and word in access.clashes else ""
                self.canvas.rect(x + 0.5, self.y + 0.5, MEMORY_WORD - 1, MEMORY_LINE - 1, fill, edge)
                if lanes:
                    text = str(lanes[0]) if len(lanes) == 1 else f"{len(lanes)}{TIMES}"
                    self.canvas.text(x + MEMORY_WORD / 2, self.y + 10, text, size=7.5, anchor="middle")
            for sector in range(0, BANKS + 1, 8) if access.memory == "global" else ():
                x = MARGIN + 100 + sector * MEMORY_WORD
                self.canvas.parts.append(f'<path d="M{number(x)} {number(self.y)}v{MEMORY_LINE}" stroke="{INK}"/>')
            self.y += MEMORY_LINE
        if len(lines) > MOST_LINES:
            self.canvas.text(MARGIN + 100, self.y + 10, f"… {len(lines) - MOST_LINES} more lines", fill=FAINT, size=9)
            self.y += MEMORY_LINE
        self.y += 8

    # -- banks ----------------------------------------------------------------------------------------------

    def tile(self, tile: BankTile) -> None:
        """Draw a tile, and beside it the plain one where that is another."""
        self.canvas.parts.append(f"<g><title>{escape(tile.title)}</title>")
        self.canvas.text(MARGIN, self.y + 12, tile.title, size=13, bold=True)
        same = bool((tile.banks == tile.plain).all())
        self.y += 18
        rows, columns = tile.banks.shape
        half = (self.width - 2 * MARGIN - GAP) / 2
        side = max(4.0, min(BANK_CELL, half // columns))
        for place, (name, banks) in enumerate([("as it is kept", tile.banks), ("row by row", tile.plain)][: 2 - same]):
            left = MARGIN + place * (half + GAP)
            self.canvas.text(left, self.y + 10, f"{name}, from {list(tile.first)}", fill=FAINT, size=9)
            for (row, column), bank in np.ndenumerate(banks):
                if bank >= 0:
                    x, y = left + column * side, self.y + 14 + row * side
                    self.canvas.rect(x, y, side, side, colour_of(int(bank)))
        self.canvas.parts.append("</g>")
        self.y += 14 + rows * side + 14

    # -- holes ----------------------------------------------------------------------------------------------

    def _hole(self, table: HoleTable) -> None:
        self.canvas.parts.append(f"<g><title>{escape(table.name)}</title>")
        self.canvas.text(MARGIN, self.y + 12, f"{table.name}: {table.words}", size=13, bold=True)
        self.canvas.text(MARGIN, self.y + 27, f"{table.name} = {table.formula}", size=10.5)
        self.y += 36
        side = max(18.0, max((len(str(v)) for _, values in table.rows for v in values), default=1) * CHARACTER + 4)
        label = max([len(ELEMENT), len(table.argument), *(len(name) for name, _ in table.rows)]) * CHARACTER + 10
        across = max(1, int((self.width - 2 * MARGIN - label) // side))
        for start in range(0, len(table.columns), across):
            columns = table.columns[start : start + across]
            self.canvas.text(MARGIN, self.y + 10, table.argument, fill=FAINT)
            for at, column in enumerate(columns):
                self.canvas.text(
                    MARGIN + label + (at + 0.5) * side, self.y + 10, str(column), fill=FAINT, size=8.5, anchor="middle"
                )
            self.y += 14
            for name, values in table.rows:
                self.canvas.text(MARGIN, self.y + 12, name, fill=FAINT)
                self._values(values[start : start + across], table.size, MARGIN + label, side)
                self.y += 18
            self.y += 6
        self._permutation(table, MARGIN + label, side)
        if table.more:
            self.canvas.text(MARGIN + label, self.y + 8, f"… {table.more} more rows", fill=FAINT, size=9)
            self.y += 14
        self.canvas.parts.append("</g>")
        self.y += 12

    def _permutation(self, table: HoleTable, left: float, side: float) -> None:
        """Draw where each place is filled from: the elements above, the places below."""
        if table.drawn is None or left + table.size * side > self.width - MARGIN:
            return
        name, values = table.rows[table.drawn]
        self.y += 4
        self.canvas.text(MARGIN, self.y + 12, ELEMENT, fill=FAINT)
        self._values(range(table.size), table.size, left, side)
        top, bottom = self.y + 18, self.y + 17 + ARROW_GAP
        for place, value in zip(table.columns, values, strict=True):
            if value is not None:
                colour = oklch(STROKE_LIGHT, STROKE_CHROMA, _hue(value, table.size))
                self.canvas.arrow(left + (value + 0.5) * side, left + (place + 0.5) * side, top, bottom, colour)
        self.y += 18 + ARROW_GAP
        self.canvas.text(MARGIN, self.y + 12, name or table.argument, fill=FAINT)
        filled = dict(zip(table.columns, values, strict=True))
        self._values([filled.get(place) for place in range(table.size)], table.size, left, side)
        self.y += 26

    def _values(self, values: Sequence[int | None], size: int, left: float, side: float) -> None:
        for at, value in enumerate(values):
            x = left + at * side
            if value is None:
                self.canvas.rect(x, self.y, side, 17, "none", RULE, 'stroke-dasharray="2 2"')
            else:
                self.canvas.rect(x + 0.5, self.y + 0.5, side - 1, 16, oklch(LIGHT, CHROMA, _hue(value, size)))
                self.canvas.text(x + side / 2, self.y + 12, str(value), size=9, anchor="middle")


def _chosen(panels: Sequence[Panel]) -> list[Panel | int]:
    """Return the panels to draw; a number stands for as many that are left out."""
    if len(panels) <= FIRST_PANELS + LAST_PANELS + 1:
        return list(panels)
    left_out = len(panels) - FIRST_PANELS - LAST_PANELS
    return [*panels[:FIRST_PANELS], left_out, *panels[-LAST_PANELS:]]


def _hue(value: int, size: int) -> float:
    return FIRST_HUE + ARC * value / max(1, size)


def homes(trace: Trace) -> tuple[Lanes, ...]:
    """Return for each row, and each lane, the lane that had its value first; -1 for a lane of another warp.

    A load begins a way, and so does whatever is made of several values.
    """
    found: list[Lanes] = []
    for row in trace.rows:
        home = np.arange(trace.lanes)
        for lane in np.flatnonzero(row.on).tolist():
            sources = [(int(s.row[lane]), int(s.thread[lane]) - trace.first) for s in row.sources if s.row[lane] >= 0]
            if len(sources) == 1:
                ((earlier, giver),) = sources
                home[lane] = found[earlier][giver] if 0 <= giver < trace.lanes else -1
        found.append(home)
    return tuple(found)


def strip_homes(strip: Strip, known: Sequence[Lanes]) -> list[int]:
    """Return the first lane of each cell of a strip, -1 where there is none."""
    rows = strip.writers if strip.row < 0 else (strip.row,) * len(strip.terms)
    return [int(known[row][lane]) if row >= 0 else -1 for lane, row in enumerate(rows)]
