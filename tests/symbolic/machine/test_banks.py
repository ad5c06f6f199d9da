"""Turns over arrays are those of `WarpAccess`, lane by lane."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.machine.accesses import WarpAccess, lanes_at_once
from symbolic.machine.banks import turns


@settings(deadline=None)
@given(st.data(), st.sampled_from([1, 2, 4]), st.sampled_from([2, 8, 32]))
def test_turns_are_those_of_an_access(data: st.DataObject, wide: int, banks: int) -> None:
    """Of words and of vectors, with lanes that are off or want the same, in a memory of any number of banks."""
    vectors = data.draw(st.lists(st.integers(-1, 40), min_size=32, max_size=32))
    cells = [vector * wide if vector >= 0 else -1 for vector in vectors]
    access = WarpAccess("x", "shared", False, (1 << 12,), 4, tuple(cells), wide, banks)
    at_once = lanes_at_once(4 * wide, banks)
    found = turns(np.array(cells).reshape(-1, at_once), wide, banks)
    assert found.sum() == access.passes
    if all(len(set(p.tolist())) == len(p) for p in np.array(cells).reshape(-1, at_once)):
        assert (turns(np.array(cells).reshape(-1, at_once), wide, banks, distinct=True) == found).all()
