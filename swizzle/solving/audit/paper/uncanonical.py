"""One space, one question, with equality decided by a solver instead of canonical terms (paper, section 7.4).

'There is a filling such that every output is right for all inputs' has two quantifiers. It is decided in
turns. Is there a filling that is right on a few inputs, for a few outputs? Is it right on all? If not, the input that
shows it is added to the few. This is for comparison. It finds what terms cannot find: `max(x, y) + min(x, y)` is
`x + y`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from swizzle.language.specs.specification import inputs
from swizzle.sketches.sketch import Sketch
from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate, NoFilling, Stats
from swizzle.solving.problem.problem import Problem
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType, Program
from symbolic.ir.sites import Sites
from symbolic.limits import OutOfTime
from symbolic.machine.run import Run
from symbolic.second.formulas import Cases, combine, exactly, fresh, no, some_of, true
from symbolic.second.forward import Forward, NotCovered
from symbolic.second.numbers import Cased, NumberValues, bits, is_signed, symbol
from symbolic.solve.answer import Sat, Unknown
from symbolic.solve.engines import SolverName
from symbolic.solve.solver import Solver
from templates.chooser import Choice, sign
from templates.holes import Point, Space
from templates.second.groups import OneOf
from templates.template import Template

Input = Mapping[tuple[str, int], Any]


class FormulaChooser:
    """A chooser whose choice is open, in plain formulas."""

    def __init__(self, template: Template) -> None:
        self.groups = [OneOf(constants) for constants in template.components]
        self._shared: dict[Hashable, Cases] = {}

    def pick(self, component: int, table: Callable[[Any], Hashable]) -> Cases:
        return self.groups[component].cases([table(c) for c in self.groups[component].rows])

    def both(self, function: Callable[[Any, Any], Hashable], a: Cases, b: Cases) -> Cases:
        return combine(function, a, b)

    def compare(self, a: Cases, component: int) -> Cases:
        return combine(sign, a, self.pick(component, lambda c: c))

    def shared(self, key: Hashable, build: Callable[[], Cases]) -> Cases:
        if key not in self._shared:
            self._shared[key] = build()
        return self._shared[key]


class Uncanonical:
    """The search in one space, kept between questions; a context manager, because it holds solvers."""

    def __init__(
        self,
        problem: Problem,
        space: Space,
        solver: SolverName,
        deadline: float | None,
        report: Callable[[str], None],
        *,
        light: bool = False,
        cost: BoundedCost = ACCUMULATES,
    ) -> None:
        """`cost` counts a filling; the encoding bounds accumulates only."""
        self.problem, self.space, self.deadline, self.report, self.cost = problem, space, deadline, report, cost
        self.name: SolverName = solver
        self.narrowed = False
        whole = problem.templates(space)
        self.templates = problem.light(space) if light else whole
        self.choosers = [FormulaChooser(t) for t in self.templates]
        self.dtypes = {p.name: p.dtype for p in problem.program.parameters}
        self.stats = Stats()
        self._points: dict[tuple[int, Point], Cases] = {}
        self._random = random.Random(0)
        self._readings: list[tuple[NumberValues, Forward]] = []
        self._threads: set[int] = set()
        self._cells: list[tuple[str, int]] = []
        self._limits: dict[int, Any] = {}
        self.solver = Solver(solver)
        self.solver.add([g.rule for c in self.choosers for g in c.groups])
        self._add_input(self._random_input())
        self.sites = Sites.in_program(problem.program)
        active = self._readings[0][1].active
        self.dead = {site: fresh() for site in dict.fromkeys(self.sites.of(s) for s, _ in active)}
        for output in (problem.outputs[0], problem.outputs[-1]) if problem.outputs else ():
            self._look_at_output(output.array, output.address)

    def __enter__(self) -> Uncanonical:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the solver; may be called more than once."""
        self.solver.close()

    def evidence(self) -> dict[str, int]:
        """Return how large a proof was."""
        return {"looked_at": len(self._cells), "inputs": len(self._readings), "queries": self.stats.queries}

    def find(self, at_most: int | None = None) -> Candidate | NoFilling | Unknown:
        """Find a filling that keeps at most this many accumulate statements, or say that none exists."""
        assumptions = [self._limit(at_most)] if at_most is not None and at_most < len(self.dead) else []
        while True:
            if self.deadline is not None and time.monotonic() >= self.deadline:
                return Unknown("out of time")
            left = None if self.deadline is None else self.deadline - time.monotonic()
            answer = self.solver.check(assumptions, timeout=left)
            self.stats.queries += 1
            if not isinstance(answer, Sat):
                return answer if isinstance(answer, Unknown) else NoFilling()
            model = answer.model
            choices = tuple(tuple(g.chosen(model) for g in c.groups) for c in self.choosers)
            run, _ = self.problem.candidate(self.templates, choices)
            cost = self.cost.of_copies(run, 1)[0]
            shown = len(self._threads) + len(self._cells) + len(self._readings)
            if run.violations:
                for violation in run.violations[:2]:
                    self._look_at_thread(violation.thread)
            elif at_most is not None and cost > at_most:
                self._look_at_thread(self._thread_that_runs(run, model))
            else:
                settled = self._is_right(choices)
                if settled is not False:
                    return Candidate(self.space, choices, cost) if settled is True else settled
            self.stats.counterexamples += 1
            self.report("looking for a filling")
            if shown == len(self._threads) + len(self._cells) + len(self._readings):
                self._forbid(choices)

    def forbid(self, candidate: Candidate) -> None:
        """Rule out all that run like a candidate: some hole must differ at some point at which it is asked."""
        self._forbid(candidate.choices)

    def _forbid(self, choices: Sequence[Choice]) -> None:
        different = []
        for number, some in enumerate(self.problem.answers(self.templates, choices)):
            for point, value in some:
                different += [f for v, f in self._hole(number, point).items() if v != value]
        self.solver.add([some_of(different)])

    # -- what is shown --------------------------------------------------------------------------------------

    def _hole(self, number: int, point: Point) -> Cases:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime
        if (number, point) not in self._points:
            found: Cases = self.templates[number].at(self.choosers[number], point)
            self._points[number, point] = found
        return self._points[number, point]

    def _random_input(self) -> Input:
        found: dict[tuple[str, int], Any] = {}
        for parameter in inputs(self.problem.program):
            size = int(np.prod(parameter.shape, dtype=np.int64))
            for index in range(size):
                found[parameter.name, index] = _random_number(self._random, parameter.dtype)
        return found

    def _add_input(self, given: Input) -> None:
        """Show an input, for the outputs that are looked at."""
        values = NumberValues(self.dtypes, lambda array, index: given[array, index])
        reading = (values, Forward(self.problem.program, values, self._hole))
        self._readings.append(reading)
        for array, address in self._cells:
            self.solver.add([self._equal(*reading, array, address)])

    def _look_at_output(self, array: str, address: int) -> None:
        if (array, address) not in self._cells:
            self._cells.append((array, address))
            self.solver.add([self._equal(*reading, array, address) for reading in self._readings])

    def _equal(self, values: NumberValues, reading: Forward, array: str, address: int) -> Any:
        wanted = self.problem.wanted[array][address]
        return values.equal(reading.output(array, address), values.term(self.problem.terms, wanted, self.dtypes[array]))

    def _look_at_thread(self, t: int) -> None:
        """Require what must hold for a thread; what is dead does not run for it."""
        if t not in self._threads:
            self._threads.add(t)
            _, reading = self._readings[0]
            self.solver.add([must(t) for must in reading.must])
            self.solver.add([some_of((no(self.dead[self.sites.of(s)]), no(on(t)))) for s, on in reading.active])

    def _thread_that_runs(self, run: Run, model: Any) -> int:
        """Return a thread for which a statement runs that the solver called dead."""
        lying = [e for e in run.accumulated if np.asarray(e.mask).any() and model.true(self.dead[e.site])]
        return int(np.flatnonzero(np.asarray(lying[0].mask))[0])

    def _limit(self, at_most: int) -> Any:
        if at_most not in self._limits:
            alive = [no(d) for d in self.dead.values()]
            limit = self._limits[at_most] = fresh()
            self.solver.add([some_of((no(limit), *(exactly(count, alive) for count in range(at_most + 1))))])
        return self._limits[at_most]

    # -- all inputs -----------------------------------------------------------------------------------------

    def _is_right(self, choices: Sequence[Choice]) -> bool | Unknown:
        """Say whether a filling is right on all inputs; where not, show an output or an input."""

        def hole(number: int, point: Point) -> Cases:
            value = self.templates[number].apply(choices[number], [np.array([v]) for v in point])
            return {np.broadcast_to(np.asarray(value), (1,))[0].item(): true()}

        found = difference(self.problem, self.name, self.deadline, hole)
        if found is None or isinstance(found, Unknown):
            return True if found is None else found
        array, address, given = found
        if (array, address) in self._cells:
            self._add_input(given)
        else:
            self._look_at_output(array, address)
        return False


def difference(
    problem: Problem, solver: SolverName, deadline: float | None, hole: Callable[[int, Point], Cases] | None = None
) -> tuple[str, int, Input] | Unknown | None:
    """Return an output and an input on which a filled kernel is not what the specification says, None if none is."""
    dtypes = {p.name: p.dtype for p in problem.program.parameters}
    values = NumberValues(dtypes, lambda array, index: None)
    reading = Forward(problem.program, values, hole or (lambda number, point: {}))
    for output in problem.outputs:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return Unknown("out of time")
        got: Cased = reading.output(output.array, output.address)
        same = values.equal(got, values.term(problem.terms, output.term, dtypes[output.array]))
        if same.is_true():
            continue
        with Solver(solver) as asked:
            asked.add([no(same)])
            answer = asked.check(timeout=left)
        if isinstance(answer, Unknown):
            return answer
        if isinstance(answer, Sat):
            return output.array, output.address, _read(problem.program, answer.model)
    return None


def _read(program: Program, model: Any) -> Input:
    """Return the input of a model."""
    found: dict[tuple[str, int], Any] = {}
    for parameter in inputs(program):
        for index in range(int(np.prod(parameter.shape, dtype=np.int64))):
            found[parameter.name, index] = model.value(symbol(parameter.name, index, parameter.dtype))
    return found


def _random_number(chosen: random.Random, dtype: DType) -> Any:
    if dtype.is_float:
        return Fraction(chosen.randrange(1, 1 << 20))
    low = -(1 << (bits(dtype) - 1)) if is_signed(dtype) else 0
    return low + chosen.randrange(1 << bits(dtype))


def not_covered(sketch: Sketch, reason: NotCovered) -> SwizzleError:
    return SwizzleError(
        f"--no-canonical does not follow {reason}",
        place=sketch.place,
        expected="arithmetic on whole numbers, or + - * / min max on floats",
        fix="leave out --no-canonical",
    )
