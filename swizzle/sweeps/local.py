"""The engine `local`: workers on this machine, each with a job at a time."""

from __future__ import annotations

import selectors
import time
from collections.abc import Generator
from typing import Final, Protocol

from swizzle.sweeps.worker import AskedJob, JobAnswer, Worker
from symbolic.limits import default_memory

BETWEEN: Final = 0.5
"""Seconds between two looks at what no worker says by itself."""
WAIT: Final = 0.2
"""Seconds until it is asked again for jobs that other drivers may leave."""


class Feed(Protocol):
    """Where an engine gets its jobs from, one at a time, as late as it can."""

    def next(self) -> AskedJob | None:
        """Return the next job; None where there is none now."""

    @property
    def over(self) -> bool:
        """Whether there will be none, unless one that is under way comes back."""


def local(feed: Feed, call: str, workers: int, retries: int, shared: bool = True) -> Generator[JobAnswer | None]:
    """Yield what comes of the jobs, and None now and then; workers start as they are needed.

    With `shared`, jobs that name no limit of memory have that of one of so many shares of the machine.
    """
    free = default_memory() if shared else None
    share = None if free is None else free // workers
    idle, busy = [Worker(call, share, retries) for _ in range(workers)], list[Worker]()
    try:
        while True:
            while idle and (asked := feed.next()) is not None:
                busy.append(idle.pop())
                busy[-1].ask(asked)
            if not busy:
                if feed.over:
                    return
                time.sleep(WAIT)
                yield None
                continue
            with selectors.DefaultSelector() as selector:
                for worker in busy:
                    selector.register(worker, selectors.EVENT_READ, worker)
                ready = [key.data for key, _ in selector.select(WAIT if idle else BETWEEN)]
            answers = [worker.hear() for worker in ready] + [worker.late() for worker in busy if worker not in ready]
            idle += [worker for worker in busy if worker.asked is None]
            busy = [worker for worker in busy if worker.asked is not None]
            yield from [said for said in answers if said is not None] or [None]
    finally:
        for worker in (*idle, *busy):
            worker.end()
