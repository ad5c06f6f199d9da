"""What would help: changes of the sketch, each of which is solved before anything is said about it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from swizzle.answers.explain.attempts import SECONDS, SECONDS_MORE, Job, Planned, solving
from swizzle.answers.explain.explanation import Trial, TrialKind
from swizzle.answers.explain.free_holes import free_holes
from swizzle.answers.explain.variants import doubled_steps, variants, with_barriers
from swizzle.language.parameters import Declared, neighbours
from swizzle.language.specs.specification import postcondition
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.limits import OutOfTime, limited
from templates.holes import SPACES


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
