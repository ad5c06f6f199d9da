"""What a search over implementations needs of a space: candidates with a bound, and the text of complete ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from msgspec import Struct

from cuda_out.devices.device import Device
from symbolic.choices.conditions import GenericChoice, Object, Value
from symbolic.choices.grounding import GroundSpace
from symbolic.choices.propagation import PartialAssignment

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


class CandidateSpace(Protocol):
    """A space of implementations of one kernel, which `swizzle tune` searches.

    Attributes:
        name: the kernel's name.
        space: the choices and what they have to fulfil, ground; `Propagator(space)` searches it.
        decisions: the choices that a person takes, as variables of the space by name, the weightiest first. What
            else there is follows from them, or only helps propagation.
        hash: what says that two spaces hold the same texts.

    The text declares the lengths of the computation as parameters. Their defaults are a few tiles, at which it can be
    proved; the printed kernel takes any length. Bounds are at the lengths that are asked for.
    """

    @property
    def name(self) -> str: ...
    @property
    def space(self) -> GroundSpace: ...
    @property
    def decisions(self) -> Mapping[str, int]: ...
    @property
    def hash(self) -> str: ...

    def text(self, assignment: Assignment) -> str:
        """Return the sketch of a complete assignment, a file with its specification; there may be holes in it."""

    def bound(self, candidate: PartialAssignment, device: Device) -> LowerBound:
        """Return a time that no implementation of a candidate falls below; it only grows as choices are decided."""
