"""A tile drawn with its banks as colours: cells of one colour that are wanted at once wait for each other.

Distributions are drawn in the same way, with the lane that holds a cell for the bank; nobody holds cells of -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

_CELL, _MOST, _GAP = 16, 64, 24

Banks = npt.NDArray[np.int64]


def svg(banks: Banks, title: str, count: int) -> str:
    """Return the banks of a tile's cells as an SVG figure; of a large tile, its upper left corner."""
    cells = _corner(banks)
    return _figure(cells.shape[1] * _CELL, cells.shape[0] * _CELL, title, _cells(cells, count, 0, 0))


def side_by_side(tiles: Sequence[tuple[str, Banks]], title: str, count: int) -> str:
    """Return several tiles beside each other, each under its name."""
    parts: list[str] = []
    left, height = 0, 0
    for name, banks in tiles:
        cells = _corner(banks)
        parts.append(f'<text x="{left}" y="12" font-size="12" text-anchor="start">{escape(name)}</text>')
        parts += _cells(cells, count, left, _GAP)
        left += max(cells.shape[1] * _CELL, 8 * len(name)) + _GAP
        height = max(height, cells.shape[0] * _CELL + _GAP)
    return _figure(left - _GAP, height, title, parts)


def with_text(text: str, figure: str) -> str:
    """Return a notebook's output: what an object says of itself, and a figure."""
    return f"<pre>{escape(text)}</pre>{figure}"


def _corner(banks: Banks) -> Banks:
    rows = banks.reshape(-1, banks.shape[-1])
    if len(rows) == 1 and rows.size > _MOST:  # a long row, as shared memory has it
        rows = rows[:, : rows.size // 32 * 32].reshape(-1, 32)
    return rows[:_MOST, :_MOST]


def _figure(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="8" '
        f'font-family="monospace" text-anchor="middle"><title>{escape(title)}</title>'
    )
    return "".join([head, *parts, "</svg>"])


def _cells(cells: Banks, count: int, left: int, top: int) -> list[str]:
    parts = []
    for (r, c), bank in np.ndenumerate(cells):
        if bank < 0:
            continue
        x, y, colour = left + c * _CELL, top + r * _CELL, f"hsl({int(bank) * 360 // count},70%,78%)"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{colour}"/>'
            f'<text x="{x + _CELL // 2}" y="{y + 11}">{int(bank)}</text>'
        )
    return parts
