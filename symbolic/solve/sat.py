"""SAT solvers of the python-sat package over integer literals, stoppable.

They search in slices of about a tenth of a second. A deadline or Ctrl-C stops them between two slices.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from pysat.solvers import Cadical195, Glucose42

from symbolic.solve.engines import SatName
from symbolic.solve.interrupt import Interruptible

_SOLVER = {"cadical": Cadical195, "glucose": Glucose42}


class SatSolver:
    """Clauses, and whether they can hold. A literal is a non-zero int, negative for 'not'."""

    def __init__(self, name: SatName) -> None:
        self.sat = _SOLVER[name]()
        self._stopped = False
        self.gave_up = False
        """Whether the last check ended without an answer because it had had its conflicts."""
        self._running: Interruptible[bool | None] = Interruptible(self._stop)

    def _stop(self) -> None:
        self._stopped = True

    def add(self, clauses: Iterable[Sequence[int]]) -> None:
        """Conjoin clauses."""
        self._running.settle()
        add = self.sat.add_clause
        for clause in clauses:
            add(clause)

    def check(self, assumptions: Sequence[int], timeout: float | None, conflicts: int | None = None) -> bool | None:
        """Decide under assumptions; None where `timeout` seconds, or so many conflicts, are not enough."""
        self._stopped = self.gave_up = False
        found, _ = self._running.run(lambda: self._search(list(assumptions), conflicts), timeout)
        return found

    def attempt(self, assumptions: Sequence[int], conflicts: int) -> bool | None:
        """Search for at most `conflicts` conflicts, however long that takes; None means no answer yet."""
        self.sat.conf_budget(conflicts)
        # Glucose lets other threads run then; one that draws or reads files would else wait for a slice at each step
        found: bool | None = self.sat.solve_limited(assumptions, expect_interrupt=True)
        return found

    def _search(self, assumptions: Sequence[int], most: int | None) -> bool | None:
        conflicts, left = 500, most
        while not self._stopped:
            started = time.monotonic()
            found = self.attempt(assumptions, conflicts if left is None else min(conflicts, left))
            if found is not None:
                return found
            if left is not None:
                left -= min(conflicts, left)
                if not left:
                    self.gave_up = True
                    return None
            seconds = time.monotonic() - started
            if seconds < 0.05:
                conflicts *= 2
            elif seconds > 0.2:
                conflicts = max(100, conflicts // 2)
        return None

    def model(self) -> list[int]:
        """Return the last model, a literal of each variable in order."""
        found: list[int] = self.sat.get_model()
        return found

    def core(self) -> list[int]:
        """Return the assumptions that the last negative answer used."""
        return self.sat.get_core() or []

    def close(self) -> None:
        """Stop a running check and free the solver."""
        self._running.settle()
        self.sat.delete()
