"""What a check says: equal, different, or undecided."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class CheckStatus(IntEnum):
    """The outcome of a check; its number is the exit status of the command that ran it."""

    EQUAL = 0
    DIFFERENT = 1
    UNDECIDED = 3
    """Different terms whose numbers agree, or a text that could not be compiled, read or run."""

    @property
    def word(self) -> str:
        """The status in JSON."""
        return {CheckStatus.EQUAL: "equal", CheckStatus.DIFFERENT: "different"}.get(self, "unknown")


def worst(statuses: Iterable[int]) -> CheckStatus:
    """Return what several checks say together: one 'different' decides, whatever is undecided beside it."""
    order = (CheckStatus.EQUAL, CheckStatus.UNDECIDED, CheckStatus.DIFFERENT)
    return CheckStatus(max(statuses, key=order.index, default=CheckStatus.EQUAL))
