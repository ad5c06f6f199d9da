"""What candidates came to, kept in a file: a line of JSON for each, appended whole or not at all.

A line is kept under the hash of the candidate, not of the space, so it outlives the list of candidates: where a value
is added to a choice, only what is new is tried. Of 'proved' nothing is proved again, so a line counts only if it is
signed with this user's own secret (`swizzle.solving.solution.seal`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from swizzle.answers.emit.files import cannot_be_written
from swizzle.derive.tuning.candidate import CandidateRecord
from swizzle.solving.solution.seal import is_signed, signature
from symbolic.choices.conditions import Value
from symbolic.errors import SwizzleError
from symbolic.files import file_bytes

_KIND: Final = "candidate"


def decisions_key(space: str, decisions: Mapping[str, Value]) -> str:
    """Return what a complete assignment of a space is known by."""
    return json.dumps([space, sorted(decisions.items())])


class CandidateStore:
    """The records of a file, by their candidates' hashes and by the assignments that made them.

    Args:
        path: the file, which need not be there; None keeps records in memory alone.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.records: dict[str, CandidateRecord] = {}
        self.by_decisions: dict[str, str] = {}
        self._broken = False
        if path is not None:
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            text = file_bytes(path).decode("utf-8", "replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise SwizzleError(
                f"{path} cannot be read: {error.strerror}", expected="a file of candidates", fix="name another folder"
            ) from None
        self._broken = bool(text) and not text.endswith("\n")  # whoever wrote it was ended in the middle
        for line in text.split("\n"):
            with suppress(ValueError, KeyError, TypeError, msgspec.MsgspecError):
                body = json.loads(line)
                signed = body.pop("signed")
                if is_signed(_KIND, _in_order(body), signed):
                    self._know(msgspec.convert(body["record"], CandidateRecord), body["space"], body["decisions"])

    def _know(self, record: CandidateRecord, space: str, decisions: Mapping[str, Value]) -> None:
        self.records[record.key] = record
        self.by_decisions[decisions_key(space, decisions)] = record.key

    def known(self, space: str, decisions: Mapping[str, Value]) -> CandidateRecord | None:
        """Return the record of an assignment of a space, of this very file's text."""
        return self.records.get(self.by_decisions.get(decisions_key(space, decisions), ""))

    def put(self, record: CandidateRecord, space: str, decisions: Mapping[str, Value]) -> None:
        """Keep a record; one write appends its whole line."""
        if self.known(space, decisions) == record:
            return
        self._know(record, space, decisions)
        if self.path is None:
            return
        body = {"space": space, "decisions": dict(decisions), "record": record.as_json()}
        signed = signature(_KIND, _in_order(body), make=True)
        line = json.dumps({**body, "signed": signed}) + "\n"
        if self._broken:
            line, self._broken = "\n" + line, False
        _append(self.path, line.encode())


def _append(path: Path, line: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            before = os.fstat(handle).st_size
            if os.write(handle, line) < len(line):
                os.ftruncate(handle, before)  # no room: not a part of it either
                raise OSError(28, "No space left on device")
        finally:
            os.close(handle)
    except OSError as error:
        raise cannot_be_written(path, error) from error


def _in_order(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)
