"""`swizzle explain`: why a sketch has no solution, and what would help."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Literal, TextIO

from msgspec import Struct, field

from swizzle.answers.explain.explain import explain as explained
from swizzle.answers.status import worst
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO, UNDECIDED
from swizzle.commands.progress import fitted, shown_progress
from swizzle.commands.target import Target
from swizzle.sketches.loading import named_in_files
from swizzle.solving.solution.solution import Limits, SolverChoice, SpaceName


class ExplainArguments(Struct, frozen=True):
    """`swizzle explain`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    space: SpaceName | Literal["all"] | None = None
    timeout: float | None = None
    solver: SolverChoice = "auto"
    json_object: bool = False
    quiet: bool = False
    families: Sequence[str] = ()
    memory: int | None = None


def explain(arguments: ExplainArguments, out: TextIO, err: TextIO) -> int:
    """Explain the sketches of a file: a solution, or what is in the way of one."""

    statuses = []
    bounds = Bounds(arguments.timeout, arguments.memory)
    with redirect_stdout(err):  # what a sketch's own file prints is no part of the answer
        with bounds.reading():
            target = Target.of(arguments.target, arguments.overrides)
            sketches = [target.sketch()] if arguments.json_object else target.sketches()
        for sketch in sketches:
            families = tuple(named_in_files(arguments.families, "a family"))
            limits = Limits(
                arguments.space,
                timeout=arguments.timeout,
                solver=arguments.solver,
                memory=bounds.memory,
                families=families,
            )
            with shown_progress(sketch.name, err, quiet=arguments.quiet) as listener, bounds.hold():
                found = explained(sketch, limits, progress=listener)
            bounds.next_sketch()
            out.write(
                json.dumps(found.as_json(), indent=2) + "\n" if arguments.json_object else fitted(str(found), out)
            )
            statuses.append({"sat": DONE, "unsat": NO, "unknown": UNDECIDED}[found.status])
    return worst(statuses)
