"""Sweeps under load and under faults: what docs/sweeps.md promises, at full size or in small.

    python -m bench.many_jobs solves [--jobs 2000]               workers killed, the driver stopped, on the way
    python -m bench.many_jobs trivial [--jobs 100000]            time a job, and memory
    python -m bench.many_jobs soak [--seconds 600] [--every 10]  a worker is killed again and again
    python -m bench.many_jobs clusters [--workers 3]             two clusters of Dask; a worker loses its connection
    python -m bench.many_jobs scaling [--seconds 0.05]           time against workers, with sleeping jobs

Each prints what it saw as a line of JSON for each engine (`--engine local` is one), and ends with status 1 where a job
was lost, was answered twice, or has another answer on another engine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

from swizzle.commands.sweep import CALL
from swizzle.sweeps.driver import ENGINES, drive
from swizzle.sweeps.files import with_files
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal

ROOT: Final = Path(__file__).resolve().parent.parent
HERE: Final = "bench.many_jobs:work"
OURS: Final = "swizzle.sweeps.process"
"""What the command line of a worker of ours has."""
DASKS: Final = "swizzle.sweeps.cluster:worker"
"""And that of a worker of Dask in a cluster of ours."""


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Do nothing, or sleep."""
    if job["do"] == "sleep":
        time.sleep(job["options"]["seconds"])
    return {"status": "done", "value": job["set"]["n"]}


# ---- the jobs ----------------------------------------------------------------------------------------------------


def solves(count: int) -> Iterator[SweepJob]:
    """Yield structures of 1 to 64 words by crc, rcr and as sums, by spaces; and transpositions."""
    small = {"warp_size": 4, "grid": 1}
    kernels = [
        with_files(SweepJob("solve", f"case_studies/{name}"), ROOT)
        for name in ("aos_store.py:crc", "aos_store.py:rcr", "aos_sum.py:crc", "transpose.py:transpose")
    ]
    *structs, transpose = kernels

    def posed(kernel: SweepJob, space: str | None, **sizes: int) -> SweepJob:
        options = {} if space is None else {"space": space}
        return SweepJob("solve", kernel.target, sizes | small, options, 60.0, None, kernel.files)

    def everything() -> Iterator[SweepJob]:
        sides = range(1, 33)
        tiles = (posed(transpose, space, rows=r, columns=c) for space, r, c in product((None, "1"), sides, sides))
        for words, kernel, space in product(range(1, 65), structs, ("1", "3")):
            yield posed(kernel, space, struct_size=words)
            yield from islice(tiles, 4)
        yield from tiles

    return islice(everything(), count)


def jobs_of(kind: str, count: int, seconds: float) -> tuple[Iterator[SweepJob], str]:
    """Return jobs, and what they call."""
    if kind == "solves":
        return solves(count), CALL
    options = {"seconds": seconds} if kind == "sleep" else {}
    return (SweepJob(kind, set={"n": n}, options=options) for n in range(count)), HERE


# ---- a driver in a process of its own ----------------------------------------------------------------------------


def driven(path: Path, kind: str, count: int, seconds: float, engine: Any, workers: int, scheduler: str | None) -> None:
    """Drive jobs; print a line as they begin, one for every thousandth answer, and one in the end."""
    some, call = jobs_of(kind, count, seconds)
    with Journal(path) as journal:
        journal.enlist(some)
        before, began = sum(journal.statuses().values()), 0.0
        print(json.dumps({"left": len(journal) - before}), flush=True)
        new, first = 0, time.monotonic()
        for answer in drive(journal, call, engine=engine, workers=workers, scheduler=scheduler):
            if answer is None:
                continue
            new += 1
            if new == 1:
                began = time.monotonic()
            if new % 1000 == 0:
                print(json.dumps({"answered": new, "rss": rss(os.getpid()), "workers": workers_rss()}), flush=True)
        ended = time.monotonic()
        print(json.dumps({
            "new": new, "until the first": began - first, "seconds": ended - began,
            "ms a job": 1e3 * (ended - began) / max(new - 1, 1), "cpu": time.process_time(),
            "statuses": journal.statuses(),
        }), flush=True)  # fmt: skip


@contextmanager
def driver(path: Path, *words: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a driver; end it in the end."""
    command = [sys.executable, "-m", "bench.many_jobs", "drive", str(path), *map(str, words)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def below(pid: int) -> list[int]:
    """Return the processes that a process has started, with theirs."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *below(child)]
    return found


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def rss(pid: int) -> int:
    """Return the MiB that a process holds."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    return 0


def workers_rss() -> list[int]:
    return sorted(rss(pid) for pid in below(os.getpid()) if OURS in command_of(pid))


def victims(pid: int, dasks: bool) -> list[int]:
    """Return the workers below a driver: ours, and Dask's."""
    known = {each: command_of(each) for each in below(pid)}
    ours = [each for each, command in known.items() if OURS in command]
    theirs = [each for each, command in known.items() if DASKS in command]
    return ours + (theirs if dasks else [])


def kill_one(pid: int, dasks: bool) -> bool:
    """Kill a worker below a driver; say whether there was one."""
    some = victims(pid, dasks)
    if some:
        with suppress(ProcessLookupError):
            os.kill(random.choice(some), signal.SIGKILL)
    return bool(some)


def answered(path: Path) -> int:
    """Return how many answers a journal has, without a part in it."""
    import sqlite3

    with suppress(sqlite3.Error):
        db = sqlite3.connect(path)
        try:
            return int(db.execute("select count(*) from jobs where answer is not null").fetchone()[0])
        finally:
            db.close()
    return 0


def until(true: Any, process: subprocess.Popen[str] | None = None) -> bool:
    """Wait until something is so; say whether it was before a process ended."""
    while not true():
        if process is not None and process.poll() is not None:
            return bool(true())
        time.sleep(0.05)
    return True


def last_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the end of a driver, and return what it said last."""
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    assert process.wait() == 0, lines
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def untimed(value: Any) -> Any:
    """Leave out what is measured."""
    if isinstance(value, dict):
        return {name: untimed(each) for name, each in value.items() if name != "seconds"}
    return [untimed(each) for each in value] if isinstance(value, list) else value


def outcome(path: Path, some: Iterator[SweepJob]) -> dict[str, Any]:
    """Return the answers in a journal by their keys, without what is measured."""
    with Journal(path) as journal:
        journal.enlist(some)
        return {each.key: untimed(each.answer) for each in journal.records()}


# ---- what is tried -----------------------------------------------------------------------------------------------


def try_solves(folder: Path, engine: str, jobs: int, workers: int, kind: str = "solves") -> dict[str, Any]:
    """Answer jobs while two workers are killed and the driver is stopped twice, by SIGINT and by SIGKILL."""
    path, began = folder / f"{kind}-{engine}.sqlite", time.monotonic()
    words = (kind, jobs, 0.05, engine, workers)
    total = len({job.key for job in jobs_of(kind, jobs, 0.05)[0]})
    kept = []
    for part, end in ((1, signal.SIGINT), (2, signal.SIGKILL), (3, None)):
        with driver(path, *words) as process:
            until(lambda part=part: answered(path) >= total * part // 4, process)
            if end is not signal.SIGKILL:
                until(lambda pid=process.pid: kill_one(pid, True), process)
            if end is not None:
                until(lambda part=part: answered(path) >= total * part // 4 + total // 20, process)
                process.send_signal(end)
                process.wait()
                kept.append(answered(path))
            else:
                told = last_line(process)
    assert told["new"] == total - kept[-1]
    with Journal(path) as journal:
        journal.enlist(jobs_of(kind, jobs, 0.05)[0])
        more = [each.attempts for each in journal.records() if each.attempts > 1]
        statuses, left = journal.statuses(), journal.left()
    return {
        "engine": engine, "jobs": total, "statuses": statuses, "lost": left, "kept at the stops": kept,
        "begun again": len(more), "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def try_trivial(folder: Path, engine: str, jobs: int, workers: int) -> dict[str, Any]:
    """Answer jobs that do nothing; say how much memory driver and workers held on the way."""
    with driver(folder / f"trivial-{engine}.sqlite", "nothing", jobs, 0, engine, workers) as process:
        assert process.stdout is not None
        lines = [json.loads(line) for line in process.stdout]
    *held, told = lines[1:]
    tenth = held[max(len(held) // 10, 1) - 1]
    return {
        "engine": engine, "jobs": jobs, "ms a job": round(told["ms a job"], 3),
        "until the first, s": round(told["until the first"], 2), "driver's cpu, s": round(told["cpu"], 1),
        "MiB of the driver, after a tenth and all": [tenth["rss"], held[-1]["rss"]],
        "MiB of workers": [tenth["workers"], held[-1]["workers"]], "lost": jobs - told["statuses"]["done"],
    }  # fmt: skip


def try_soak(folder: Path, engine: str, seconds: float, every: float, workers: int) -> dict[str, Any]:
    """Answer sleeping jobs for some time, while a worker is killed again and again."""
    path, killed = folder / f"soak-{engine}.sqlite", 0
    jobs = int(seconds * workers / 0.2)
    began = time.monotonic()
    with driver(path, "sleep", jobs, 0.2, engine, workers) as process:
        until(lambda: answered(path) > 0, process)
        while process.poll() is None and time.monotonic() < began + 3 * seconds:
            with suppress(subprocess.TimeoutExpired):
                process.wait(every)
                break
            killed += kill_one(process.pid, True)
        told = last_line(process)
    with Journal(path) as journal:
        journal.enlist(jobs_of("sleep", jobs, 0.2)[0])
        attempts = [each.attempts for each in journal.records()]
    return {
        "engine": engine, "jobs": jobs, "killed workers": killed, "begun again": sum(each > 1 for each in attempts),
        "most attempts": max(attempts), "statuses": told["statuses"], "lost": jobs - told["new"],
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


class Proxy(threading.Thread):
    """Passes bytes between a worker and its scheduler until the line is cut."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.to, self.server = port, socket.create_server(("127.0.0.1", 0))
        self.port: int = self.server.getsockname()[1]
        self.pairs: list[tuple[socket.socket, socket.socket]] = []

    def run(self) -> None:
        with suppress(OSError):
            while True:
                one, _ = self.server.accept()
                other = socket.create_connection(("127.0.0.1", self.to))
                self.pairs.append((one, other))
                for pair in ((one, other), (other, one)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End all connections, and take no more."""
        self.server.close()
        for pair in self.pairs:
            for each in pair:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def process_of(*words: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a part of a cluster."""
    command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *map(str, words[1:])]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        for each in (*below(process.pid), process.pid):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        process.wait()


def scheduler_words(port: int) -> Sequence[Any]:
    return "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--no-show"


def worker_words(port: int) -> Sequence[Any]:
    return "worker", f"tcp://127.0.0.1:{port}", "--nthreads", 1, "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"


def try_clusters(folder: Path, jobs: int, workers: int, seconds: float = 0.05) -> dict[str, Any]:
    """Two schedulers with workers, two drivers, one journal; a worker loses its connection, one scheduler is gone and
    comes again at the same address."""
    path, began = folder / "clusters.sqlite", time.monotonic()
    ports = free_port(), free_port()
    with ExitStack() as stack:
        schedulers = [ExitStack() for _ in ports]
        for port, each in zip(ports, schedulers, strict=True):
            stack.enter_context(each)
            each.enter_context(process_of(*scheduler_words(port)))
        proxy = Proxy(ports[0])
        proxy.start()
        for port in (*[ports[0]] * (workers - 1), proxy.port, *[ports[1]] * workers):
            stack.enter_context(process_of(*worker_words(port)))
        drivers = [
            stack.enter_context(driver(path, "sleep", jobs, seconds, "dask", workers, f"tcp://127.0.0.1:{port}"))
            for port in ports
        ]
        total = jobs
        until(lambda: answered(path) >= total // 4)
        proxy.cut()
        until(lambda: answered(path) >= total // 2)
        schedulers[1].close()
        schedulers[1].enter_context(process_of(*scheduler_words(ports[1])))
        for _ in range(workers):
            stack.enter_context(process_of(*worker_words(ports[1])))
        told = [last_line(each) for each in drivers]
    with Journal(path) as journal:
        journal.enlist(jobs_of("sleep", jobs, seconds)[0])
        left, statuses = journal.left(), journal.statuses()
    return {
        "jobs": jobs, "by each driver": [each["new"] for each in told], "lost": left, "statuses": statuses,
        "answered twice": sum(each["new"] for each in told) - jobs, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def try_scaling(folder: Path, engine: str, seconds: float, most: int) -> dict[str, Any]:
    """Measure the rate of sleeping jobs against the number of workers, and of jobs that do nothing."""
    rates: dict[str, Any] = {}
    workers = 1
    while workers <= most:
        path = folder / f"scaling-{engine}-{workers}.sqlite"
        jobs = max(40, int(5 * workers / seconds))
        with driver(path, "sleep", jobs, seconds, engine, workers) as process:
            told = last_line(process)
        ideal = seconds * jobs / workers
        rates[str(workers)] = {
            "jobs a second": round(jobs / told["seconds"], 1), "of the ideal": round(ideal / told["seconds"], 3)
        }  # fmt: skip
        workers *= 2
    with driver(folder / f"scaling-{engine}-0.sqlite", "nothing", 5000, 0, engine, 2) as process:
        told = last_line(process)
    most_rate = 1e3 / told["ms a job"]
    return {
        "engine": engine, "seconds of a job": seconds, "workers": rates, "trivial jobs a second": round(most_rate),
        "jobs of 1 s that 64 workers keep busy": round(min(64.0, most_rate), 1),
        "seconds of a job for which the driver keeps 64 workers busy": round(64 / most_rate, 3), "lost": 0,
    }  # fmt: skip


def main(words: Sequence[str]) -> int:
    if words[:1] == ["drive"]:
        path, kind, count, seconds, engine, workers, *scheduler = words[1:]
        try:
            driven(
                Path(path), kind, int(count), float(seconds), engine, int(workers), scheduler[0] if scheduler else None
            )
        except KeyboardInterrupt:
            return 3
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["solves", "trivial", "soak", "clusters", "scaling"])
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--every", type=float, default=10.0)
    parser.add_argument("--most", type=int, default=8)
    chosen = parser.parse_args(words)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for told in tried(chosen, Path(scratch)):
            print(json.dumps(told), flush=True)
            wrong += bool(told["lost"] or told.get("answered twice") or told.get("different"))
    return 1 if wrong else 0


def tried(chosen: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Try what was asked for, on each engine; yield what was seen."""
    if chosen.what == "clusters":
        yield try_clusters(folder, chosen.jobs or 400, chosen.workers, chosen.seconds or 0.05)
        return
    answers: list[dict[str, Any]] = []
    for engine in chosen.engine or ENGINES:
        match chosen.what:
            case "solves":
                told = try_solves(folder, engine, chosen.jobs or 2000, chosen.workers)
                answers.append(outcome(folder / f"solves-{engine}.sqlite", solves(chosen.jobs or 2000)))
                keys = answers[0].keys() | answers[-1].keys()
                yield told | {"different": sum(answers[0].get(key) != answers[-1].get(key) for key in keys)}
            case "trivial":
                yield try_trivial(folder, engine, chosen.jobs or 100_000, chosen.workers)
            case "soak":
                yield try_soak(folder, engine, chosen.seconds or 600.0, chosen.every, chosen.workers)
            case _:
                yield try_scaling(folder, engine, chosen.seconds or 0.05, chosen.most)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
