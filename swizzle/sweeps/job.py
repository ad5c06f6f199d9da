"""One job: what is asked, as JSON, with the texts of all files that decide the answer; and its key.

A job names no file of a machine: it carries the texts, so it is answered alike wherever it runs. What it costs
(`timeout`, `memory`) is no part of the key: a longer time asks the same question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, field

from swizzle.solving.solution.version import __version__
from symbolic.errors import PACKAGES

_DATA: Final = (".py", ".json", ".h", ".cuh", ".cpp")


class SweepJob(Struct, frozen=True):
    """What to do with a target, FILE[:NAME], where FILE is one of `files`: texts by their names.

    `set` has values of declared parameters, `options` what the command's options say. `timeout` is in seconds,
    `memory` in bytes. `path` has the folders, of those of `files`, in which Python looks for modules. `asked` is the
    target as its user named it.
    """

    do: str
    target: str = ""
    set: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    memory: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    asked: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the job as a line of JSON says it, with a digest in place of each text."""
        said: dict[str, Any] = {"do": self.do, "target": self.target, "set": dict(self.set)}
        said |= {name: value for name in ("options", "path", "timeout", "memory") if (value := getattr(self, name))}
        return said | {"files": {name: digest(text) for name, text in self.files.items()}}

    @property
    def key(self) -> str:
        """The hash of all that decides the answer: the job but for its limits, and the code that answers."""
        return key_of(self.as_json())


def key_of(job: Mapping[str, Any]) -> str:
    """Return the key of a job as JSON, to this version of Swizzle."""
    question = {name: value for name, value in job.items() if name not in ("timeout", "memory")}
    return digest(version() + canonical(question))[:32]


def canonical(value: Any) -> str:
    """Return a value as the same JSON, however it was written."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=1)
def version() -> str:
    """Return the version and a digest of our own code, of which every answer is made."""
    found = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted(path for path in package.rglob("*") if path.suffix in _DATA):
            found.update(f"{path.relative_to(package.parent).as_posix()}\0".encode())
            found.update(path.read_bytes())
    return f"{__version__} {found.hexdigest()[:16]}"
