"""One value per thread: a NumPy array where no hole is involved, a deferred vector where one is.

The machine runs all threads of the grid in lockstep, one statement at a time. A hole-free value is computed for
all threads at once by NumPy. A steering value that depends on a hole is *deferred*: asked for one thread (`at`), it
builds the union of what it may be for that thread only, so that a search that looks at three outputs pays for
three. (Data that depends on holes is `symbolic.values.data`.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from symbolic.algebra.tally import Held, Size, Tally
from symbolic.algebra.terms import Term, Terms
from symbolic.values.guard import FALSE, TRUE, Guard, Guards
from symbolic.values.union import Union, combine

Lanes: TypeAlias = npt.NDArray[Any]
TABLED = 1 << 20  # elements of a table, up to which it is worked out to say what each thread may have


class Encoding(Struct):
    """One search problem over one program run: the guards, what each hole may be, and what was built so far
    (`memo` for steering values; `equal`, `held`, `sized` and `holding` for questions about data, `cases` for cells).

    `hole(h, point)` gives the union of values that hole `h` may take at a point (a tuple of its arguments).
    `active` notes every accumulate that was looked at: what ran, for which thread, under which guard; `noted` are the
    reductions whose accumulates are all there. `narrowed` says that some requirement is stronger than it should be, so
    that there may be fillings which the guards do not allow; `unsigned`, that a value was not looked at as an item that
    is taken off, as is done if `signed`. `exact` are the reductions (with threads) in which nothing cancels, as was
    counted.
    """

    guards: Guards
    terms: Terms
    hole: Callable[[int, tuple[int, ...]], Union]
    memo: dict[Deferred, dict[int, Union]] = field(default_factory=dict)
    equal: dict[Any, dict[tuple[int, Term], Guard]] = field(default_factory=dict)
    held: dict[Any, dict[tuple[int, Tally], Held]] = field(default_factory=dict)
    active: list[tuple[Any, int, Guard]] = field(default_factory=list)
    sized: dict[Any, dict[tuple[int, Size], Guard]] = field(default_factory=dict)
    holding: dict[Any, Any] = field(default_factory=dict)
    cases: dict[Any, dict[int, Any]] = field(default_factory=dict)
    noted: set[tuple[Any, int]] = field(default_factory=set)
    exact: set[tuple[Any, int]] = field(default_factory=set)
    narrowed: bool = False
    signed: bool = False
    unsigned: bool = False


class HoleQuestion(Struct, frozen=True, eq=False):
    """One call of a hole, by all threads at once: the hole's number, its arguments, and what it may give."""

    hole: int
    arguments: tuple[Lanes, ...]
    values: Lanes


class Deferred:
    """A vector that depends on holes.

    `compute(encoding, thread)` gives one thread's union; `reachable(thread)` gives, without an encoding, a set that
    holds every value the thread may have, whatever the holes are. If it depends on a single call of a hole, that is its
    `question`, and `table` says what each thread has (columns) for each value that the hole may give there (lines).
    """

    __slots__ = ("_reach", "_table", "compute", "question", "reachable", "tabled")

    def __init__(
        self,
        compute: Callable[[Encoding, int], Union],
        reachable: Callable[[int], frozenset[Any]],
        question: HoleQuestion | None = None,
        tabled: Callable[[], Lanes] | None = None,
    ) -> None:
        self.compute, self.reachable, self.question, self.tabled = compute, reachable, question, tabled
        self._reach: dict[int, frozenset[Any]] = {}
        self._table: Lanes | None = None

    @property
    def table(self) -> Lanes:
        """What each thread has, for each value of the hole; worked out when it is asked for."""
        if self._table is None:
            assert self.tabled is not None, "a vector that depends on several calls of holes has no table"
            self._table = self.tabled()
        return self._table

    def at(self, encoding: Encoding, thread: int) -> Union:
        """Return one thread's value, built once per encoding."""
        memo = encoding.memo.get(self)
        if memo is None:
            memo = encoding.memo[self] = {}
        found = memo.get(thread)
        if found is None:
            found = memo[thread] = self.compute(encoding, thread)
        return found

    def reach(self, thread: int) -> frozenset[Any]:
        """Return the values that a thread may have at most."""
        found = self._reach.get(thread)
        if found is None:
            if self.question is not None and len(self.question.values) * self.question.arguments[0].size <= TABLED:
                found = frozenset(self.table[:, thread].tolist())
            else:
                found = self.reachable(thread)
            self._reach[thread] = found
        return found


Vector: TypeAlias = Lanes | Deferred


def at(vector: Vector, encoding: Encoding, thread: int) -> Union:
    """Return one thread's value as a union."""
    if isinstance(vector, Deferred):
        return vector.at(encoding, thread)
    return Union.single(vector[thread].item())


def guard_at(vector: Vector, encoding: Encoding, thread: int) -> Guard:
    """Return the guard under which a BOOL vector holds for a thread."""
    return at(vector, encoding, thread).is_(True)


def reach(vector: Vector, thread: int) -> frozenset[Any]:
    """Return a set that holds every value that a vector may have for a thread, whatever the holes are."""
    return vector.reach(thread) if isinstance(vector, Deferred) else frozenset((vector[thread].item(),))


def lift(scalar: Callable[..., Hashable], lanes: Callable[..., Any], *vectors: Vector) -> Vector:
    """Apply an operator of one or two operands: on all lanes by NumPy if it can, deferred if it must."""
    if not any(isinstance(v, Deferred) for v in vectors):
        found: Lanes = lanes(*vectors)
        return found
    questions = [v.question for v in vectors if isinstance(v, Deferred)]
    question = questions[0] if all(q is questions[0] for q in questions) else None

    def tabled() -> Lanes:
        found: Lanes = lanes(*(v.table if isinstance(v, Deferred) else v for v in vectors))
        return found

    if len(vectors) == 1:
        (a,) = vectors
        return Deferred(
            lambda encoding, t: at(a, encoding, t).map(encoding.guards, scalar),
            lambda t: frozenset(scalar(x) for x in reach(a, t)),
            question,
            tabled,
        )
    a, b = vectors
    return Deferred(
        lambda encoding, t: combine(encoding.guards, scalar, at(a, encoding, t), at(b, encoding, t)),
        lambda t: frozenset(scalar(x, y) for x in reach(a, t) for y in reach(b, t)),
        question,
        tabled,
    )


def conjunction(a: Vector, b: Vector) -> Vector:
    """Return `a and b` of two BOOL vectors."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a & b

    def compute(encoding: Encoding, t: int) -> Union:
        g = guard_at(a, encoding, t)
        return boolean_union(encoding.guards.both(g, guard_at(b, encoding, t)) if g != FALSE else g)

    return Deferred(compute, lambda t: frozenset(x and y for x in reach(a, t) for y in reach(b, t)))


def negation(a: Vector) -> Vector:
    """Return `not a` of a BOOL vector."""
    if isinstance(a, np.ndarray):
        return ~a
    return Deferred(
        lambda encoding, t: boolean_union(-guard_at(a, encoding, t)), lambda t: frozenset(not x for x in reach(a, t))
    )


def boolean_union(guard: Guard) -> Union:
    """Return the BOOL union that holds under `guard`."""
    if guard == TRUE:
        return Union({True: TRUE})
    if guard == FALSE:
        return Union({False: TRUE})
    return Union({True: guard, False: -guard})
