"""The turns that shared memory takes, for many phases at once, as arrays. `WarpAccess.passes` is the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from symbolic.machine.accesses import BANKS

Words = npt.NDArray[np.int64]


def turns(words: Words, wide: int = 1, banks: int = BANKS, *, distinct: bool = False) -> npt.NDArray[np.int64]:
    """Return the turns of each phase, of shape (phases,).

    `words`, of shape (phases, lanes), is where each lane's vector of `wide` words begins, a multiple of `wide`; -1
    where a lane is off. `distinct` promises that no two lanes of a phase want the same vector, which saves a sort.
    """
    vectors = words // wide
    if not distinct:
        vectors = np.sort(vectors, axis=1)
        vectors[:, 1:][vectors[:, 1:] == vectors[:, :-1]] = -1
    groups = max(1, banks // wide)
    keys: npt.NDArray[Any] = np.arange(len(vectors))[:, None] * groups + vectors % groups
    counts = np.bincount(keys[vectors >= 0], minlength=len(vectors) * groups)
    most: npt.NDArray[np.int64] = counts.reshape(len(vectors), groups).max(axis=1, initial=0)
    return most * max(1, wide // banks)
