"""The engine `dask`: workers of a cluster that is there, or of one that is started here, each with a process for jobs.

Dask starts our workers' processes where its own workers are: a job that takes its process with it leaves Dask's worker
alone, and is begun again there. Where a Dask worker is gone, or the scheduler, jobs that were under way are sent again.
Only a small window of jobs is sent at once: Dask holds the end of a worker against all jobs that wait for it.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import astuple, replace

from swizzle.sweeps.cluster import OwnCluster
from swizzle.sweeps.job import version
from swizzle.sweeps.local import WAIT, Feed
from swizzle.sweeps.worker import AskedJob, CannotStart, JobAnswer, Worker
from symbolic.errors import SwizzleError
from symbolic.limits import default_memory

if TYPE_CHECKING:
    from distributed import Client, Future, KilledWorker

SHORT: Final = 1.0
"""Seconds of a job on average up to which each worker has something waiting."""
TOGETHER: Final = 0.1
"""Seconds of shorter jobs that are sent together: to send something takes some milliseconds."""
MOST: Final = 32
LOOKS: Final = 2.0
"""Seconds between two looks at how many workers there are."""
PATIENCE: Final = 60.0
"""Seconds for which a scheduler that is gone is looked for."""
SILENCE: Final = 120.0
"""Seconds after which a scheduler that says nothing is taken for gone."""

_OWN: Final = threading.local()


class OtherVersion(Exception):
    """A worker has other code than the driver; the message says which."""


def on_worker(asked: Sequence[tuple[Any, ...]], call: str, retries: int, wanted: str) -> list[tuple[Any, ...]]:
    """Answer jobs on a worker of Dask, in a process that its thread keeps for the next ones."""
    if version() != wanted:
        raise OtherVersion(version())
    worker: Worker | None = getattr(_OWN, "worker", None)
    if worker is None or worker.call != call:
        if worker is not None:
            worker.end()
        worker = _OWN.worker = Worker(call, _share(), retries)
    worker.retries = retries
    return [astuple(worker.answer(AskedJob(*each))) for each in asked]


def _share() -> int | None:
    """Return the memory of a thread of this worker."""
    from distributed import get_worker

    here = get_worker()
    most = here.memory_manager.memory_limit or default_memory()
    return None if most is None else int(most) // here.state.nthreads


class Connection:
    """A connection to a scheduler, of a cluster of our own where there is no address; made again where it is lost."""

    def __init__(self, address: str | None, workers: int) -> None:
        self.address, self.workers = address, workers
        self._open = ExitStack()
        self.own: OwnCluster | None = None
        self.heard = 0.0
        self.client = self._connect(PATIENCE / 6)

    def _connect(self, patience: float) -> Client:
        try:
            from distributed import Client
        except ImportError:
            raise SwizzleError(
                "the engine dask is not installed", expected="the package distributed",
                fix="pip install 'swizzle-inventor[dask]', or leave --engine out",
            ) from None  # fmt: skip
        for name in ("distributed.client", "distributed.core"):  # what goes wrong is mended here, or said by an error
            logging.getLogger(name).setLevel(logging.CRITICAL)
        until = time.monotonic() + patience
        while True:
            try:
                if self.address is None and (self.own is None or not self.own.alive):
                    self.own = self._open.enter_context(closing(OwnCluster(self.workers)))
                where = self.address or (self.own.address if self.own is not None else "")
                client = self._open.enter_context(Client(where, timeout=5, set_as_default=False))
                self.heard = time.monotonic()
                return client
            except (OSError, TimeoutError, ValueError) as error:
                if time.monotonic() > until or isinstance(error, ValueError):
                    raise SwizzleError(
                        f"no scheduler of Dask answers at {self.address or 'this machine'}",
                        expected="tcp://HOST:PORT of a scheduler",
                        fix="start one: dask scheduler; what was answered is kept, and not asked again",
                    ) from None  # fmt: skip
                time.sleep(1)

    def again(self) -> None:
        """Connect anew: to the scheduler of the address, or to a cluster of our own."""
        self.close()
        self.client = self._connect(PATIENCE)

    @property
    def lost(self) -> bool:
        """Whether the scheduler is known to be gone, or has said nothing for long."""
        silent = time.monotonic() > self.heard + SILENCE
        ended = self.own is not None and not self.own.alive
        return silent or ended or self.client.status not in ("running", "connecting")

    def threads(self) -> int:
        """Return how many jobs can run at once, as far as is known; replace workers of ours that are gone."""
        ask = self.client.scheduler.identity
        workers = self.client.sync(ask, n_workers=-1, callback_timeout=5 * LOOKS)["workers"].values()
        self.heard = time.monotonic()
        if self.own is not None:
            self.own.keep_up({str(each["name"]) for each in workers})
        return sum(each["nthreads"] for each in workers)

    def close(self) -> None:
        with suppress(Exception):  # of a cluster that is not what it was
            self._open.close()
        self._open, self.own = ExitStack(), None


def dask(feed: Feed, call: str, workers: int, retries: int, address: str | None = None) -> Generator[JobAnswer | None]:
    """Yield what comes of the jobs, and None now and then."""
    driver = _Driver(Connection(address, workers), feed, (call, retries, version()))
    try:
        yield from driver.run()
    finally:
        driver.cluster.close()


class _Driver:
    """What is sent to a cluster, and what came back."""

    def __init__(self, cluster: Connection, feed: Feed, arguments: tuple[str, int, str]) -> None:
        self.cluster, self.feed, self.arguments = cluster, feed, arguments
        self.retries = arguments[1]
        self.sent: dict[Future, list[AskedJob]] = {}
        self.lost: list[AskedJob] = []
        self.held = Counter[str]()
        self.over: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.sendings = 0
        self.mean = SHORT
        self.threads, self.looked = 0, -LOOKS

    def run(self) -> Iterator[JobAnswer | None]:
        while True:
            self._keep_connected()
            while len(self.sent) < self._window() and (some := self._next()):
                self._send(some)
            if not self.sent and not self.lost and self.feed.over:
                return
            answers: list[JobAnswer | None] = [*self._received()]
            yield from answers or [None]

    def _next(self) -> list[AskedJob]:
        """Return what to send next: a job that was lost alone, as it may be what ends workers."""
        if self.lost:
            return [self.lost.pop()]
        count = int(min(max(TOGETHER / max(self.mean, 1e-6), 1), MOST))
        return [*islice(iter(self.feed.next, None), count)]

    def _keep_connected(self) -> None:
        """Wait for a scheduler that is gone, or make a cluster anew; see how many workers there are."""
        while self.cluster.client.status == "connecting" and not self.cluster.lost:
            time.sleep(WAIT)
        if self.cluster.lost:
            self.lost += [asked for some in self.sent.values() for asked in some]
            self.sent.clear()
            self.cluster.again()
        if time.monotonic() > self.looked + LOOKS:
            with suppress(OSError, TimeoutError):
                self.threads = self.cluster.threads()
            self.looked = time.monotonic()

    def _window(self) -> int:
        return self.threads * (2 if self.mean < SHORT else 1)

    def _send(self, some: list[AskedJob]) -> None:
        self.sendings += 1
        key = f"{some[0].key}-{self.sendings}"  # another one each time: what is lost is not taken for what is sent
        future = self.cluster.client.submit(on_worker, [*map(astuple, some)], *self.arguments, key=key, pure=False)
        self.sent[future] = some
        future.add_done_callback(self.over.put)

    def _received(self) -> list[JobAnswer]:
        """Return what has come back, after a moment at most."""
        futures: list[Future] = []
        answers: list[JobAnswer] = []
        with suppress(queue.Empty):
            futures.append(self.over.get(timeout=WAIT))
            while True:
                futures.append(self.over.get_nowait())
        place = {future: number for number, future in enumerate(self.sent)}
        for future in sorted((each for each in futures if each in place), key=place.__getitem__):
            answers += self._answers(future, self.sent.pop(future))
        for said in answers:
            self.mean += 0.1 * (said.seconds - self.mean)
        return answers

    def _answers(self, future: Future, some: Sequence[AskedJob]) -> list[JobAnswer]:
        """Return what came of jobs that were sent together; those that have no answer yet are sent again."""
        from distributed import CancelledError, KilledWorker

        try:
            return [JobAnswer(*each) for each in future.result(timeout=PATIENCE)]
        except KilledWorker as error:
            ended = error.allowed_failures + 1 if self._ran(error) and len(some) == 1 else 0  # of several, which one?
            again = [replace(each, attempts=each.attempts + ended) for each in some]
        except (CancelledError, TimeoutError, OSError):  # the scheduler is gone, or was
            again = [*some]
        except CannotStart:
            raise
        except Exception as error:
            raise SwizzleError(
                f"the workers of Dask cannot run jobs: {type(error).__name__}: {error}",
                expected=f"this Swizzle there, too: {version()}", fix="install the same version where the workers run",
            ) from error  # fmt: skip
        self.lost += [each for each in again if each.attempts <= self.retries]
        return [_killed(each) for each in again if each.attempts > self.retries]

    def _ran(self, error: KilledWorker) -> bool:
        """Say whether what a worker had at its end can have begun: it takes what was sent first, a thing a thread."""
        worker = error.last_worker
        self.held[worker.server_id] += 1
        return self.held[worker.server_id] <= int(worker.nthreads)


def _killed(asked: AskedJob) -> JobAnswer:
    reason = f"the workers of Dask that had it ended {asked.attempts} times"
    answer = json.dumps({"status": "killed", "reason": reason})
    return JobAnswer(asked.key, "killed", answer, 0.0, asked.attempts)
