"""Verdicts: what several checks say together."""

from __future__ import annotations

from itertools import permutations

from swizzle.answers.status import CheckStatus, worst


def test_what_is_refuted_is_not_undecided() -> None:
    """One 'no' decides, in whichever order the checks come."""
    for some in permutations((CheckStatus.EQUAL, CheckStatus.DIFFERENT, CheckStatus.UNDECIDED)):
        assert worst(some) == CheckStatus.DIFFERENT
    assert worst([CheckStatus.EQUAL, CheckStatus.UNDECIDED, CheckStatus.EQUAL]) == CheckStatus.UNDECIDED
    assert worst([CheckStatus.EQUAL]) == worst([]) == CheckStatus.EQUAL
