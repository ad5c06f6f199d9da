"""`swizzle sweep`: thousands of jobs, answered once; and the same as a function."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from msgspec import Struct

from swizzle.answers.emit.files import check_folder, write_all
from swizzle.commands.completion import ASKED, decorated
from swizzle.commands.output import DONE, beneath
from swizzle.commands.progress import is_terminal
from swizzle.sweeps import table
from swizzle.sweeps.asking import Asked, choices_of, jobs_of, together, values_of
from swizzle.sweeps.driver import ENGINES, RETRIES, Engine
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal
from swizzle.sweeps.sweep import SweepProgress, SweepResult, Watch, default_journal, run
from symbolic.errors import SwizzleError, printable
from symbolic.limits import MAX_SECONDS, size_of

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
    jobs: Asked | Iterable[Asked],
    *,
    set: Mapping[str, int | str | Iterable[int]] | None = None,
    options: Mapping[str, Any] | None = None,
    do: str = "solve",
    engine: Engine | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    retries: int = RETRIES,
    rerun: str | Iterable[str] = (),
    timeout: float | None = None,
    memory: int | str | None = None,
    journal: str | Path | None = None,
    watch: Watch = lambda progress: None,
) -> SweepResult:
    """Answer many jobs, on this machine or on a cluster of Dask, each once; return their answers in order.

    `jobs` are files as `swizzle sweep` takes them, or mappings as the lines of a file of jobs. Each is crossed with
    the values of `set`, parameters of sketches (integers, or a text such as "1..64"), and of `options`, those of the
    command that `do` names. Limits are a job's own: seconds and bytes. A `scheduler` is an address for Dask. The
    journal keeps what is answered, in this user's cache unless it is named.

    Raises SwizzleError for what is no job; a mistake in a sketch is an answer.
    """
    asked = [jobs] if isinstance(jobs, str | Path | Mapping | SweepJob) else jobs
    engine = _engine(engine, scheduler)
    _is_number(1 if workers is None else workers, "workers", 1, 1024)
    _is_number(retries, "retries", 0, 100)
    if timeout is not None and not (type(timeout) in (int, float) and 0 < timeout <= MAX_SECONDS):
        raise SwizzleError(f"a timeout of {timeout!r}", expected="seconds, more than 0", fix="timeout=60")
    again = [each.strip() for each in rerun.split(",")] if isinstance(rerun, str) else rerun
    found = jobs_of(
        asked, _names_in, do=do, values=set or {}, choices=options or {}, timeout=timeout,
        memory=None if memory is None else size_of(memory),
    )  # fmt: skip
    with Journal(Path(journal) if journal is not None else default_journal()) as opened:
        opened.enlist(found)
        run(
            opened, CALL, engine=engine, scheduler=scheduler, workers=workers, retries=retries, rerun=again,
            watch=watch,
        )  # fmt: skip
        return SweepResult(opened.records())


def _is_number(value: Any, name: str, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise SwizzleError(f"{name}={value!r}", expected=f"an integer, {least} to {most}", fix=f"{name}={least + 1}")


def _engine(engine: str | None, scheduler: str | None) -> Engine:
    """Return the engine that is meant: that of a scheduler is Dask."""
    if scheduler is not None and engine == "local":
        raise SwizzleError("--scheduler of the engine local", expected="an address for dask", fix="--engine dask")
    meant = engine or ("local" if scheduler is None else "dask")
    for known in ENGINES:
        if meant == known:
            return known
    raise SwizzleError(f"the engine {meant!r}", expected=" or ".join(ENGINES), fix="leave it out")


def _names_in(file: str, do: str) -> Sequence[str]:
    """Return what a file has, read as a text, that a command could be asked for."""
    return decorated(file, *ASKED.get(do, ("sketch",)))


def sweep_command(arguments: SweepArguments, out: TextIO, err: TextIO) -> int:
    """Answer the jobs; print a line of JSON for each, or how many have each status."""
    if arguments.show or arguments.export:
        check_folder(arguments.output)
    if "parquet" in arguments.export:
        table.require_parquet()
    engine = _engine(arguments.engine, arguments.scheduler)
    path = arguments.journal or default_journal()
    if not arguments.targets and not path.is_file():
        raise SwizzleError(
            f"no FILE, and no journal {path} to be shown", expected="a file, or a journal that is there",
            fix="swizzle sweep --help shows what it takes",
        )  # fmt: skip
    jobs = jobs_of(
        arguments.targets, _names_in, do=arguments.do, values=together(map(values_of, arguments.values)),
        choices=together(map(choices_of, arguments.choices)), timeout=arguments.timeout, memory=arguments.memory,
    )  # fmt: skip
    with Journal(path) as journal:
        if not arguments.targets:
            others = journal.enlist_all()
            _tell(arguments, journal, out)
            if others and not arguments.quiet:
                err.write(f"left out: {others} answers of other versions of Swizzle\n")
            return DONE
        quiet = arguments.quiet or arguments.json_object
        again = journal.enlist(jobs if quiet else _counted(jobs, err))
        if again and not quiet:
            err.write(f"asked once: {again} jobs that are the same as others, of the same texts, values and options\n")
        before = journal.statuses()
        known = ", ".join(f"{number} {status}" for status, number in before.items()) or "none"
        strange = [status for status in arguments.rerun if status not in before]
        if strange and not quiet:
            err.write(f"--rerun {','.join(strange)}: no job has that answer; answered before: {known}\n")
        elif before and not arguments.rerun and not quiet:
            err.write(f"answered before: {known}\n")
        try:
            with _watching(err, quiet) as watch:
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


def _counted(jobs: Iterable[SweepJob], err: TextIO) -> Iterator[SweepJob]:
    """Say how many jobs there are so far, where it takes long to list them."""
    spoken = time.monotonic()
    for number, job in enumerate(jobs, 1):
        yield job
        if time.monotonic() > spoken + SPOKEN:
            err.write(f"{number} jobs so far\n")
            err.flush()
            spoken = time.monotonic()


def _tell(arguments: SweepArguments, journal: Journal, out: TextIO) -> None:
    """Print what came of it, and write what was asked for."""
    statuses = journal.statuses()
    if arguments.json_object:
        for record in journal.records():
            out.write(json.dumps(record.as_json()) + "\n")
    else:
        for status, number in statuses.items() if len(journal) else [("jobs", 0)]:
            out.write(f"{number:6}  {status}\n")
    failed = "" if arguments.json_object else table.failures(table.rows_of(journal.records(table.FAILED)))
    again = ",".join(status for status in statuses if status in ("timeout", "memory", "killed"))
    failed = f"\nfailed, by reason:\n{failed}" if failed else ""
    failed += f"--rerun {again} asks again, with other limits\n" if again and failed else ""
    if not arguments.show:
        out.write(failed)
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
            out.write(f"\n{result}{failed}")
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
