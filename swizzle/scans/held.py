"""What the elements of a network hold, a range of the input each, and what a step makes of it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

IDLE: Final = -1
"""Of an element that takes none."""
Ends = npt.NDArray[np.int64]
"""How far each element's words reach: down to there, or up to there."""
Mask = npt.NDArray[np.bool_]


class HeldRanges(NamedTuple):
    """For each element the first input that it holds and the one behind its last: the same, if it holds none."""

    low: Ends
    high: Ends

    @staticmethod
    def start(size: int) -> HeldRanges:
        """Return what elements hold before the first step: each its own input."""
        return HeldRanges(np.arange(size), np.arange(size) + 1)

    @staticmethod
    def whole(size: int, *, backward: bool, exclusive: bool) -> HeldRanges:
        """Return what elements hold behind a scan."""
        own = np.arange(size)
        return HeldRanges(own + exclusive, own * 0 + size) if backward else HeldRanges(own * 0, own + (not exclusive))

    def step(self, sources: Ends, gone: Mask, nothing: int = 0) -> tuple[HeldRanges, Mask, Mask]:
        """Return what elements hold behind a step, and where what is taken fits before one's own, and behind it.

        Who drops its words and takes none holds `nothing`: the inputs from there up to there.
        """
        on = sources != IDLE
        taken = np.where(on, sources, 0)
        own_low, own_high = (np.where(gone, nothing, each) for each in self)
        taken_low, taken_high = (np.where(on, each[taken], nothing) for each in self)
        alone, none = own_low == own_high, taken_low == taken_high
        low = np.where(alone, taken_low, np.where(none, own_low, np.minimum(own_low, taken_low)))
        high = np.where(alone, taken_high, np.where(none, own_high, np.maximum(own_high, taken_high)))
        return HeldRanges(low, high), alone | none | (taken_high == own_low), alone | none | (own_high == taken_low)

    def unlike(self, other: HeldRanges) -> Ends:
        """Return the elements that do not hold the same."""
        same = (self.low == other.low) & (self.high == other.high)
        return np.nonzero(~(same | (self.low == self.high) & (other.low == other.high)))[0]

    def said(self, i: int) -> str:
        """Return in words what an element holds."""
        first, last = int(self.low[i]), int(self.high[i]) - 1
        if last < first:
            return "nothing"
        return f"x{first}" if first == last else f"x{first} ... x{last}"
