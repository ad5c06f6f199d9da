"""A tile drawn with its banks as colours: cells of one colour that are wanted at once wait for each other."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

_CELL, _MOST = 16, 64


def svg(banks: npt.NDArray[np.int64], title: str, count: int) -> str:
    """Return the banks of a tile's cells as an SVG figure; of a large tile, its upper left corner."""
    cells = banks.reshape(-1, banks.shape[-1])[:_MOST, :_MOST]
    height, width = (n * _CELL for n in cells.shape)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="8" '
        f'font-family="monospace" text-anchor="middle"><title>{escape(title)}</title>'
    ]
    for (r, c), bank in np.ndenumerate(cells):
        x, y, colour = c * _CELL, r * _CELL, f"hsl({int(bank) * 360 // count},70%,78%)"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{colour}"/>'
            f'<text x="{x + _CELL // 2}" y="{y + 11}">{int(bank)}</text>'
        )
    return "".join([*parts, "</svg>"])
