"""The independent route of `--certify`: every claim of an answer, posed again to code that the search does not use.

What a hole may be is written down here once more, straight from the primitives and the grammar of the paper
(sections 5.1 to 5.4); what a filling computes is read forward (`symbolic.forward`), in plain formulas that go to
z3, or to cvc5 where the search used z3. Counterexamples are whole outputs and whole threads. What the two routes
share is the machine that runs a filling, the terms, the solver interface. Slow, so it has a limit of time of its own.
"""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from swizzle.search.problem import Problem
from swizzle.search.verify import compare, run_canonical
from symbolic.answer import Sat, Unknown, Unsat
from symbolic.engines import SolverName
from symbolic.forward import Cases, Forward, both, exactly, fresh, no, some_of
from symbolic.forward_terms import TermValues
from symbolic.guard import OutOfTime
from symbolic.program import Hole
from symbolic.run import Run
from symbolic.solver import Solver
from symbolic.vector import Vector
from templates.primitives import xform

Space: TypeAlias = Literal["1", "2", "3"]
Point: TypeAlias = tuple[int, ...]
Table: TypeAlias = npt.NDArray[np.int64]
Filling: TypeAlias = tuple[Callable[[Sequence[Any]], Any], ...]  # of each hole, from lanes of arguments to lanes
COMPARISONS = (operator.eq, operator.ne, operator.ge, operator.gt, operator.le, operator.lt)


class Refuted(Exception):
    """A claim of the search is wrong: there is a filling that it says does not exist."""


class Group:
    """Rows of which exactly one is chosen."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.literals = [fresh() for _ in rows]
        self.rule = exactly(1, self.literals)

    def cases(self, values: Sequence[Any]) -> Cases:
        """Return the value of the row that is chosen."""
        groups: dict[Any, list[Any]] = {}
        for value, literal in zip(values, self.literals, strict=True):
            groups.setdefault(value, []).append(literal)
        return {value: some_of(literals) for value, literals in groups.items()}

    def chosen(self, model: Any) -> Any:
        return next(r for r, literal in zip(self.rows, self.literals, strict=True) if model.true(literal))


class XformHole:
    """`?sw_xform(i, n, k)` by equations 2 to 7: a shape, a rate, an offset."""

    def __init__(self, hole: Hole, points: Sequence[Point], space: Space) -> None:
        n = self.n = hole.size
        self.indices = sorted({p[0] for p in points})
        self.shifts = sorted({p[1] if len(p) > 1 else 0 for p in points})
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        full = space == "3"
        shapes = [
            (gs, c_f, d_f, wrap)
            for gs in (divisors if full else [n])
            for d_f in ([d for d in divisors if gs % d == 0] if full else [n])
            for wrap in ((False, True) if full else (False,))
            for c_f in range(0, gs, gs // d_f)
        ]
        rates = [(c_r, d_r) for d_r in range(max(self.shifts, default=0) + 1 if full else 1) for c_r in range(n)]
        turns, lanes = np.arange(n)[:, None], np.array(self.indices, np.int64)

        def all_turns(shape: tuple[int, int, int, bool]) -> Any:
            gs, c_f, d_f, wrap = shape
            return np.broadcast_to(xform(gs, c_f, d_f, wrap, turns, lanes), (n, len(lanes)))

        self._shape = _distinct(shapes, all_turns)
        ks = np.array(self.shifts, np.int64)
        self._rate = _distinct(rates, lambda r: (ks * r[0] + (ks // r[1] if r[1] else 0)) % n)
        self.groups = [Group([s for s, _ in self._shape]), Group([r for r, _ in self._rate]), Group(range(n))]
        self._turn: dict[int, Cases] = {}
        self._known: dict[Point, Cases] = {}

    def at(self, point: Point) -> Cases:
        if point not in self._known:
            shape, _, _ = self.groups
            column = self.indices.index(point[0])
            by_turn = shape.cases([tuple(t[:, column].tolist()) for _, t in self._shape])
            turn = self._turned(point[1] if len(point) > 1 else 0)
            found: dict[int, list[Any]] = {}
            for values, chosen in by_turn.items():
                for value, turns in _inverse(values).items():
                    found.setdefault(value, []).append(both(chosen, some_of(turn[r] for r in turns if r in turn)))
            self._known[point] = {v: some_of(f) for v, f in found.items()}
        return self._known[point]

    def _turned(self, k: int) -> Cases:
        if k not in self._turn:
            _, rate, offset = self.groups
            place = self.shifts.index(k)
            rates = rate.cases([int(t[place]) for _, t in self._rate])
            found: dict[int, list[Any]] = {}
            for (a, f), (c, g) in itertools.product(rates.items(), offset.cases(range(self.n)).items()):
                found.setdefault((a + c) % self.n, []).append(both(f, g))
            self._turn[k] = {v: some_of(f) for v, f in found.items()}
        return self._turn[k]

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        (gs, c_f, d_f, wrap), (c_r, d_r), c = (g.chosen(model) for g in self.groups)

        def function(arguments: Sequence[Any]) -> Any:
            k = arguments[1] if len(arguments) > 1 else 0
            return xform(gs, c_f, d_f, wrap, k * c_r + (k // d_r if d_r else 0) + c, arguments[0])

        return function


class CondHole:
    """`?sw_cond(v, ...)` by the grammar of section 5.1, told apart by what it is at the points."""

    def __init__(self, arity: int, points: Sequence[Point], space: Space) -> None:
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)] or [np.zeros(0, np.int64)] * arity
        self._place = {p: j for j, p in enumerate(points)}
        reach = 2 * max((int(np.abs(c).max(initial=0)) for c in columns), default=0) + 1
        constants = range(-reach, reach + 1) if space != "1" else (0,)
        rows = itertools.product(range(arity), range(arity), COMPARISONS, (1, -1), constants)
        self._table = _distinct(list(rows), lambda row: self._value(row, columns))
        self.groups = [Group([row for row, _ in self._table])]

    @staticmethod
    def _value(row: Any, arguments: Sequence[Any]) -> Any:
        v, u, compared, sign, constant = row
        return compared(arguments[v], constant + sign * arguments[u])

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([bool(t[self._place[point]]) for _, t in self._table])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        row = self.groups[0].chosen(model)
        return lambda arguments: self._value(row, arguments)


class PartHole:
    """`?sw_part(n, v, ...)`: the first condition that holds decides (section 5.2)."""

    def __init__(self, hole: Hole, points: Sequence[Point], space: Space) -> None:
        self.n = hole.size
        self._conditions = [CondHole(len(hole.arguments), points, space) for _ in range(self.n - 1)]
        self.groups = [g for c in self._conditions for g in c.groups]

    def at(self, point: Point) -> Cases:
        found: Cases = {}
        before: list[Any] = []
        for j, condition in enumerate(self._conditions):
            holds = condition.at(point).get(True)
            if holds is not None:
                found[j] = both(*before, holds)
                before.append(no(holds))
        found[self.n - 1] = both(*before)
        return {value: f for value, f in found.items() if not f.is_false()}

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        conditions = [c.filled(model) for c in self._conditions]

        def function(arguments: Sequence[Any]) -> Any:
            value: Any = self.n - 1
            for j in range(self.n - 2, -1, -1):
                value = np.where(conditions[j](arguments), j, value)
            return value

        return function


AnyHole: TypeAlias = "XformHole | CondHole | PartHole"


def hole_of(hole: Hole, points: Sequence[Point], space: Space) -> AnyHole:
    """Return what a hole may be in a space."""
    if hole.kind == "xform":
        return XformHole(hole, points, space)
    return CondHole(len(hole.arguments), points, space) if hole.kind == "cond" else PartHole(hole, points, space)


class SecondOpinion:
    """A search for a filling that a claim says does not exist; a context manager, as it holds a solver."""

    def __init__(self, problem: Problem, space: Space, solver: SolverName, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.program = problem.program
        self.holes = [hole_of(h, p, space) for h, p in zip(self.program.holes, problem.points, strict=True)]
        self.values = TermValues(problem.terms)
        self.forward = Forward(self.program, self.values, self._hole)
        self.solver = Solver(solver, boolean=True)
        self.solver.add([g.rule for h in self.holes for g in h.groups])
        self.statements = list({id(s): s for s, _ in self.forward.active}.values())
        self.dead = {id(s): fresh() for s in self.statements}
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

    def find(self, at_most: int | None, known: Sequence[Filling] = ()) -> Filling | Unsat | Unknown:
        """Look for a filling of at most this cost, other than those known."""
        if at_most is not None:
            alive = [no(d) for d in self.dead.values()]
            self.solver.add([some_of(exactly(count, alive) for count in range(at_most + 1))])
        for filling in known:
            self.solver.add([self._other_than(filling)])
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

    def run(self, filling: Filling) -> tuple[Run, set[int]]:
        """Run a filling for all threads by the concrete machine; return what it left, and which statements ran."""
        shape = (self.forward.count,)

        def hole(number: int, arguments: tuple[Vector, ...], mask: Vector) -> Vector:
            return np.broadcast_to(np.asarray(filling[number](arguments)), shape)

        run = run_canonical(self.program, self.problem.terms, hole, violation_limit=64)
        live = {id(e.statement) for e in run.accumulated if isinstance(e.mask, np.ndarray) and e.mask.any()}
        return run, live

    def _refute(self, run: Run, live: set[int], model: Any, at_most: int | None, filling: Filling) -> bool:
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
            entry = next(e for e in run.accumulated if id(e.statement) in lying and np.asarray(e.mask).any())
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
        self.solver.add([some_of((no(self.dead[id(s)]), no(on(t)))) for s, on in self.forward.active])

    def _other_than(self, filling: Filling) -> Any:
        """Some hole differs at some point."""
        different = []
        for number, points in enumerate(self.problem.points):
            if points:
                columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
                values = np.broadcast_to(np.asarray(filling[number](columns)), (len(points),)).tolist()
                for point, value in zip(points, values, strict=True):
                    different += [f for v, f in self._hole(number, point).items() if v != value]
        return some_of(different)


def _distinct(rows: Sequence[Any], value: Callable[[Any], Any]) -> list[tuple[Any, Table]]:
    """Return the first row of each value, with the value."""
    seen: dict[bytes, tuple[Any, Table]] = {}
    for row in rows:
        table = np.ascontiguousarray(value(row))
        seen.setdefault(table.tobytes(), (row, table))
    return list(seen.values())


def _inverse(values: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        found.setdefault(value, []).append(place)
    return found
