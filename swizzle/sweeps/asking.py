"""What a sweep asks: files and lines of JSON, crossed with values of parameters and of options."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from swizzle.sweeps.files import with_files
from swizzle.sweeps.job import SweepJob, canonical
from symbolic.errors import Place, SwizzleError
from symbolic.files import file_text
from symbolic.limits import MAX_SECONDS, MOST

Asked = str | Path | Mapping[str, Any] | SweepJob
LINES: Final = ".jsonl"
_RANGE: Final = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?")
MOST_VALUES: Final = 1_000_000
"""As many combinations at most are asked of a file, or of a line."""


class JobLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a file of jobs; a `text` is that of `target`, which then need not be a file."""

    target: str = ""
    do: str = ""
    text: str | None = None
    set: dict[str, int] = {}
    options: dict[str, Any] = {}
    timeout: Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS)] | None = None
    memory: Annotated[int, msgspec.Meta(gt=0, le=MOST)] | None = None


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
            if len(some) > MOST_VALUES:
                raise _too_many(len(some), f"--set {word}")
            equals = equals if some else ""
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
    """Return the name and the values of an option: NAME=a,b, or NAME:=a,b, which is one, or, of a flag, NAME.

    >>> choices_of("space=1,all"), choices_of("args:=f32[4],i32=64")
    (('space', ['1', 'all']), ('args', ['f32[4],i32=64']))
    """
    name, equals, text = word.partition("=")
    if name.endswith(":"):
        return name[:-1].lstrip("-"), [text]
    return name.lstrip("-"), text.split(",") if equals else [True]


def together(some: Iterable[tuple[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return all values of each name, whether they were given at once or one after the other."""
    values: dict[str, list[Any]] = {}
    for name, more in some:
        values[name] = list(dict.fromkeys([*values.get(name, []), *more]))
    return values


def _too_many(count: int, what: str) -> SwizzleError:
    return SwizzleError(f"{count:,} jobs: {what}", expected=f"at most {MOST_VALUES:,} of a file", fix="ask for fewer")


def _integers(name: str, values: Any) -> list[int]:
    """Return the values of a parameter: an integer, several, or their text, as --set has them."""
    if isinstance(values, str):
        return values_of(f"{name}={values}")[1]
    try:
        return [operator.index(value) for value in (values if isinstance(values, Iterable) else [values])]
    except TypeError:
        raise SwizzleError(
            f"the values {values!r} of {name}", expected="an integer, several, or their text", fix="range(1, 65)"
        ) from None


def _several(values: Any) -> list[Any]:
    """Return the values of an option, which may be one."""
    return [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)


def jobs_of(
    asked: Iterable[Asked],
    names_in: Callable[[str, str], Sequence[str]],
    *,
    do: str,
    values: Mapping[str, Any],
    choices: Mapping[str, Any],
    timeout: float | None = None,
    memory: int | None = None,
) -> Iterator[SweepJob]:
    """Yield the jobs: what is asked, each with all combinations of values of parameters and of options.

    `names_in` returns what a file has that a command could be asked for. Raises SwizzleError for what is no job.
    """
    some = {name: _integers(name, each) for name, each in values.items()}
    others = {name: _several(each) for name, each in choices.items()}
    if (count := math.prod(map(len, (*some.values(), *others.values())))) > MOST_VALUES:
        raise _too_many(count, "all combinations of the values")
    known: dict[str, SweepJob] = {}
    for job, folder, place in _asked(asked, do, names_in):
        for numbers in itertools.product(*some.values()):
            for words in itertools.product(*others.values()):
                options = {**job.options, **dict(zip(others, words, strict=True))}
                with _placed(place):
                    full = _complete(msgspec.structs.replace(job, options=options), folder, known)
                yield msgspec.structs.replace(
                    full,
                    set={**job.set, **dict(zip(some, numbers, strict=True))},
                    timeout=job.timeout if job.timeout is not None else timeout,
                    memory=job.memory if job.memory is not None else memory,
                )


def _complete(job: SweepJob, folder: Path, known: dict[str, SweepJob]) -> SweepJob:
    """Return a job with the texts that it needs; `known` are those of jobs with the same files."""
    if job.asked:  # by whoever made it, with its texts
        return job
    key = canonical([str(folder), job.target, job.options, job.files])
    if key not in known:
        known[key] = with_files(job, folder)
    full = known[key]
    return msgspec.structs.replace(
        job, target=full.target, options=full.options, files=full.files, path=full.path, asked=full.asked
    )


def _asked(
    asked: Iterable[Asked], do: str, names_in: Callable[[str, str], Sequence[str]]
) -> Iterator[tuple[SweepJob, Path, Place | None]]:
    """Yield what is asked, without texts of files yet, with the folder of its paths, and the place of its line."""
    here = Path.cwd()
    for each in asked:
        if isinstance(each, SweepJob):
            yield (each if each.asked else msgspec.structs.replace(each, asked=each.target)), here, None
        elif isinstance(each, Mapping):
            yield _job(_line(each), do), here, None
        elif not isinstance(each, str | Path):
            raise _no_job(f"{each!r} is neither a file nor a line", None)
        elif str(each).endswith(LINES):
            yield from _of_file(Path(each), do)
        else:
            targets = [f"{each}:{name}" for name in names_in(str(each), do)] if Path(each).is_file() else []
            for target in targets if len(targets) > 1 else [str(each)]:
                yield SweepJob(do, target), here, None


def _of_file(path: Path, do: str) -> Iterator[tuple[SweepJob, Path, Place]]:
    """Yield the jobs of a file; paths in it are from its folder."""
    try:
        lines = file_text(path).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SwizzleError(f"{path} cannot be read: {why}", expected="a file of jobs", fix="name another one") from None
    for number, text in enumerate(lines, 1):
        if text.strip():
            place = Place(str(path), number, 1)
            with _placed(place):
                yield _job(_line(text), do), path.parent, place


@contextmanager
def _placed(place: Place | None) -> Iterator[None]:
    """Say of a mistake in which line it is."""
    try:
        yield
    except SwizzleError as error:
        if place is None or error.place is not None:
            raise
        raise SwizzleError(error.found, place=place, expected=error.expected, fix=error.fix) from None


def _line(value: Any) -> JobLine:
    try:
        return msgspec.convert(msgspec.json.decode(value) if isinstance(value, str) else value, JobLine)
    except msgspec.DecodeError as error:
        raise _no_job(str(error), None) from None


def _no_job(why: str, place: Place | None) -> SwizzleError:
    return SwizzleError(
        f"no job: {why}", place=place, expected=f"an object with some of {', '.join(JobLine.__struct_fields__)}",
        fix='{"do": "solve", "target": "kernel.py:name", "set": {"N": 4}}',
    )  # fmt: skip


def _job(line: JobLine, do: str) -> SweepJob:
    """Return the job of a line, without the texts of files that it names."""
    target, files = line.target, {}
    if line.text is not None:
        target = line.target or "kernel.py"
        head, colon, name = target.rpartition(":")
        files = {head if colon and name.isidentifier() else target: line.text}
    elif not target:
        raise _no_job("it names no target", None)
    return SweepJob(line.do or do, target, line.set, line.options, line.timeout, line.memory, files)
