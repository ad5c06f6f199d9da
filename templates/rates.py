"""Linear functions with a carry, `c * x + x // d` modulo n, told by their values: what turns and fans are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from templates.template import weight_of

Int64s: TypeAlias = npt.NDArray[np.int64]


def rates_of(x: Int64s, values: Int64s, n: int, periods: Sequence[int]) -> list[tuple[int, int]]:
    """Return the (c, d) for which `c * x + x // d` differs from the values by a number, modulo n; the lightest first.

    d is one of the periods; 0 leaves x // d out. `x` rises.

    >>> rates_of(np.arange(6), np.array([3, 3, 4, 4, 5, 5]), 6, (0, 1, 2, 3))
    [(0, 2)]
    """
    allowed = np.array(periods, np.int64)
    later = np.where(allowed[:, None] > 0, x // np.maximum(allowed[:, None], 1), 0)
    rest = values - later - (values - later)[:, :1]
    next_to = np.flatnonzero(np.diff(x) == 1)
    factors = np.zeros((len(allowed), 1), np.int64)
    if len(next_to):  # there the factor is the difference
        factors = (rest[:, next_to[0] + 1] - rest[:, next_to[0]])[:, None] % n
    elif len(x) > 1:
        factors = np.broadcast_to(np.arange(n), (len(allowed), n))
    fits = (factors[:, :, None] * (x - x[0]) - rest[:, None]) % n == 0
    found = [(int(factors[d, c]), int(allowed[d])) for d, c in np.argwhere(fits.all(axis=2))]
    return sorted(found, key=lambda rate: (rate[1] > 0, weight_of(rate[0], n), rate[0], rate[1]))
