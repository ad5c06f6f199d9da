"""Questions over guards: can every clause hold, and some guards besides?

Glucose and CaDiCaL take the clauses as they are. Every other engine is asked through PySMT (`symbolic.solve.solver`),
each guard a Boolean symbol (`symbolic.solve.guard_formulas`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from symbolic.solve.answer import Unknown
from symbolic.solve.engines import SatName, SolverName, require_installed
from symbolic.solve.interrupt import gc_paused
from symbolic.solve.verdict import Clauses, Excluded, Possible, Verdict
from symbolic.values.guard import Guard, Guards


class GuardSolver:
    """The clauses of some `Guards`, those that are added later too. A context manager, as it holds a solver."""

    def __init__(self, guards: Guards, name: SolverName) -> None:
        """Raises `SwizzleError` where the solver is not installed."""
        self.guards = guards
        self._engine = _engine(name)

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


def _engine(name: SolverName) -> _Engine:
    if name == "cadical" or name == "glucose":
        return _Literals(name)
    from symbolic.solve.guard_formulas import GuardFormulas

    return GuardFormulas(name)


class _Literals:
    """A SAT solver, whose literals are guards."""

    def __init__(self, name: SatName) -> None:
        require_installed(name)
        from symbolic.solve.sat import SatSolver

        self._sat: SatSolver | None = SatSolver(name)

    def add(self, clauses: Clauses, variables: int) -> None:
        assert self._sat is not None
        self._sat.add(clauses)

    def check(self, assumptions: Sequence[Guard], timeout: float | None) -> Verdict:
        assert self._sat is not None
        found = self._sat.check(assumptions, timeout)
        if found is None:
            return Unknown(f"timeout after {timeout:g} s")
        if not found:
            return Excluded(frozenset(self._sat.core()))
        model = self._sat.model()

        def holds(guard: Guard) -> bool:
            place = abs(guard) - 1
            return (place < len(model) and model[place] > 0) == (guard > 0)

        return Possible(holds)

    def close(self) -> None:
        sat, self._sat = self._sat, None
        if sat is not None:
            sat.close()
