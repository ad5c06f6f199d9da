"""A cluster of Dask on this machine: a scheduler and workers, processes of ours that end with this one.

They start without the caller's own module, so a script that asks for a cluster need not guard its main part, and in
sessions of their own, so Ctrl-C is the caller's. A worker that is gone, or that the scheduler hasn't heard of, is
replaced.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from cuda_out.compile.children import keeper, process_folder
from swizzle.sweeps.worker import command_line
from symbolic.limits import default_memory

SILENT: Final = "30 s"
"""How long a worker may say nothing; jobs run in other processes, so it always can."""
UNHEARD: Final = 60.0
"""Seconds after which a worker is replaced that has not come to the scheduler; twice as many each time."""


def scheduler(silent: str) -> None:
    """Schedule for workers of this machine, that may say nothing for so long; print the address."""
    import dask
    from distributed import Scheduler

    async def run() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as one:
            print(one.address, flush=True)
            await one.finished()

    with dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-ttl": silent}):
        asyncio.run(run())


def worker(address: str, name: str, memory: str, folder: str) -> None:
    """Work for a scheduler of this machine, with a thread, until it is gone."""
    from distributed import Worker

    async def run() -> None:
        async with Worker(
            address, name=name, nthreads=1, host="127.0.0.1", memory_limit=int(memory), local_directory=folder,
            dashboard=False,
        ) as one:  # fmt: skip
            await one.finished()

    asyncio.run(run())
    os._exit(0)  # a thread that is in a job would be waited for


class _Started(Struct, eq=False):
    process: subprocess.Popen[str]
    name: str
    since: float

    def end(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        keeper().let_go(self.process.pid)
        if self.process.stdout is not None:
            self.process.stdout.close()


class OwnCluster:
    """A scheduler, at `address`, and so many workers. Raises OSError where there can be none."""

    def __init__(self, workers: int) -> None:
        self.memory = (default_memory() or 0) // workers
        self.unheard = UNHEARD
        self._made = 0
        self._workers = list[_Started]()
        self._scheduler = _start("scheduler", "scheduler", SILENT)
        assert self._scheduler.process.stdout is not None
        self.address = self._scheduler.process.stdout.readline().strip()
        if not self.address:
            self.close()
            raise OSError("the scheduler ends at once")
        for _ in range(workers):
            self._add()

    def _add(self) -> None:
        self._made += 1
        name = f"swizzle-{self._made}"
        self._workers.append(_start(name, "worker", self.address, name, self.memory, process_folder()))

    @property
    def pids(self) -> list[int]:
        """The processes: the scheduler, then the workers."""
        return [self._scheduler.process.pid, *(each.process.pid for each in self._workers)]

    @property
    def alive(self) -> bool:
        """Whether the scheduler is."""
        return self._scheduler.process.poll() is None

    def keep_up(self, known: Collection[str]) -> None:
        """Replace workers that are gone, and those that have had time to be `known` to the scheduler, and are not."""
        for each in self._workers:
            each.since = time.monotonic() if each.name in known else each.since
        unheard = [each for each in self._workers if time.monotonic() > each.since + self.unheard]
        self.unheard *= 2 if unheard else 1
        for each in list(self._workers):
            if each in unheard or each.process.poll() is not None:
                each.end()
                self._workers.remove(each)
                self._add()

    def close(self) -> None:
        """End all of it."""
        for each in (*self._workers, self._scheduler):
            each.end()


def _start(name: str, function: str, *words: Any) -> _Started:
    process = subprocess.Popen(
        command_line(f"{__name__}:{function}", *words), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdout=subprocess.PIPE if function == "scheduler" else subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    keeper().hold(process.pid)
    return _Started(process, name, time.monotonic())
