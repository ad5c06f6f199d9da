"""Which lane had a value first: where a chain of moves from a single source begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swizzle.show.panels import Strip
from swizzle.show.rows import Lanes, Trace


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
