"""`swizzle sweep`: thousands of jobs, answered once; and the same as a function."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from msgspec import Struct

from swizzle.answers.emit.files import check_folder, write_all
from swizzle.commands.completion import ASKED, decorated
from swizzle.commands.output import DONE, beneath
from swizzle.commands.progress import is_terminal
from swizzle.sweeps import table
from swizzle.sweeps.asking import choices_of, jobs_of, values_of
from swizzle.sweeps.driver import RETRIES, Engine
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal
from swizzle.sweeps.sweep import SweepProgress, SweepResult, Watch, default_journal, run
from symbolic.errors import SwizzleError, printable
from symbolic.limits import size_of

CALL: Final = "swizzle.commands.jobs:perform"
"""What a worker calls: it gets the name, as its process has nothing of ours."""
SPOKEN: Final = 10.0
"""Seconds between two lines of progress where there is no terminal, at first."""


class SweepArguments(Struct, frozen=True):
    """`swizzle sweep`."""

    targets: tuple[str, ...]
    values: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    do: str = "solve"
    engine: Engine | None = None
    scheduler: str | None = None
    workers: int | None = None
    retries: int = RETRIES
    rerun: tuple[str, ...] = ()
    show: bool = False
    export: tuple[str, ...] = ()
    journal: Path | None = None
    output: Path = Path()
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None


def sweep(
    jobs: str | Path | Iterable[str | Path | Mapping[str, Any] | SweepJob],
    *,
    set: Mapping[str, Iterable[int]] | None = None,
    options: Mapping[str, Iterable[Any]] | None = None,
    do: str = "solve",
    engine: Engine = "local",
    scheduler: str | None = None,
    workers: int | None = None,
    retries: int = RETRIES,
    rerun: Iterable[str] = (),
    timeout: float | None = None,
    memory: int | str | None = None,
    journal: str | Path | None = None,
    watch: Watch = lambda progress: None,
) -> SweepResult:
    """Answer many jobs, on this machine or on a cluster of Dask, each once; return their answers in order.

    `jobs` are files as `swizzle sweep` takes them, or mappings as the lines of a file of jobs. Each is crossed with
    the values of `set`, parameters of sketches, and of `options`, those of the command that `do` names. Limits are a
    job's own: seconds and bytes. The journal keeps what is answered, in this user's cache unless it is named.

    Raises SwizzleError for what is no job; a mistake in a sketch is an answer.
    """
    asked = [jobs] if isinstance(jobs, str | Path) else jobs
    memory = None if memory is None else size_of(memory)
    with Journal(Path(journal) if journal is not None else default_journal()) as opened:
        opened.enlist(
            jobs_of(asked, _names_in, do=do, values=set or {}, choices=options or {}, timeout=timeout, memory=memory)
        )
        run(
            opened, CALL, engine=engine, scheduler=scheduler, workers=workers, retries=retries, rerun=rerun,
            watch=watch,
        )  # fmt: skip
        return SweepResult(opened.records())


def _names_in(file: str, do: str) -> Sequence[str]:
    """Return what a file has, read as a text, that a command could be asked for."""
    return decorated(file, *ASKED.get(do, ("sketch",)))


def sweep_command(arguments: SweepArguments, out: TextIO, err: TextIO) -> int:
    """Answer the jobs; print a line of JSON for each, or how many have each status."""
    if arguments.show or arguments.export:
        check_folder(arguments.output)
    if "parquet" in arguments.export:
        table.require_parquet()
    if arguments.scheduler is not None and arguments.engine == "local":
        raise SwizzleError("--scheduler of the engine local", expected="an address for dask", fix="--engine dask")
    engine = arguments.engine or ("local" if arguments.scheduler is None else "dask")
    path = arguments.journal or default_journal()
    jobs = jobs_of(
        arguments.targets, _names_in, do=arguments.do, values=dict(map(values_of, arguments.values)),
        choices=dict(map(choices_of, arguments.choices)), timeout=arguments.timeout, memory=arguments.memory,
    )  # fmt: skip
    with Journal(path) as journal:
        journal.enlist(jobs)
        try:
            with _watching(err, arguments.quiet or arguments.json_object) as watch:
                run(
                    journal, CALL, engine=engine, scheduler=arguments.scheduler, workers=arguments.workers,
                    retries=arguments.retries, rerun=arguments.rerun, watch=watch,
                )  # fmt: skip
        finally:
            _tell(arguments, journal, out)
            if left := journal.left():
                said = f"{left} of {len(journal)} jobs have no answer; the same command goes on"
                err.write(f"{said}: {printable(str(path))}\n")
    return DONE


def _tell(arguments: SweepArguments, journal: Journal, out: TextIO) -> None:
    """Print what came of it, and write what was asked for."""
    if arguments.json_object:
        for record in journal.records():
            out.write(json.dumps(record.as_json()) + "\n")
    else:
        for status, number in journal.statuses().items():
            out.write(f"{number:6}  {status}\n")
    if not (arguments.show or arguments.export):
        return
    result = SweepResult(journal.records())
    files: dict[Path, str | bytes] = {}
    for kind in arguments.export:
        content = result.csv() if kind == "csv" else table.parquet_bytes(result.rows)
        files[arguments.output / f"sweep.{kind}"] = content
    if arguments.show:
        if figure := result.figure():
            files[arguments.output / "sweep.svg"] = figure
        if not arguments.json_object:
            failed = result.failures()
            out.write(f"\n{result}" + (f"\nfailed, by reason:\n{failed}" if failed else ""))
    write_all(files)
    if not arguments.json_object:
        out.writelines(f"wrote {printable(str(file))}\n" for file in files)


@contextmanager
def _watching(err: TextIO, quiet: bool) -> Any:
    """Return what tells of progress: in one line of a terminal, or in lines that become rarer."""
    if quiet:
        yield lambda progress: None
    elif is_terminal(err):
        stream = beneath(err)

        def redraw(progress: SweepProgress) -> None:
            stream.write(f"\r\x1b[K{progress}")
            stream.flush()

        try:
            yield redraw
        finally:
            stream.write("\r\x1b[K")
            stream.flush()
    else:
        wait, spoken = SPOKEN, time.monotonic()

        def speak(progress: SweepProgress) -> None:
            nonlocal wait, spoken
            if time.monotonic() > spoken + wait:
                err.write(f"{progress}\n")
                err.flush()
                wait, spoken = 1.5 * wait, time.monotonic()

        yield speak
