"""What would help: changes of the sketch, each of which is solved before anything is said about it.

Free holes are among them: any function of their arguments, or of the thread and the loops as well; one hole or all.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations, combinations_with_replacement
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from swizzle.answers.explain.blame import (
    SECONDS,
    SECONDS_MORE,
    THREAD,
    Attempt,
    Job,
    Planned,
    solving,
    with_loops,
    with_more_arguments,
)
from swizzle.answers.explain.conflicts import Conflict
from swizzle.answers.explain.explanation import PartNames, Trial, TrialKind, listing
from swizzle.answers.explain.relaxed import Ignores, Obeys, Relaxed, RelaxedFilling, Requirement
from swizzle.answers.explain.variants import doubled_steps, variants, with_barriers
from swizzle.language.parameters import Declared, neighbours
from swizzle.language.specs.specification import postcondition
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.ir.program import Const, DType, Expr, Hole
from symbolic.ir.walk import subexpressions
from symbolic.limits import OutOfTime, limited
from templates.formula import applied, binary, formula_text, parameters, values_of
from templates.holes import SPACES, Point, kind_of
from templates.shortest import Shortest

LONGEST_TABLE: Final = 32
"""Values of a table that are shown."""


def free_holes(job: Job, stack: ExitStack) -> Iterator[Planned]:
    """Yield one change for each hole, the blamed ones first; nothing if it was proved that no values help."""
    holes, names, blame = job.problem.program.holes, PartNames(job.problem), job.blame
    blamed = (*blame.holes, *(blame.ignoring or ())) if blame is not None else ()
    if blame is not None and blame.whatever:
        return
    free = _Freedom(job, stack)
    order = [*blamed, *(h for h in range(len(holes)) if h not in blamed)]

    def planned(number: int, more: list[str], attempt: Attempt) -> Planned:
        name, line = holes[number].name, holes[number].place.line
        arguments = listing([*names.arguments(number), *more]) or "nothing"
        kind = "arguments" if more else "hole"
        change = f"any function of {arguments} as {name} (line {line})"
        return Planned(kind, change, attempt, number, lambda p: p.hole == number)  # type: ignore[arg-type]

    if blame is None or blame.holes:
        for number in order:
            yield planned(number, [], free.one(number))
    for number in sorted(order, key=lambda n: with_loops(job.problem.program, n) is None):
        yield planned(number, ["the thread", "the loops around it"], free.one_with_everything(number))
    if len(holes) > 1:
        change = "as few holes as possible free, as any functions of the thread and the loops"
        yield Planned("holes", change, free.few(order), unless=lambda p: p.kind in ("hole", "arguments"))


class _Freedom:
    """The sketch with free holes, built when it is first asked for."""

    def __init__(self, job: Job, stack: ExitStack) -> None:
        self.job, self.stack = job, stack
        self._own: Relaxed | None = None
        self._extended: Relaxed | None = None
        self._problem: Problem | None = None

    def own(self) -> Relaxed:
        """Return the sketch whose holes are functions of their own arguments."""
        if self._own is None or self._own.broken:
            self._own = self.stack.enter_context(Relaxed(self.job.problem, self.job.space, self.job.solver))
        return self._own

    def extended(self, deadline: float) -> Relaxed | None:
        """Return the sketch whose holes may depend on the thread and the loops too."""
        job = self.job
        if self._problem is None:
            self._problem = with_more_arguments(job.problem, job.sketch.spec, deadline)
        if self._problem is not None and (self._extended is None or self._extended.broken):
            relaxed = Relaxed(job.problem, job.space, job.solver, extended=self._problem)
            self._extended = self.stack.enter_context(relaxed)
        return self._extended

    def one(self, number: int) -> Attempt:
        def attempt(seconds: float) -> tuple[bool | None, str]:
            relaxed = self.own()
            answer = relaxed.solve(relaxed.holes - {Obeys(number)}, time.monotonic() + seconds)
            if isinstance(answer, RelaxedFilling):
                table = relaxed.function(answer, number)
                formula = formula_of_table(self.job.problem.program.holes[number], table)
                names = PartNames(self.job.problem)
                return True, f"for example {formula}" if formula else table_text(names, number, table)
            return (False if isinstance(answer, Conflict) else None), ""

        return attempt

    def one_with_everything(self, number: int) -> Attempt:
        def attempt(seconds: float) -> tuple[bool | None, str]:
            deadline = time.monotonic() + seconds
            formula = self._with_loops(number, seconds) if self.job.problem.by_items else ""
            if formula:
                return True, f"for example {formula}"
            relaxed = self.extended(deadline)
            if relaxed is None:
                return None, ""
            answer = relaxed.solve(relaxed.holes - {Obeys(number), Ignores(number)}, deadline)
            if isinstance(answer, RelaxedFilling):
                table = relaxed.extended_function(answer, number)
                formula = _with_coordinates(relaxed.problem.program.holes[number], table)
                return True, f"for example {formula}" if formula else ""
            return (None if answer is None else False), ""

        return attempt

    def _with_loops(self, number: int, seconds: float) -> str:
        """Return the formula of a hole that sees the loops around it, in a small space; '' where none is found.

        What is asked item by item is tried in a moment (`trying.py`), where free tables come to no end.
        """
        program = with_loops(self.job.problem.posed, number)
        if program is None:
            return ""
        limits = Limits(space="2", timeout=seconds, families=self.job.limits.families)
        result = solve(replace(self.job.sketch, program=program), limits)
        return str(result.best.holes[number].formula) if result.solutions else ""

    def few(self, order: list[int]) -> Attempt:
        """Free all holes, then take back as many as possible, those that are blamed last."""

        def attempt(seconds: float) -> tuple[bool | None, str]:
            deadline = time.monotonic() + seconds
            relaxed = self.extended(deadline)
            answer = None if relaxed is None else relaxed.solve((), deadline)
            if relaxed is None or not isinstance(answer, RelaxedFilling):
                return (False if isinstance(answer, Conflict) else None), ""
            kept, free = frozenset[Requirement](), []
            for number in reversed(order):
                more = kept | frozenset[Requirement]((Obeys(number), Ignores(number)))
                if isinstance(relaxed.solve(more, deadline), RelaxedFilling):
                    kept = more
                else:
                    free.append(self.job.problem.program.holes[number].name)
            return True, f"solvable with {listing(sorted(free))} free"

        return attempt


def _with_coordinates(hole: Hole, table: Mapping[Point, int]) -> str:
    """Return a formula over a hole's arguments, the thread and the loops, those first that need one more argument."""
    names = [f"cuda.{name}" if name in THREAD else name for name in hole.arguments]
    varied = [n for n in range(len(names)) if len({point[n] for point in table}) > 1]
    own = [n for n in varied if n < len(names) - 1]  # the last one counts the calls
    for some in (*([n] for n in own), *map(list, combinations(own, 2)), own):
        projected = {tuple(point[n] for n in some): value for point, value in table.items()}
        if all(projected[tuple(point[n] for n in some)] == value for point, value in table.items()):
            formula = formula_of_table(replace(hole, arguments=tuple(names[n] for n in some)), projected)
            if formula:
                return formula
    return ""


def table_text(names: PartNames, hole: int, table: Mapping[Point, Any]) -> str:
    """Spell a small table: 'for example 1, 0, 3, 2 for lane = 0 to lane = 3'."""
    if not table or len(table) > LONGEST_TABLE:
        return ""
    points = sorted(table)
    values = ", ".join(str(table[point]) for point in points)
    first, last = names.point(hole, points[0]), names.point(hole, points[-1])
    return f"for example {values}" + (f" for {first} to {last}" if first != last else "")


MOST_POINTS: Final = 4096


def formula_of_table(hole: Hole, table: Mapping[Point, int]) -> str:
    """Return a formula over the hole's arguments with a table's values at all its points; '' where none is found.

    Of several it is the one with the fewest operators, arguments and numbers; then the one with small numbers.
    """
    points = sorted(table)
    if kind_of(hole).gives is not DType.INDEX or not 1 < len(points) <= MOST_POINTS:
        return ""
    found = _formulas(hole, points, [table[point] for point in points])
    return min(found, key=lambda weighed: weighed[:2], default=(0, 0, ""))[-1]


def _formulas(hole: Hole, points: list[Point], wanted: list[int]) -> Iterator[tuple[int, int, str]]:
    """Yield formulas, each with its length, the sum of its numbers, and its text."""
    arguments, own = parameters(hole.arguments), np.array(points, np.int64).reshape(len(points), len(hole.arguments))
    varied = [n for n, column in enumerate(own.T) if np.ptp(column)]
    pairs = list(combinations_with_replacement(varied, 2))
    table = np.stack([*own.T, *(own[:, a] * own[:, b] for a, b in pairs)], axis=1)
    expressions = [*arguments, *(binary("*", arguments[a], arguments[b]) for a, b in pairs)]
    names = [*hole.arguments, *(f"product{n}" for n in range(len(pairs)))]
    values, lowest, highest = np.array(wanted, np.int64), min(wanted), max(wanted)
    for width in dict.fromkeys((len(hole.arguments), len(names))):
        shortest = Shortest(hole.size, names[:width], [tuple(row) for row in table[:, :width].tolist()])
        for low, high in ((None, None), (lowest, None), (None, highest), (lowest, highest)):
            cut = ((values == lowest) & (low is not None)) | ((values == highest) & (high is not None))
            if cut.sum() > len(values) - 2:
                continue
            formula = shortest.found([None if c else value for c, value in zip(cut.tolist(), wanted, strict=True)])
            if formula is None:
                continue
            made = np.broadcast_to(values_of(formula, list(table.T)), values.shape)
            made = made if low is None else np.maximum(made, low)
            made = made if high is None else np.minimum(made, high)
            if np.array_equal(made, values):
                yield _weighed(hole, applied(formula, expressions, hole.place), low, high)


def _weighed(hole: Hole, formula: Expr, low: int | None, high: int | None) -> tuple[int, int, str]:
    text, nodes = formula_text(hole, formula), list(subexpressions(formula))
    text = text if low is None else f"max({text}, {low})"
    text = text if high is None else f"min({text}, {high})"
    bounds = [bound for bound in (low, high) if bound is not None]
    numbers = [*bounds, *(int(node.value) for node in nodes if isinstance(node, Const))]
    return len(nodes) + 2 * len(bounds), sum(map(abs, numbers)), text


def tried_changes(job: Job, deadline: float | None, report: Callable[[str], None]) -> Iterator[Trial]:
    """Try every change, each for `SECONDS` at most, and yield the results."""
    with ExitStack() as stack:
        yield from _tried(list(plans(job, stack)), deadline, report)


def tried_steps(sketch: Sketch, limits: Limits, deadline: float, report: Callable[[str], None]) -> Iterator[Trial]:
    """Try other steps for the holes of a sketch that was not decided, and yield the results."""
    yield from _tried(list(_other_steps(sketch, limits)), deadline, report)


def _tried(planned: Sequence[Planned], deadline: float | None, report: Callable[[str], None]) -> Iterator[Trial]:
    helped: list[Planned] = []
    for number, plan in enumerate(planned):
        if any(plan.unless(other) for other in helped):
            continue
        started = time.monotonic()
        most = SECONDS_MORE if helped else SECONDS
        left = most if deadline is None else min(most, (deadline - started) / (len(planned) - number))
        report(f"trying {plan.change}")
        try:
            solved, detail = _attempted(plan, left)
        except SwizzleError:
            continue  # what the change makes is no sketch, so it is no advice
        seconds = time.monotonic() - started
        if solved is None:
            yield Trial(plan.kind, plan.change, "not decided", seconds, f"not decided in {max(left, 0.0):.3g} s")
            continue
        if solved:
            helped.append(plan)
        yield Trial(plan.kind, plan.change, "solvable" if solved else "does not help", seconds, detail)


def barrier_that_helps(
    sketch: Sketch, limits: Limits, deadline: float, report: Callable[[str], None]
) -> tuple[Trial, tuple[str, ...]] | None:
    """Return that a sketch is solved once it has its barriers, and which uses race without them; None if it is not."""
    found = with_barriers(sketch.program)
    if found is None:
        return None
    variant, unfenced = found
    report(f"trying {variant.change}")
    started = time.monotonic()
    plan = Planned(variant.kind, variant.change, solving(replace(sketch, program=variant.program), limits))
    try:
        solved, detail = _attempted(plan, deadline - started)
    except SwizzleError:
        return None
    if not solved:
        return None
    trial = Trial(plan.kind, plan.change, "solvable", time.monotonic() - started, detail)
    return trial, tuple(dict.fromkeys(map(str, unfenced)))


def _attempted(plan: Planned, seconds: float) -> tuple[bool | None, str]:
    """Try a change for so many seconds, whatever it does."""
    if seconds <= 0:
        return None, ""
    try:
        with limited(time.monotonic() + seconds):
            return plan.attempt(seconds)
    except OutOfTime:
        return None, ""


def plans(job: Job, stack: ExitStack) -> Iterator[Planned]:
    """Yield the changes of a sketch that are worth a try; the stack closes what they hold."""
    yield from _larger_spaces(job)
    yield from free_holes(job, stack)
    yield from _other_steps(job.sketch, job.limits)
    for variant in variants(job.sketch.program) if job.sketch.program.holes else ():
        changed = replace(job.sketch, program=variant.program)
        yield Planned(variant.kind, variant.change, solving(changed, job.limits))
    yield from other_parameters(job)


def _other_steps(sketch: Sketch, limits: Limits) -> Iterator[Planned]:
    """Steps that double and steps that halve; where one helps, the other is left out."""
    for change, program in doubled_steps(sketch.program):
        attempt = solving(replace(sketch, program=program), limits)
        yield Planned("step", change, attempt, unless=lambda p: p.kind == "step")


def _larger_spaces(job: Job) -> Iterator[Planned]:
    """The spaces after the one that was searched, without those that add nothing."""
    for before, space in itertools.pairwise(SPACES[SPACES.index(job.space) :]):
        if job.problem.has_more(space, before):
            limits = replace(job.limits, space=space)
            yield Planned("space", f"Space {space}", solving(job.sketch, limits), unless=lambda p: p.kind == "space")


def other_parameters(job: Job) -> Iterator[Planned]:
    """Yield the values next to each declared parameter's, first those that leave the specification as it is."""
    if job.family is None:
        return
    found: list[tuple[bool, Planned]] = []
    for name, declared in job.family.declared.items():
        for value in _neighbours(declared):
            try:
                sketch = job.family.at({name: value})
                same = _same_specification(job.sketch, sketch)
            except SwizzleError:
                continue
            kind: TrialKind = "parameter" if same else "specification"
            found.append((not same, Planned(kind, f"-D {name}={value}", solving(sketch, job.limits))))
    yield from (plan for _, plan in sorted(found, key=lambda pair: pair[0]))


def _neighbours(declared: Declared) -> list[int]:
    """Return the next larger and the next smaller value of a parameter's domain."""
    above, below = neighbours(declared.domain, declared.value)
    return [v for v in (above, below) if v is not None]


def _same_specification(one: Sketch, other: Sketch) -> bool:
    """Tell whether two sketches compute the same outputs from the same inputs."""
    if one.program.parameters != tuple(
        replace(p, place=q.place) for p, q in zip(other.program.parameters, one.program.parameters, strict=False)
    ):
        return False
    terms = Terms()
    return postcondition(one.program, one.spec, terms) == postcondition(other.program, other.spec, terms)
