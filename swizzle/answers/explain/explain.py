"""Why a sketch has no solution: solve it, find what is to blame, say why, try what may help.

One reason is what the holes would have to be (`forced_values`): values that no function of the template has, or two
values at one point.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from math import inf
from typing import Any, Final

from msgspec.structs import replace

from swizzle.answers.explain.blame import Blame, Job, find, find_ignoring, find_outputs, with_more_arguments
from swizzle.answers.explain.conflicts import Conflict
from swizzle.answers.explain.explanation import Blamed, Explanation, PartNames, Trial, Unproducible, listing
from swizzle.answers.explain.free_holes import barrier_that_helps, tried_changes, tried_steps
from swizzle.answers.explain.needs import never_written, other_shape, reasons
from swizzle.answers.explain.relaxed import Ignores, IgnoresAt, Obeys, ObeysAt, Relaxed, Requirement, Right, smallest_of
from swizzle.answers.explain.variants import doubled_steps
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.answer import NARROWED
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, Listener, Progress, Result, SpaceName
from symbolic.errors import SwizzleError
from symbolic.limits import Interruption, default_memory, limited
from symbolic.solve.engines import SolverName, quickest_boolean
from templates.holes import Point, kind_of
from templates.registry import register

MOST_VALUES: Final = 4
"""Values of a hole at a point that are told apart; more count as any."""
MOST_POINTS: Final = 200
"""Points of a hole that are looked at."""
FEW_POINTS: Final = 3
"""A smallest set of points is looked for up to this size."""


def allowed(
    relaxed: Relaxed, hole: int, point: Point, wanted: Iterable[Requirement], deadline: float
) -> tuple[Any, ...] | None:
    """Return the values that a free hole may have at a point; None if they are many, or all, or not decided."""
    values, found = relaxed.value_at(hole, point), list[Any]()
    while len(found) <= MOST_VALUES:
        answer = relaxed.check(wanted, deadline, also=[-values[v] for v in found])
        if answer is None:
            return None
        if isinstance(answer, Conflict):
            return tuple(sorted(found)) if len(found) < len(values) else None
        found.append(answer.tables[hole][point])
    return None


def _at_few_points(
    relaxed: Relaxed, kind: type[ObeysAt | IgnoresAt], hole: int, others: frozenset[Requirement], deadline: float
) -> frozenset[Requirement] | None:
    """Return few requirements of a hole at points that contradict the others; None where none do."""
    everywhere: frozenset[Requirement] = frozenset(kind(hole, p) for p in relaxed.asked(hole))
    whole = relaxed.check(others | everywhere, deadline)
    if not isinstance(whole, Conflict):
        return None
    return smallest_of(relaxed, kind, others, whole.parts, deadline, FEW_POINTS).parts


def beyond_template(
    relaxed: Relaxed, names: PartNames, hole: int, others: frozenset[Requirement], deadline: float
) -> str:
    """Say what a blamed hole would have to be at a few points if the other requirements hold; '' if not found."""
    found = _at_few_points(relaxed, ObeysAt, hole, others, deadline)
    if found is None:
        return ""
    points = sorted(r.point for r in found if isinstance(r, ObeysAt))
    values = {p: allowed(relaxed, hole, p, others, deadline) for p in points[:MOST_POINTS]}
    excluded = [
        -guard
        for point, some in values.items()
        if some is not None
        for value, guard in relaxed.value_at(hole, point).items()
        if value not in some
    ]
    declared = names.program.holes[hole]
    template = f"no function of ?{kind_of(declared).spelling} in Space {relaxed.space}"
    told = {p: some for p, some in values.items() if some is not None}
    if told and isinstance(relaxed.check(found, deadline, rules=False, also=excluded), Conflict):
        texts = [_value(some, names.point(hole, p)) for p, some in told.items()]
        return f"{declared.name} would have to be {listing(texts, limit=8)}; {template} is"
    where = listing([f"({names.point(hole, p)})" for p in points])
    return f"{template} gives {declared.name} values that fit at once at {where}"


def two_values(
    relaxed: Relaxed, names: PartNames, outputs: Sequence[int], rules: frozenset[Requirement], deadline: float
) -> str:
    """Say at which point the outputs, taken one by one, need values of a hole that have nothing in common."""
    for hole in range(len(relaxed.templates)):
        for point in relaxed.asked(hole)[:MOST_POINTS]:
            needs: dict[int, tuple[Any, ...]] = {}
            common: frozenset[Any] | None = None
            for output in outputs:
                some = allowed(relaxed, hole, point, {Right(output), *rules}, deadline)
                if some is not None:
                    needs[output] = some
                    common = frozenset(some) if common is None else common & frozenset(some)
            if common is not None and not common:
                cells = [(names.problem.outputs[o], some) for o, some in needs.items()]
                texts = [f"{_either(some)} for {names.cell(o.array, o.address)}" for o, some in cells]
                at = names.point(hole, point)
                return f"{names.program.holes[hole].name} would have to be {listing(texts)}" + (
                    f" at {at}" if at else ""
                )
    return ""


def beyond_arguments(
    relaxed: Relaxed, names: PartNames, hole: int, others: frozenset[Requirement], deadline: float
) -> str:
    """Say which uses of a hole with the same arguments would have to differ; '' if not found."""
    found = _at_few_points(relaxed, IgnoresAt, hole, others, deadline)
    if found is None:
        return ""
    arity, own = relaxed.arity[hole], dict[Point, list[Point]]()
    for point in sorted(r.point for r in found if isinstance(r, IgnoresAt)):
        own.setdefault(point[:arity], []).append(point)
    texts = []
    for base, uses in own.items():
        varying = [i for i in range(arity, min(map(len, uses))) if len({use[i] for use in uses}) > 1]
        values = [allowed(relaxed, hole, use, others, deadline) for use in uses]
        where = [names.point(hole, use, only=varying) for use in uses]
        if all(values) and not frozenset.intersection(*(frozenset(some or ()) for some in values)):
            how = f"be {listing([_value(some or (), at) for some, at in zip(values, where, strict=True)])}"
        else:
            how = f"differ between {names.points(hole, uses, varying)}"
        same = names.point(hole, base)
        given = f"where {same}" if same else "though it has no arguments"
        texts.append(f"{how}, {given}")
    more = f", or differ in one of {len(texts) - 1} ways more" if len(texts) > 1 else ""  # one of them would do
    return f"{names.program.holes[hole].name} would have to {texts[0]}{more}"


def _value(values: tuple[Any, ...], where: str) -> str:
    where = f"({where})" if ", " in where else where
    return f"{_either(values)} at {where}" if where else _either(values)


def _either(values: tuple[Any, ...]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]} to {values[-1]}"
    return " or ".join(map(str, values)) if values else "no value"


SECONDS: Final = 8.0
"""What an explanation may take beyond the search, where no timeout is given; twice the search, where that is more."""
BLAME_SECONDS: Final = 20.0
"""What the search for what is to blame may take."""
WORDS_SECONDS: Final = 5.0
"""What the search for the values that holes would need may take."""
ITEMS_SECONDS: Final = 2.0
"""The same where outputs are asked item by item: free tables seldom come to an end there."""
FREE_SECONDS: Final = 2.0
"""What the search for outputs that no values of the holes make right may take."""
STEP_SECONDS: Final = 4.0
"""What the search may take before other steps are tried, where a sketch may lack a step that doubles."""
BARRIER_SECONDS: Final = 2.0
"""What a sketch that seems to lack a barrier may take with it."""


def explain(
    sketch: Sketch,
    limits: Limits | None = None,
    *,
    progress: Listener | None = None,
) -> Explanation:
    """Solve a sketch and explain the answer; `limits.timeout` bounds the whole, `limits.families` join Space 4.

    A sketch that may lack a step that doubles is solved for some seconds, then with such steps, and only then for good.
    """
    limits = limits or Limits()
    started = time.monotonic()
    first: Explanation | None = None
    if not sketch.exchanges and any(doubled_steps(sketch.program)):
        brief = min(STEP_SECONDS, (limits.timeout or inf) / 3)
        result = solve(sketch, replace(limits, timeout=brief), progress)
        first = _explained(result.posed or sketch, result, limits, started, progress)
        decided = first.status != "unknown" or first.changed_and_solved or time.monotonic() < started + brief
        if decided or first.cut_short:
            return first
    rest = None if limits.timeout is None else max(0.0, started + limits.timeout - time.monotonic())
    result = solve(sketch, replace(limits, timeout=rest), progress)
    if first is not None and result.status == "unknown":
        return replace(first, result=result, seconds={"total": time.monotonic() - started})
    return _explained(result.posed or sketch, result, limits, started, progress)


def explain_result(result: Result, timeout: float | None = None) -> Explanation:
    """Explain the result of `solve`."""
    if result.posed is None:
        raise SwizzleError(
            "this result does not know its sketch",
            expected="a result of swizzle.solve",
            fix="solve the sketch in this process: solve(sketch).explain()",
        )
    space = result.space if result.space in ("1", "2") else None
    limits = Limits(space=space, timeout=timeout, families=result.families)
    return _explained(result.posed, result, limits, time.monotonic(), None)


def _explained(
    sketch: Sketch,
    result: Result,
    limits: Limits,
    started: float,
    progress: Listener | None,
) -> Explanation:
    seconds = {"solve": time.monotonic() - started}
    found = Explanation(sketch.name, result, result.space)
    if result.status == "sat" or result.reason == "interrupted":
        return replace(found, seconds=seconds | {"total": seconds["solve"]})
    if sketch.exchanges:  # what goes where was worked out, and the answer says where that fails
        if result.status == "unsat":
            found = replace(found, result=replace(result, reason=""), reasons=(result.reason,))
        return replace(found, seconds=seconds | {"total": seconds["solve"]})
    if limits.timeout is None:
        deadline = time.monotonic() + max(SECONDS, 2 * result.seconds.get("total", 0.0))
    else:
        deadline = started + limits.timeout
    solver: SolverName = quickest_boolean() if limits.solver == "auto" else limits.solver
    space = result.space or "1"

    def report(doing: str) -> None:
        if progress is not None:
            progress(Progress(space, doing, None, 0, time.monotonic() - started))

    tried: list[Trial] = []
    cut_short = ""
    mark = time.monotonic()
    try:
        memory = default_memory() if limits.memory is None else limits.memory
        with limited(deadline, memory, said=f"timeout after {deadline - started:.3g} s"):
            if result.status == "unknown":
                for trial in tried_steps(sketch, limits, deadline, report):
                    tried.append(trial)
                seconds["total"] = time.monotonic() - started
                return replace(found, trials=tuple(tried), seconds=seconds)
            problem = Problem.of(sketch.program, sketch.spec, families=register(limits.families))
            if space == "3" and limits.space is None and problem.has_more("4", "3"):
                limits = replace(limits, space="3")  # which was searched alone, as there is more
            helped = barrier_that_helps(sketch, limits, _share(deadline, BARRIER_SECONDS), report)
            if helped is not None:
                trial, reasons = helped
                seconds["total"] = time.monotonic() - started
                return replace(found, reasons=reasons, trials=(trial,), seconds=seconds)
            found, blame, cut_short = _blame(found, sketch, problem, space, solver, deadline, report)
            seconds["blame"] = time.monotonic() - mark
            mark = time.monotonic()
            job = Job(sketch, problem, space, limits, solver, blame, sketch.family)
            for trial in tried_changes(job, deadline, report):
                tried.append(trial)
            seconds["trials"] = time.monotonic() - mark
    except Interruption as stopped:
        cut_short = cut_short or str(stopped)
    except KeyboardInterrupt:
        cut_short = "interrupted"
    seconds["total"] = time.monotonic() - started
    return replace(found, trials=tuple(tried), cut_short=cut_short, seconds=seconds)


def because(result: Result) -> tuple[str, ...]:
    """Return why the answer of a search is an evident 'no': an output, and what is in the way; () for any other one."""
    number, sketch = result.certificate.get("evident"), result.posed
    if number is None or sketch is None:
        return ()
    names = PartNames(Problem.of(sketch.program, sketch.spec))
    (output,) = unproducible(names, _only(number))
    return (f"{output.cell} cannot be {output.wanted}", *structural(names, _only(number)))


def _only(output: int) -> Blame:
    """Return the conflict of one output, which is wrong whatever the holes are."""
    return Blame((output,), (), (), all_needed=True, proved_smallest=True, complete=True, ignoring=())


def _blame(
    found: Explanation,
    sketch: Sketch,
    problem: Problem,
    space: SpaceName,
    solver: SolverName,
    deadline: float | None,
    report: Callable[[str], None],
) -> tuple[Explanation, Blame | None, str]:
    """Add to an explanation what is to blame, and why; also return what is blamed, and why it may be too much."""
    names = PartNames(problem)
    words = ITEMS_SECONDS if problem.by_items else WORDS_SECONDS
    report("looking for what cannot be produced")
    short = next((i for i, output in enumerate(problem.outputs) if problem.too_few(output)), None)
    evident = found.result.certificate.get("evident", short)
    if evident is not None and not never_written(problem, problem.outputs[evident]):  # which no output is to blame for
        blame = _only(evident)
        reasons = structural(names, blame)
        if reasons or short is not None:  # otherwise the holes' arguments may be what is in the way
            outputs = unproducible(names, blame)
            found = replace(found, outputs=outputs, minimal=True, smallest=True, whatever=True, reasons=reasons)
            return found, blame, ""
    with ExitStack() as stack:
        every = frozenset(range(len(problem.program.holes)))
        relaxed = stack.enter_context(Relaxed(problem, space, solver, free=every))
        conflict = find_outputs(relaxed, _share(deadline, BLAME_SECONDS), _share(deadline, FREE_SECONDS))
        if conflict is None:
            tight = stack.enter_context(Relaxed(problem, space, solver, tight=True))
            conflict = find_outputs(tight, _share(deadline, BLAME_SECONDS))
            if conflict is None:
                left = NARROWED if tight.encoding.narrowed else "there was no time to find it"
                return found, None, f"what is to blame was not found: {left}"
            relaxed = stack.enter_context(Relaxed(problem, space, solver, violations=tight.violations))
        report("looking for what forbids it")
        blame = find(relaxed, conflict, _share(deadline, BLAME_SECONDS))
        found = replace(
            found, outputs=unproducible(names, blame), minimal=blame.all_needed, smallest=blame.proved_smallest
        )
        reasons = structural(names, blame)
        if reasons:
            return replace(found, reasons=reasons, whatever=True), replace(blame, ignoring=()), ""
        report("looking for the reason")
        reasons = about_values(relaxed, names, blame, _share(deadline, words))
        if not blame.holes and problem.program.holes:
            more = with_more_arguments(problem, sketch.spec, _share(deadline, words))
            if more is not None:
                extended = stack.enter_context(Relaxed(problem, space, solver, extended=more))
                blame = replace(blame, ignoring=find_ignoring(extended, blame, _share(deadline, words)))
                again = about_arguments(extended, PartNames(more), blame, _share(deadline, words))
                reasons = reasons or again
            if not reasons and not blame.ignoring and not blame.rules and len(blame.outputs) == 1:
                reasons = other_shape(problem, problem.outputs[blame.outputs[0]])
        found = replace(found, blamed=blamed(relaxed, names, blame), reasons=reasons, whatever=blame.whatever)
    return found, blame, "" if blame.complete else "what is blamed was not made smallest in time"


def _share(deadline: float | None, seconds: float) -> float:
    """Return the deadline of a step: at most half of what is left."""
    now = time.monotonic()
    return now + (seconds if deadline is None else min(seconds, max(0.0, deadline - now) / 2))


# ---- a conflict in the sketch's own terms ----------------------------------------------------------------------------

RULES: Final = {
    "bounds": "no index is out of bounds here",
    "unwritten": "no cell is read here before it is written",
    "present": "all threads get here together",
    "race": "no two threads meet in a cell here with no barrier between, one of them writing",
}


def unproducible(names: PartNames, blame: Blame) -> tuple[Unproducible, ...]:
    """Return the outputs of a conflict, each with what it should be."""
    found = []
    for number in blame.outputs:
        output = names.problem.outputs[number]
        place, thread = names.store_of(output), None
        if names.problem.finals[output.array].written[output.address]:
            thread = names.thread(names.problem.thread_of(output))
        cell = names.cell(output.array, output.address)
        found.append(Unproducible(cell, output.array, output.address, thread, place, names.term(output.term)))
    return tuple(found)


def structural(names: PartNames, blame: Blame) -> tuple[str, ...]:
    """Say why an output cannot be produced whatever values the holes have; empty if the values are the reason."""
    if blame.holes or blame.rules or len(blame.outputs) != 1:
        return ()
    return tuple(reasons(names.problem, names, names.problem.outputs[blame.outputs[0]]))


def about_values(relaxed: Relaxed, names: PartNames, blame: Blame, deadline: float) -> tuple[str, ...]:
    """Say which values the holes would need, but cannot have."""
    for hole in blame.holes:
        text = beyond_template(relaxed, names, hole, blame.requirements - {Obeys(hole)}, deadline)
        if text:
            return (text,)
    if not blame.holes and len(blame.outputs) > 1:
        text = two_values(relaxed, names, blame.outputs, frozenset(blame.rules), deadline)
        return (text,) if text else ()
    return ()


def about_arguments(extended: Relaxed, names: PartNames, blame: Blame, deadline: float) -> tuple[str, ...]:
    """Say which uses of a hole with the same arguments would need different values."""
    ignoring = blame.ignoring or ()
    for hole in ignoring:
        others: frozenset[Requirement] = frozenset(Ignores(h) for h in ignoring if h != hole)
        text = beyond_arguments(extended, names, hole, others | frozenset(map(Right, blame.outputs)), deadline)
        if text:
            return (text,)
    return ()


def blamed(relaxed: Relaxed, names: PartNames, blame: Blame) -> tuple[Blamed, ...]:
    """Return what forbids the outputs: holes and their arguments, then rules, each with its place."""
    found = []
    for number in blame.holes:
        hole = names.program.holes[number]
        found.append(Blamed("hole", hole.name, hole.place, f"{hole.name} = {names.hole(number)}"))
    for number in blame.ignoring or ():
        hole = names.program.holes[number]
        arguments = listing(names.arguments(number)) or "nothing"
        text = f"{hole.name} = {names.hole(number)}, even as any function of {arguments}"
        found.append(Blamed("arguments", hole.name, hole.place, text))
    for rule in blame.rules:
        example = relaxed.violations[rule]
        text = f"the rule that {RULES[rule.rule]}"
        others = sorted({names.nodes[n].place.line for n in rule.nodes} - {example.place.line})
        if others:
            text += f" (and at line {others[0]})"
        found.append(Blamed("rule", rule.rule, example.place, text, f"for example, {example.message}"))
    return tuple(found)
