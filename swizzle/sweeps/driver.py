"""The driver: jobs that have no answer go to an engine, and what comes of them into the journal."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, Literal

from swizzle.sweeps.journal import Journal
from swizzle.sweeps.local import Feed, local
from swizzle.sweeps.on_dask import dask
from swizzle.sweeps.worker import AskedJob, CannotStart, JobAnswer
from symbolic.errors import SwizzleError

Engine = Literal["local", "dask"]
ENGINES: Final[tuple[Engine, ...]] = ("local", "dask")
RETRIES: Final = 2


class ClaimedJobs:
    """The jobs of a journal's list that have no answer, claimed a few at a time."""

    def __init__(self, journal: Journal, at_once: int) -> None:
        self._journal, self._at_once = journal, at_once
        self._claimed = list[AskedJob]()

    def next(self) -> AskedJob | None:
        if not self._claimed:
            self._claimed = self._journal.claim(self._at_once)[::-1]
        return self._claimed.pop() if self._claimed else None

    @property
    def over(self) -> bool:
        return not self._claimed and not self._journal.open()


def drive(
    journal: Journal,
    call: str,
    *,
    engine: Engine = "local",
    scheduler: str | None = None,
    workers: int,
    retries: int = RETRIES,
    shared: bool = True,
) -> Generator[JobAnswer | None]:
    """Answer all jobs of a journal's list by `call`, 'MODULE:FUNCTION'; yield each new answer, and None now and then.

    What is yielded is in the journal. It ends when all jobs have an answer, by this driver or by another one.

    On this machine, with `shared`, jobs that name no limit of memory have that of one of so many shares; to look at it
    fifty times a second would disturb what measures.
    """
    answers = answers_of(
        ClaimedJobs(journal, workers), call, engine=engine, scheduler=scheduler, workers=workers, retries=retries,
        shared=shared,
    )  # fmt: skip
    try:
        for said in answers:
            if said is None:
                yield None
            elif journal.answered(said):
                yield said
    finally:
        answers.close()


def answers_of(
    feed: Feed,
    call: str,
    *,
    engine: Engine,
    scheduler: str | None = None,
    workers: int,
    retries: int = RETRIES,
    shared: bool = True,
) -> Generator[JobAnswer | None]:
    """Yield what comes of the jobs of a feed on an engine, kept nowhere; the rest is as for `drive`."""
    if engine == "local":
        answers = local(feed, call, workers, retries, shared)
    else:
        answers = dask(feed, call, workers, retries, scheduler)
    try:
        yield from answers
    except CannotStart as error:
        raise SwizzleError(
            f"a worker ends before its first job: {error}", expected="a process of Python that can run Swizzle",
            fix="run `swizzle --version` where the workers run",
        ) from None  # fmt: skip
    finally:
        answers.close()
