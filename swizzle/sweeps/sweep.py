"""A whole sweep: from what is asked to what came of it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from swizzle.solving.cache.entries import cache_folder, why_unused
from swizzle.sweeps import table
from swizzle.sweeps.driver import RETRIES, Engine, drive
from swizzle.sweeps.journal import Journal, Record
from symbolic.errors import SwizzleError

_LOOKED_AT: Final = 30.0
"""Seconds of which the rate is told."""


class SweepProgress(Struct, frozen=True):
    """How far a sweep is: jobs with an answer, of how many; how many a second lately; seconds left at this rate."""

    done: int
    total: int
    rate: float
    left: float | None
    statuses: dict[str, int]

    def __str__(self) -> str:
        said = ", ".join(f"{number} {status}" for status, number in self.statuses.items())
        left = "" if self.left is None else f" · {duration(self.left)} left"
        rate = f" · {self.rate:.1f} a second" if self.rate else ""
        return f"{self.done} of {self.total}{rate}{left}{said and f' · {said}'}"


Watch = Callable[[SweepProgress], None]


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> duration(3700)
    '1 h 2 min'
    """
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


class SweepResult:
    """The jobs of a sweep, in the order asked, with their answers; a table in a notebook."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = tuple(records)
        self.rows = table.rows_of(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __str__(self) -> str:
        return table.text_table(self.rows)

    def _repr_html_(self) -> str:
        return table.html_table(self.rows)

    def failures(self) -> str:
        """Return how many jobs failed, by reason, a line each."""
        return table.failures(self.rows)

    def figure(self) -> str:
        """Return seconds over the parameters as SVG, '' where there is nothing to draw."""
        return table.figure(self.rows)

    def csv(self) -> str:
        return table.csv_text(self.rows)


def default_journal() -> Path:
    """Return the file in this user's cache folder; raises SwizzleError where there is none to be trusted."""
    folder = cache_folder()
    why = "there is no home folder" if folder is None else why_unused(folder.parent)
    if folder is None or why:
        raise SwizzleError(
            f"no place for a journal: {why}", expected="a folder of your own", fix="name a file: --journal sweep.sqlite"
        )
    return folder.parent / "sweeps.sqlite"


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    journal: Journal,
    call: str,
    *,
    engine: Engine = "local",
    scheduler: str | None = None,
    workers: int | None = None,
    retries: int = RETRIES,
    rerun: Iterable[str] = (),
    watch: Watch = lambda progress: None,
) -> None:
    """Answer the jobs of a journal's list by `call`, 'MODULE:FUNCTION', those that it has no answer for.

    `rerun` are statuses whose answers are asked for again. `watch` is told of progress at least twice a second.
    """
    journal.ask_again(rerun)
    statuses, total = journal.statuses(), len(journal)
    marks = deque([(time.monotonic(), 0)])
    new = 0
    watch(SweepProgress(sum(statuses.values()), total, 0.0, None, dict(statuses)))
    for said in drive(
        journal, call, engine=engine, scheduler=scheduler, workers=workers or processors(), retries=retries
    ):
        if said is not None:
            new += 1
            statuses[said.status] = statuses.get(said.status, 0) + 1
        now = time.monotonic()
        if now > marks[-1][0] + 0.2:
            marks.append((now, new))
            while marks[0][0] < now - _LOOKED_AT:
                marks.popleft()
            rate = (new - marks[0][1]) / (now - marks[0][0])
            done = sum(statuses.values())
            watch(SweepProgress(done, total, rate, (total - done) / rate if rate else None, dict(statuses)))
    statuses = journal.statuses()
    watch(SweepProgress(sum(statuses.values()), total, 0.0, None, statuses))
