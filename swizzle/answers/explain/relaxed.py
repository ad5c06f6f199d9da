"""A sketch whose requirements can be dropped one by one: outputs, the templates of its holes, the rules; and the
smallest conflicts among them.

At first a hole is a free table: it may have any value in its range at each point. Three kinds of requirements each hold
under an assumption: that a hole obeys its template, that an output is right, and that a rule is kept. A check under
some assumptions is sat, with a filling that the concrete machine runs, or unsat, with the assumptions that were used.
As in the search, the solver is shown only what an earlier filling got wrong.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from typing_extensions import assert_never

from swizzle.answers.explain.conflicts import Conflict, Met, MetOrNot, smallest
from swizzle.language.specs.verify import compare, run_canonical
from swizzle.solving.problem.open_holes import FreeTables, equate
from swizzle.solving.problem.problem import Problem
from symbolic.ir.program import DType
from symbolic.ir.sites import Site
from symbolic.limits import OutOfTime, limited
from symbolic.machine.run import Violation, forbid_race
from symbolic.solve.answer import Excluded, Possible, Unknown
from symbolic.solve.engines import SolverName
from symbolic.solve.guard_solver import GuardSolver
from symbolic.values.guard import Guard, Guards, TooLarge
from symbolic.values.union import Union
from symbolic.values.vector import Encoding, Lanes, Vector
from templates.chooser import Choice, Chooser, OpenChooser
from templates.holes import Point, Space, kind_of
from templates.template import Template


class Right(Struct, frozen=True):
    """An output is what the specification says: its number among the problem's outputs."""

    output: int


class Obeys(Struct, frozen=True):
    """A hole is a function of its template."""

    hole: int


class ObeysAt(Struct, frozen=True):
    """A hole has, at one point, the value that a function of its template has there."""

    hole: int
    point: Point


class Ignores(Struct, frozen=True):
    """A hole depends on its own arguments alone."""

    hole: int


class IgnoresAt(Struct, frozen=True):
    """A hole has, at one point of all its arguments, the value that its own arguments give."""

    hole: int
    point: Point


class Kept(Struct, frozen=True):
    """A rule is kept by one statement or expression (by two accesses, for a race), in all its executions."""

    nodes: frozenset[Site]
    rule: str


Requirement: TypeAlias = "Right | Obeys | ObeysAt | Ignores | IgnoresAt | Kept"


def rule_of(violation: Violation) -> Kept:
    """Return the rule that a violation breaks."""
    if violation.other is not None:
        return Kept(frozenset((violation.key[0], violation.other[0][0])), "race")
    return Kept(frozenset((violation.key[0],)), str(violation.key[-1]))


T = TypeVar("T")
VIOLATIONS_AT_ONCE = 16  # that are ruled out after one run


class RelaxedFilling(Struct, frozen=True):
    """What each hole is: the template's choice, overridden at some points; and what this filling gets wrong."""

    choices: tuple[Choice, ...]
    tables: tuple[Mapping[Point, Any], ...]
    wrong: frozenset[int]


class Unrestricted(Template):
    """The value of a free hole at points where it was not asked: 0, or False."""

    components = ((0,),)

    def at(self, chooser: Chooser[T], point: Point) -> T:
        return chooser.pick(0, lambda value: value)

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return choice[0]


class Relaxed:
    """One sketch in one space; a context manager, because it holds a solver."""

    def __init__(
        self,
        problem: Problem,
        space: Space,
        solver: SolverName,
        *,
        free: frozenset[int] = frozenset(),
        tight: bool = False,
        extended: Problem | None = None,
        violations: Mapping[Kept, Violation] | None = None,
    ) -> None:
        """`free` holes have no template to obey; `tight`: all holes obey theirs, which is quicker.

        `extended` is the same problem with more arguments to each hole, after its own: that a hole ignores those is
        a requirement then. `violations` are known examples of rules that may be broken.
        """
        self.space, self.free, self.tight, self.is_extended = space, free, tight, extended is not None
        self.problem = extended or problem
        self.guards = Guards()
        self.templates = [
            Unrestricted() if number in free else own for number, own in enumerate(problem.templates(space))
        ]
        self.arity = [len(hole.arguments) for hole in problem.program.holes]
        self.points = problem.points
        self._open = [OpenChooser[Union](self.guards, t.components) for t in self.templates]
        self.encoding = Encoding(self.guards, problem.terms, self._hole)
        self.solver = GuardSolver(self.guards, solver)
        self.broken = False  # by an interruption that may have left half of an output's clauses
        self.violations: dict[Kept, Violation] = dict(violations or {})
        self._literals: dict[Requirement, Guard] = {}
        self._tables = FreeTables(self.guards, problem.program.holes)
        self._uses = FreeTables(self.guards, problem.program.holes)
        self._shown: set[int] = set()
        self._random = random.Random(0)
        self._outputs = {(o.array, o.address): number for number, o in enumerate(problem.outputs)}

    def __enter__(self) -> Relaxed:
        return self

    def __exit__(self, *exc: object) -> None:
        self.solver.close()

    @property
    def holes(self) -> frozenset[Requirement]:
        """The requirements that all holes obey their templates."""
        if self.tight:
            return frozenset()
        obey: frozenset[Requirement] = frozenset(Obeys(h) for h in range(len(self.templates)) if h not in self.free)
        return obey | self.ignoring

    @property
    def ignoring(self) -> frozenset[Requirement]:
        """The requirements that all holes ignore the arguments that were added to their own."""
        return frozenset(Ignores(h) for h in range(len(self.templates)) if self.is_extended)

    def rank(self, requirement: Requirement) -> tuple[int, ...]:
        """Return a key to sort by, the same in every run: outputs first, those already looked at before others."""
        match requirement:
            case Right(output):
                return (0, output not in self._shown, output)
            case Obeys(hole):
                return (1, hole)
            case ObeysAt(hole, point):
                return (2, hole, *point)
            case Ignores(hole):
                return (3, hole)
            case IgnoresAt(hole, point):
                return (4, hole, *point)
            case Kept():
                return (5, list(self.violations).index(requirement))
            case _:
                assert_never(requirement)

    def asked(self, hole: int) -> list[Point]:
        """Return the points of a hole that were looked at, with all arguments."""
        return sorted(point for number, point in (self._uses if self.is_extended else self._tables) if number == hole)

    def function(self, filling: RelaxedFilling, hole: int) -> dict[Point, Any]:
        """Return a hole of a filling as a table over all points at which the kernel asks it."""
        points = self.points[hole]
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)] if points and points[0] else []
        kind = np.bool_ if kind_of(self.problem.program.holes[hole]).gives is DType.BOOL else np.int64
        rest: Lanes = np.asarray(self.templates[hole].apply(filling.choices[hole], columns), kind)
        values = np.broadcast_to(rest, (len(points),)).tolist()
        return {p: filling.tables[hole].get(p, v) for p, v in zip(points, values, strict=True)}

    def extended_function(self, filling: RelaxedFilling, hole: int) -> dict[Point, Any]:
        """Return a hole that may depend on more than its arguments as a table over all points, with all of those."""
        assert self.is_extended
        table, own = filling.tables[hole], self.arity[hole]
        simple = self.function(filling, hole)
        return {p: table.get(p, simple[p[:own]]) for p in self.problem.points[hole]}

    def value_at(self, hole: int, point: Point) -> Mapping[Any, Guard]:
        """Return what a hole may be at a point that was looked at, each value with its guard."""
        return (self._uses if self.is_extended else self._tables)[hole, point].values

    # -- questions ------------------------------------------------------------------------------------------

    def check(
        self, wanted: Iterable[Requirement], deadline: float, *, rules: bool = True, also: Iterable[Guard] = ()
    ) -> RelaxedFilling | Conflict[Requirement] | None:
        """Decide whether these requirements can be met; with `rules`, all rules must be kept as well.

        Returns None if it was not decided, because time ran out (here, or in a check before that was `broken` off while
        it wrote clauses) or because some fillings were not looked at. `also` are guards that must hold as well.
        """
        chosen = frozenset(wanted)
        if self.broken:
            return None
        try:
            with limited(deadline):
                return self._check(chosen, deadline, rules, list(also))
        except (OutOfTime, TooLarge):
            self.broken = True
            return None

    def solve(self, wanted: Iterable[Requirement], deadline: float) -> RelaxedFilling | Conflict[Requirement] | None:
        """Decide whether these requirements can be met with every output right and every rule kept.

        As in the search, errors in threads that were already looked at are shown next; if there are none, a few more
        threads are shown.
        """
        chosen, known, more = set(wanted), set[int](), 1
        while True:
            answer = self.check(chosen, deadline)
            if not isinstance(answer, RelaxedFilling) or not answer.wrong:
                return answer
            wrong: dict[int, list[Requirement]] = {}
            for output in sorted(answer.wrong):
                wrong.setdefault(self._thread(output), []).append(Right(output))
            threads = [t for t in wrong if t in known]
            if not threads:
                threads = list(wrong)[:1] if more == 1 else self._random.sample(list(wrong), min(more, len(wrong)))
                more *= 2
            known.update(threads)
            chosen.update(requirement for t in threads for requirement in wrong[t])

    def _check(
        self, chosen: frozenset[Requirement], deadline: float, rules: bool, also: list[Guard]
    ) -> RelaxedFilling | Conflict[Requirement] | None:
        in_order = sorted(chosen, key=self.rank)
        for requirement in in_order:
            self._show(requirement)
        while True:
            assumed = {self._literal(r): r for r in in_order}
            if rules:
                assumed |= {self._literal(rule): rule for rule in self.violations}
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            answer = self.solver.check([*assumed, *also], timeout=left)
            match answer:
                case Unknown():
                    return None
                case Excluded() if self.encoding.narrowed:
                    return None
                case Excluded(core):
                    return Conflict(frozenset(assumed[g] for g in core if g in assumed))
                case Possible(holds):
                    filling, broken = self._run(chosen, holds)
            binding = [v for v in broken if rules or rule_of(v) in chosen]
            if not binding:
                ignored = bool(broken)
                asked = {r.output for r in chosen if isinstance(r, Right)}
                assert ignored or not asked & filling.wrong, "an output that the solver was told of is wrong"
                return filling
            for violation in binding[:VIOLATIONS_AT_ONCE]:
                self._forbid(violation)

    # -- the encoding ---------------------------------------------------------------------------------------

    def _literal(self, requirement: Requirement) -> Guard:
        found = self._literals.get(requirement)
        if found is None:
            found = self._literals[requirement] = self.guards.fresh()
        return found

    def _thread(self, output: int) -> int:
        return self.problem.thread_of(self.problem.outputs[output])

    def _show(self, requirement: Requirement) -> None:
        if isinstance(requirement, Right) and requirement.output not in self._shown:
            demand = self.problem.outputs[requirement.output]
            self.problem.require(self.encoding, demand, (-self._literal(requirement),))
            self._shown.add(requirement.output)

    def _hole(self, number: int, point: Point) -> Union:
        """Return a hole's value at a point with all its arguments: free, but for what it is if the rest is ignored."""
        table = self._table(number, point[: self.arity[number]])
        if not self.is_extended:
            return table
        known = (number, point) in self._uses
        found = self._uses[number, point]
        if not known:
            here = self._literal(IgnoresAt(number, point))
            self.guards.add((-self._literal(Ignores(number)), here))
            equate(self.guards, here, table, found)
        return found

    def _table(self, number: int, point: Point) -> Union:
        """Return a hole's value at a point: free, but for what it is if the hole obeys its template there."""
        if (number, point) in self._tables:
            return self._tables[number, point]
        if self.tight:
            self._tables[number, point] = self.templates[number].at(self._open[number], point)
        found = self._tables[number, point]
        if not self.tight and number not in self.free:
            here = self._literal(ObeysAt(number, point))
            self.guards.add((-self._literal(Obeys(number)), here))
            equate(self.guards, here, self.templates[number].at(self._open[number], point), found)
        return found

    def _forbid(self, violation: Violation) -> None:
        rule = rule_of(violation)
        self.violations.setdefault(rule, violation)
        when = self._literal(rule)
        if violation.other is not None:
            forbid_race(self.problem.run, violation, self.encoding, when)
        else:
            self.problem.run.obligations[violation.key](self.encoding, violation.thread, when)

    # -- fillings -------------------------------------------------------------------------------------------

    def _run(
        self, chosen: frozenset[Requirement], holds: Callable[[Guard], bool]
    ) -> tuple[RelaxedFilling, tuple[Violation, ...]]:
        """Read a filling from a model and run it for all threads."""
        choices = tuple(o.chosen(holds) for o in self._open)
        tables: list[dict[Point, Any]] = [{} for _ in choices]
        for (number, point), union in (self._tables | self._uses).items():
            used = len(point) > self.arity[number]
            if not self.tight and (Ignores(number) if used else Obeys(number)) not in chosen:
                tables[number][point] = next(v for v, g in union.values.items() if holds(g))
        problem, program = self.problem, self.problem.program

        def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
            lanes = [np.asarray(a) for a in args]
            shape = lanes[0].shape if lanes else (problem.run.shape.count,)
            kind = np.bool_ if kind_of(program.holes[number]).gives is DType.BOOL else np.int64
            own, table = self.arity[number], tables[number]
            simple = self.templates[number].apply(choices[number], args[:own])
            found: Lanes = np.broadcast_to(np.asarray(simple, kind), shape)
            if not table:
                return found
            points = zip(*(a.tolist() for a in lanes), strict=True) if lanes else (() for _ in range(shape[0]))
            kept = found.tolist()
            return np.array([table.get(p, table.get(p[:own], kept[t])) for t, p in enumerate(points)], found.dtype)

        run = run_canonical(program, problem.terms, hole, violation_limit=256)
        wrong = frozenset(self._outputs[m.array, m.address] for m in compare(program, run, problem.wanted))
        return RelaxedFilling(choices, tuple(tables), wrong), tuple(run.violations)


SHARES: Final = 4
"""One check may take this part of the time that is left."""


def smallest_of(
    relaxed: Relaxed,
    kind: type[Requirement],
    given: frozenset[Requirement],
    conflict: frozenset[Requirement],
    deadline: float,
    look_for: int,
    *,
    rules: bool = True,
) -> Conflict[Requirement]:
    """Return a smallest conflict among the requirements of one kind, given others; one conflict is known.

    With `rules`, all rules must be kept as well.
    """

    def own(parts: frozenset[Requirement]) -> frozenset[Requirement]:
        return frozenset(p for p in parts if isinstance(p, kind))

    universe = own(relaxed.holes | frozenset(relaxed.violations) | conflict)

    def check(some: frozenset[Requirement]) -> Met[Requirement] | Conflict[Requirement] | None:
        now = time.monotonic()
        answer = relaxed.check(given | some, now + (deadline - now) / SHARES, rules=rules)
        if isinstance(answer, RelaxedFilling):
            wrong: frozenset[Requirement] = frozenset(map(Right, answer.wrong))
            return Met(wrong if kind is Right else universe - some)
        return None if answer is None else Conflict(own(answer.parts))

    typed: MetOrNot[Requirement] = check
    return smallest(own(conflict), typed, relaxed.rank, look_for)
