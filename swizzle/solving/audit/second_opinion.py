"""The independent route of `--certify`: every claim of an answer, checked by code that the search does not use.

What a hole may be is written down a second time (`templates.second`). What a filling computes is read forward
(`symbolic.second.forward`), in plain formulas for another solver than the search's. Counterexamples are whole outputs
and whole threads. The two routes share the machine that runs a filling, the terms, and the interface to solvers. This
route is slow, so it has a time limit of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from swizzle.language.specs.verify import compare, run_canonical
from swizzle.solving.problem.problem import Problem
from symbolic.ir.sites import Site, Sites
from symbolic.limits import OutOfTime
from symbolic.machine.run import Run
from symbolic.second.formulas import Cases, exactly, fresh, no, some_of
from symbolic.second.forward import Forward
from symbolic.second.terms import TermValues
from symbolic.solve.answer import Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.solver import Solver
from symbolic.values.vector import Vector
from templates.holes import Point, Space
from templates.second.registry import hole_of

HoleFunctions: TypeAlias = tuple[Callable[[Sequence[Any]], Any], ...]  # of each hole, from lanes of arguments to lanes


class Lacking(Exception):
    """A filling that was found is none of those that the second descriptions of its holes have."""


class SecondOpinion:
    """A search for a filling that, by a claim, does not exist; a context manager, because it holds a solver."""

    def __init__(self, problem: Problem, space: Space, solver: SolverName, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.program = problem.program
        self.holes = [
            hole_of(h, p, space, problem.naive, deadline, problem.families)
            for h, p in zip(self.program.holes, problem.points, strict=True)
        ]
        self.values = TermValues(problem.terms)
        self.forward = Forward(self.program, self.values, self._hole)
        self.solver = Solver(solver, boolean=True)
        self.solver.add([g.rule for h in self.holes for g in h.groups])
        self.sites = Sites.in_program(self.program)
        self.dead = {site: fresh() for site in dict.fromkeys(self.sites.of(s) for s, _ in self.forward.active)}
        self._threads: set[int] = set()
        self._cells: set[tuple[str, int]] = set()

    def _hole(self, number: int, point: Point) -> Cases:
        """Return what a hole may be at a point; building past the deadline raises `OutOfTime`."""
        if time.monotonic() > self.deadline:
            raise OutOfTime
        return self.holes[number].at(point)

    def __enter__(self) -> SecondOpinion:
        return self

    def __exit__(self, *exc: object) -> None:
        self.solver.close()

    def find(self, at_most: int | None, known: Sequence[HoleFunctions] = ()) -> HoleFunctions | Unsat | Unknown:
        """Look for a filling of at most this cost, other than those known.

        Raises `Lacking` if one that is known is not there: what is not there cannot be missed either.
        """
        for filling in known:
            other, here = self._other_than(filling), fresh()
            self.solver.add([some_of((no(here), no(other)))])
            if isinstance(self.solver.check([here], timeout=max(0.001, self.deadline - time.monotonic())), Unsat):
                raise Lacking
            self.solver.add([other])
        if at_most is not None:
            alive = [no(d) for d in self.dead.values()]
            self.solver.add([some_of(exactly(count, alive) for count in range(at_most + 1))])
        first = self.problem.outputs[:1] + self.problem.outputs[-1:]
        for output in first:
            self._look_at_output(output.array, output.address)
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return Unknown("out of time")
            answer = self.solver.check(timeout=left)
            if not isinstance(answer, Sat):
                return answer
            filling = tuple(h.filled(answer.model) for h in self.holes)
            run, live = self.run(filling)
            if not self._refute(run, live, answer.model, at_most, filling):
                return filling

    def run(self, filling: HoleFunctions, asked: set[tuple[int, Point, Any]] | None = None) -> tuple[Run, set[Site]]:
        """Run a filling for all threads by the concrete machine; return what it left, and which statements ran.

        `asked` receives each hole's points and values, where a thread that is on asks it.
        """
        shape = (self.forward.count,)

        def hole(number: int, arguments: tuple[Vector, ...], mask: Vector) -> Vector:
            found = np.broadcast_to(np.asarray(filling[number](arguments)), shape)
            if asked is not None:
                for t in np.flatnonzero(np.asarray(mask)).tolist():
                    asked.add((number, tuple(int(np.asarray(a)[t]) for a in arguments), found[t].item()))
            return found

        run = run_canonical(self.program, self.problem.terms, hole, violation_limit=64)
        live = {e.site for e in run.accumulated if isinstance(e.mask, np.ndarray) and e.mask.any()}
        return run, live

    def _refute(self, run: Run, live: set[Site], model: Any, at_most: int | None, filling: HoleFunctions) -> bool:
        """Show what is wrong with a filling; False where nothing is."""
        wrong = compare(self.program, run, self.problem.wanted)
        before = len(self._threads) + len(self._cells)
        for mismatch in wrong[:2]:
            self._look_at_output(mismatch.array, mismatch.address)
        for violation in run.violations[:2]:
            self._look_at_thread(violation.thread)
        if not wrong and not run.violations:
            if at_most is None or len(live) <= at_most:
                return False
            lying = {s for s in live if model.true(self.dead[s])}
            entry = next(e for e in run.accumulated if e.site in lying and np.asarray(e.mask).any())
            self._look_at_thread(int(np.flatnonzero(np.asarray(entry.mask))[0]))
        if len(self._threads) + len(self._cells) == before:  # a race, or an element that is not followed in full
            self.solver.add([self._other_than(filling)])
        return True

    def _look_at_output(self, array: str, address: int) -> None:
        if (array, address) not in self._cells:
            self._cells.add((array, address))
            wanted = self.problem.wanted[array][address]
            self.solver.add([self.values.may_be(self.forward.output(array, address), wanted)])
            writer = self._writer(array, address)
            if writer is not None:
                self._look_at_thread(writer)

    def _writer(self, array: str, address: int) -> int | None:
        """Return the thread that is sure to write an output element, if there is one."""
        memory = self.forward.memories[array]
        for number in range(len(memory.writes) - 1, -1, -1):
            hits = memory.hits(0, number).get(address, [])
            if hits:
                return hits[0][0] if hits[0][1].is_true() else None
        return None

    def _look_at_thread(self, t: int) -> None:
        """Require what must hold for a thread; what is dead does not run for it."""
        if t in self._threads:
            return
        self._threads.add(t)
        self.solver.add([must(t) for must in self.forward.must])
        self.solver.add([some_of((no(self.dead[self.sites.of(s)]), no(on(t)))) for s, on in self.forward.active])

    def _other_than(self, filling: HoleFunctions) -> Any:
        """Some hole differs at some point at which the filling's run asks it."""
        asked: set[tuple[int, Point, Any]] = set()
        self.run(filling, asked)
        return some_of(f for number, point, value in asked for v, f in self._hole(number, point).items() if v != value)
