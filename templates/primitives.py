"""The swizzle primitives: rot, fan and group (paper, section 5.3, equations 2 to 4); and linear functions with a carry,
`c * x + x // d` modulo n, told by their values, of which turns and fans are made.

Each works on ints and, element by element, on NumPy arrays. The letters are the paper's: i the index, n how many
elements, R the amount, c_f and d_f the fan's stride and period, gs the group size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from templates.template import weight_of


def rot(n: int, amount: Any, i: Any) -> Any:
    """Rotate n elements: element i comes from `(i + R) mod n` (equation 2).

    >>> [rot(8, 2, i) for i in range(8)]
    [2, 3, 4, 5, 6, 7, 0, 1]
    """
    return (i + amount) % n


def fan(n: Any, c_f: Any, d_f: Any, i: Any) -> Any:
    """Spread adjacent elements c_f apart, shifted by one after every d_f of them (equation 3).

    With d_f = n / gcd(c_f, n) it is a permutation; with c_f = 0 and d_f = n a broadcast of element 0.

    >>> [fan(8, 3, 8, i) for i in range(8)]
    [0, 3, 6, 1, 4, 7, 2, 5]
    >>> [fan(9, 3, 3, i) for i in range(9)]
    [0, 3, 6, 1, 4, 7, 2, 5, 8]
    """
    return (i * c_f + i // d_f) % n


def group(gs: int, permutation: Callable[[Any], Any], i: Any) -> Any:
    """Permute inside consecutive groups of gs elements (equation 4).

    >>> [group(4, lambda j: fan(4, 3, 4, j), i) for i in range(8)]
    [0, 3, 2, 1, 4, 7, 6, 5]
    """
    return i // gs * gs + permutation(i % gs)


def xform(gs: int, c_f: int, d_f: int, wrap: bool, amount: Any, i: Any) -> Any:
    """`?sw_xform`: group(gs, rotate after fan), equations 5 to 7; wrap rotates inside groups of gs / d_f.

    The paper's Figure 7:

    >>> [xform(9, 3, 3, True, 1, i) for i in range(9)]
    [1, 4, 7, 2, 5, 8, 0, 3, 6]
    """

    def turn(j: Any) -> Any:
        if not wrap:
            return rot(gs, amount, j)
        return group(gs // d_f, lambda m: rot(gs // d_f, amount, m), j)

    return group(gs, lambda j: turn(fan(gs, c_f, d_f, j)), i)


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
