"""What a search over implementations is told of candidates: values of choices, and times that none falls below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from symbolic.choices.conditions import GenericChoice, Object, Value

Assignment: TypeAlias = "Mapping[tuple[GenericChoice, tuple[Object, ...]], Value]"
"""The value of each choice, as `Propagator.assignment` returns it."""


UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns", 1e-12: "ps"}


def seconds_text(seconds: float) -> str:
    """Return '2.4 ps'.

    >>> seconds_text(2.39e-12), seconds_text(0.0481), seconds_text(0)
    ('2.39 ps', '48.1 ms', '0 s')
    """
    unit = next((unit for unit in UNITS if seconds >= unit), 1e-12 if seconds else 1.0)
    return f"{seconds / unit:.3g} {UNITS[unit]}"


class LowerBound(Struct, frozen=True):
    """No implementation of a candidate takes less time.

    Attributes:
        seconds: the time.
        why: what it is made of: '2.1e9 multiply-adds at ...'.
    """

    seconds: float
    why: str

    def __str__(self) -> str:
        return f"at least {seconds_text(self.seconds)}: {self.why}"
