"""`swizzle tune`: the cheapest proved candidate of a space of choices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from cuda_out.devices.device import device
from swizzle.answers.emit.files import check_folder, write_all
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO, UNDECIDED
from swizzle.commands.target import split_target
from swizzle.derive.tuning.elsewhere import TuningEngine
from swizzle.derive.tuning.kernel_tuner import kernel_tuner_cache
from swizzle.derive.tuning.report import count_text, explanation, lines, plot, progress_line, table
from swizzle.derive.tuning.tune import SearchBudget, SearchName, Tuned, count_candidates, space_of, start
from swizzle.derive.tuning.tune import tune as tuned_by
from swizzle.language.gpu import tuning_for
from swizzle.sketches.choices import NothingLeftError
from swizzle.sweeps.driver import Engine
from swizzle.sweeps.sweep import processors
from symbolic.errors import SwizzleError, printable


class TuneArguments(Struct, frozen=True):
    """`swizzle tune`."""

    target: str
    overrides: Mapping[str, int] = {}
    fix: Mapping[str, int] = {}
    device: str = "h100"
    budget: str = "5m"
    search: SearchName = "tag"
    seed: int = 0
    count: bool = False
    explain: bool = False
    resume: bool = False
    table: bool = False
    plot: Path | None = None
    export: str | None = None
    output: Path | None = None
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None
    engine: Engine | None = None
    scheduler: str | None = None
    workers: int | None = None

    @property
    def elsewhere(self) -> TuningEngine | None:
        """What tries candidates, None for this process."""
        if self.engine is None and self.scheduler is None and self.workers is None:
            return None
        return TuningEngine(
            self.engine or ("dask" if self.scheduler else "local"), self.scheduler, self.workers or processors()
        )


def tune(arguments: TuneArguments, out: TextIO, err: TextIO) -> int:
    """Search the choices of a file for the cheapest proved kernel, and write it."""
    try:
        return _tune(arguments, out, err)
    except NothingLeftError as error:
        if arguments.json_object:
            said = {"found": error.found, "rules": list(error.rules), "expected": error.expected, "fix": error.fix}
            out.write(json.dumps({"best": None, "error": said}, indent=2) + "\n")
        err.write(f"{error}\n")
        return NO


def _tune(arguments: TuneArguments, out: TextIO, err: TextIO) -> int:
    exported = _export_file(arguments.export)
    SearchBudget.of(arguments.budget)
    for path in (arguments.plot, exported):
        if path is not None:
            check_folder(path.absolute().parent)
    if arguments.output is not None:
        check_folder(arguments.output)
    path, selector = split_target(arguments.target)
    values = {**arguments.overrides, **arguments.fix}
    for name in arguments.overrides.keys() & arguments.fix.keys():
        if arguments.overrides[name] != arguments.fix[name]:
            raise SwizzleError(
                f"{name} is given twice: -D {name}={arguments.overrides[name]} and --fix {name}={arguments.fix[name]}",
                expected="one value of each choice and parameter", fix="leave one of them out",
            )  # fmt: skip
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        if arguments.count or arguments.explain:
            out.write(_about_space(arguments, path, selector, values))
            return DONE

        def show(tuned: Tuned) -> None:
            err.write(progress_line(tuned))
            err.flush()

        tuned = tuned_by(
            path, selector, device=arguments.device, budget=arguments.budget, fix=values, search=arguments.search,
            seed=arguments.seed, resume=arguments.resume, output=arguments.output,
            progress=None if arguments.quiet or arguments.json_object else show, engine=arguments.elsewhere,
        )  # fmt: skip
    contents: dict[Path, str | bytes] = {}
    if arguments.plot is not None:
        contents[arguments.plot] = plot(tuned)
    if exported is not None:
        contents[exported] = json.dumps(kernel_tuner_cache(tuned), indent=1) + "\n"
    write_all(contents)
    tuned.files += contents
    if arguments.json_object:
        out.write(json.dumps(tuned.as_json(), indent=2) + "\n")
    else:
        out.write("".join(f"{line}\n" for line in lines(tuned)))
        if arguments.table:
            out.write("".join(f"{line}\n" for line in table(tuned)))
        out.write("".join(f"  wrote   {printable(str(file))}\n" for file in tuned.files))
    return exit_status(tuned)


def exit_status(tuned: Tuned) -> int:
    """Return 0 for a proved candidate, 1 where all of the space was tried and none is right, 3 otherwise."""
    if tuned.best is not None:
        return DONE
    return NO if tuned.finished and not tuned.statuses["undecided"] else UNDECIDED


def _about_space(arguments: TuneArguments, path: Path, selector: str | None, values: Mapping[str, int]) -> str:
    """Return how many candidates there are, or what each requirement leaves, without trying any."""
    table = device(arguments.device)
    with tuning_for(table):
        space = space_of(path, selector, values, table, Path())
        propagation, root = start(space)
        size = count_candidates(propagation, root, 40)
        if arguments.json_object:
            count = {"estimate": size.estimate, "low": size.low, "high": size.high}
            return json.dumps({"space": {"hash": space.hash, "choices": len(space.decisions), "count": count}}) + "\n"
        said = [count_text(space, size)] if arguments.count else []
        said += explanation(space, propagation, root, table) if arguments.explain else []
    return "".join(f"{line}\n" for line in said)


def _export_file(export: str | None) -> Path | None:
    if export is None:
        return None
    kind, _, file = export.partition("=")
    if kind != "kernel-tuner" or not file:
        raise SwizzleError(
            f"--export {export}", expected="kernel-tuner=FILE.json, a cache file of Kernel Tuner",
            fix="write --export kernel-tuner=tuned.json",
        )  # fmt: skip
    return Path(file)
