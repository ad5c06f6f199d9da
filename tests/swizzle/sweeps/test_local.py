"""Jobs on this machine: each is answered once, whatever happens to its process."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from swizzle.sweeps import worker as workers
from swizzle.sweeps.driver import drive
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal
from symbolic.errors import SwizzleError
from tests.swizzle.sweeps.works import CALL

Answers = Callable[..., list[tuple[str, dict[str, Any], int]]]


def ran(path: Path, jobs: Iterable[SweepJob], *, workers: int = 2, retries: int = 2, call: str = CALL) -> list[Any]:
    """Return status, answer and attempts of each job, in order."""
    with Journal(path) as journal:
        journal.enlist(jobs)
        said = [each.key for each in drive(journal, call, workers=workers, retries=retries) if each is not None]
        assert len(said) == len(set(said)) == len(journal)
        return [(record.status, record.answer, record.attempts) for record in journal.records()]


def test_answers_come_back(tmp_path: Path) -> None:
    """More jobs than workers, in the order asked; a mistake of the user's and one of ours are answers."""
    jobs = [SweepJob("square", set={"n": n}) for n in range(50)]
    found = ran(tmp_path / "j", [*jobs, SweepJob("mistake"), SweepJob("bug")])
    assert [answer["value"] for _, answer, _ in found[:50]] == [n * n for n in range(50)]
    error = {"found": "no such thing", "place": "a.py:3:4", "expected": "a thing", "fix": "make one"}
    assert found[50:] == [
        ("mistake", {"status": "mistake", "error": error}, 1),
        ("bug", {"status": "bug", "reason": "ZeroDivisionError: ours"}, 1),
    ]


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    """A second sweep runs what is new only; other limits ask the same question."""
    marks = {"marks": str(tmp_path)}
    ran(tmp_path / "j", [SweepJob("square", "a", options=marks)])
    found = ran_again(tmp_path / "j", [SweepJob("square", t, options=marks, timeout=9) for t in ("a", "b")])
    assert found == ["b"]
    assert (tmp_path / "a").read_text().count("\n") == 1


def ran_again(path: Path, jobs: list[SweepJob]) -> list[str]:
    """Return the targets of the jobs that were run."""
    with Journal(path) as journal:
        journal.enlist(jobs)
        keys = {job.key: job.target for job in jobs}
        return [keys[each.key] for each in drive(journal, CALL, workers=1) if each is not None]


def test_a_job_that_ends_its_process_is_begun_three_times(tmp_path: Path) -> None:
    """Then that is its answer; one whose process somebody ends is answered. Others are not held up."""
    marks = {"marks": str(tmp_path)}
    jobs = [
        SweepJob("die", "a", options=marks), SweepJob("leave", "b", options=marks),
        SweepJob("die once", "c", options=marks), *(SweepJob("square", set={"n": n}) for n in range(9)),
    ]  # fmt: skip
    found = ran(tmp_path / "j", jobs)
    assert found[0] == (
        "killed", {"status": "killed", "reason": "its process ended 3 times, the last time by SIGKILL"}, 3
    )  # fmt: skip
    assert found[1][1]["reason"] == "its process ended 3 times, the last time by status 3"
    assert found[2] == ("done", {"status": "done", "value": 0}, 2)
    assert all(status == "done" and attempts == 1 for status, _, attempts in found[3:])
    assert [(tmp_path / name).read_text().count("\n") for name in "abc"] == [3, 3, 2]


def test_an_idle_process_that_is_gone_is_no_attempt() -> None:
    """The next job gets another one."""
    worker = workers.Worker(CALL, None, 0)
    try:
        for key in "ab":
            found = worker.answer(workers.AskedJob(key, '{"do": "square", "set": {}}', None))
            assert (found.status, found.attempts) == ("done", 1)
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    finally:
        worker.end()


def test_retries_are_as_asked(tmp_path: Path) -> None:
    """None: the first end is the answer."""
    assert ran(tmp_path / "j", [SweepJob("die")], retries=0)[0][2] == 1


def test_a_job_has_its_own_limits(tmp_path: Path) -> None:
    """Of time, of memory; of an answer that a limit cut short; and of work that listens to nobody."""
    jobs = [
        SweepJob("sleep", options={"seconds": 60}, timeout=0.2),
        SweepJob("fill memory", memory=150 << 20),
        SweepJob("unknown", options={"reason": "timeout after 3 s"}),
        SweepJob("unknown", options={"reason": "out of memory: more than 4 GiB"}),
        SweepJob("unknown", options={"reason": "too many"}),
    ]
    found = ran(tmp_path / "j", jobs)
    assert [status for status, _, _ in found] == ["timeout", "memory", "timeout", "memory", "unknown"]


def test_a_process_that_is_silent_beyond_its_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch cannot interrupt one long call: the driver ends the process, and the job isn't begun again."""
    monkeypatch.setattr(workers, "MORE", 0.3)
    found = ran(tmp_path / "j", [SweepJob("deaf", options={"seconds": 60}, timeout=0.2), SweepJob("square")])
    assert found[0] == ("timeout", {"status": "timeout", "reason": "timeout after 0.2 s, and no answer to that"}, 1)
    assert found[1][0] == "done"


def test_what_work_prints_is_no_answer(tmp_path: Path) -> None:
    """And an answer may be larger than a pipe."""
    found = ran(tmp_path / "j", [SweepJob("say", options={"length": 1_000_000})])
    assert len(found[0][1]["text"]) == 1_000_000


def test_a_worker_that_cannot_start_is_one_mistake(tmp_path: Path) -> None:
    """A module that is not there: nothing is begun again and again."""
    with pytest.raises(SwizzleError, match="a worker ends before its first job: ModuleNotFoundError"):
        ran(tmp_path / "j", [SweepJob("square")], call="no_such_module:work")


def test_nothing_outlives_a_sweep_that_stops(tmp_path: Path) -> None:
    """Whoever leaves the loop ends all processes, and what was not answered is free for the next one."""
    jobs = [SweepJob("sleep", str(n), options={"seconds": 60, "marks": str(tmp_path)}) for n in range(2)]
    with Journal(tmp_path / "j") as journal:
        journal.enlist([SweepJob("square"), *jobs])
        answers = drive(journal, CALL, workers=3)
        while journal.left() > 2 or not all(_marked(tmp_path / job.target) for job in jobs):
            next(answers)
        answers.close()
        pids = [int((tmp_path / job.target).read_text().split()[0]) for job in jobs]
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        assert journal.left() == 2
    with Journal(tmp_path / "j") as journal:
        journal.enlist(jobs)
        assert len(journal.claim(9)) == 2


def test_processes_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL: nothing of ours runs on, the journal is free and has what was answered."""
    child = os.fork()
    if not child:
        try:
            with Journal(tmp_path / "j") as journal:
                journal.enlist([
                    SweepJob("square"), SweepJob("sleep", "s", options={"seconds": 600, "marks": str(tmp_path)})
                ])  # fmt: skip
                for _ in drive(journal, CALL, workers=1):
                    pass
        finally:
            os._exit(1)
    mark = tmp_path / "s"
    _until(lambda: _marked(mark))
    pid = int(mark.read_text().split()[0])
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    _until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())
    with Journal(tmp_path / "j") as journal:
        journal.enlist([SweepJob("square"), SweepJob("sleep", "s", options={"seconds": 600, "marks": str(tmp_path)})])
        assert journal.statuses() == {"done": 1}
        assert [json.loads(asked.text)["do"] for asked in journal.claim(9)] == ["sleep"]


def _marked(mark: Path) -> bool:
    return mark.exists() and mark.read_text().endswith("\n")


def _until(true: Callable[[], bool]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError
