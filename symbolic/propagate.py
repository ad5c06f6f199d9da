"""Unit propagation: what follows from some guards alone, clause by clause, without search; and small searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from symbolic.guard import FALSE, TRUE, Guard


def available() -> bool:
    """Say whether the engine that propagates (python-sat) is installed."""
    return find_spec("pysat") is not None


class Propagation:
    """Clauses, and what they imply.

    The engine names no guard that a single clause settles, so TRUE is an assumption that such clauses wait for.
    """

    def __init__(self) -> None:
        from pysat.solvers import Minisat22

        self._solver = Minisat22()

    def add(self, clauses: Iterable[Sequence[Guard]]) -> None:
        """Add clauses; an empty one can never hold."""
        for clause in clauses:
            if len(clause) > 1:
                self._solver.add_clause(list(clause))
            elif clause != [TRUE]:
                self._solver.add_clause([*clause, FALSE])

    def implied(self, guards: Sequence[Guard]) -> list[Guard] | None:
        """Return the guards that hold if these do, these included, or None if they cannot all hold."""
        possible, found = self._solver.propagate([TRUE, *guards])
        return found if possible else None

    def close(self) -> None:
        self._solver.delete()


class Subproblem:
    """A few clauses out of many, decided at once; a context manager."""

    CONFLICTS = 200  # after which a question is left open

    def __init__(self, clauses: Iterable[Sequence[Guard]]) -> None:
        from pysat.solvers import Minisat22

        self._solver = Minisat22(bootstrap_with=[list(clause) for clause in clauses])

    def __enter__(self) -> Subproblem:
        return self

    def __exit__(self, *exc: object) -> None:
        self._solver.delete()

    def possible(self, guards: Sequence[Guard]) -> bool:
        """Say whether these guards can hold; True where that takes too long to find out."""
        self._solver.conf_budget(self.CONFLICTS)
        return self._solver.solve_limited(assumptions=list(guards)) is not False
