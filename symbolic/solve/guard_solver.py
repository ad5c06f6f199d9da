"""Questions over guards: can every clause hold, and some guards besides?

Glucose and CaDiCaL take the clauses as they are. Every other engine is asked through PySMT (`symbolic.solve.solver`),
each guard a Boolean symbol (`symbolic.solve.guard_formulas`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Final, Protocol

from symbolic.solve.answer import Clauses, Excluded, Possible, Unknown, Verdict
from symbolic.solve.engines import SatName, SolverName, require_installed
from symbolic.solve.interrupt import gc_paused
from symbolic.values.guard import Guard, Guards

AFRESH: Final = 10_000  # conflicts of the first attempt at a question that is begun afresh


class GuardSolver:
    """The clauses of some `Guards`, those that are added later too. A context manager, as it holds a solver."""

    def __init__(self, guards: Guards, name: SolverName, *, afresh: bool = False) -> None:
        """Raises `SwizzleError` where the solver is not installed.

        How long a solver looks for a model is luck: of 20 orders of the same clauses, 17 took at most 9,000 conflicts
        and one 87,000. With `afresh` a question that takes long is begun again, with the clauses in another order and
        nothing learnt, and twice the conflicts. That suits questions that have an answer; a proof takes longer.
        """
        self.guards = guards
        self._engine = _engine(name, afresh)

    def __enter__(self) -> GuardSolver:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def check(self, assumptions: Sequence[Guard] = (), timeout: float | None = None) -> Verdict:
        """Decide whether all clauses can hold together with the assumptions; `timeout` in seconds."""
        assumptions = [self.guards.named(guard) for guard in assumptions]
        with gc_paused():
            self._engine.add(self.guards.take(), self.guards.variables)
        verdict = self._engine.check(assumptions, timeout)
        return Possible(self.guards.reader(verdict.holds)) if isinstance(verdict, Possible) else verdict

    def close(self) -> None:
        """Free the solver; more than once is fine."""
        self._engine.close()


class _Engine(Protocol):
    def add(self, clauses: Clauses, variables: int) -> None: ...

    def check(self, assumptions: Sequence[Guard], timeout: float | None) -> Verdict: ...

    def close(self) -> None: ...


def _engine(name: SolverName, afresh: bool) -> _Engine:
    if name == "cadical" or name == "glucose":
        return _Literals(name, afresh)
    from symbolic.solve.guard_formulas import GuardFormulas

    return GuardFormulas(name)


class _Literals:
    """A SAT solver, whose literals are guards."""

    def __init__(self, name: SatName, afresh: bool) -> None:
        require_installed(name)
        from symbolic.solve.sat import SatSolver

        self._sat: SatSolver | None = SatSolver(name)
        self._name = name
        self._clauses: list[Clauses] | None = [] if afresh else None

    def add(self, clauses: Clauses, variables: int) -> None:
        assert self._sat is not None
        self._sat.add(clauses)
        if self._clauses is not None:
            self._clauses.append(clauses)

    def check(self, assumptions: Sequence[Guard], timeout: float | None) -> Verdict:
        assert self._sat is not None
        ends = None if timeout is None else time.monotonic() + timeout
        attempt, most = 0, None if self._clauses is None else AFRESH
        found = self._sat.check(assumptions, timeout, most)
        while found is None and most is not None and self._sat.gave_up:
            attempt, most = attempt + 1, 2 * most
            self._begin_afresh(attempt)
            found = self._sat.check(assumptions, None if ends is None else max(0.0, ends - time.monotonic()), most)
        if found is None:
            return Unknown(f"timeout after {timeout:g} s")
        if not found:
            return Excluded(frozenset(self._sat.core()))
        model = self._sat.model()

        def holds(guard: Guard) -> bool:
            place = abs(guard) - 1
            return (place < len(model) and model[place] > 0) == (guard > 0)

        return Possible(holds)

    def _begin_afresh(self, attempt: int) -> None:
        """Forget what was learnt, and take the clauses in another order."""
        assert self._sat is not None and self._clauses is not None
        self._sat.close()
        self._sat = type(self._sat)(self._name)
        order = random.Random(attempt)
        for batch in self._clauses:
            self._sat.add(order.sample(batch, len(batch)))

    def close(self) -> None:
        sat, self._sat = self._sat, None
        if sat is not None:
            sat.close()
