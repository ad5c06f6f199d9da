"""The swizzle primitives: rot, fan and group (paper, section 5.3, equations 2 to 4).

Each works on ints and, element by element, on NumPy arrays. The letters are the paper's: i the index, n how many
elements, R the amount, c_f and d_f the fan's stride and period, gs the group size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
