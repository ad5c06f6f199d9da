"""The journal alone says what is done: two drivers, a driver that is gone, a disk that is full, a file of others."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from swizzle.sweeps import job
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal
from swizzle.sweeps.worker import JobAnswer
from symbolic.errors import SwizzleError

JOBS = [SweepJob("square", set={"n": n}, files={"a.py": "the same text"}) for n in range(10)]


def answer(key: str, status: str = "done", value: int = 1) -> JobAnswer:
    return JobAnswer(key, status, f'{{"value": {value}}}', 0.5, 1)


def test_two_drivers_share_the_jobs(tmp_path: Path) -> None:
    """No job is claimed by both; what one leaves unanswered goes to the other, and the first answer stays."""
    with Journal(tmp_path / "j") as one:
        with Journal(tmp_path / "j") as other:
            for each in (one, other):
                each.enlist(JOBS)
            first, second = one.claim(4), other.claim(20)
            assert len(first) == 4
            assert len(second) == 6
            assert not {each.key for each in first} & {each.key for each in second}
            assert one.claim(20) == other.claim(20) == []
            assert other.answered(answer(second[0].key))
            assert not one.answered(answer(second[0].key, value=2))
        assert len(one.claim(20)) == 5
        assert next(record.answer for record in one.records() if record.answer) == {"value": 1}


def test_a_driver_that_is_gone_has_no_claim(tmp_path: Path) -> None:
    """However it ended: the system lets go of its lock. One that lives keeps what it claimed."""
    child = os.fork()
    if not child:
        journal = Journal(tmp_path / "j")
        journal.enlist(JOBS)
        journal.claim(10)
        os._exit(9)
    os.waitpid(child, 0)
    assert len(list(tmp_path.glob("j-driver-*"))) == 1
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS)
        assert len(journal.claim(3)) == 3
        with Journal(tmp_path / "j") as other:
            other.enlist(JOBS)
            assert len(other.claim(20)) == 7
    assert not list(tmp_path.glob("j-driver-*"))


def test_a_driver_that_ends_while_another_waits(tmp_path: Path) -> None:
    """The one that waits takes over what was claimed."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        journal = Journal(tmp_path / "j")
        journal.enlist(JOBS)
        journal.claim(8)
        os.write(writer, b"claimed")
        os.read(os.pipe()[0], 1)
    os.read(reader, 7)
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS)
        assert len(journal.claim(20)) == 2
        assert journal.claim(20) == []
        os.kill(child, 9)
        os.waitpid(child, 0)
        assert len(journal.claim(20)) == 8


def test_answers_of_some_statuses_are_asked_for_again(tmp_path: Path) -> None:
    """Those of this sweep only, from the first attempt on."""
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS)
        for each, status in zip(journal.claim(10), ["timeout"] * 3 + ["killed"] * 2 + ["done"] * 5, strict=True):
            journal.answered(answer(each.key, status))
        assert journal.statuses() == {"done": 5, "timeout": 3, "killed": 2}
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS[1:])
        journal.ask_again(["timeout"])
        assert journal.statuses() == {"done": 5, "killed": 2}
        assert [each.attempts for each in journal.claim(9)] == [0, 0]
        journal.enlist(JOBS[:1])
        assert journal.statuses() == {"done": 5, "killed": 2, "timeout": 1}


def test_a_look_for_more_costs_what_is_left(tmp_path: Path) -> None:
    """While the last jobs are under way, engines look again and again: not through all that was answered."""
    steps = [0]

    def step() -> None:
        steps[0] += 100

    jobs = [SweepJob("square", set={"n": n}) for n in range(3000)]
    with Journal(tmp_path / "j") as one, Journal(tmp_path / "j") as other:
        one.enlist(jobs)
        other.enlist(jobs)
        assert len(other.claim(3)) == 3
        for each in one.claim(3000):
            one.answered(answer(each.key))
        assert one.claim(20) == []
        one.db.set_progress_handler(step, 100)
        assert one.left() == 3
        through_all, steps[0] = steps[0], 0
        for _ in range(20):
            assert one.claim(20) == []
            assert one.open() == 3
        assert steps[0] < through_all


def test_what_another_driver_asks_again_is_its_own(tmp_path: Path) -> None:
    """Nobody waits for an answer that was there."""
    with Journal(tmp_path / "j") as one, Journal(tmp_path / "j") as other:
        one.enlist(JOBS)
        other.enlist(JOBS)
        for each in one.claim(10):
            one.answered(answer(each.key, "timeout"))
        assert one.open() == 0
        other.ask_again(["timeout"])
        assert one.open() == 0
        assert one.claim(10) == []
        assert len(other.claim(10)) == 10


def test_answers_of_another_version_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is asked again of another version; a look without files tells of one version only."""
    jobs = [
        SweepJob("solve", f"{n}.py", {"n": n}, {"space": "1"}, 3.0, files={"a": "b"}, path=(".",)) for n in range(3)
    ]
    with Journal(tmp_path / "j") as journal:
        journal.enlist(jobs)
        for each in journal.claim(3):
            journal.answered(answer(each.key))
    monkeypatch.setattr(job, "version", lambda: "another")
    with Journal(tmp_path / "j") as journal:
        journal.enlist(jobs[:1])
        assert journal.left() == 1
    with Journal(tmp_path / "j") as journal:
        assert journal.enlist_all() == 3
        assert [record.asked for record in journal.records()] == ["0.py"]
    monkeypatch.undo()
    with Journal(tmp_path / "j") as journal:
        assert journal.enlist_all() == 1
        assert sorted(record.asked for record in journal.records()) == ["0.py", "1.py", "2.py"]


def test_a_disk_that_is_full_loses_nothing(tmp_path: Path) -> None:
    """What was written before stays, and there is one error; with room again, the rest is asked."""
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS)
        some = journal.claim(10)
        journal.answered(answer(some[0].key))
        (pages,) = journal.db.execute("pragma page_count").fetchone()
        journal.db.execute(f"pragma max_page_count={pages}")
        huge = JobAnswer(some[1].key, "done", f'"{"x" * 100_000}"', 0.5, 1)
        with pytest.raises(SwizzleError) as error:
            journal.answered(huge)
        assert str(error.value) == (
            f"error: the journal {tmp_path / 'j'}: database or disk is full\n"
            "  expected: a journal of `swizzle sweep`, or none yet, on a disk of this machine with room for it\n"
            "  fix: make room, or name another file with --journal; what it has is kept, and not asked again"
        )
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS)
        assert journal.statuses() == {"done": 1}
        assert len(journal.claim(20)) == 9


@pytest.mark.parametrize("content", [b"not a database, but a longer text than its head would be" * 20, None])
def test_a_file_of_others_is_left_alone(tmp_path: Path, content: bytes | None) -> None:
    """A text, and a database of another program."""
    path = tmp_path / "j"
    if content is None:
        with sqlite3.connect(path) as db:
            db.execute("create table jobs (key text)")
        db.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(SwizzleError, match="file is not a database"):
        Journal(path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("j-driver-*"))


def test_equal_texts_are_kept_once(tmp_path: Path) -> None:
    """And are sent with every job."""
    with Journal(tmp_path / "j") as journal:
        journal.enlist(JOBS)
        assert journal.db.execute("select count(*) from texts").fetchone() == (1,)
        assert all("the same text" in each.text for each in journal.claim(20))
