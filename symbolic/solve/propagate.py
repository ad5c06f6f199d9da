"""Unit propagation: what follows from some guards alone, clause by clause, without search; and small searches.

This calls the engine's own functions. Its Python classes would handle Ctrl-C during a call by jumping out of the
engine, which leaves it broken. So Ctrl-C waits for the end of the call, which is soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from symbolic.values.guard import FALSE, TRUE, Guard

KEEP_CTRL_C = 0  # 'not the main thread', in which the engine would take it


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
        import pysolvers

        possible, found = pysolvers.minisat22_propagate(self._solver.minisat, [TRUE, *guards], 0, KEEP_CTRL_C)
        return (found or []) if possible else None

    def close(self) -> None:
        _free(self._solver)


def _free(solver: Any) -> None:
    """Free an engine once, whatever interrupts this: what was freed twice would end the process."""
    import pysolvers

    engine, solver.minisat = solver.minisat, None
    if engine is not None:
        pysolvers.minisat22_del(engine)


class Subproblem:
    """A few clauses out of many, decided at once; a context manager."""

    CONFLICTS = 200  # after which a question is left open

    def __init__(self, clauses: Iterable[Sequence[Guard]]) -> None:
        from pysat.solvers import Minisat22

        self._solver = Minisat22(bootstrap_with=[list(clause) for clause in clauses])

    def __enter__(self) -> Subproblem:
        return self

    def __exit__(self, *exc: object) -> None:
        _free(self._solver)

    def possible(self, guards: Sequence[Guard]) -> bool:
        """Say whether these guards can hold together; True where finding out takes too long."""
        import pysolvers

        self._solver.conf_budget(self.CONFLICTS)
        return pysolvers.minisat22_solve_lim(self._solver.minisat, list(guards), KEEP_CTRL_C, 0) is not False

    def needed(self, groups: Iterable[Sequence[Guard]]) -> list[Sequence[Guard]]:
        """Return the groups of which some guard must hold, as far as that is found out quickly."""
        import pysolvers

        found: list[Sequence[Guard]] = []
        left = list(groups)
        while left:
            *left, group = left
            if not self.possible([-guard for guard in group]):
                found.append(group)
            elif left:  # what does not hold now is not needed either
                holds = set(pysolvers.minisat22_model(self._solver.minisat) or ())
                left = [some for some in left if holds.intersection(some)] if holds else left
        return found
