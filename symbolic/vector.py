"""One value per thread: a NumPy array where no hole is involved, a deferred vector where one is.

The machine runs all threads of the grid in lockstep, one statement at a time. A hole-free value is computed for
all threads at once by NumPy. A value that depends on a hole is *deferred*: asked for one thread (`at`), it builds
the union of what it may be for that thread only, so that a search that looks at three outputs pays for three.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.guard import Guard, Guards
from symbolic.terms import Terms
from symbolic.union import Union, combine

Lanes: TypeAlias = npt.NDArray[Any]


@dataclass(slots=True)
class Encoding:
    """One search problem over one program run: the guards, what each hole may be, and what was built so far.

    `hole(h, point)` gives the union of values that hole `h` may take at a point (a tuple of its arguments).
    `active` notes every accumulate that was looked at: what ran, for which thread, under which guard.
    """

    guards: Guards
    terms: Terms
    hole: Callable[[int, tuple[int, ...]], Union]
    memo: dict[Deferred, dict[int, Any]] = field(default_factory=dict)
    active: list[tuple[Any, int, Guard]] = field(default_factory=list)


class Deferred:
    """A vector that depends on holes; `compute(encoding, thread)` gives one thread's guarded value."""

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[Encoding, int], Any]) -> None:
        self.compute = compute

    def at(self, encoding: Encoding, thread: int) -> Any:
        """Return one thread's value, built once per encoding."""
        memo = encoding.memo.get(self)
        if memo is None:
            memo = encoding.memo[self] = {}
        if thread not in memo:
            memo[thread] = self.compute(encoding, thread)
        return memo[thread]


Vector: TypeAlias = Lanes | Deferred


def at(vector: Vector, encoding: Encoding, thread: int) -> Any:
    """Return one thread's value as a union (data may also be a multiset or a tree, see `symbolic.accumulator`)."""
    if isinstance(vector, Deferred):
        return vector.at(encoding, thread)
    return Union.single(vector[thread].item())


def guard_at(vector: Vector, encoding: Encoding, thread: int) -> Guard:
    """Return the guard under which a BOOL vector holds for a thread."""
    found: Guard = at(vector, encoding, thread).is_(True)
    return found


def lift(scalar: Callable[..., Hashable], lanes: Callable[..., Any], *vectors: Vector) -> Vector:
    """Apply an operator of one or two operands: on all lanes by NumPy if it can, deferred if it must."""
    if not any(isinstance(v, Deferred) for v in vectors):
        found: Lanes = lanes(*vectors)
        return found
    if len(vectors) == 1:
        (a,) = vectors
        return Deferred(lambda encoding, t: at(a, encoding, t).map(encoding.guards, scalar))
    a, b = vectors
    return Deferred(lambda encoding, t: combine(encoding.guards, scalar, at(a, encoding, t), at(b, encoding, t)))


def conjunction(a: Vector, b: Vector) -> Vector:
    """Return `a and b` of two BOOL vectors."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a & b

    def compute(encoding: Encoding, t: int) -> Union:
        g = guard_at(a, encoding, t)
        return boolean(encoding.guards.both(g, guard_at(b, encoding, t)) if g != -1 else g)

    return Deferred(compute)


def negation(a: Vector) -> Vector:
    """Return `not a` of a BOOL vector."""
    if isinstance(a, np.ndarray):
        return ~a
    return Deferred(lambda encoding, t: boolean(-guard_at(a, encoding, t)))


def boolean(guard: Guard) -> Union:
    """Return the BOOL union that holds under `guard`."""
    if guard == 1:
        return Union({True: 1})
    if guard == -1:
        return Union({False: 1})
    return Union({True: guard, False: -guard})


def possible(mask: Vector) -> Lanes | None:
    """Return the threads for which a mask may hold, or None for 'not known before encoding'."""
    return np.flatnonzero(mask) if isinstance(mask, np.ndarray) else None
