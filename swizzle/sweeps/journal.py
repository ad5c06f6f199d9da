"""The journal: what was answered, in SQLite with a write-ahead log. It alone says what is done.

Several sweeps, and several processes at once, may use one journal. Who works on a job has claimed it; a claim holds as
long as its driver lives, which a lock on a file beside the journal shows: the system lets go of it, however the driver
ends. The file must be on a disk of this machine, as SQLite's log is shared memory.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from swizzle.sweeps.job import SweepJob, canonical, digest, key_of
from swizzle.sweeps.worker import AskedJob, JobAnswer
from symbolic.errors import SwizzleError

FORMAT: Final = 0x5357_5A01
"""What SQLite keeps for the program that a file belongs to."""
PATIENCE: Final = 60.0
"""Seconds that a transaction waits for those of other drivers."""
_AT_ONCE: Final = 500
_TABLES: Final = """
create table if not exists texts (digest text primary key, text text not null) without rowid;
create table if not exists drivers (name text primary key) without rowid;
create table if not exists jobs (
  key text primary key, job text not null, status text, answer text, attempts int not null default 0, seconds real,
  driver text
) without rowid;
"""


class Record(Struct, frozen=True):
    """A job of a sweep and what came of it; status and answer are None where nothing did yet. `asked` is the target as
    it was named."""

    key: str
    asked: str
    job: dict[str, Any]
    status: str | None
    answer: dict[str, Any] | None
    attempts: int
    seconds: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the line that `swizzle sweep --json` prints."""
        return {
            "key": self.key, "asked": self.asked, "job": self.job, "answer": self.answer, "attempts": self.attempts,
            "seconds": self.seconds,
        }  # fmt: skip


class Journal:
    """One driver's hold on a journal, with the list of its own jobs, which is gone with the driver."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, secrets.token_hex(8)
        self._lock: int | None = None
        with self._mistakes():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            (known,) = self.db.execute("pragma application_id").fetchone()
            (tables,) = self.db.execute("select count(*) from sqlite_master").fetchone()
            if known != FORMAT and tables:
                raise sqlite3.DatabaseError("file is not a database of ours")
            self.db.execute("pragma journal_mode=wal")
            self.db.execute("pragma synchronous=normal")
            with self._transaction():
                self.db.execute(f"pragma application_id={FORMAT}")
                for table in _TABLES.split(";")[:-1]:
                    self.db.execute(table)
                self._register()
            self.db.execute("create temp table mine (number integer primary key, key text unique, asked text)")
            self.db.execute("create temp table open (number integer primary key, key text)")
        self._cursor, self._listed = 0, False
        self._text = lru_cache(maxsize=64)(self._text_of)

    # -- drivers ------------------------------------------------------------------------------------------------

    def _lock_file(self, driver: str) -> Path:
        return self.path.with_name(f"{self.path.name}-driver-{driver}")

    def _register(self) -> None:
        """Take a lock of our own, and let go of what drivers had that are gone."""
        self._lock = os.open(self._lock_file(self.name), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.db.execute("insert into drivers values (?)", (self.name,))
        self._let_go_of_the_dead()

    def _let_go_of_the_dead(self) -> bool:
        """Free the claims of drivers that are gone; say whether there were any. Inside a transaction only."""
        dead = [name for (name,) in self.db.execute("select name from drivers") if self._is_gone(name)]
        for name in dead:
            self.db.execute("update jobs set driver = null where driver = ?", (name,))
            self.db.execute("delete from drivers where name = ?", (name,))
            self._lock_file(name).unlink(missing_ok=True)
        return bool(dead)

    def _is_gone(self, driver: str) -> bool:
        if driver == self.name:
            return False
        try:
            handle = os.open(self._lock_file(driver), os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True

    def close(self) -> None:
        """Give back what was claimed and not answered."""
        with suppress(sqlite3.Error), self._transaction():
            self.db.execute("update jobs set driver = null where driver = ?", (self.name,))
            self.db.execute("delete from drivers where name = ?", (self.name,))
        self.db.close()
        if self._lock is not None:
            with suppress(OSError):
                self._lock_file(self.name).unlink(missing_ok=True)
            os.close(self._lock)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- jobs ---------------------------------------------------------------------------------------------------

    def enlist(self, jobs: Iterable[SweepJob]) -> int:
        """Add jobs to this driver's list, each once; those that the journal has answers for are done.

        Return how many were given that the list had already.
        """
        self._forget_open()
        before, given = len(self), 0
        jobs = iter(jobs)
        while some := list(islice(jobs, _AT_ONCE)):
            given += len(some)
            with self._mistakes(), self._transaction():
                for job in some:
                    texts = ((digest(text), text) for text in job.files.values())
                    self.db.executemany("insert or ignore into texts values (?, ?)", texts)
                    row = (job.key, canonical(job.as_json()))
                    self.db.execute(
                        "insert or ignore into temp.mine (key, asked) values (?, ?)", (row[0], job.asked or job.target)
                    )
                    # of a job that has no answer yet, the limits are those that it is now given
                    self.db.execute(
                        "insert into jobs (key, job) values (?, ?)"
                        " on conflict do update set job = excluded.job where answer is null",
                        row,
                    )
        return given - (len(self) - before)

    def enlist_all(self) -> int:
        """Add the jobs that the journal has of this version of Swizzle; return how many it has of others."""
        self._forget_open()
        with self._mistakes(), self._transaction():
            jobs = [(key, json.loads(job)) for key, job in self.db.execute("select key, job from jobs")]
            own = [(key, job["target"]) for key, job in jobs if key == key_of(job)]
            self.db.executemany("insert or ignore into temp.mine (key, asked) values (?, ?)", own)
        return len(jobs) - len(own)

    def ask_again(self, statuses: Iterable[str]) -> None:
        """Forget the answers of jobs of the list that have one of these statuses."""
        self._forget_open()
        with self._mistakes(), self._transaction():
            for status in statuses:
                self.db.execute(
                    "update jobs set status = null, answer = null, attempts = 0, seconds = null"
                    " where status = ? and key in (select key from temp.mine)",
                    (status,),
                )

    def _forget_open(self) -> None:
        with self._mistakes():
            self.db.execute("delete from temp.open")
        self._listed = False

    def claim(self, count: int) -> list[AskedJob]:
        """Claim the next jobs of the list that nobody answers: at most so many, and none where others have them all."""
        with self._mistakes(), self._transaction():
            if not (rows := self._unclaimed(count)):
                self._let_go_of_the_dead()
                self._look_again()
                rows = self._unclaimed(count)
            if rows:
                self._cursor = rows[-1][0]
            self.db.executemany("update jobs set driver = ? where key = ?", ((self.name, row[1]) for row in rows))
        return [self._asked(key, json.loads(job), attempts) for _, key, job, attempts in rows]

    def _unclaimed(self, count: int) -> list[Any]:
        return self.db.execute(
            "select number, key, job, attempts from temp.open cross join jobs using (key)"
            " where number > ? and answer is null and driver is null order by number limit ?",
            (self._cursor, count),
        ).fetchall()

    def _look_again(self) -> None:
        """Begin anew with the jobs of the list that had no answer at any look: it costs what the last one left."""
        if not self._listed:
            self.db.execute("insert into temp.open select number, key from temp.mine")
        self.db.execute(
            "delete from temp.open where exists (select 1 from jobs where key = open.key and answer is not null)"
        )
        self._listed, self._cursor = True, 0

    def open(self) -> int:
        """Return how many jobs of the list had no answer whenever that was looked at."""
        with self._mistakes(), self._transaction():
            self._look_again()
            (count,) = self.db.execute("select count(*) from temp.open").fetchone()
            return int(count)

    def _asked(self, key: str, job: dict[str, Any], attempts: int) -> AskedJob:
        texts = {name: self._text(each) for name, each in job["files"].items()}
        return AskedJob(key, json.dumps({**job, "files": texts}), job.get("timeout"), attempts)

    def _text_of(self, digest: str) -> str:
        (text,) = self.db.execute("select text from texts where digest = ?", (digest,)).fetchone()
        return str(text)

    def answered(self, said: JobAnswer) -> bool:
        """Keep an answer; say whether it is the first one of its job, which stays."""
        with self._mistakes():
            row = (said.status, said.answer, said.attempts, said.seconds, said.key)
            changed = self.db.execute(
                "update jobs set status = ?, answer = ?, attempts = ?, seconds = ?, driver = null"
                " where key = ? and answer is null",
                row,
            )
            return changed.rowcount > 0

    def __len__(self) -> int:
        """Return how many jobs the list has."""
        with self._mistakes():
            (count,) = self.db.execute("select count(*) from temp.mine").fetchone()
            return int(count)

    def left(self) -> int:
        """Return how many jobs of the list have no answer."""
        with self._mistakes():
            (count,) = self.db.execute(
                "select count(*) from temp.mine join jobs using (key) where answer is null"
            ).fetchone()
            return int(count)

    def statuses(self) -> dict[str, int]:
        """Return how many jobs of the list have each status."""
        query = (
            "select status, count(*) from temp.mine join jobs using (key) where answer is not null"
            " group by status order by count(*) desc, status"
        )
        with self._mistakes():
            return dict(self.db.execute(query).fetchall())

    def records(self, statuses: Iterable[str] | None = None) -> Iterator[Record]:
        """Yield the jobs of the list, in its order, with their answers: all, or those of some statuses."""
        some = None if statuses is None else [*statuses]
        where = "" if some is None else f"where status in ({', '.join('?' * len(some))})"
        query = (
            "select key, asked, job, status, answer, attempts, seconds from temp.mine join jobs using (key)"
            f" {where} order by number"
        )
        with self._mistakes():
            for key, asked, job, status, answer, attempts, seconds in self.db.execute(query, some or ()):
                told = None if answer is None else json.loads(answer)
                yield Record(key, asked, json.loads(job), status, told, attempts, seconds)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("begin immediate")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self.db.execute("rollback")
            raise
        self.db.execute("commit")

    @contextmanager
    def _mistakes(self) -> Iterator[None]:
        """Turn what SQLite says of the file into the user's mistake that it is."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            full = "make room, or name another file with --journal; what it has is kept, and not asked again"
            other = type(error) is sqlite3.DatabaseError  # of others, or damaged
            raise SwizzleError(
                f"the journal {self.path}: {getattr(error, 'strerror', None) or error}",
                expected="a journal of `swizzle sweep`, or none yet, on a disk of this machine with room for it",
                fix="name another file with --journal; this one stays as it is" if other else full,
            ) from error
