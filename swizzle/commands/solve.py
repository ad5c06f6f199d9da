"""`swizzle solve`: fill the holes, print what was found, write it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Final, Literal, TextIO

from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import assert_never

from swizzle.answers.emit.emitters import (
    FILE_KINDS,
    WIDTH,
    Sizes,
    about_sizes,
    proved,
    provenance,
    sizes_as_json,
    sizes_text,
)
from swizzle.answers.emit.files import check_folder, write_all
from swizzle.answers.explain.variants import doubled_steps
from swizzle.answers.status import worst
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO, UNDECIDED
from swizzle.commands.progress import shown_progress, wants_colour
from swizzle.commands.report import MISMATCH, as_json, as_text, coloured
from swizzle.commands.target import Target, split_target
from swizzle.language.operators import handed_in
from swizzle.language.specs.specification import remembering
from swizzle.language.specs.verify import explain_mismatch
from swizzle.sketches.host import HostSketch
from swizzle.sketches.loading import named_in_files
from swizzle.sketches.sketch import Sketch
from swizzle.solving.cache.solve import solve as remember
from swizzle.solving.costs.registry import OURS, costs_of
from swizzle.solving.search.metasketch import solve as search
from swizzle.solving.solution.filling import fill_from, shares_a_hole
from swizzle.solving.solution.saved import load_saved, saved_text
from swizzle.solving.solution.solution import Limits, Listener, Progress, Result, SolverChoice, SpaceName, TemplateName
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program
from symbolic.limits import Interruption
from symbolic.machine.launch_shape import require_hardware_warp
from templates.registry import register

ADVISED_AFTER: Final = 10.0
"""Seconds of a search after which its progress says what else can be done."""


class SolveArguments(Struct, frozen=True):
    """`swizzle solve`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    output: Path | None = None
    space: SpaceName | Literal["all"] | None = None
    all_solutions: bool = False
    timeout: float | None = None
    solver: SolverChoice = "auto"
    certify: bool = False
    json_object: bool = False
    no_cache: bool = False
    no_light: bool = False
    template: TemplateName = "paper"
    no_canonical: bool = False
    quiet: bool = False
    cost: Sequence[str] = ("accumulates",)
    emit: Sequence[str] | None = None
    fill: Sequence[Path] = ()
    families: Sequence[str] = ()
    trust: bool = False
    memory: int | None = None
    pareto: bool = False


def solve(arguments: SolveArguments, out: TextIO, err: TextIO) -> int:
    """Solve the sketches of a file, print what was found, and write it to `arguments.output`.

    Raises, after all answers, what kept a file of one from being written.
    """
    if arguments.emit is not None and arguments.output is None:
        raise SwizzleError(
            "--emit without a folder", expected="-o DIR, where the files are written", fix="-o out, or leave --emit out"
        )
    statuses, failures = [], list[Exception]()
    if arguments.output is not None:
        check_folder(arguments.output)
    bounds = Bounds(arguments.timeout, arguments.memory)
    with redirect_stdout(err):  # what a sketch's own file prints is no part of the answer
        with bounds.reading():
            target = Target.of(arguments.target, arguments.overrides)
            if arguments.json_object:
                target.require_one()
            hosts, alone = target.hosts()
            sketches = [] if alone else target.sketches()
            if arguments.fill:
                sketches = _filled(sketches, arguments)
            if arguments.output is not None:
                for sketch in sketches:
                    require_hardware_warp(sketch.program)  # before solving for files that could not be written
                _require_names_of_their_own(sketches)
        for sketch in sketches:
            result, sizes, files = _solved_and_written(sketch, arguments, bounds, failures, err)
            bounds.next_sketch()
            out.write(answer(result, files, arguments, colour=wants_colour(out)))
            if sizes is not None and not arguments.json_object:
                out.write(f"  sizes   {sizes_text(result.best.program, sizes)}\n")
                out.writelines(f"          {line}\n" for line in _goes_on(result.best.program, sketch, sizes))
            if not arguments.json_object:
                out.writelines(f"  because {reason}\n" for reason in result.certificate.get("because", ()))
            posed = result.posed or sketch
            # `explain` knows no other form of a template, and solves the sources of a sketch, whatever a file says
            as_posed = arguments.template == "paper" and not (arguments.no_canonical or arguments.fill)
            explainable = posed.program.holes and as_posed and not posed.exchanges  # `reason` says it of an exchange
            if explainable and not arguments.json_object:
                command = _explaining(arguments, sketch.name if len(sketches) > 1 else None)
                if result.status == "unsat":
                    out.write(f"  why     {command}\n")
                elif result.status == "unknown" and _may_lack_a_step(posed):
                    out.write(f"  try     {command}\n")
            statuses.append(exit_status(result))
        for host in hosts:
            with bounds.hold():
                statuses.append(_solve_host(host, arguments, out, err, bounds))
    for failure in failures:
        raise failure
    return worst(statuses)


def _solve_host(host: HostSketch, arguments: SolveArguments, out: TextIO, err: TextIO, bounds: Bounds) -> int:
    from swizzle.commands.hosts import solve_host

    results = dict[str, Result]()
    return solve_host(
        host, out, fill=kernel_filler(arguments, err, bounds, results), results=results, folder=arguments.output,
        kinds=arguments.emit, json_object=arguments.json_object,
    )  # fmt: skip


def _require_names_of_their_own(sketches: Sequence[Sketch]) -> None:
    """Refuse to write two sketches of one name, as a function that makes sketches gives them: one file has one."""
    for number, sketch in enumerate(sketches):
        if any(sketch.program.name == other.program.name for other in sketches[:number]):
            name = sketch.program.name
            raise SwizzleError(
                f"two sketches whose kernels are called {name}, so that both would be {name}.json",
                place=sketch.program.place,
                expected="a name for each of them",
                fix="write a def with a name of its own for each, or one sketch with a parameter, which -D sets",
            )


def kernel_filler(
    arguments: SolveArguments, err: TextIO, bounds: Bounds, results: dict[str, Result] | None = None
) -> Callable[[Sketch], Program]:
    """Return what solves a kernel of a host function, and puts what it found into `results`.

    It raises SwizzleError where there is no solution.
    """

    def fill(kernel: Sketch) -> Program:
        result = solved(kernel, arguments, err, bounds)
        if result.status != "sat":
            raise SwizzleError(
                f"{kernel.name} is {result.status}{result.reason and f': {result.reason}'}",
                place=kernel.place,
                expected="a solution of each kernel of a host function",
                fix=_explaining(arguments, kernel.name),
            )
        if results is not None:
            results[kernel.name] = result
        return result.best.program

    return fill


def _solved_and_written(
    sketch: Sketch, arguments: SolveArguments, bounds: Bounds, failures: list[Exception], err: TextIO
) -> tuple[Result, Sizes, list[str]]:
    """Solve a sketch and write its files; at a limit with what was found by then, and with the files that are there."""
    result, sizes, files = None, None, list[str]()
    try:
        with bounds.hold(), remembering():
            result = solved(sketch, arguments, err, bounds)
            if reasons := result.because():
                result = replace(result, certificate={**result.certificate, "because": list(reasons)})
            if "pads" in result.certificate and result.posed is not None:
                sketch = result.posed
            sizes = _sizes(result, sketch, arguments)
            files = [str(path) for path in _write(result, sketch, sizes, arguments, failures)]
    except Interruption as stopped:
        if result is None:
            spent, size = {"total": bounds.spent()}, sketch.program.warp_size
            result = Result(sketch.name, "unknown", None, False, (), size, spent, reason=str(stopped), posed=sketch)
        elif result.status == "sat":
            result = replace(result, reason=result.reason or f"{stopped}, while the kernel was written")
    if sizes is not None:
        about = sizes_as_json(result.best.program, sizes)
        result = replace(result, certificate={**result.certificate, "sizes": about})
    return result, sizes, files


def _filled(sketches: Sequence[Sketch], arguments: SolveArguments) -> list[Sketch]:
    """Fill what the solution files of --fill say; each of them must say something of one of the sketches."""

    found = list(sketches)
    for path in arguments.fill:
        of, solution = load_saved(path, {}, trust=arguments.trust)
        which = [shares_a_hole(sketch, solution) for sketch in found]
        if not any(which):
            if any(shares_a_hole(sketch, solution) for sketch in sketches):
                raise SwizzleError(
                    f"{path} fills no hole that another --fill has not filled",
                    expected="each hole from one file",
                    fix=f"leave out --fill {path}, or the one before it",
                )
            raise SwizzleError(
                f"{path} fills no hole of {' or '.join(sketch.name for sketch in found)}",
                expected="the solution of a sketch that calls the same device function with holes",
                fix=f"it is of {of.name} in {of.place.file}",
            )
        found = [fill_from(s, solution) if fits else s for s, fits in zip(found, which, strict=True)]
    return found


def exit_status(result: Result) -> int:
    """Return what the process ends with; an answer that was not proved cheapest was cut short."""
    match result.status:
        case "sat":
            return DONE if result.optimal and not result.reason else UNDECIDED
        case "unsat":
            return NO
        case "unknown":
            return UNDECIDED
        case _:
            assert_never(result.status)


def solved(sketch: Sketch, arguments: SolveArguments, err: TextIO, bounds: Bounds) -> Result:
    """Answer for one sketch: from the cache where it has the answer, by a search otherwise."""
    limits = Limits(
        arguments.space,
        arguments.all_solutions,
        arguments.timeout,
        arguments.solver,
        arguments.certify,
        light=not arguments.no_light,
        template=arguments.template,
        canonical=not arguments.no_canonical,
        cost=tuple(named_in_files(arguments.cost, "a cost")),
        families=register(named_in_files(arguments.families, "a family")),
        memory=bounds.memory,
        pareto=arguments.pareto,
    )
    # what a user's cost or family is, no key says; and nobody asks for a comparison twice
    others = limits.families or any(cost not in OURS.values() for cost in costs_of(limits.cost))
    compared = limits.template != "paper" or not limits.canonical
    quiet = arguments.quiet or arguments.json_object
    with shown_progress(sketch.name, err, quiet=quiet) as show:
        listener = _with_advice(show, arguments, sketch)
        if arguments.no_cache or arguments.pareto or compared or others or not sketch.program.holes:
            result = search(sketch, limits, progress=listener)
        else:
            result = remember(sketch, limits, listener)
    posed = result.posed or sketch
    if result.status != "unsat" or posed.program.holes:
        return result

    lines = explain_mismatch(posed.program, posed.spec)
    return replace(result, certificate={**result.certificate, MISMATCH: lines})


def answer(result: Result, files: list[str], arguments: SolveArguments, *, colour: bool) -> str:
    if arguments.json_object:
        return json.dumps(as_json(result, files, all_solutions=arguments.all_solutions), indent=2) + "\n"
    every_space = arguments.space == "all"
    text = as_text(result, files, all_solutions=arguments.all_solutions, every_space=every_space)
    return coloured(text, result.status) if colour else text


def _with_advice(show: Listener, arguments: SolveArguments, sketch: Sketch) -> Listener:
    """Return a listener that says after some seconds what may be quicker than to wait."""

    @cache
    def advice() -> str:
        return f" (long? {_explaining(arguments, sketch.name)})" if _may_lack_a_step(sketch) else ""

    def listen(progress: Progress) -> None:
        late = progress.seconds > ADVISED_AFTER
        show(replace(progress, doing=progress.doing + advice()) if late else progress)

    return listen


def _may_lack_a_step(sketch: Sketch) -> bool:
    """Tell whether `explain` has other arguments to try where a sketch is not decided."""
    return any(doubled_steps(sketch.program))


def _explaining(arguments: SolveArguments, name: str | None) -> str:
    """Return the command that says why a sketch, named where the target holds several, has no solution."""
    target = f"{arguments.target}:{name}" if name else arguments.target
    defined = [word for name, value in arguments.overrides.items() for word in ("-D", f"{name}={value}")]
    space = ["--space", arguments.space] if arguments.space else []
    files = ",".join(dict.fromkeys(map(str, handed_in().files.values())))
    operators = ["--operators", files] if files else []
    families = ["--families", ",".join(arguments.families)] if arguments.families else []
    return shlex.join(["swizzle", "explain", target, *defined, *space, *families, *operators])


def _sizes(result: Result, sketch: Sketch, arguments: SolveArguments) -> Sizes:
    """Find out at which lengths the kernel that is about to be written may run."""
    if result.status != "sat" or arguments.output is None:
        return None
    from swizzle.answers.emit.sizes import sizes_of

    return sizes_of(result.best.program, sketch)


def _goes_on(program: Program, sketch: Sketch, sizes: Sizes) -> list[str]:
    """Say along which lengths a specification of patterns is proved to go on; whoever has one has loaded patterns."""
    if sizes is None or "swizzle.derive.patterns" not in sys.modules:
        return []
    from swizzle.derive.patterns.continuing import solved_goes_on

    return solved_goes_on(sketch.spec, program, sizes_as_json(program, sizes))


def _write(
    result: Result, sketch: Sketch, sizes: Sizes, arguments: SolveArguments, failures: list[Exception]
) -> list[Path]:
    """Write the kernel of a solved sketch in each form asked for, and NAME.json; nothing for any other answer.

    Returns the files. A form that cannot be made is left out, and why is added to `failures`.
    """
    if result.status != "sat" or arguments.output is None:
        return []

    folder, best = arguments.output, result.best
    sketch_file, _ = split_target(arguments.target)
    goes_on = " ".join(_goes_on(best.program, sketch, sizes)).removesuffix(", at the lengths that the .cu file names")
    claims = [*proved(result, arguments.space == "all"), *about_sizes(best.program, sizes)]
    claims += wrap(f"{goes_on[:1].upper()}{goes_on[1:]}.", WIDTH) if goes_on else []
    head = provenance(best, claims, sketch.parameters)
    saved = folder / f"{best.program.name}.json"
    contents = {saved: saved_text(result, sketch_file, sketch.parameters, folder)}
    for kind in ("cuda",) if arguments.emit is None else arguments.emit:
        emitter = FILE_KINDS[kind]
        try:
            contents[folder / f"{best.program.name}{emitter.suffix}"] = emitter.text(best.program, head, sizes)
        except Exception as error:
            failures.append(error)
    write_all(contents)
    return [*(path for path in contents if path != saved), saved]
