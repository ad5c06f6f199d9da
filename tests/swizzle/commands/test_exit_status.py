"""Exit statuses: what several checks say together."""

from __future__ import annotations

from itertools import permutations

from swizzle.commands.exit_status import DONE, NO, UNDECIDED, worst


def test_what_is_refuted_is_not_undecided() -> None:
    """One 'no' decides, in whichever order the checks come."""
    for some in permutations((DONE, NO, UNDECIDED)):
        assert worst(some) == NO
    assert worst([DONE, UNDECIDED, DONE]) == UNDECIDED
    assert worst([DONE]) == worst([]) == DONE
