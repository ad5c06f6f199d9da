"""What a sweep asks: files and lines of JSON, crossed with values of parameters and of options."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from swizzle.sweeps.files import with_files
from swizzle.sweeps.job import SweepJob, canonical
from symbolic.errors import Place, SwizzleError
from symbolic.files import file_text

LINES: Final = ".jsonl"
_RANGE: Final = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?")
MOST_VALUES: Final = 1_000_000


class JobLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a file of jobs; a `text` is that of `target`, which then need not be a file."""

    target: str = ""
    do: str = ""
    text: str | None = None
    set: dict[str, int] = {}
    options: dict[str, Any] = {}
    timeout: float | None = None
    memory: int | None = None


def values_of(word: str) -> tuple[str, list[int]]:
    """Return the name and the values of NAME=1..64, NAME=8..64..8 or NAME=1,2,16..20.

    >>> values_of("N=1,2,8..16..4")
    ('N', [1, 2, 8, 12, 16])
    """
    name, equals, text = word.partition("=")
    values: list[int] = []
    for part in text.split(","):
        if found := _RANGE.fullmatch(part.strip()):
            some = range(int(found[1]), int(found[2]) + 1, int(found[3] or 1) or MOST_VALUES)
            if not some or len(some) > MOST_VALUES:
                equals = ""
                break
            values += some
        elif re.fullmatch(r"-?\d+", part.strip()):
            values.append(int(part))
        else:
            equals = ""
    if not equals or not name.isidentifier():
        raise SwizzleError(
            f"--set {word}", expected="NAME=VALUES, of integers and ranges: N=1..64, N=8..64..8 or N=1,2,4",
            fix="--set N=1..64",
        )  # fmt: skip
    return name, list(dict.fromkeys(values))


def choices_of(word: str) -> tuple[str, list[Any]]:
    """Return the name and the values of an option: NAME=a,b or, of a flag, NAME."""
    name, equals, text = word.partition("=")
    return name.lstrip("-"), text.split(",") if equals else [True]


def jobs_of(
    asked: Iterable[str | Path | Mapping[str, Any] | SweepJob],
    names_in: Callable[[str, str], Sequence[str]],
    *,
    do: str,
    values: Mapping[str, Iterable[int]],
    choices: Mapping[str, Iterable[Any]],
    timeout: float | None = None,
    memory: int | None = None,
) -> Iterator[SweepJob]:
    """Yield the jobs: what is asked, each with all combinations of values of parameters and of options.

    `names_in` returns what a file has that a command could be asked for. Raises SwizzleError for what is no job.
    """
    some = {name: list(each) for name, each in values.items()}
    others = {name: list(each) for name, each in choices.items()}
    for job in _asked(asked, do, names_in):
        for numbers in itertools.product(*some.values()):
            for words in itertools.product(*others.values()):
                yield msgspec.structs.replace(
                    job,
                    set={**job.set, **dict(zip(some, numbers, strict=True))},
                    options={**job.options, **dict(zip(others, words, strict=True))},
                    timeout=job.timeout if job.timeout is not None else timeout,
                    memory=job.memory if job.memory is not None else memory,
                )


def _asked(
    asked: Iterable[str | Path | Mapping[str, Any] | SweepJob], do: str, names_in: Callable[[str, str], Sequence[str]]
) -> Iterator[SweepJob]:
    here, known = Path.cwd(), dict[str, SweepJob]()
    for each in asked:
        if isinstance(each, SweepJob):
            yield each
        elif isinstance(each, Mapping):
            yield _job(_line(each), do, here, known)
        elif str(each).endswith(LINES):
            yield from _of_file(Path(each), do)
        else:
            targets = [f"{each}:{name}" for name in names_in(str(each), do)] if Path(each).is_file() else []
            for target in targets if len(targets) > 1 else [str(each)]:
                yield with_files(SweepJob(do, target), here)


def _of_file(path: Path, do: str) -> Iterator[SweepJob]:
    """Yield the jobs of a file; paths in it are from its folder."""
    try:
        lines = file_text(path).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SwizzleError(f"{path} cannot be read: {why}", expected="a file of jobs", fix="name another one") from None
    known: dict[str, SweepJob] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            yield _job(_line(msgspec.json.decode(text)), do, path.parent, known)
        except msgspec.DecodeError as error:
            raise _no_job(str(error), Place(str(path), number, 1)) from None
        except SwizzleError as error:
            raise SwizzleError(
                error.found, place=error.place or Place(str(path), number, 1), expected=error.expected, fix=error.fix
            ) from None


def _line(value: Any) -> JobLine:
    try:
        return msgspec.convert(value, JobLine)
    except msgspec.ValidationError as error:
        raise _no_job(str(error), None) from None


def _no_job(why: str, place: Place | None) -> SwizzleError:
    return SwizzleError(
        f"no job: {why}", place=place, expected=f"an object with some of {', '.join(JobLine.__struct_fields__)}",
        fix='{"do": "solve", "target": "kernel.py:name", "set": {"N": 4}}',
    )  # fmt: skip


def _job(line: JobLine, do: str, folder: Path, known: dict[str, SweepJob]) -> SweepJob:
    """Return the job of a line; `known` are those of lines with the same files."""
    if line.text is not None:
        target = line.target or "kernel.py"
        head, colon, name = target.rpartition(":")
        files = {head if colon and name.isidentifier() else target: line.text}
        return SweepJob(line.do or do, target, line.set, line.options, line.timeout, line.memory, files)
    key = canonical([line.target, line.options])
    if key not in known:
        known[key] = with_files(SweepJob("", line.target, {}, line.options), folder)
    return msgspec.structs.replace(known[key], do=line.do or do, set=line.set, timeout=line.timeout, memory=line.memory)
