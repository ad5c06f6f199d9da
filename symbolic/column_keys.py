"""Numbers of 64 bits that stand for columns of numbers: those of equal columns are equal, and few others are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits; products with it differ in their upper bits (Knuth's multiplicative hashing)."""
_SHIFT: Final = np.uint64(29)


def mixed(keys: Any) -> Any:
    """Return keys so mixed that the next number of each column can be added."""
    return (keys ^ (keys >> _SHIFT)) * SPREAD


@lru_cache(maxsize=64)
def factors(count: int) -> npt.NDArray[np.int64]:
    """Return a factor for each of so many numbers; a column's key is the sum of the products, which wraps."""
    return np.array([pow(int(SPREAD), power, 1 << 64) for power in range(1, count + 1)], np.uint64).view(np.int64)
