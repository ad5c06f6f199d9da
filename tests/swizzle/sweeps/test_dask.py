"""Jobs on Dask: the same answers, whatever ends: workers, Dask's workers, connections, schedulers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.many_jobs import below, command_of, free_port, process_of, scheduler_words, worker_words
from swizzle.sweeps import cluster, on_dask
from swizzle.sweeps.driver import answers_of, drive
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal
from swizzle.sweeps.worker import AskedJob
from symbolic.errors import SwizzleError
from tests.swizzle.sweeps.works import CALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("distributed") is None, reason="the extra dask is not installed"),
]


def ran(path: Path, jobs: Iterable[SweepJob], **options: Any) -> list[tuple[str | None, Any, int]]:
    """Return status, answer and attempts of each job, in order."""
    with Journal(path) as journal:
        journal.enlist(jobs)
        said = [each.key for each in drive(journal, CALL, engine="dask", workers=2, **options) if each is not None]
        assert len(said) == len(set(said)) == len(journal)
        return [(record.status, record.answer, record.attempts) for record in journal.records()]


def test_the_same_answers_as_here(tmp_path: Path) -> None:
    """Of work that is done, that goes wrong, and that ends its process: Dask's workers stay."""
    marks = {"marks": str(tmp_path)}
    jobs = [SweepJob("mistake"), SweepJob("bug"), SweepJob("die"), SweepJob("die once", "c", options=marks)]
    jobs += [SweepJob("sleep", options={"seconds": 60}, timeout=0.2), SweepJob("say", options={"length": 1_000_000})]
    jobs += [SweepJob("square", options=marks, target="n", set={"n": n}) for n in range(200)]
    found = ran(tmp_path / "dask", jobs)
    (tmp_path / "c").unlink()
    with Journal(tmp_path / "local") as journal:
        journal.enlist(jobs)
        for _ in drive(journal, CALL, workers=2):
            pass
        assert [(each.status, each.answer, each.attempts) for each in journal.records()] == found
    parents = {line.split()[1] for line in (tmp_path / "n").read_text().splitlines()}
    assert len(parents) <= 3  # two workers of Dask, and this process: none was replaced


def test_a_job_that_ends_workers_of_dask(tmp_path: Path) -> None:
    """It is begun three times, each time alone; jobs that waited beside it are answered."""
    jobs = [SweepJob("square", set={"n": n}) for n in range(40)]
    jobs.insert(20, SweepJob("end Dask's worker", "w", options={"marks": str(tmp_path)}))
    found = ran(tmp_path / "j", jobs)
    assert found[20][0] == "killed"
    assert found[20][1]["reason"].startswith("the workers of Dask that had it ended ")
    assert (tmp_path / "w").read_text().count("\n") <= 4  # once more than it counts: in the company of others
    assert {status for status, _, _ in found[:20] + found[21:]} == {"done"}


def test_a_scheduler_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, then that is an error; what was answered stays, and another scheduler goes on."""
    monkeypatch.setattr(on_dask, "PATIENCE", 2.0)
    jobs = [SweepJob("sleep", set={"n": n}, options={"seconds": 0.02}) for n in range(300)]
    port = free_port()
    with Journal(tmp_path / "j") as journal:
        journal.enlist(jobs)
        with process_of(*scheduler_words(port)) as scheduler, process_of(*worker_words(port)):
            answers = drive(journal, CALL, engine="dask", workers=2, scheduler=f"tcp://127.0.0.1:{port}")
            with pytest.raises(SwizzleError, match=f"no scheduler of Dask answers at tcp://127.0.0.1:{port}"):
                for said in answers:
                    if said is not None and journal.left() == 280:
                        os.kill(scheduler.pid, signal.SIGKILL)
        left = journal.left()
        assert 0 < left < 300
    with process_of(*scheduler_words(port)), process_of(*worker_words(port)), Journal(tmp_path / "j") as journal:
        journal.enlist(jobs)
        said = [
            each for each in drive(journal, CALL, engine="dask", workers=2, scheduler=f"tcp://127.0.0.1:{port}") if each
        ]
        assert len(said) == left
        assert journal.statuses() == {"done": 300}


class EndlessJobs:
    """Jobs until a test has seen enough."""

    def __init__(self) -> None:
        self.asked, self.over = list[str](), False

    def next(self) -> AskedJob | None:
        if self.over:
            return None
        self.asked.append(str(len(self.asked)))
        job = SweepJob("sleep", set={"n": 1}, options={"seconds": 0.02})
        return AskedJob(self.asked[-1], json.dumps(job.as_json()), None)


@pytest.mark.parametrize(
    "what", ["a worker", "a silent worker", "all workers", "the scheduler", "a silent scheduler", "all of it"]
)
def test_a_cluster_of_ours_is_kept_up(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Whatever of it ends or is silent is started again, and every job is answered once."""
    made: list[on_dask.Connection] = []

    class SeenConnection(on_dask.Connection):
        def __init__(self, address: str | None, workers: int) -> None:
            super().__init__(address, workers)
            made.append(self)

    monkeypatch.setattr(on_dask, "Connection", SeenConnection)
    monkeypatch.setattr(cluster, "UNHEARD", 10.0)
    monkeypatch.setattr(on_dask, "SILENCE", 8.0 if what == "a silent scheduler" else 3600.0)
    monkeypatch.setattr(cluster, "SILENT", "5 s")
    jobs, ended, answered = EndlessJobs(), list[int](), list[str]()
    for answer in answers_of(jobs, CALL, engine="dask", workers=2):
        answered += [answer.key] if answer is not None else []
        own = made[0].own
        if own is None or len(answered) < 20:
            continue
        if not ended:
            first, *others = own.pids
            alone = {"the scheduler": [first], "a silent scheduler": [first]}
            ended = {**alone, "all workers": others, "all of it": own.pids}.get(what, others[:1])
            for pid in ended:
                os.kill(pid, signal.SIGSTOP if "silent" in what else signal.SIGKILL)
        jobs.over = jobs.over or (not {*own.pids} & {*ended} and len(answered) > 100)
    assert sorted(answered) == sorted(jobs.asked)


def test_workers_that_are_gone_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has ended at once, one that the scheduler does not know when its time is over."""
    monkeypatch.setattr(cluster, "UNHEARD", 3600.0)
    with closing(cluster.OwnCluster(2)) as own:
        scheduler, *before = own.pids
        os.kill(before[0], signal.SIGKILL)
        while len({*own.pids} & {*before}) == 2:
            own.keep_up(["swizzle-2"])
        assert own.pids[1] == before[1]
        own.unheard = 0.0
        time.sleep(0.01)
        own.keep_up(["swizzle-3"])
        assert before[1] not in own.pids
        assert len(own.pids) == 3
        assert own.pids[0] == scheduler


def test_only_what_ran_is_held_against_a_job() -> None:
    """Of what a worker had when it ended, what was sent first, a thing a thread; what waited behind it goes again."""
    from distributed import KilledWorker, Status
    from distributed.scheduler import WorkerState

    class Lost:
        def __init__(self, name: str, worker: WorkerState) -> None:
            self.asked, self.worker = AskedJob(name, "{}", None), worker

        def result(self, timeout: float) -> None:
            raise KilledWorker(self.asked.key, self.worker, 0)

    def worker(name: str, threads: int) -> WorkerState:
        return WorkerState(
            address=f"tcp://{name}:1", status=Status.running, pid=1, name=name, nthreads=threads, memory_limit=0,
            local_directory="", nanny=None, server_id=name,
        )  # fmt: skip

    driver: Any = on_dask._Driver(SimpleNamespace(), EndlessJobs(), (CALL, 2, ""))  # type: ignore[arg-type]
    one, two = worker("one", 1), worker("two", 2)
    lost = [Lost("a", one), Lost("b", two), Lost("c", one), Lost("d", two), Lost("e", two)]
    driver.sent = {each: [each.asked] for each in lost}
    for each in reversed(lost):
        driver.over.put(each)
    assert driver._received() == []
    assert {each.key: each.attempts for each in driver.lost} == {"a": 1, "b": 1, "c": 0, "d": 1, "e": 0}
    driver.sent = {lost[1]: [AskedJob("b", "{}", None, 2)]}
    lost[1].worker = worker("three", 1)
    driver.over.put(lost[1])
    assert [(said.key, said.status) for said in driver._received()] == [("b", "killed")]


def test_a_script_need_not_guard_its_main_part(tmp_path: Path) -> None:
    """Workers do not run it again."""
    script = """
import swizzle
print("begun")
found = swizzle.sweep([{"target": "a.swz", "text": "", "set": {"N": n}} for n in range(3)], engine="dask", workers=2,
                      journal="j")
print(*(record.answer["status"] for record in found))
"""
    (tmp_path / "s.py").write_text(script)
    done = subprocess.run([sys.executable, "s.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("begun\nmistake mistake mistake\n", "")


def test_nothing_outlives_a_cluster(tmp_path: Path) -> None:
    """Whoever stops a sweep stops Dask's workers and ours, also where one is in a job."""
    with Journal(tmp_path / "j") as journal:
        journal.enlist([SweepJob("sleep", "s", options={"seconds": 60, "marks": str(tmp_path)}), SweepJob("square")])
        answers = drive(journal, CALL, engine="dask", workers=2)
        while not (tmp_path / "s").exists() or not (tmp_path / "s").read_text().endswith("\n"):
            next(answers)
        pid, parent = map(int, (tmp_path / "s").read_text().split())
        assert pid in below(parent)
        answers.close()
        assert "swizzle.sweeps.process" not in command_of(pid)
        assert journal.left() >= 1


def test_no_scheduler_is_one_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once where the address is none, after a while where nobody answers."""
    monkeypatch.setattr(on_dask, "PATIENCE", 0.0)
    for address in ("nowhere", f"tcp://127.0.0.1:{free_port()}"):
        with pytest.raises(SwizzleError, match=f"no scheduler of Dask answers at {address}"):
            ran(tmp_path / "j", [SweepJob("square")], scheduler=address)
