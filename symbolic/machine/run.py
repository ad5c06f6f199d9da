"""What a run of the machine leaves behind: memories, accumulates, broken rules, and obligations on the holes."""

from __future__ import annotations

from typing import Final, Literal, Protocol

from msgspec import Struct, field

from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Accumulate, Assign, Store
from symbolic.ir.sites import Key, Site
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.memory import Memory
from symbolic.values.data import DataVector
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Encoding, Vector, at, guard_at

EXPECTED: Final = {
    "bounds": "an index inside the array, for every thread that gets here",
    "unwritten": "a cell that was written before, by every path to this read",
    "aligned": "a row of 16 bytes that begins at a multiple of 16 bytes, for every lane that names one",
    "present": "all of them or none: the condition must be the same for all",
    "named": "lanes that are named, and so get here",
    "access": "one thread's use of a cell, or a barrier between a write and the others' uses",
    "copy": "one thread's use of a cell, or a wait for its copy and a barrier before the others' uses",
    "arrival": "a barrier between the wait for a copy and the others' uses",
    "copied": "a barrier between the wait for a copy and the others' uses",
    "begins": "a place in the array that is a multiple of how many elements are copied at once",
}
"""What each rule asks for."""
UNDER_WAY: Final = "a wait for the copy first"


class HoleObligation(Protocol):
    """A condition that the filling of the holes must meet."""

    def __call__(self, encoding: Encoding, t: int, when: Guard = TRUE) -> None:
        """Require it of thread t, where `when` holds."""


class Violation(Struct, frozen=True):
    """A rule that a run broke: which, where, by which thread; a race names the other access too.

    `under_way`: the other is a copy that has not arrived, so that no barrier helps.
    """

    key: Key
    thread: int
    message: str
    place: Place
    fix: str = ""
    other: tuple[Key, int] | None = None
    under_way: bool = False

    def error(self) -> SwizzleError:
        """Return the violation as the user's mistake."""
        expected = UNDER_WAY if self.under_way else EXPECTED[str(self.key[-1])]
        return SwizzleError(self.message, place=self.place, expected=expected, fix=self.fix)


class Accumulated(Struct):
    """One accumulate that ran: its statement, its guard, its operands and the values of the loops around it."""

    statement: Accumulate | Assign | Store
    site: Site
    mask: Vector
    operands: tuple[DataVector, ...] = ()
    loops: tuple[int, ...] = ()


class PassedBarrier(Struct, frozen=True):
    """A barrier that ran, and for which threads."""

    scope: Literal["block", "warp"]
    mask: Vector


class Run(Struct):
    """What a run leaves behind. An access is its mask, its address and how many barriers ran before it."""

    shape: LaunchShape
    memories: dict[str, Memory]
    accumulated: list[Accumulated]
    violations: list[Violation]
    obligations: dict[Key, HoleObligation]
    accesses: dict[Key, tuple[Vector, Vector, int]] = field(default_factory=dict)
    barriers: list[PassedBarrier] = field(default_factory=list)


def forbid_race(run: Run, violation: Violation, encoding: Encoding, when: Guard = TRUE) -> None:
    """Require, where `when` holds, that two accesses do not meet in one cell without a barrier between."""
    assert violation.other is not None
    mask_a, address_a, before_a = run.accesses[violation.other[0]]
    mask_b, address_b, before_b = run.accesses[violation.key]
    a, b, shape = violation.other[1], violation.thread, run.shape
    scopes = {"block"} if shape.block_of[a] == shape.block_of[b] else set()
    scopes |= {"warp"} if shape.warp_base[a] == shape.warp_base[b] else set()
    between = run.barriers[min(before_a, before_b) : max(before_a, before_b)]
    ordered = (
        []
        if violation.under_way
        else [guard_at(barrier.mask, encoding, a) for barrier in between if barrier.scope in scopes]
    )
    first, second = at(address_a, encoding, a), at(address_b, encoding, b)
    for cell, guard in first.values.items():
        if cell >= 0 and (other := second.is_(cell)) != FALSE:
            both_on = (-guard_at(mask_a, encoding, a), -guard_at(mask_b, encoding, b))
            encoding.guards.add((-when, -guard, -other, *both_on, *ordered))
