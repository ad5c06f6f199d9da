"""Unit propagation: what follows from some guards, clause by clause, without search.

An engine of python-sat follows one case after the other, and searches a little on demand. Its own functions are called:
its Python classes would handle Ctrl-C during a call by jumping out of the engine, which leaves it broken. So Ctrl-C
waits for the end of the call, which is soon.

`ClauseMatrices` follows thousands of cases side by side: a bit for each case says where a guard is known to fail.
Clauses of equal length are a matrix, and a clause of which all guards but one fail tells that guard, in 64 cases by one
operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from symbolic.limits import look
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.guard_columns import Bits, packed

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


AT_ONCE: Final = 1 << 17  # words of 64 cases that are looked at in one step: a MiB
_Guards = npt.NDArray[Any]
_Truths = npt.NDArray[np.bool_]


class ClauseMatrices:
    """Clauses by their length, a line each."""

    def __init__(self) -> None:
        self._added: dict[int, list[_Guards]] = {}

    def add(self, clauses: Iterable[Sequence[Guard]]) -> None:
        by_length: dict[int, list[Sequence[Guard]]] = {}
        for clause in clauses:
            by_length.setdefault(len(clause), []).append(clause)
        for length, some in by_length.items():
            self._added.setdefault(length, []).append(np.array(some, np.int32))

    @property
    def size(self) -> int:
        """How many guards they have together."""
        return sum(part.size for parts in self._added.values() for part in parts)

    def matrices(self) -> list[_Guards]:
        return [np.concatenate(parts) for length, parts in self._added.items() if length]


class SideBySide:
    """What clauses imply in `count` cases, of each of which some guards are known."""

    def __init__(self, clauses: ClauseMatrices, count: int) -> None:
        matrices, self.count = clauses.matrices(), count
        spoken = np.unique(np.concatenate([np.array([TRUE]), *(np.abs(some).reshape(-1) for some in matrices)]))
        self._number = np.full(int(spoken.max()) + 1, -1)
        self._number[spoken] = np.arange(len(spoken))
        self._fails = np.zeros((2 * len(spoken), -(-count // 64)), np.uint64)  # of a guard, and of its negation
        self._broken = np.zeros(self._fails.shape[1], np.uint64)
        self._clauses = [self._rows(some) for some in matrices]
        self._changed = np.ones(len(self._fails), np.bool_)  # of which guards something is new since they were followed
        self.know(np.array([TRUE]), np.ones((1, count), np.bool_))

    def speak_of(self, guards: _Guards) -> _Truths:
        """Say of which guards clauses speak."""
        known = np.minimum(np.abs(guards), len(self._number) - 1)
        found: _Truths = (known == np.abs(guards)) & (self._number[known] >= 0)
        return found

    def know(self, guards: _Guards, holds: _Truths) -> None:
        """Take it that some guards hold in some cases, a line each, and fail in the others; clauses speak of them."""
        rows = self._rows(guards)
        self._fails[rows] |= packed(~holds)
        self._fails[rows ^ 1] |= packed(holds)
        self._changed[rows] = self._changed[rows ^ 1] = True

    def fails(self, guards: _Guards) -> _Truths:
        """Say in which cases some guards, or negations, are known to fail: a line each."""
        return self._unpacked(self._fails[self._rows(guards)])

    @property
    def broken(self) -> npt.NDArray[np.bool_]:
        """In which cases a clause, or a guard and its negation, have nothing left that may hold."""
        both = self._fails[::2] & self._fails[1::2]
        return self._unpacked(self._broken | np.bitwise_or.reduce(both, axis=0))

    def follow(self, rounds: int | None = None) -> bool:
        """Draw conclusions from what is new, round by round; say whether there may be more. None: all."""
        while self._changed.any() and rounds != 0:
            rounds = None if rounds is None else rounds - 1
            before, changed = self._changed, np.zeros_like(self._changed)
            self._changed = changed
            for rows in self._clauses:
                touched = rows[before[rows].any(axis=1)]
                step = max(1, AT_ONCE // (rows.shape[1] * self._fails.shape[1]))
                for first in range(0, len(touched), step):
                    look()
                    changed[self._tell(touched[first : first + step])] = True
        return bool(self._changed.any())

    def _tell(self, rows: _Guards) -> _Guards:
        """Tell what some clauses imply; return the rows of guards of which something new is known."""
        alone, none = _alone(self._fails[rows])
        self._broken |= none
        order = np.argsort(rows, axis=None, kind="stable")
        told, starts = np.unique(rows.reshape(-1)[order], return_index=True)
        found = np.bitwise_or.reduceat(alone.reshape(rows.size, -1)[order], starts, axis=0)
        told ^= 1
        known = self._fails[told]
        self._fails[told] = known | found
        changed: _Guards = told[(found & ~known).any(axis=1)]
        return changed

    def _rows(self, guards: _Guards) -> _Guards:
        return 2 * self._number[np.abs(guards)] + (guards < 0)

    def _unpacked(self, bits: Bits) -> _Truths:
        return np.unpackbits(bits.view(np.uint8), axis=-1, count=self.count, bitorder="little").view(np.bool_)


def _alone(fails: Bits) -> tuple[Bits, Bits]:
    """Return of each guard of each clause where all others fail, and where all guards of some clause do."""
    before, after = np.empty_like(fails), np.empty_like(fails)
    before[:, 0] = after[:, -1] = np.iinfo(np.uint64).max
    np.bitwise_and.accumulate(fails[:, :-1], axis=1, out=before[:, 1:])
    np.bitwise_and.accumulate(fails[:, :0:-1], axis=1, out=after[:, :-1][:, ::-1])
    return before & after, np.bitwise_or.reduce(before[:, -1] & fails[:, -1], axis=0)
