"""Inputs of 8 and 16 bits with which is computed in 32, where NumPy would compute in their own type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from symbolic.algebra.datum import Datum

NEVER_WRAPS: Final = frozenset({
    "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "bitwise_and",
    "bitwise_or", "bitwise_xor",
})  # fmt: skip
"""What gives the same in any type that has its operands."""


def note_widened(values: Sequence[Any]) -> None:
    """Note inputs of 8 and 16 bits with which is computed as they are, so not in NumPy's type of them."""
    for value in values:
        if isinstance(value, list | tuple):
            note_widened(value)
        if not getattr(value, "label", "") or not value.size:
            continue
        first = np.ndarray.view(value, np.ndarray).reshape(-1)[0]
        whole = first.terms.whole if type(first) is Datum else None
        if whole is not None and first.terms.types[value.label].is_narrow:
            whole.widened[value.label] = None
