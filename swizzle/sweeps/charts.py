"""Charts as SVG texts: lines of seconds on a logarithmic axis, or of shares of a whole, over a size; a heat map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#1b6ca8", "#c8553d", "#3d8b37", "#7b4ea3", "#b58900", "#2aa198", "#6c6c6c")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 60, 160, 40, 50

TICKS = 20
"""As many numbers at most stand below an axis."""
CELL = 22


def line_chart(
    title: str,
    x_label: str,
    ticks: Sequence[int],
    lines: Mapping[str, Mapping[int, float]],
    *,
    log_x: bool = False,
    share: bool = False,
) -> str:
    """Return a chart of named lines, each a value in seconds for some of the ticks, or with `share` a share of 1."""
    values = [v for line in lines.values() for v in line.values()] or [1.0]
    if share:
        low, high = 0, math.ceil(max(values) * 10 - 1e-9)  # tenths
        marks = {tenth / 10: f"{tenth * 10} %" for tenth in range(0, high + 1, 2)}
    else:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        high = max(high, low + 1)
        marks = {10.0**power: f"{10.0**power:g} s" for power in range(low, high + 1)}

    def across(tick: int) -> float:
        first, last, at = (math.log2(t) if log_x else t for t in (ticks[0], ticks[-1], tick))
        return LEFT + (at - first) / ((last - first) or 1) * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        at = value * 10 if share else math.log10(value)
        return HEIGHT - BOTTOM - (at - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = _head(WIDTH, HEIGHT, title)
    for value, text in marks.items():
        y = up(value)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for tick in ticks[:: math.ceil(len(ticks) / TICKS)]:
        x = across(tick)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [(across(t), up(line[t])) for t in ticks if t in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = TOP + 18 * number
        parts.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{y}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 32}" y="{y + 10}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], tuple[float, str]],
    others: Mapping[tuple[str, str], str],
) -> str:
    """Return a map of cells by row and column, each a number, whose logarithm is its colour, and what it means.

    `others` are cells without a number, grey, with what they mean.
    """
    values = [math.log10(max(value, 1e-6)) for value, _ in cells.values()] or [0.0]
    low, span = min(values), max(values) - min(values) or 1.0
    left, width = 12 + 8 * max(map(len, rows)), CELL * len(columns)
    parts = _head(max(left + width, LEFT + 9 * len(title)) + 20, TOP + CELL * len(rows) + BOTTOM, title)
    for number, row in enumerate(rows):
        y = TOP + CELL * number
        parts.append(f'<text x="{left - 6}" y="{y + 15}" text-anchor="end">{escape(row)}</text>')
        for place, column in enumerate(columns):
            if (row, column) in cells:
                value, said = cells[row, column]
                share = (math.log10(max(value, 1e-6)) - low) / span
                fill = f"hsl({210 - 200 * share:.0f},65%,{82 - 30 * share:.0f}%)"
            elif (row, column) in others:
                said, fill = others[row, column], "#bbbbbb"
            else:
                continue
            parts.append(
                f'<rect x="{left + CELL * place}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="{fill}">'
                f"<title>{escape(f'{row}, {column}: {said}')}</title></rect>"
            )
    for place, column in [*enumerate(columns)][:: math.ceil(len(columns) * 8 * max(map(len, columns)) / (width + 1))]:
        x, y = left + CELL * place + CELL // 2, TOP + CELL * len(rows) + 18
        parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{escape(column)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _head(width: int, height: int, title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
